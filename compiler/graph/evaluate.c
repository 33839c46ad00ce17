/* Evaluate: what a graph means, one element at a time. Nothing here is fast; everything is
 * plain. */
#include "compiler/graph/build.h"
#include "compiler/graph/list.h"
#include "compiler/graph/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A node's sizes for one batch. */
typedef struct Shape {
    int rank;
    int64_t sizes[RANK_LIMIT];
    int64_t count;
} Shape;

typedef struct Evaluator {
    Arena *arena;
    const Graph *graph;
    int64_t batch;
    const int64_t *sizes; /* of bounded dimensions; NULL: the largest */
    bool exact;
    Shape *shapes;   /* one a node */
    double ***parts; /* of each scan: its results */
    Evaluation result;
} Evaluator;

/* Symbols of which nothing is said are as large as they can be. */
static int64_t symbol_value(Dim symbol, const void *context) {
    const Evaluator *evaluator = context;
    int number = dim_bounded_number(symbol);
    if (number >= 0 && evaluator->sizes) return evaluator->sizes[number];
    if (dim_is_batch(symbol) || dim_bound(symbol) == SIZE_UNKNOWN) return evaluator->batch;
    return dim_bound(symbol);
}

static Shape shape_of(const Evaluator *evaluator, const Type *type) {
    Shape shape = {.rank = type->rank, .count = 1};
    for (int i = 0; i < type->rank; i++) {
        shape.sizes[i] = dim_evaluate(type->dims[i], symbol_value, evaluator);
        shape.count *= shape.sizes[i];
    }
    return shape;
}

/* Where the element at `index` of `large` lies in `small`, whose dimensions are those of large or
 * 1, aligned at the end. */
static int64_t place_in(const Shape *small, const Shape *large, int64_t index) {
    if (small->count == large->count) return index;
    int64_t place = 0, stride = 1;
    for (int i = 1; i <= small->rank; i++) {
        int64_t size = small->sizes[small->rank - i], whole = large->sizes[large->rank - i];
        if (size != 1) place += index % whole * stride;
        stride *= size;
        index /= whole;
    }
    return place;
}

/* The index among the reduced axes, rows first. */
static int64_t place_along(const Shape *shape, uint32_t axes, int64_t index) {
    int64_t place = 0, stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (axes >> i & 1) {
            place += index % shape->sizes[i] * stride;
            stride *= shape->sizes[i];
        }
        index /= shape->sizes[i];
    }
    return place;
}

static double rounded(const Evaluator *evaluator, const Node *node, double value) {
    Element element = node->type.element;
    bool floating = is_floating(element);
    return evaluator->exact && floating ? value : element_round(element, value);
}

static const double *operand(const Evaluator *evaluator, const Node *node, int i) {
    return evaluator->result.values[node->inputs[i]];
}

static void evaluate_elementwise(const Evaluator *evaluator, const Node *node, const Shape *shape,
                                 double *y) {
    for (int64_t index = 0; index < shape->count; index++) {
        double values[ARITY_LIMIT] = {0};
        for (int i = 0; i < node->input_count; i++)
            values[i] = operand(evaluator, node,
                                i)[place_in(&evaluator->shapes[node->inputs[i]], shape, index)];
        y[index] = op_evaluate(node, values, evaluator->exact);
    }
}

static void evaluate_generate(const Evaluator *evaluator, const Node *node, const Shape *shape,
                              double *y) {
    Scalars scalars = {.stream = node->stream};
    if (node->input_count) scalars.a = operand(evaluator, node, 0)[0];
    for (int64_t i = 0; i < shape->count; i++) {
        scalars.index = i;
        y[i] = rounded(evaluator, node, formula_evaluate(node->op, &scalars));
    }
}

static double initial_value(const Node *node) {
    const char *initial = op_info[node->op].initial;
    if (!strcmp(initial, "lowest")) return -INFINITY;
    if (!strcmp(initial, "highest")) return INFINITY;
    return strtod(initial, NULL);
}

/* Whole numbers wrap at each step: a double can't hold their product. */
static double multiplied(const Evaluator *evaluator, const Node *node, double a, double b) {
    Node product = {.op = OP_multiply, .type = node->type};
    bool floating = is_floating(node->type.element);
    return op_evaluate(&product, (const double[]){a, b, 0}, floating || evaluator->exact);
}

static void evaluate_reduce(const Evaluator *evaluator, const Node *node, const Shape *shape,
                            double *y) {
    const Shape *from = &evaluator->shapes[node->inputs[0]];
    for (int64_t i = 0; i < shape->count; i++) y[i] = initial_value(node);
    for (int64_t i = 0; i < from->count; i++) {
        double *at = &y[place_in(shape, from, i)];
        Scalars scalars = {.a = operand(evaluator, node, 0)[i], .y = *at};
        *at = node->op == OP_prod ? multiplied(evaluator, node, scalars.y, scalars.a)
                                  : formula_evaluate(node->op, &scalars);
    }
    for (int64_t i = 0; i < shape->count; i++) y[i] = rounded(evaluator, node, y[i]);
}

/* The index of the first best element. */
static void evaluate_best(const Evaluator *evaluator, const Node *node, const Shape *shape,
                          double *y) {
    const Shape *from = &evaluator->shapes[node->inputs[0]];
    double *best = arena_new_array(evaluator->arena, double, shape->count);
    for (int64_t i = 0; i < from->count; i++) {
        double value = operand(evaluator, node, 0)[i];
        int64_t at = place_in(shape, from, i), along = place_along(from, node->axes, i);
        Scalars scalars = {.a = value, .y = best[at]};
        if (along && !formula_evaluate(node->op, &scalars)) continue;
        best[at] = value;
        y[at] = (double)along;
    }
}

/* Rows. */

static void accumulate_row(const Evaluator *evaluator, const Node *node, const double *a, double *y,
                           int64_t count) {
    bool whole = element_info[node->type.element].class == CLASS_integer;
    bool product = node->op == OP_cumprod, back = node->op == OP_cumsum_back;
    double total = product;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = back ? count - 1 - i : i;
        total = product ? multiplied(evaluator, node, total, a[at]) : total + a[at];
        if (whole) total = rounded(evaluator, node, total);
        y[at] = rounded(evaluator, node, total);
    }
}

static void best_of_row(const double *a, double *y, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 0; i < count; i++) {
        if (a[best] < a[i]) best = i;
        y[i] = (double)best;
    }
}

typedef struct Ranked {
    double value;
    int64_t index;
} Ranked;

static int by_value(const void *left, const void *right) {
    const Ranked *a = left, *b = right;
    if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? 1 : -1;
    if (a->value < b->value || b->value < a->value) return a->value < b->value ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void sort_row(Arena *arena, const double *a, double *y, int64_t count, double sign) {
    Ranked *ranked = arena_new_array(arena, Ranked, count);
    for (int64_t i = 0; i < count; i++) ranked[i] = (Ranked){sign * a[i], i};
    qsort(ranked, (size_t)count, sizeof *ranked, by_value);
    for (int64_t i = 0; i < count; i++) y[i] = (double)ranked[i].index;
}

static void evaluate_row(const Evaluator *evaluator, const Node *node, const Shape *shape,
                         double *y) {
    int64_t count = shape->sizes[shape->rank - 1];
    for (int64_t row = 0; row < shape->count; row += count) {
        const double *a = operand(evaluator, node, 0) + row;
        switch (node->op) {
        case OP_cumargmax: best_of_row(a, y + row, count); break;
        case OP_argsort: sort_row(evaluator->arena, a, y + row, count, 1); break;
        case OP_argsort_descending: sort_row(evaluator->arena, a, y + row, count, -1); break;
        default: accumulate_row(evaluator, node, a, y + row, count);
        }
    }
}

/* One matrix product onto y, which is zero; a is m × k, b is k × n. */
static void multiply_matrices(const double *a, const double *b, double *y, int64_t m, int64_t n,
                              int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) y[i * n + j] += a[i * k + l] * b[l * n + j];
}

static void evaluate_matmul(const Evaluator *evaluator, const Node *node, const Shape *shape,
                            double *y) {
    const Shape *from_a = &evaluator->shapes[node->inputs[0]];
    const Shape *from_b = &evaluator->shapes[node->inputs[1]];
    const double *a = operand(evaluator, node, 0), *b = operand(evaluator, node, 1);
    int64_t m = shape->sizes[shape->rank - 2], n = shape->sizes[shape->rank - 1];
    int64_t k = from_a->sizes[from_a->rank - 1];
    int64_t step_b = from_b->rank > 2 ? k * n : 0;
    for (int64_t i = 0; i * m * n < shape->count; i++)
        multiply_matrices(a + i * m * k, b + i * step_b, y + i * m * n, m, n, k);
    for (int64_t i = 0; i < shape->count; i++) y[i] = rounded(evaluator, node, y[i]);
}

/* A coordinate for the element of the result at `places`; -1 when it is not in the operand. */
static int64_t view_coordinate(const Coordinate *coordinate, int64_t start, int64_t size, int rank,
                               const int64_t *places) {
    int64_t sum = start, divisor = coordinate->divisor;
    for (int i = 0; i < rank; i++) sum += coordinate->factors[i] * places[i];
    if (divisor != 1 && sum % divisor) return -1;
    if (divisor != 1) sum /= divisor;
    return sum >= 0 && sum < size ? sum : -1;
}

/* On to the next element's, rows first. */
static void advance(const Shape *shape, int64_t *places) {
    for (int i = shape->rank - 1; i >= 0 && ++places[i] == shape->sizes[i]; i--) places[i] = 0;
}

static void evaluate_view(const Evaluator *evaluator, const Node *node, const Shape *shape,
                          double *y) {
    const Shape *from = &evaluator->shapes[node->inputs[0]];
    const Coordinate *coordinates = node->view->coordinates;
    double fill = rounded(evaluator, node, node->view->fill);
    int64_t starts[RANK_LIMIT], places[RANK_LIMIT] = {0};
    for (int i = 0; i < from->rank; i++)
        starts[i] = dim_evaluate(coordinates[i].start, symbol_value, evaluator);
    for (int64_t index = 0; index < shape->count; index++, advance(shape, places)) {
        int64_t place = 0;
        for (int i = 0; i < from->rank && place >= 0; i++) {
            int64_t at =
                view_coordinate(&coordinates[i], starts[i], from->sizes[i], shape->rank, places);
            place = at < 0 ? -1 : place * from->sizes[i] + at;
        }
        y[index] = place < 0 ? fill : operand(evaluator, node, 0)[place];
    }
}

static void evaluate_broadcast(const Evaluator *evaluator, const Node *node, const Shape *shape,
                               double *y) {
    const Shape *from = &evaluator->shapes[node->inputs[0]];
    for (int64_t i = 0; i < shape->count; i++)
        y[i] = operand(evaluator, node, 0)[place_in(from, shape, i)];
}

/* What lies outside is 0: only graphs that were not lowered can ask for it. */
static void evaluate_gather(const Evaluator *evaluator, const Node *node, const Shape *shape,
                            double *y) {
    const Shape *from = &evaluator->shapes[node->inputs[0]];
    const double *a = operand(evaluator, node, 0), *index = operand(evaluator, node, 1);
    int64_t rest = from->count / from->sizes[0];
    for (int64_t i = 0; i < shape->count; i++) {
        double row = index[i / rest];
        bool inside = row >= 0 && row < (double)from->sizes[0];
        y[i] = inside ? a[(int64_t)row * rest + i % rest] : 0;
    }
}

static void evaluate_scatter(const Evaluator *evaluator, const Node *node, const Shape *shape,
                             double *y) {
    int64_t count = evaluator->shapes[node->inputs[1]].count;
    bool half = is_half(node->type.element); /* rounded once */
    const double *index = operand(evaluator, node, 0), *updates = operand(evaluator, node, 1);
    int64_t rest = shape->count / shape->sizes[0];
    for (int64_t i = 0; i < count; i++) {
        double row = index[i / rest];
        if (!(row >= 0 && row < (double)shape->sizes[0])) continue;
        double *at = &y[(int64_t)row * rest + i % rest];
        *at = half ? *at + updates[i] : rounded(evaluator, node, *at + updates[i]);
    }
    for (int64_t i = 0; i < shape->count && half; i++) y[i] = rounded(evaluator, node, y[i]);
}

static bool passes_check(const Node *node, const double *values, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!(values[i] >= (double)node->low && values[i] < (double)node->high)) return false;
    return true;
}

static void evaluate_constant(const Evaluator *evaluator, const Node *node, const Shape *shape,
                              double *y) {
    for (int64_t i = 0; i < shape->count; i++) y[i] = rounded(evaluator, node, node->number);
}

/* The values of a scan while it runs. */
typedef struct Run {
    const Evaluator *evaluator;
    const Scan *scan;
    const NodeId *operands, *inputs;
    const double **carried;
    double **results;
    int64_t *counts; /* elements of a carried value or of one slice */
} Run;

static const double *const *turn_inputs(Arena *arena, const Run *run, int64_t turn,
                                        const double *number) {
    const Scan *scan = run->scan;
    const double **given = arena_new_array(arena, const double *, scan->body->nodes.count + 1);
    int count = scan_operand_count(scan);
    for (int i = 0; i <= count; i++) {
        if (run->inputs[i] == NODE_NONE) continue;
        const double **input = &given[run->inputs[i]];
        *input = i == count ? number : run->evaluator->result.values[run->operands[i]];
        if (i < scan->carried) *input = run->carried[i];
        else if (i < scan->carried + scan->scanned)
            *input += turn *
                      shape_of(run->evaluator, &graph_node(scan->body, run->inputs[i])->type).count;
    }
    return given;
}

static void evaluate_turn(Run *run, int64_t turn) {
    Arena *arena = arena_new();
    const Evaluator *evaluator = run->evaluator;
    double number = (double)turn;
    Evaluation evaluation =
        graph_evaluate_sized(arena, run->scan->body, turn_inputs(arena, run, turn, &number),
                             evaluator->batch, evaluator->sizes, evaluator->exact);
    for (int i = 0; i < scan_result_count(run->scan); i++) {
        bool carried = i < run->scan->carried;
        double *to = run->results[i] + (carried ? 0 : turn * run->counts[i]);
        memcpy(to, evaluation.values[run->scan->body->outputs.items[i].value],
               sizeof *to * (size_t)run->counts[i]);
        if (carried) run->carried[i] = to;
    }
    arena_free(arena);
}

static void evaluate_scan(const Evaluator *evaluator, NodeId id) {
    const Scan *scan = graph_node(evaluator->graph, id)->scan;
    Arena *arena = evaluator->arena;
    int results = scan_result_count(scan);
    Type turns = {.rank = 1, .dims = {scan->turns}};
    int64_t turn_count = shape_of(evaluator, &turns).count;
    Run run = {evaluator,
               scan,
               list_operands(arena, evaluator->graph, id),
               scan_inputs(arena, scan),
               arena_new_array(arena, const double *, scan->carried + 1),
               arena_new_array(arena, double *, results + 1),
               arena_new_array(arena, int64_t, results + 1)};
    for (int i = 0; i < results; i++) {
        Type type = scan_result_type(scan, i);
        int64_t count = shape_of(evaluator, &type).count;
        run.results[i] = arena_new_array(arena, double, count);
        run.counts[i] = i < scan->carried ? count : count / turn_count;
        if (i < scan->carried) run.carried[i] = evaluator->result.values[run.operands[i]];
    }
    evaluator->parts[id] = run.results;
    for (int64_t n = 0; n < turn_count; n++)
        evaluate_turn(&run, scan->backwards ? turn_count - 1 - n : n);
}

static void evaluate_node(const Evaluator *evaluator, NodeId id, const Shape *shape, double *y) {
    const Node *node = graph_node(evaluator->graph, id);
    switch (node->op) {
    case OP_list: return;
    case OP_scan: evaluate_scan(evaluator, id); return;
    case OP_part:
        memcpy(y, evaluator->parts[node->inputs[0]][node->part], sizeof *y * (size_t)shape->count);
        return;
    case OP_constant: evaluate_constant(evaluator, node, shape, y); return;
    case OP_matmul: evaluate_matmul(evaluator, node, shape, y); return;
    case OP_view: evaluate_view(evaluator, node, shape, y); return;
    case OP_broadcast: evaluate_broadcast(evaluator, node, shape, y); return;
    case OP_gather: evaluate_gather(evaluator, node, shape, y); return;
    case OP_scatter_add: evaluate_scatter(evaluator, node, shape, y); return;
    case OP_hold:
    case OP_reshape:
        memcpy(y, operand(evaluator, node, 0), sizeof *y * (size_t)shape->count);
        return;
    default: break;
    }
    switch (op_info[node->op].class) {
    case LOOP_elementwise: evaluate_elementwise(evaluator, node, shape, y); return;
    case LOOP_generate: evaluate_generate(evaluator, node, shape, y); return;
    case LOOP_row: evaluate_row(evaluator, node, shape, y); return;
    case LOOP_reduce:
        if (op_info[node->op].gives == GIVES_index) evaluate_best(evaluator, node, shape, y);
        else evaluate_reduce(evaluator, node, shape, y);
        return;
    default: abort(); /* gradient: differentiate has not run */
    }
}

Evaluation graph_evaluate(Arena *arena, const Graph *graph, const double *const *given,
                          int64_t batch, bool exact) {
    return graph_evaluate_sized(arena, graph, given, batch, NULL, exact);
}

Evaluation graph_evaluate_sized(Arena *arena, const Graph *graph, const double *const *given,
                                int64_t batch, const int64_t *sizes, bool exact) {
    size_t count = graph->nodes.count;
    Evaluator evaluator = {arena,
                           graph,
                           batch,
                           sizes,
                           exact,
                           arena_new_array(arena, Shape, count + 1),
                           arena_new_array(arena, double **, count + 1),
                           {.values = arena_new_array(arena, double *, count + 1),
                            .counts = arena_new_array(arena, int64_t, count + 1)}};
    Evaluation *result = &evaluator.result;
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id]) continue;
        Shape *shape = &evaluator.shapes[id];
        *shape = shape_of(&evaluator, &node->type);
        double *y = arena_new_array(arena, double, shape->count);
        result->values[id] = y;
        result->counts[id] = shape->count;
        if (node->op == OP_input || node->op == OP_weight)
            memcpy(y, given[id], sizeof *y * (size_t)shape->count);
        else evaluate_node(&evaluator, id, shape, y);
        if (node->op == OP_check && !result->failed_check && !passes_check(node, y, shape->count))
            result->failed_check = 1 + (int)id;
    }
    return *result;
}
