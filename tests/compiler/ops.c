/* Every op of ops.def, over many shapes, without naming one: the evaluator against the formula, the
 * gradient against finite differences, the text against itself, and generated code against the
 * evaluator. Views are tested against functions of coordinates, and their gradients' gradients too.
 * Then the gradients of whole graphs, those of tests/passes/.
 *
 * A new elementwise op or reduction is tested as soon as it has its entry; its `domain` says
 * where its operands lie. */
#include "compiler/graph/build.h"
#include "compiler/passes/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef FLOWC_CODEGEN
/* Compiles the graph, runs it and compares every result with the evaluator's. values: one array a
 * node, set for inputs and weights. */
bool compiled_agrees(const Graph *graph, const double *const *values, int64_t batch);
#endif

enum { BATCH = 4, SIZE_BATCH = -1, CASE_RANK = 3 };

/* Sizes of one operand; SIZE_BATCH stands for the batch. */
typedef struct Sizes {
    int rank;
    int sizes[CASE_RANK];
} Sizes;

/* One node to test. */
typedef struct Case {
    Op op;
    Element element;
    Sizes operands[ARITY_LIMIT];
    uint32_t axes;
    Sizes declared; /* of the result, for ops that declare it */
} Case;

typedef struct Tally {
    const char *name;
    int passed, failed;
} Tally;

static Tally tally;

static void expect(bool holds, const char *what, const Graph *graph) {
    if (holds) {
        tally.passed++;
        return;
    }
    tally.failed++;
    Text text = text_new(graph->arena);
    graph_print(graph, &text);
    printf("%s: %s\n%s", tally.name, what, text_string(&text));
}

/* Operands. */

static uint64_t random_state;

/* Uniform in [0, 1): Marsaglia's xorshift64. */
static double random_unit(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

static double random_in(const char *domain, int which, int64_t index, int64_t count) {
    double unit = random_unit();
    if (!strcmp(domain, "positive")) return 0.5 + 2 * unit;
    if (!strcmp(domain, "nonzero")) return (unit < 0.5 ? -1 : 1) * (0.5 + 2 * random_unit());
    if (!strcmp(domain, "zeros")) return unit < 0.25 ? 0 : 4 * random_unit() - 2;
    if (strcmp(domain, "apart")) return 4 * unit - 2;
    /* No two of one operand are equal, nor one of this and one of another. */
    int64_t place = (index * 7919 + 5) % count;
    return (double)place * 0.25 - (double)count / 8 + 0.0625 * which;
}

static double fit_element(Element element, double value) {
    if (element == TYPE_bool) return value > 0;
    return element_round(element, element_info[element].class == CLASS_integer ? 3 * value : value);
}

static int64_t symbol_value(Dim symbol, const void *context) {
    return dim_is_batch(symbol) ? *(const int64_t *)context : dim_bound(symbol);
}

static int64_t element_count(const Type *type) {
    int64_t count = 1, batch = BATCH;
    for (int i = 0; i < type->rank; i++) count *= dim_evaluate(type->dims[i], symbol_value, &batch);
    return count;
}

/* Where operands lie: the op's `domain`; indices below `places`, those of other ops in i32. */
typedef struct Domain {
    const char *name;
    int places; /* 0: no operand is an index */
} Domain;

static double random_value(const Domain *domain, Element element, int which, int64_t index,
                           int64_t count) {
    bool place = domain->places && element == TYPE_i32;
    if (place) return floor(random_unit() * domain->places);
    return fit_element(element, random_in(domain->name, which, index, count));
}

/* Random values for the inputs and weights of a graph. */
static double **random_values(const Graph *graph, Domain domain) {
    double **values = arena_new_array(graph->arena, double *, graph->nodes.count);
    int which = 0;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op != OP_input && node->op != OP_weight) continue;
        int64_t count = element_count(&node->type);
        values[id] = arena_new_array(graph->arena, double, count);
        for (int64_t i = 0; i < count; i++)
            values[id][i] = random_value(&domain, node->type.element, which, i, count);
        which++;
    }
    return values;
}

/* The given values by name, for another graph with the same leaves. */
static const double *const *values_for(const Graph *graph, const Graph *from,
                                       double *const *values) {
    const double **found = arena_new_array(graph->arena, const double *, graph->nodes.count);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        for (NodeId old = 0; old < from->nodes.count; old++) {
            const Node *a = graph_node(graph, id), *b = graph_node(from, old);
            if (values[old] && a->op == b->op && !strcmp(a->name, b->name)) found[id] = values[old];
        }
    return found;
}

/* Graphs. */

static Type sizes_type(Graph *graph, Element element, const Sizes *sizes) {
    Type type = {.element = element, .rank = sizes->rank};
    for (int i = 0; i < sizes->rank; i++)
        type.dims[i] = sizes->sizes[i] == SIZE_BATCH
                           ? graph->batch
                           : dim_constant(graph->dimensions, sizes->sizes[i]);
    return type;
}

static NodeId add_leaf(Graph *graph, Op op, const char *name, Type type) {
    Problem problem;
    return graph_add(graph, (Node){.op = op, .name = name, .type = type}, &problem);
}

/* The operand types an op takes at a case's element type. */
static Element operand_element(const Case *given, int i) {
    LoopClass class = op_info[given->op].class;
    if (op_info[given->op].takes == TAKES_boolean) return TYPE_bool;
    if ((class == LOOP_gather && i == 1) || (class == LOOP_scatter && i == 0)) return TYPE_i32;
    return given->op == OP_select && i == 0 ? TYPE_bool : given->element;
}

/* The case's node over weights a, b and c. NODE_NONE when the op does not take such operands. */
static NodeId add_case(Graph *graph, const Case *given) {
    static const char *const names[] = {"a", "b", "c"};
    Node node = {.op = given->op,
                 .axes = given->axes,
                 .stream = 3,
                 .name = "field",
                 .low = INT32_MIN,
                 .high = INT32_MAX};
    Problem problem;
    for (int i = 0; i < op_info[given->op].arity; i++)
        node.inputs[i] =
            add_leaf(graph, OP_weight, names[i],
                     sizes_type(graph, operand_element(given, i), &given->operands[i]));
    node.type = sizes_type(graph, given->element, &given->declared);
    if (given->op == OP_cast) node.type = sizes_type(graph, TYPE_f64, &given->operands[0]);
    return graph_add(graph, node, &problem);
}

static Graph *case_graph(Arena *arena, const Case *given) {
    Graph *graph = graph_new(arena, dimensions_new(arena), "case");
    graph->batch = dim_symbol(graph->dimensions, "B", 64, true);
    NodeId y = add_case(graph, given);
    if (y == NODE_NONE) return NULL;
    graph_output(graph, OUTPUT_result, "y", y, NODE_NONE);
    return graph;
}

/* loss = sum(y * weights of its own), and the gradient by every operand. */
static Graph *gradient_graph(Arena *arena, const Case *given) {
    Graph *graph = graph_new(arena, dimensions_new(arena), "gradient");
    graph->batch = dim_symbol(graph->dimensions, "B", 64, true);
    NodeId y = add_case(graph, given);
    if (y == NODE_NONE) return NULL;
    Type type = graph_node(graph, y)->type;
    if (element_info[type.element].class != CLASS_floating) return NULL;
    NodeId scales = add_leaf(graph, OP_input, "scales", type);
    NodeId scaled = graph_make(graph, OP_multiply, y, scales, 0, (Range){0});
    NodeId sum = graph_reduce(graph, OP_sum, scaled, (1u << type.rank) - 1, (Range){0});
    NodeId loss = graph_declared(graph, OP_reshape, sum, type_scalar(type.element), (Range){0});
    graph_output(graph, OUTPUT_result, "loss", loss, NODE_NONE);
    for (NodeId id = 0; id < loss; id++)
        if (graph_node(graph, id)->op == OP_weight &&
            graph_node(graph, id)->type.element == TYPE_f64)
            graph_output(graph, OUTPUT_result, "gradient",
                         graph_make(graph, OP_gradient, loss, id, 0, (Range){0}), NODE_NONE);
    return graph;
}

/* Checks. */

static void check_text(const Graph *graph) {
    Text first = text_new(graph->arena), second = text_new(graph->arena);
    Diagnostics *problems = diagnostics_new(graph->arena);
    graph_print(graph, &first);
    const Source *source =
        source_from_text(graph->arena, "case.graph", text_string(&first), first.size);
    Graph *read = graph_parse(graph->arena, source, problems);
    diagnostics_print(problems, stdout, false);
    if (read) graph_print(read, &second);
    expect(read && !strcmp(text_string(&first), text_string(&second)),
           "the text reads back differently", graph);
}

/* The element of an operand that the result's element uses, found by walking all coordinates. */
static int64_t operand_place(const Sizes *operand, const Sizes *result, int64_t index) {
    int64_t coordinates[CASE_RANK], place = 0;
    for (int i = result->rank - 1; i >= 0; i--) {
        int64_t size = result->sizes[i] == SIZE_BATCH ? BATCH : result->sizes[i];
        coordinates[i] = index % size;
        index /= size;
    }
    for (int i = 0; i < operand->rank; i++) {
        int64_t size = operand->sizes[i] == SIZE_BATCH ? BATCH : operand->sizes[i];
        int64_t coordinate = coordinates[i + result->rank - operand->rank];
        place = place * size + (size == 1 ? 0 : coordinate);
    }
    return place;
}

static Sizes widest(const Case *given) {
    Sizes result = given->operands[0];
    for (int i = 1; i < op_info[given->op].arity; i++) {
        const Sizes *other = &given->operands[i];
        Sizes longer = result.rank > other->rank ? result : *other;
        const Sizes *shorter = result.rank > other->rank ? other : &result;
        int missing = longer.rank - shorter->rank;
        for (int j = 0; j < shorter->rank; j++)
            if (longer.sizes[j + missing] == 1) longer.sizes[j + missing] = shorter->sizes[j];
        result = longer;
    }
    return result;
}

static bool equal_values(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* The evaluator against the formula. */
static void check_forward(const Case *given, const Graph *graph, double *const *values) {
    Evaluation evaluation =
        graph_evaluate(graph->arena, graph, (const double *const *)values, BATCH, false);
    const Output *output = &graph->outputs.items[0];
    Element element = graph_node(graph, output->value)->type.element;
    Sizes result = widest(given);
    bool equal = true;
    for (int64_t i = 0; i < evaluation.counts[output->value]; i++) {
        double operands[ARITY_LIMIT] = {0};
        for (int j = 0; j < op_info[given->op].arity; j++)
            operands[j] = values[j][operand_place(&given->operands[j], &result, i)];
        Scalars scalars = {.a = operands[0], .b = operands[1], .c = operands[2]};
        double direct = element_round(element, formula_evaluate(given->op, &scalars));
        equal &= equal_values(direct, evaluation.values[output->value][i]);
    }
    expect(equal, "the evaluator and the formula differ", graph);
}

static double loss_of(const Graph *graph, const double *const *values) {
    Arena *arena = arena_new();
    Evaluation evaluation = graph_evaluate(arena, graph, values, BATCH, true);
    double loss = evaluation.values[graph->outputs.items[0].value][0];
    arena_free(arena);
    return loss;
}

static bool is_close(double a, double b) {
    return fabs(a - b) <= 1e-5 + 1e-3 * fabs(b) || (isnan(a) && isnan(b));
}

/* The gradients in output order against the change of output 0 when one value changes. */
static void check_gradients(const Graph *before, double **values) {
    Diagnostics *problems = diagnostics_new(before->arena);
    Graph *after = differentiate(before->arena, before, problems);
    diagnostics_print(problems, stdout, false);
    expect(after != NULL, "there is no gradient", before);
    if (!after) return;
    expect(!graph_verify(before->arena, after), "the gradient's graph is broken", after);
    check_text(after);
    const double *const *given = values_for(after, before, values);
    Evaluation evaluation = graph_evaluate(before->arena, after, given, BATCH, true);
    for (size_t i = 1; i < before->outputs.count; i++) {
        const Node *gradient = graph_node(before, before->outputs.items[i].value);
        if (gradient->op != OP_gradient) continue;
        const double *found = evaluation.values[after->outputs.items[i].value];
        double *at = values[gradient->inputs[1]];
        bool close = true;
        for (int64_t j = 0; j < element_count(&gradient->type); j++) {
            double middle = at[j], step = 1e-6;
            at[j] = middle + step;
            double high = loss_of(after, given);
            at[j] = middle - step;
            double low = loss_of(after, given);
            at[j] = middle;
            close &= is_close(found[j], (high - low) / (2 * step));
        }
        expect(close, "the gradient and finite differences differ", before);
    }
}

static void check_compiled(const Graph *graph, double *const *values) {
#ifdef FLOWC_CODEGEN
    expect(compiled_agrees(graph, (const double *const *)values, BATCH),
           "generated code and the evaluator differ", graph);
#else
    (void)graph, (void)values;
#endif
}

static Domain domain_of(const Case *given) {
    const OpInfo *info = &op_info[given->op];
    Sizes indexed = info->class == LOOP_scatter ? given->declared : given->operands[0];
    bool places = info->class == LOOP_gather || info->class == LOOP_scatter;
    int limit = indexed.sizes[0] == SIZE_BATCH ? BATCH : indexed.sizes[0];
    return (Domain){info->domain ? info->domain : "any", places ? limit : 0};
}

/* Half the shapes are enough for types that differ only in loads and stores. */
static bool is_left_out(const Case *given) {
    static int count;
    return is_half(given->element) && count++ % 2;
}

static void run_case(const Case *given) {
    if (is_left_out(given)) return;
    Arena *arena = arena_new();
    const OpInfo *info = &op_info[given->op];
    Domain domain = domain_of(given);
    Graph *graph = case_graph(arena, given);
    if (graph) {
        double **values = random_values(graph, domain);
        check_text(graph);
        if (info->class == LOOP_elementwise) check_forward(given, graph, values);
        check_compiled(graph, values);
    }
    Case exact = *given;
    exact.element = TYPE_f64;
    Graph *gradient = given->element == TYPE_f64 ? gradient_graph(arena, &exact) : NULL;
    bool smooth = info->gradient && strspn(info->gradient, "; ") < strlen(info->gradient);
    if (gradient && smooth) check_gradients(gradient, random_values(gradient, domain));
    arena_free(arena);
}

/* Cases. */

/* Operand shapes of elementwise ops; ops with fewer operands use the first ones. */
static const Sizes elementwise_shapes[][ARITY_LIMIT] = {
    {{0, {0}}, {0, {0}}, {0, {0}}},
    {{1, {1}}, {1, {1}}, {1, {1}}},
    {{1, {13}}, {1, {13}}, {1, {13}}},
    {{1, {17}}, {0, {0}}, {1, {1}}},
    {{0, {0}}, {1, {7}}, {0, {0}}},
    {{2, {5, 3}}, {2, {5, 3}}, {2, {5, 3}}},
    {{2, {5, 3}}, {1, {3}}, {2, {5, 1}}},
    {{1, {3}}, {2, {5, 3}}, {0, {0}}},
    {{2, {1, 3}}, {2, {5, 1}}, {2, {5, 3}}},
    {{3, {2, 1, 7}}, {2, {3, 1}}, {1, {7}}},
    {{2, {SIZE_BATCH, 3}}, {1, {3}}, {2, {SIZE_BATCH, 1}}},
    {{1, {1}}, {2, {SIZE_BATCH, 1}}, {3, {2, 1, 3}}},
};

static const Sizes reduced_shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {11}},
    {2, {5, 3}},
    {2, {1, 7}},
    {3, {2, 3, 5}},
    {3, {2, 1, SIZE_BATCH}},
    {2, {SIZE_BATCH, 1}},
    {2, {3, 65}},
};

static const Sizes contracted_shapes[][2] = {
    {{2, {1, 1}}, {2, {1, 1}}},
    {{2, {3, 5}}, {2, {5, 7}}},
    {{2, {1, 5}}, {2, {5, 1}}},
    {{2, {SIZE_BATCH, 3}}, {2, {3, 2}}},
    {{3, {2, 3, 5}}, {3, {2, 5, 4}}},
    {{3, {2, 3, 5}}, {2, {5, 4}}},
    {{3, {SIZE_BATCH, 3, 2}}, {2, {2, 5}}},
};

/* What is gathered from, and the index. */
static const Sizes gathered_shapes[][2] = {
    {{1, {1}}, {0, {0}}},
    {{1, {7}}, {1, {5}}},
    {{2, {5, 1}}, {1, {1}}},
    {{2, {5, 3}}, {0, {0}}},
    {{2, {5, 17}}, {1, {13}}},
    {{2, {9, 3}}, {2, {SIZE_BATCH, 2}}},
    {{3, {3, 2, 5}}, {1, {SIZE_BATCH}}},
    {{2, {SIZE_BATCH, 3}}, {2, {1, 7}}},
};

/* The index, and the result; the updates follow. */
static const Sizes scattered_shapes[][2] = {
    {{0, {0}}, {1, {1}}},
    {{1, {5}}, {1, {7}}},
    {{1, {31}}, {1, {3}}},
    {{0, {0}}, {2, {5, 3}}},
    {{1, {13}}, {2, {37, 17}}},
    {{2, {SIZE_BATCH, 2}}, {2, {9, 3}}},
    {{1, {SIZE_BATCH}}, {3, {3, 2, 5}}},
    {{1, {7}}, {2, {SIZE_BATCH, 1}}},
};

/* From and to, for reshape, broadcast and generators; what does not fit is left out. */
static const Sizes moved_shapes[][2] = {
    {{0, {0}}, {1, {1}}},
    {{0, {0}}, {2, {2, 3}}},
    {{1, {6}}, {2, {2, 3}}},
    {{2, {2, 3}}, {1, {6}}},
    {{2, {SIZE_BATCH, 6}}, {3, {SIZE_BATCH, 2, 3}}},
    {{1, {3}}, {3, {2, 5, 3}}},
    {{2, {5, 1}}, {3, {2, 5, 3}}},
    {{2, {2, 1}}, {2, {2, SIZE_BATCH}}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void run_elementwise(Case given) {
    for (size_t i = 0; i < COUNT(elementwise_shapes); i++) {
        memcpy(given.operands, elementwise_shapes[i], sizeof given.operands);
        run_case(&given);
    }
}

static void run_reductions(Case given) {
    for (size_t i = 0; i < COUNT(reduced_shapes); i++)
        for (uint32_t axes = 0; axes < 1u << reduced_shapes[i].rank; axes++) {
            given.operands[0] = reduced_shapes[i];
            given.axes = axes;
            run_case(&given);
        }
}

static void run_rows(Case given) {
    for (size_t i = 0; i < COUNT(reduced_shapes); i++) {
        given.operands[0] = reduced_shapes[i];
        run_case(&given);
    }
}

static void run_contractions(Case given) {
    for (size_t i = 0; i < COUNT(contracted_shapes); i++) {
        memcpy(given.operands, contracted_shapes[i], sizeof contracted_shapes[i]);
        run_case(&given);
    }
}

static void run_gathers(Case given) {
    for (size_t i = 0; i < COUNT(gathered_shapes); i++) {
        memcpy(given.operands, gathered_shapes[i], sizeof gathered_shapes[i]);
        run_case(&given);
    }
}

static void run_scatters(Case given) {
    for (size_t i = 0; i < COUNT(scattered_shapes); i++) {
        const Sizes *index = &scattered_shapes[i][0], *result = &scattered_shapes[i][1];
        Sizes updates = *index;
        for (int j = 1; j < result->rank; j++) updates.sizes[updates.rank++] = result->sizes[j];
        given.operands[0] = *index;
        given.operands[1] = updates;
        given.declared = *result;
        run_case(&given);
    }
}

static void run_moves(Case given) {
    for (size_t i = 0; i < COUNT(moved_shapes); i++) {
        given.operands[0] = moved_shapes[i][0];
        given.declared = moved_shapes[i][1];
        if (op_info[given.op].class == LOOP_generate) given.operands[0].rank = 0;
        run_case(&given);
    }
}

static void run_class(Case given) {
    switch (op_info[given.op].class) {
    case LOOP_elementwise: run_elementwise(given); return;
    case LOOP_reduce: run_reductions(given); return;
    case LOOP_contract: run_contractions(given); return;
    case LOOP_row: run_rows(given); return;
    case LOOP_move:
    case LOOP_generate: run_moves(given); return;
    case LOOP_gather: run_gathers(given); return;
    case LOOP_scatter: run_scatters(given); return;
    case LOOP_none: return;
    }
}

/* Views. */

/* Where the element of a result at coordinates o lies in an operand; -1: nowhere. */
typedef int Formula(const int *o);

/* A view of a weight "a", as graph text. */
typedef struct ViewCase {
    const char *operand, *view, *result;
    Formula *formula;
    double fill;
} ViewCase;

static int exchanged(const int *o) {
    return (o[2] * 3 + o[0]) * 5 + o[1];
}

static int every_second(const int *o) {
    return 2 * o[0] + 1;
}

static int backwards(const int *o) {
    return 6 - o[0];
}

static int padded(const int *o) {
    int y = o[0] - 1, x = o[1] - 2;
    return y >= 0 && y < 3 && x >= 0 && x < 4 ? y * 4 + x : -1;
}

static int cut_and_padded(const int *o) {
    return o[0] + 2 < 5 ? o[0] + 2 : -1;
}

static int windowed(const int *o) {
    return (o[0] * 6 + 2 * o[1] + o[2]) * 2 + o[3];
}

static int windowed_widely(const int *o) {
    return o[0] + 3 * o[1];
}

static int windowed_twice(const int *o) {
    return 2 * o[0] + 3 * o[1] + o[2];
}

static int windowed_padded(const int *o) {
    int x = 2 * o[0] + o[1] - 1;
    return x >= 0 && x < 7 ? x : -1;
}

static int dilated(const int *o) {
    return (o[0] - 1) % 3 == 0 ? (o[0] - 1) / 3 : -1;
}

static int thinned_by_halves(const int *o) {
    int x = 3 * o[0] - o[1];
    return x >= 0 && x % 2 == 0 && x / 2 < 5 ? x / 2 : -1;
}

static int diagonal(const int *o) {
    return o[0] * 5 + o[0];
}

static int near_diagonal(const int *o) {
    return o[0] + 2 < 6 ? o[0] * 6 + o[0] + 2 : -1;
}

static int repeated(const int *o) {
    return o[1];
}

static int one_column(const int *o) {
    return o[0] * 4 + 2;
}

static int one_number(const int *o) {
    (void)o;
    return 0;
}

static int sheared(const int *o) {
    int x = o[0] + o[1] - 1;
    return x >= 0 && x < 4 ? o[0] * 4 + x : -1;
}

static int mixed(const int *o) {
    int y = o[0] + o[1], x = o[0] - o[1];
    return y < 3 && x >= 0 && x < 3 ? y * 3 + x : -1;
}

static int last_record_first(const int *o) {
    return (BATCH - 1 - o[0]) * 3 + o[1];
}

static const ViewCase view_cases[] = {
    {"[2, 3, 5]", "[i2, i0, i1]", "[3, 5, 2]", exchanged, 0},
    {"[8]", "[2*i0 + 1]", "[4]", every_second, 0},
    {"[7]", "[-i0 + 6]", "[7]", backwards, 0},
    {"[3, 4]", "[i0 - 1, i1 - 2] fill 0.5", "[5, 7]", padded, 0.5},
    {"[5]", "[i0 + 2] fill -1", "[6]", cut_and_padded, -1},
    {"[B, 6, 2]", "[i0, 2*i1 + i2, i3]", "[B, 2, 3, 2]", windowed, 0},
    {"[13]", "[i0 + 3*i1]", "[5, 3]", windowed_widely, 0},
    {"[12]", "[2*i0 + 3*i1 + i2]", "[3, 3, 2]", windowed_twice, 0},
    {"[7]", "[2*i0 + i1 - 1] fill 2", "[4, 3]", windowed_padded, 2},
    {"[3]", "[(i0 - 1)/3]", "[10]", dilated, 0},
    {"[5]", "[(3*i0 - i1)/2] fill 1", "[4, 5]", thinned_by_halves, 1},
    {"[4, 5]", "[i0, i0]", "[4]", diagonal, 0},
    {"[6, 6]", "[i0, i0 + 2]", "[6]", near_diagonal, 0},
    {"[3]", "[i1]", "[4, 3]", repeated, 0},
    {"[3, 4]", "[i0, 2]", "[3]", one_column, 0},
    {"[1, 1]", "[0, 0]", "[5]", one_number, 0},
    {"[3, 4]", "[i0, i0 + i1 - 1] fill 3", "[3, 4]", sheared, 3},
    {"[3, 3]", "[i0 + i1, i0 - i1]", "[3, 3]", mixed, 0},
    {"[B, 3]", "[-i0 + B - 1, i1]", "[B, 3]", last_record_first, 0},
};

static Graph *read_graph(Arena *arena, const char *text) {
    Diagnostics *problems = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "case.graph", text, strlen(text));
    Graph *graph = graph_parse(arena, source, problems);
    diagnostics_print(problems, stdout, false);
    return graph;
}

static Graph *view_graph(Arena *arena, const ViewCase *given, const char *element) {
    return read_graph(arena,
                      arena_format(arena,
                                   "graph \"view\" batch B <= 9\n"
                                   "%%0 = weight \"a\" : %s%s\n"
                                   "%%1 = view %%0 %s : %s%s\n"
                                   "result \"y\" %%1\n",
                                   element, given->operand, given->view, element, given->result));
}

/* loss = sum(y^3), its gradient by a, and the gradient of the sum of that gradient's squares: one
 * through the view, the adjoint and the adjoint's adjoint. */
static Graph *view_gradients(Arena *arena, const ViewCase *given) {
    Graph *graph = view_graph(arena, given, "f64");
    Range range = {0};
    NodeId a = 0, y = 1;
    for (int i = 0; i < 2; i++) {
        Type type = graph_node(graph, y)->type;
        NodeId power = graph_make(graph, OP_multiply, y, y, 0, range);
        if (!i) power = graph_make(graph, OP_multiply, power, y, 0, range);
        NodeId sum = graph_reduce(graph, OP_sum, power, (1u << type.rank) - 1, range);
        NodeId loss = graph_declared(graph, OP_reshape, sum, type_scalar(TYPE_f64), range);
        y = graph_make(graph, OP_gradient, loss, a, 0, range);
        graph->outputs.count = 0;
        graph_output(graph, OUTPUT_result, "loss", loss, NODE_NONE);
        graph_output(graph, OUTPUT_result, "gradient", y, NODE_NONE);
        check_gradients(graph, random_values(graph, (Domain){"any", 0}));
    }
    return graph;
}

static void check_view(const ViewCase *given, const Graph *graph, double *const *values) {
    Evaluation evaluation =
        graph_evaluate(graph->arena, graph, (const double *const *)values, BATCH, true);
    const Type *type = &graph_node(graph, 1)->type;
    bool equal = true;
    for (int64_t i = 0; i < evaluation.counts[1]; i++) {
        int o[RANK_LIMIT];
        int64_t rest = i, batch = BATCH;
        for (int axis = type->rank - 1; axis >= 0; axis--) {
            int64_t size = dim_evaluate(type->dims[axis], symbol_value, &batch);
            o[axis] = (int)(rest % size);
            rest /= size;
        }
        int place = given->formula(o);
        equal &= evaluation.values[1][i] == (place < 0 ? given->fill : values[0][place]);
    }
    expect(equal, "the evaluator and the formula differ", graph);
}

/* The same after every simplification. */
static void check_simplified(const Graph *graph, double *const *values) {
    Diagnostics *problems = diagnostics_new(graph->arena);
    const Graph *simple = differentiate(graph->arena, graph, problems);
    const double *const *given = values_for(simple, graph, values);
    Evaluation first =
        graph_evaluate(graph->arena, graph, (const double *const *)values, BATCH, true);
    Evaluation second = graph_evaluate(graph->arena, simple, given, BATCH, true);
    NodeId a = graph->outputs.items[0].value, b = simple->outputs.items[0].value;
    bool equal = first.counts[a] == second.counts[b];
    for (int64_t i = 0; equal && i < first.counts[a]; i++)
        equal = first.values[a][i] == second.values[b][i];
    expect(equal, "what is simpler differs", simple);
}

static void run_view(const ViewCase *given) {
    Arena *arena = arena_new();
    Graph *graph = view_graph(arena, given, "f64");
    expect(graph != NULL, given->view, graph_new(arena, dimensions_new(arena), "none"));
    if (graph) {
        double **values = random_values(graph, (Domain){"any", 0});
        check_text(graph);
        check_view(given, graph, values);
        check_simplified(graph, values);
        Graph *gradients = view_gradients(arena, given);
        Graph *all = differentiate(arena, gradients, diagnostics_new(arena));
        if (all) check_compiled(all, (double *const *)values_for(all, graph, values));
    }
    arena_free(arena);
}

static int finish(void) {
    if (tally.failed) printf("%s: %d passed, %d FAILED\n", tally.name, tally.passed, tally.failed);
    else if (tally.passed) printf("%s: %d passed\n", tally.name, tally.passed);
    return tally.failed;
}

static int run_views(void) {
    tally = (Tally){.name = "views"};
    random_state = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < COUNT(view_cases); i++) run_view(&view_cases[i]);
    return finish();
}

static int run_op(Op op) {
    static const Element elements[] = {TYPE_f64, TYPE_f32, TYPE_i32, TYPE_bf16, TYPE_f16};
    tally = (Tally){.name = op_info[op].name};
    random_state = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < COUNT(elements); i++)
        run_class((Case){.op = op, .element = elements[i]});
    return finish();
}

/* Whole graphs. */

static int run_file(const char *path) {
    Arena *arena = arena_new();
    Diagnostics *problems = diagnostics_new(arena);
    const char *problem = NULL;
    const Source *source = source_read(arena, path, &problem);
    Graph *graph = source ? graph_parse(arena, source, problems) : NULL;
    diagnostics_print(problems, stdout, false);
    tally = (Tally){.name = path, .failed = !graph};
    random_state = 0x9e3779b97f4a7c15;
    if (problem) printf("%s: %s\n", path, problem);
    if (graph) check_gradients(graph, random_values(graph, (Domain){"any", 0}));
    int failed = finish();
    arena_free(arena);
    return failed;
}

static const char *const whole_graphs[] = {
    "tests/passes/product.graph",     "tests/passes/shared_loss.graph",
    "tests/passes/independent.graph", "tests/passes/integers.graph",
    "tests/passes/twice.graph",       "tests/passes/contraction.graph",
    "tests/passes/mlp.graph",         "tests/passes/scan.graph",
    "tests/passes/scan_two.graph",    "tests/passes/scan_nested.graph",
    "tests/passes/scan_twice.graph",  "tests/passes/scan_counter.graph",
};

/* All ops and graphs, or the op or graph named. */
int main(int argc, char **argv) {
    int failed = 0;
    for (int op = 0; op < OP_COUNT; op++)
        if (argc == 1 || !strcmp(op_info[op].name, argv[1])) failed += run_op((Op)op);
    if (argc == 1 || !strcmp("view", argv[1])) failed += run_views();
    for (int i = 1; i < argc; i++)
        if (strchr(argv[i], '.')) failed += run_file(argv[i]);
    if (argc > 1) return failed != 0;
    for (size_t i = 0; i < COUNT(whole_graphs); i++) failed += run_file(whole_graphs[i]);
    return failed != 0;
}
