/* Every op of ops.def, for every element type it takes and many shapes, without naming one: the
 * evaluator against the formula, the gradient against finite differences, the text against itself,
 * and generated code against the evaluator. All cases of an op are compiled as one program.
 *
 * A new elementwise op or reduction is tested as soon as it has its entry; its `domain` says
 * where its operands lie. `ops NAME…` tests these; LONG=1 makes large tensors of every type. */
#include "compiler/graph/build.h"
#include "tests/codegen/compiled.h"
#include "tests/graphs/check.h"
#include "tests/graphs/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_BATCH = -1, CASE_RANK = 3, LARGE = 300000, GRADIENT_LIMIT = 200 };

/* Sizes of one operand; SIZE_BATCH stands for the batch. */
typedef struct Sizes {
    int rank;
    int sizes[CASE_RANK];
} Sizes;

/* One node to test. */
typedef struct Case {
    Op op;
    Element element, index, to; /* of operands, of those that are places, of the result of a cast */
    Sizes operands[ARITY_LIMIT];
    uint32_t axes;
    Sizes declared;     /* of the result, for ops that declare it */
    bool views;         /* operands are every second element of larger ones, turned */
    const char *domain; /* NULL: the op's */
    Graph *graph;
} Case;
typedef Vector(Case) Cases;

/* The cases of one op. */
typedef struct Suite {
    Arena *arena;
    Dimensions *dimensions;
    Dim batch;
    Cases small, large;
    bool is_long;
} Suite;

/* Graphs. */

static int size_of(const Sizes *sizes, int i) {
    return sizes->sizes[i] == SIZE_BATCH ? BATCH : sizes->sizes[i];
}

static int64_t count_of(const Sizes *sizes) {
    int64_t count = 1;
    for (int i = 0; i < sizes->rank; i++) count *= size_of(sizes, i);
    return count;
}

static Type sizes_type(const Graph *graph, Element element, const Sizes *sizes) {
    Type type = {.element = element, .rank = sizes->rank};
    for (int i = 0; i < sizes->rank; i++)
        type.dims[i] = sizes->sizes[i] == SIZE_BATCH
                           ? graph->batch
                           : dim_constant(graph->dimensions, sizes->sizes[i]);
    return type;
}

/* Is this operand of the op a place? */
static bool is_index(Op op, int i) {
    return (op_info[op].class == LOOP_gather && i == 1) ||
           (op_info[op].class == LOOP_scatter && i == 0);
}

static Element operand_element(const Case *given, int i) {
    if (is_index(given->op, i)) return given->index;
    return op_has_condition(given->op) && i == 0 ? TYPE_bool : given->element;
}

static NodeId add_leaf(Graph *graph, Op op, const char *name, Type type) {
    Problem problem;
    return graph_add(graph, (Node){.op = op, .name = name, .type = type}, &problem);
}

/* Every second element of a larger leaf, whose last two axes are exchanged. */
static NodeId add_view(Graph *graph, Op leaf, const char *name, Type type) {
    Dimensions *table = graph->dimensions;
    View view = view_identity(table, type.rank);
    Type from = type;
    int last = type.rank - 1;
    if (last > 0) {
        view = view_transposition(table, type.rank);
        from.dims[last] = type.dims[last - 1];
        from.dims[last - 1] = type.dims[last];
        last--;
    }
    Dim one = dim_constant(table, 1);
    from.dims[last] = dim_add(table, dim_add(table, from.dims[last], from.dims[last]), one);
    view.coordinates[last].start = one;
    for (int i = 0; i < type.rank; i++) view.coordinates[last].factors[i] *= 2;
    Node node = {.op = OP_view, .type = type, .view = &view};
    Problem problem;
    node.inputs[0] = add_leaf(graph, leaf, name, from);
    return graph_add(graph, node, &problem);
}

static NodeId add_operand(Graph *graph, Op leaf, const Case *given, int i) {
    static const char *const names[] = {"a", "b", "c"};
    Type type = sizes_type(graph, operand_element(given, i), &given->operands[i]);
    if (is_index(given->op, i)) return add_leaf(graph, leaf, "index", type);
    bool views = given->views && type.rank;
    return views ? add_view(graph, leaf, names[i], type) : add_leaf(graph, leaf, names[i], type);
}

/* The case's node over leaves a, b and c. NODE_NONE when the op does not take such operands. */
static NodeId add_case(Graph *graph, Op leaf, const Case *given) {
    const OpInfo *info = &op_info[given->op];
    Node node = {.op = given->op,
                 .axes = given->axes,
                 .stream = 3,
                 .name = "field",
                 .low = INT32_MIN,
                 .high = INT32_MAX};
    for (int i = 0; i < info->arity; i++) node.inputs[i] = add_operand(graph, leaf, given, i);
    bool random = info->class == LOOP_generate && info->arity;
    node.type = sizes_type(graph, random ? TYPE_f32 : given->element, &given->declared);
    if (given->op == OP_cast) node.type = sizes_type(graph, given->to, &given->operands[0]);
    Problem problem;
    return graph_add(graph, node, &problem);
}

/* NULL when the op does not take such operands. */
static Graph *case_graph(Suite *suite, const Case *given) {
    Graph *graph = graph_new(suite->arena, suite->dimensions, "case");
    graph->batch = suite->batch;
    NodeId y = add_case(graph, OP_input, given);
    if (y == NODE_NONE) return NULL;
    graph_output(graph, OUTPUT_result, "y", y, NODE_NONE);
    return graph;
}

static bool is_long(void) {
    const char *set = getenv("LONG");
    return set && *set;
}

static Suite new_suite(void) {
    Arena *arena = arena_new();
    Suite suite = {.arena = arena, .dimensions = dimensions_new(arena)};
    suite.batch = dim_symbol(suite.dimensions, "B", 64, true);
    suite.is_long = is_long();
    return suite;
}

/* loss = sum(y * weights of its own), and the gradient by every operand. */
static Graph *gradient_graph(Suite *suite, const Case *given) {
    Graph *graph = graph_new(suite->arena, suite->dimensions, "gradient");
    graph->batch = suite->batch;
    NodeId y = add_case(graph, OP_weight, given);
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

/* The element of an operand that the result's element uses, found by walking all coordinates. */
static int64_t operand_place(const Sizes *operand, const Sizes *result, int64_t index) {
    int64_t coordinates[CASE_RANK], place = 0;
    for (int i = result->rank - 1; i >= 0; i--) {
        coordinates[i] = index % size_of(result, i);
        index /= size_of(result, i);
    }
    for (int i = 0; i < operand->rank; i++) {
        int64_t size = size_of(operand, i);
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
static void check_forward(Arena *arena, const Case *given, double *const *values) {
    const Graph *graph = given->graph;
    Evaluation evaluation =
        graph_evaluate(arena, graph, (const double *const *)values, BATCH, false);
    NodeId y = graph->outputs.items[0].value;
    Element element = graph_node(graph, y)->type.element;
    Sizes result = widest(given);
    bool equal = true;
    for (int64_t i = 0; i < evaluation.counts[y]; i++) {
        double operands[ARITY_LIMIT] = {0};
        for (int j = 0; j < op_info[given->op].arity; j++)
            operands[j] = values[j][operand_place(&given->operands[j], &result, i)];
        Scalars scalars = {.a = operands[0], .b = operands[1], .c = operands[2]};
        double direct = element_round(element, formula_evaluate(given->op, &scalars));
        equal &= equal_values(direct, evaluation.values[y][i]);
    }
    check_holds(equal, "the evaluator and the formula differ", graph);
}

static Domain domain_of(const Case *given) {
    const OpInfo *info = &op_info[given->op];
    const Sizes *indexed = info->class == LOOP_scatter ? &given->declared : &given->operands[0];
    const char *domain = given->domain ? given->domain : info->domain;
    return (Domain){domain ? domain : "any", indexed->rank ? size_of(indexed, 0) : 1};
}

static Closeness closeness_of(Op op) {
    switch (op_info[op].class) {
    case LOOP_elementwise:
    case LOOP_move:
    case LOOP_gather: return CLOSE_as_elements;
    default: return CLOSE_as_sums;
    }
}

static void check_case(const Case *given, const Compiled *compiled, size_t index) {
    Arena *arena = arena_new();
    double **values = random_values(arena, given->graph, domain_of(given), index);
    check_text(given->graph);
    bool elementwise = op_info[given->op].class == LOOP_elementwise;
    if (elementwise && !given->views) check_forward(arena, given, values);
    check_holds(runs_as_evaluated(compiled, index, (const double *const *)values, BATCH,
                                  closeness_of(given->op)),
                "generated code and the evaluator differ", given->graph);
    arena_free(arena);
}

static bool has_gradient(const Case *given) {
    const char *gradient = op_info[given->op].gradient;
    if (!gradient || !gradient[strspn(gradient, "; ")]) return false;
    for (int i = 0; i < op_info[given->op].arity; i++)
        if (count_of(&given->operands[i]) > GRADIENT_LIMIT) return false;
    return given->element == TYPE_f64 && !given->domain;
}

static void check_gradient(const Case *given, size_t index) {
    Suite alone = new_suite();
    Graph *graph = gradient_graph(&alone, given);
    if (graph) check_gradients(graph, random_values(alone.arena, graph, domain_of(given), index));
    arena_free(alone.arena);
}

/* Compiles them as one program, and checks each. */
static void check_cases(Arena *arena, const Cases *cases) {
    if (!cases->count) return;
    const Graph **graphs = arena_new_array(arena, const Graph *, cases->count);
    for (size_t i = 0; i < cases->count; i++) graphs[i] = cases->items[i].graph;
    Compiled *compiled = compile_graphs(arena, graphs, cases->count);
    check_holds(compiled, "generated code is broken", graphs[0]);
    if (!compiled) return;
    for (size_t i = 0; i < cases->count; i++) {
        check_case(&cases->items[i], compiled, i);
        if (has_gradient(&cases->items[i])) check_gradient(&cases->items[i], i);
    }
    compiled_unload(compiled);
}

/* Cases. */

static bool is_large(const Case *given) {
    int64_t count = 0;
    for (int i = 0; i < op_info[given->op].arity; i++) count += count_of(&given->operands[i]);
    return count > LARGE;
}

static void add(Suite *suite, Case given) {
    bool large = is_large(&given);
    bool plain = given.element == TYPE_f32 && given.operands[0].rank < 3 && !given.views;
    if (large && !plain && !suite->is_long) return;
    given.graph = case_graph(suite, &given);
    if (!given.graph) return;
    if (large) vector_push(suite->arena, &suite->large, given);
    else vector_push(suite->arena, &suite->small, given);
}

/* Without LONG one in two or four cases is enough for types that differ in little but loads and
 * stores. */
static bool is_left_out(const Suite *suite, const Case *given, size_t i) {
    bool narrow =
        given->element != TYPE_f64 && given->element != TYPE_f32 && given->element != TYPE_i32;
    size_t share = given->op == OP_cast ? 4 : narrow ? 2 : 1;
    return !suite->is_long && (i + given->element + given->to) % share;
}

/* The case, and every third also over views. */
static void add_case_at(Suite *suite, Case given, size_t i) {
    if (is_left_out(suite, &given, i)) return;
    add(suite, given);
    given.views = true;
    if (i % 3 == 1) add(suite, given);
}

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
    {{1, {63}}, {1, {63}}, {1, {1}}},
    {{1, {1025}}, {1, {1025}}, {1, {1025}}},
    {{2, {129, 65}}, {2, {1, 65}}, {2, {129, 1}}},
    {{1, {40009}}, {1, {1}}, {1, {40009}}},
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
    {1, {1023}},
    {2, {129, 65}},
    {2, {7, 5003}},
    {2, {5003, 7}},
    {1, {1000003}},
    {2, {1009, 1013}},
    {3, {101, 103, 107}},
};

static const Sizes row_shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {11}},
    {2, {5, 3}},
    {2, {1, 7}},
    {3, {2, 3, 5}},
    {3, {2, 1, SIZE_BATCH}},
    {2, {SIZE_BATCH, 1}},
    {2, {3, 65}},
    {1, {1023}},
    {2, {129, 64}},
    {2, {3, 20011}},
    {1, {1000003}},
};

static const Sizes contracted_shapes[][2] = {
    {{2, {1, 1}}, {2, {1, 1}}},
    {{2, {3, 5}}, {2, {5, 7}}},
    {{2, {1, 5}}, {2, {5, 1}}},
    {{2, {SIZE_BATCH, 3}}, {2, {3, 2}}},
    {{3, {2, 3, 5}}, {3, {2, 5, 4}}},
    {{3, {2, 3, 5}}, {2, {5, 4}}},
    {{3, {SIZE_BATCH, 3, 2}}, {2, {2, 5}}},
    {{2, {65, 63}}, {2, {63, 129}}},
    {{3, {2, 33, 17}}, {3, {2, 17, 31}}},
    {{2, {1, 1009}}, {2, {1009, 1}}},
    {{2, {31, 1}}, {2, {1, 17}}},
    {{2, {130, 300}}, {2, {300, 70}}},
    {{2, {3, 100003}}, {2, {100003, 2}}},
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
    {{2, {127, 33}}, {1, {65}}},
    {{2, {3, 40009}}, {1, {2}}},
    {{2, {101, 63}}, {1, {6007}}},
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
    {{1, {65}}, {2, {127, 33}}},
    {{1, {2}}, {2, {3, 40009}}},
    {{1, {6007}}, {2, {101, 63}}},
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
    {{2, {129, 65}}, {3, {5, 129, 13}}},
    {{2, {65, 1}}, {3, {129, 65, 63}}},
    {{1, {40009}}, {2, {1, 40009}}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const Element elements[] = {TYPE_f64, TYPE_f32, TYPE_i32, TYPE_bf16, TYPE_f16,
                                   TYPE_i64, TYPE_i8,  TYPE_u8,  TYPE_bool};

/* Special numbers of all operands with each other. */
static void add_special(Suite *suite, Case given) {
    bool floats = element_info[given.to].class == CLASS_floating || given.op != OP_cast;
    if (element_info[given.element].class != CLASS_floating || !floats) return;
    int count = 1;
    for (int i = 0; i < op_info[given.op].arity; i++) count *= 15;
    for (int i = 0; i < op_info[given.op].arity; i++) given.operands[i] = (Sizes){1, {count}};
    given.domain = "special";
    add(suite, given);
}

static void add_elementwise(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(elementwise_shapes); i++) {
        memcpy(given.operands, elementwise_shapes[i], sizeof given.operands);
        add_case_at(suite, given, i);
    }
    add_special(suite, given);
}

static void add_casts(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(elements); i++) {
        given.to = elements[i];
        add_elementwise(suite, given);
    }
}

static void add_reductions(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(reduced_shapes); i++)
        for (uint32_t axes = 0; axes < 1u << reduced_shapes[i].rank; axes++) {
            given.operands[0] = reduced_shapes[i];
            given.axes = axes;
            add_case_at(suite, given, i + axes);
        }
}

static void add_rows(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(row_shapes); i++) {
        given.operands[0] = row_shapes[i];
        add_case_at(suite, given, i);
    }
}

static void add_contractions(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(contracted_shapes); i++) {
        memcpy(given.operands, contracted_shapes[i], sizeof contracted_shapes[i]);
        add_case_at(suite, given, i);
    }
}

static Element index_element(size_t i) {
    static const Element integers[] = {TYPE_i32, TYPE_i64, TYPE_i8, TYPE_u8};
    return integers[i % COUNT(integers)];
}

static void add_gathers(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(gathered_shapes); i++) {
        memcpy(given.operands, gathered_shapes[i], sizeof gathered_shapes[i]);
        given.index = index_element(i);
        add_case_at(suite, given, i);
    }
}

static void add_scatters(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(scattered_shapes); i++) {
        const Sizes *index = &scattered_shapes[i][0], *result = &scattered_shapes[i][1];
        Sizes updates = *index;
        for (int j = 1; j < result->rank; j++) updates.sizes[updates.rank++] = result->sizes[j];
        given.operands[0] = *index;
        given.operands[1] = updates;
        given.declared = *result;
        given.index = index_element(i);
        add_case_at(suite, given, i);
    }
}

static void add_moves(Suite *suite, Case given) {
    for (size_t i = 0; i < COUNT(moved_shapes); i++) {
        given.operands[0] = moved_shapes[i][0];
        given.declared = moved_shapes[i][1];
        if (op_info[given.op].class == LOOP_generate) given.operands[0].rank = 0;
        add_case_at(suite, given, i);
    }
}

static void add_class(Suite *suite, Case given) {
    switch (op_info[given.op].class) {
    case LOOP_elementwise:
        if (given.op == OP_cast) add_casts(suite, given);
        else add_elementwise(suite, given);
        return;
    case LOOP_reduce: add_reductions(suite, given); return;
    case LOOP_contract: add_contractions(suite, given); return;
    case LOOP_row: add_rows(suite, given); return;
    case LOOP_move:
    case LOOP_generate: add_moves(suite, given); return;
    case LOOP_gather: add_gathers(suite, given); return;
    case LOOP_scatter: add_scatters(suite, given); return;
    case LOOP_none: return;
    }
}

static int run_op(Op op) {
    Suite suite = new_suite();
    begin_checks(op_info[op].name);
    for (size_t i = 0; i < COUNT(elements); i++)
        add_class(&suite, (Case){.op = op, .element = elements[i]});
    check_cases(suite.arena, &suite.small);
    check_cases(suite.arena, &suite.large);
    arena_free(suite.arena);
    return finish_checks();
}

static bool is_named(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(name, argv[i])) return true;
    return argc == 1;
}

int main(int argc, char **argv) {
    int failed = 0;
    /* As they are written: what optimises twenty thousand kernels takes most of the time. */
    if (!is_long()) setenv("FLOWC_TEST_FLAGS", "-O0", false);
    for (int op = 0; op < OP_COUNT; op++)
        if (is_named(op_info[op].name, argc, argv)) failed += run_op((Op)op);
    return failed != 0;
}
