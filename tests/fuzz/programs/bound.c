/* Bound. */
#include "tests/fuzz/programs/bound.h"

#include "compiler/graph/build.h"
#include "compiler/graph/list.h"
#include "compiler/graph/scan.h"

#include <math.h>

enum {
    FUNCTION_ROUNDINGS = 4, /* of half a last place; the functions of kernel.h take at most 3 */
    NORMAL_ROUNDINGS = 16,  /* of random_normal, */
    NORMAL_LARGEST = 6,     /* in parts of its largest value */
};

typedef struct Extent {
    int rank;
    int64_t sizes[RANK_LIMIT], count;
} Extent;

/* A sum in any order. */
typedef struct Sum {
    double error, size; /* of the terms, added up */
    int64_t count;
    int digit; /* the last that any term has */
} Sum;

typedef struct Bounder {
    Arena *arena;
    const Graph *graph;
    const Evaluation *exact;
    const RunSizes *sizes;
    double **errors;
    double ***parts; /* of each scan: the errors of its results */
    Sum **sums; /* of each node: its elements, where a sum of them may be one sum of all terms */
} Bounder;

/* Shapes. */

static int64_t symbol_value(Dim symbol, const void *context) {
    const RunSizes *sizes = context;
    int number = dim_bounded_number(symbol);
    return number >= 0 ? sizes->bounded[number] : sizes->batch;
}

int64_t run_size(Dim dim, const RunSizes *sizes) {
    return dim_evaluate(dim, symbol_value, sizes);
}

static Extent extent_of(const Bounder *bounder, const Type *type) {
    Extent extent = {.rank = type->rank, .count = 1};
    for (int i = 0; i < type->rank; i++) {
        extent.sizes[i] = run_size(type->dims[i], bounder->sizes);
        extent.count *= extent.sizes[i];
    }
    return extent;
}

static Extent node_extent(const Bounder *bounder, NodeId id) {
    return extent_of(bounder, &graph_node(bounder->graph, id)->type);
}

/* Where the element at `index` of `large` is in `small`, which is stretched to it. */
static int64_t stretched_from(const Extent *small, const Extent *large, int64_t index) {
    int64_t place = 0, stride = 1;
    for (int i = 1; i <= small->rank; i++) {
        int64_t size = small->sizes[small->rank - i], whole = large->sizes[large->rank - i];
        place += size == 1 ? 0 : index % whole * stride;
        stride *= size;
        index /= whole;
    }
    return place;
}

/* Values and errors of an operand. */

static const double *values_of(const Bounder *bounder, const Node *node, int i) {
    return bounder->exact->values[node->inputs[i]];
}

static const double *errors_of(const Bounder *bounder, const Node *node, int i) {
    return bounder->errors[node->inputs[i]];
}

/* Rounding. */

static int digits_of(Element element) {
    return element == TYPE_f16 ? 11 : element == TYPE_bf16 ? 8 : element == TYPE_f32 ? 24 : 53;
}

/* The exponent of the smallest number. */
static int least_digit(Element element) {
    return element == TYPE_f16    ? -24
           : element == TYPE_bf16 ? -133
           : element == TYPE_f32  ? -149
                                  : -1074;
}

static double largest_of(Element element) {
    return element == TYPE_f16 ? 65504 : element == TYPE_f64 ? 0x1p1023 : 0x1p127;
}

/* Half a last place of numbers of this size, denormal ones included. */
static double half_place(Element element, double size) {
    double least = element == TYPE_f16 ? 0x1p-14 : element == TYPE_f64 ? 0x1p-1022 : 0x1p-126;
    return ldexp(fabs(size) > least ? fabs(size) : least, -digits_of(element));
}

/* Does a correctly rounded op give just this value? Of f64 we see the rounded value alone, so it
 * has to be one that f32 has room for too. */
static bool is_representable(Element element, double value) {
    return element_round(element == TYPE_f64 ? TYPE_f32 : element, value) == value;
}

/* The exponent of the last digit that is not 0. */
static int last_digit(double value) {
    int exponent;
    uint64_t digits = (uint64_t)ldexp(fabs(frexp(value, &exponent)), 53);
    return exponent - 53 + __builtin_ctzll(digits);
}

static Sum sum_begin(void) {
    return (Sum){.digit = 2000};
}

static void sum_add(Sum *sum, double value, double error) {
    sum->error += error;
    sum->size += fabs(value) + error;
    sum->count++;
    if (value != 0 && isfinite(value) && last_digit(value) < sum->digit)
        sum->digit = last_digit(value);
}

static Sum sum_of(const Bounder *bounder, NodeId id, int64_t i) {
    if (bounder->sums[id]) return bounder->sums[id][i];
    Sum sum = sum_begin();
    sum_add(&sum, bounder->exact->values[id][i], bounder->errors[id][i]);
    return sum;
}

/* Of sums: all their terms, or one after the other. */
static void sum_join(Sum *sum, const Sum *other) {
    sum->error += other->error;
    sum->size += other->size;
    sum->count += other->count;
    if (other->digit < sum->digit) sum->digit = other->digit;
}

static double sum_error(const Sum *sum, const Node *node) {
    if (!is_floating(node->type.element)) return sum->error;
    if (!isfinite(sum->size)) return INFINITY;
    Element element = node->type.element;
    bool fits = sum->digit >= least_digit(element) &&
                sum->size <= ldexp(1, digits_of(element) + sum->digit);
    if (sum->error == 0 && fits) return 0;
    return sum->error + (double)sum->count * half_place(element, sum->size);
}

/* Elementwise. */

/* Of a result that is off by `error` already. */
static double own_rounding(const Node *node, double value, double error) {
    Element element = node->type.element;
    if (!is_floating(node->type.element)) return 0;
    double half = half_place(element, fabs(value) + error);
    switch (node->op) {
    case OP_negate:
    case OP_abs:
    case OP_sign:
    case OP_floor:
    case OP_ceil:
    case OP_trunc:
    case OP_round:
    case OP_stop_gradient:
    case OP_maximum:
    case OP_minimum:
    case OP_select: return 0;
    case OP_add:
    case OP_subtract:
    case OP_multiply:
    case OP_cast: return error == 0 && is_representable(element, value) ? 0 : half;
    default: return FUNCTION_ROUNDINGS * half;
    }
}

/* May a function not be what its corners show: a pole, or a jump at one number? */
static bool hides(const Node *node, const double *values, const double *errors) {
    switch (node->op) {
    case OP_divide: return errors[1] > 0 && fabs(values[1]) <= errors[1];
    case OP_remainder:
    case OP_quotient: return errors[1] > 0 || errors[0] >= fabs(values[1]);
    case OP_power: return (errors[0] > 0 && values[0] <= errors[0]);
    case OP_cast: return node->type.element == TYPE_bool && fabs(values[0]) <= errors[0];
    case OP_equal:
    case OP_not_equal: return fabs(values[0] - values[1]) <= errors[0] + errors[1];
    default: return false;
    }
}

static double select_error(const double *values, const double *errors) {
    double chosen = errors[values[0] != 0 ? 1 : 2];
    if (errors[0] == 0) return chosen;
    return fmax(errors[1], errors[2]) + fabs(values[1] - values[2]);
}

static double corner_error(const Node *node, const double *values, const double *errors,
                           double value) {
    double largest = 0;
    for (int corner = 0; corner < 1 << node->input_count; corner++) {
        double moved[ARITY_LIMIT] = {0};
        for (int i = 0; i < node->input_count; i++)
            moved[i] = values[i] + (corner >> i & 1 ? errors[i] : -errors[i]);
        double error = fabs(op_evaluate(node, moved, true) - value);
        if (!(error <= largest)) largest = isnan(error) ? INFINITY : error;
    }
    return largest;
}

static double element_error(const Node *node, const double *values, const double *errors,
                            double value) {
    if (node->op == OP_select) return select_error(values, errors);
    double sum = 0;
    for (int i = 0; i < node->input_count; i++) sum += errors[i];
    bool same = node->op == OP_subtract && node->inputs[0] == node->inputs[1];
    if (same && isfinite(sum)) return 0;
    if (sum > 0 && hides(node, values, errors)) return INFINITY;
    if (!isfinite(sum)) return INFINITY;
    double moved = sum > 0 ? corner_error(node, values, errors, value) : 0;
    return moved + own_rounding(node, value, moved);
}

static void bound_elementwise(const Bounder *bounder, NodeId id, const Extent *extent,
                              double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent extents[ARITY_LIMIT];
    for (int i = 0; i < node->input_count; i++) extents[i] = node_extent(bounder, node->inputs[i]);
    for (int64_t index = 0; index < extent->count; index++) {
        double values[ARITY_LIMIT] = {0}, errors[ARITY_LIMIT] = {0};
        for (int i = 0; i < node->input_count; i++) {
            int64_t at = stretched_from(&extents[i], extent, index);
            values[i] = values_of(bounder, node, i)[at];
            errors[i] = errors_of(bounder, node, i)[at];
        }
        error[index] = element_error(node, values, errors, bounder->exact->values[id][index]);
    }
}

/* Products: as far as the errors can move it, and a rounding for each factor. */

typedef struct Product {
    double size, most; /* of the exact values; with the errors */
    int64_t count;
} Product;

static void product_add(Product *product, double value, double error) {
    product->size *= fabs(value);
    product->most *= fabs(value) + error;
    product->count++;
}

static double product_error(const Product *product, const Node *node, double value) {
    if (!is_floating(node->type.element)) return product->most > product->size ? INFINITY : 0;
    double moved = product->most - product->size;
    if (moved == 0 && is_representable(node->type.element, value)) return 0;
    return moved + (double)product->count * half_place(node->type.element, product->most);
}

/* Reductions. */

static void bound_sums(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from = node_extent(bounder, node->inputs[0]);
    Sum *sums = arena_new_array(bounder->arena, Sum, extent->count);
    for (int64_t i = 0; i < extent->count; i++) sums[i] = sum_begin();
    for (int64_t i = 0; i < from.count; i++) {
        Sum term = sum_of(bounder, node->inputs[0], i);
        Sum *sum = &sums[stretched_from(extent, &from, i)];
        sum->count += bounder->sums[node->inputs[0]] != NULL;
        sum_join(sum, &term);
    }
    for (int64_t i = 0; i < extent->count; i++) error[i] = sum_error(&sums[i], node);
    bounder->sums[id] = sums;
}

static void bound_products(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from = node_extent(bounder, node->inputs[0]);
    Product *products = arena_new_array(bounder->arena, Product, extent->count);
    for (int64_t i = 0; i < extent->count; i++) products[i] = (Product){1, 1, 0};
    for (int64_t i = 0; i < from.count; i++)
        product_add(&products[stretched_from(extent, &from, i)], values_of(bounder, node, 0)[i],
                    errors_of(bounder, node, 0)[i]);
    for (int64_t i = 0; i < extent->count; i++)
        error[i] = product_error(&products[i], node, bounder->exact->values[id][i]);
}

/* The largest of the largest errors; a truth that may be another one is not known. */
static void bound_extremes(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from = node_extent(bounder, node->inputs[0]);
    for (int64_t i = 0; i < from.count; i++) {
        double *at = &error[stretched_from(extent, &from, i)];
        *at = fmax(*at, errors_of(bounder, node, 0)[i]);
    }
}

static bool overlap(const double *values, const double *errors, int64_t a, int64_t b) {
    double apart = errors[a] + errors[b];
    return a != b && apart > 0 && !(fabs(values[a] - values[b]) > apart);
}

static void bound_best(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    const double *values = values_of(bounder, node, 0), *errors = errors_of(bounder, node, 0);
    Extent from = node_extent(bounder, node->inputs[0]);
    int64_t *best = arena_new_array(bounder->arena, int64_t, extent->count);
    double sign = node->op == OP_argmin ? -1 : 1;
    for (int64_t i = 0; i < extent->count; i++) best[i] = -1;
    for (int64_t i = 0; i < from.count; i++) {
        int64_t *at = &best[stretched_from(extent, &from, i)];
        if (*at < 0 || sign * values[i] > sign * values[*at]) *at = i;
    }
    for (int64_t i = 0; i < from.count; i++) {
        int64_t to = stretched_from(extent, &from, i);
        if (overlap(values, errors, i, best[to])) error[to] = INFINITY;
    }
}

/* Rows. */

static void bound_sum_row(const Node *node, const double *values, const double *errors,
                          double *error, int64_t count) {
    Sum sum = sum_begin();
    for (int64_t i = 0; i < count; i++) {
        int64_t at = node->op == OP_cumsum_back ? count - 1 - i : i;
        sum_add(&sum, values[at], errors[at]);
        error[at] = sum_error(&sum, node);
    }
}

static void bound_product_row(const Node *node, const double *values, const double *errors,
                              double *error, int64_t count) {
    Product product = {1, 1, 0};
    double value = 1;
    for (int64_t i = 0; i < count; i++) {
        product_add(&product, values[i], errors[i]);
        error[i] = product_error(&product, node, value *= values[i]);
    }
}

/* Which is before which: known only if no two are within their errors. */
static void bound_order_row(const Node *node, const double *values, const double *errors,
                            double *error, int64_t count) {
    bool known = true;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < i; j++) known = known && !overlap(values, errors, i, j);
        error[i] = known ? 0 : INFINITY;
    }
    for (int64_t i = 0; i < count && node->op != OP_cumargmax; i++) error[i] = known ? 0 : INFINITY;
}

static void bound_rows(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    int64_t count = extent->sizes[extent->rank - 1];
    for (int64_t row = 0; row < extent->count; row += count) {
        const double *values = values_of(bounder, node, 0) + row;
        const double *errors = errors_of(bounder, node, 0) + row;
        if (node->op == OP_cumsum || node->op == OP_cumsum_back)
            bound_sum_row(node, values, errors, error + row, count);
        else if (node->op == OP_cumprod)
            bound_product_row(node, values, errors, error + row, count);
        else bound_order_row(node, values, errors, error + row, count);
    }
}

/* Contraction. */

static double term_error(double a, double error_a, double b, double error_b) {
    if ((a == 0 && error_a == 0) || (b == 0 && error_b == 0)) return 0;
    return (fabs(a) + error_a) * (fabs(b) + error_b) - fabs(a * b);
}

static void bound_matmul(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from_a = node_extent(bounder, node->inputs[0]);
    Extent from_b = node_extent(bounder, node->inputs[1]);
    const double *a = values_of(bounder, node, 0), *error_a = errors_of(bounder, node, 0);
    const double *b = values_of(bounder, node, 1), *error_b = errors_of(bounder, node, 1);
    int64_t rows = extent->sizes[extent->rank - 2], columns = extent->sizes[extent->rank - 1];
    int64_t depth = from_a.sizes[from_a.rank - 1], step = from_b.rank > 2 ? depth * columns : 0;
    Sum *sums = bounder->sums[id] = arena_new_array(bounder->arena, Sum, extent->count);
    for (int64_t i = 0; i < extent->count; i++) {
        sums[i] = sum_begin();
        for (int64_t k = 0; k < depth; k++) {
            int64_t at_a = i / columns * depth + k;
            int64_t at_b = i / columns / rows * step + k * columns + i % columns;
            sum_add(&sums[i], a[at_a] * b[at_b],
                    term_error(a[at_a], error_a[at_a], b[at_b], error_b[at_b]));
        }
        sums[i].count++; /* a product may be rounded before it is added */
        error[i] = sum_error(&sums[i], node);
    }
}

/* Movement. */

static int64_t view_place(const Bounder *bounder, const View *view, const Extent *from,
                          const Extent *extent, int64_t index) {
    int64_t places[RANK_LIMIT], place = 0;
    for (int i = extent->rank - 1; i >= 0; index /= extent->sizes[i--])
        places[i] = index % extent->sizes[i];
    for (int i = 0; i < from->rank; i++) {
        const Coordinate *coordinate = &view->coordinates[i];
        int64_t at = run_size(coordinate->start, bounder->sizes);
        for (int j = 0; j < extent->rank; j++) at += coordinate->factors[j] * places[j];
        if (at % coordinate->divisor || at < 0 || at / coordinate->divisor >= from->sizes[i])
            return -1;
        place = place * from->sizes[i] + at / coordinate->divisor;
    }
    return place;
}

static double constant_error(const Node *node, double number) {
    return fabs(element_round(node->type.element, number) - number);
}

static void bound_view(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from = node_extent(bounder, node->inputs[0]);
    Sum *sums = arena_new_array(bounder->arena, Sum, extent->count);
    for (int64_t i = 0; i < extent->count; i++) {
        int64_t place = view_place(bounder, node->view, &from, extent, i);
        error[i] =
            place < 0 ? constant_error(node, node->view->fill) : errors_of(bounder, node, 0)[place];
        sums[i] = sum_of(bounder, place < 0 ? id : node->inputs[0], place < 0 ? i : place);
    }
    if (bounder->sums[node->inputs[0]]) bounder->sums[id] = sums;
}

static void bound_broadcast(const Bounder *bounder, NodeId id, const Extent *extent,
                            double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from = node_extent(bounder, node->inputs[0]);
    for (int64_t i = 0; i < extent->count; i++)
        error[i] = errors_of(bounder, node, 0)[stretched_from(&from, extent, i)];
}

static void bound_gather(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    Extent from = node_extent(bounder, node->inputs[0]);
    int64_t rest = from.count / from.sizes[0];
    for (int64_t i = 0; i < extent->count; i++) {
        int64_t row = (int64_t)values_of(bounder, node, 1)[i / rest];
        bool known = errors_of(bounder, node, 1)[i / rest] == 0;
        error[i] = known ? errors_of(bounder, node, 0)[row * rest + i % rest] : INFINITY;
    }
}

static void bound_scatter(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    int64_t rest = extent->count / extent->sizes[0];
    int64_t count = node_extent(bounder, node->inputs[1]).count;
    Sum *sums = arena_new_array(bounder->arena, Sum, extent->count);
    bool known = true;
    for (int64_t i = 0; i < extent->count; i++) sums[i] = sum_begin();
    for (int64_t i = 0; i < count; i++) {
        int64_t row = (int64_t)values_of(bounder, node, 0)[i / rest];
        known = known && errors_of(bounder, node, 0)[i / rest] == 0;
        sum_add(&sums[row * rest + i % rest], values_of(bounder, node, 1)[i],
                errors_of(bounder, node, 1)[i]);
    }
    for (int64_t i = 0; i < extent->count; i++)
        error[i] = known ? sum_error(&sums[i], node) : INFINITY;
}

/* Leaves. */

static void bound_generated(const Bounder *bounder, NodeId id, const Extent *extent,
                            double *error) {
    const Node *node = graph_node(bounder->graph, id);
    for (int64_t i = 0; i < extent->count; i++) {
        double value = bounder->exact->values[id][i];
        if (node->op == OP_constant) error[i] = constant_error(node, node->number);
        else if (node->op == OP_random_normal)
            error[i] = NORMAL_ROUNDINGS * half_place(TYPE_f32, NORMAL_LARGEST) +
                       half_place(node->type.element, value);
        else error[i] = constant_error(node, value);
    }
}

/* A scan: its body for each turn, with the errors that the turn before left. */

typedef struct Turns {
    const Bounder *bounder;
    const Scan *scan;
    const NodeId *operands, *inputs;
    const double **values, **errors; /* of the operands; what is carried: after the last turn */
    double **parts;
    int64_t *counts; /* of a carried value, or of one slice of the other results */
} Turns;

static double **bound_graph(Arena *arena, const Graph *graph, const Evaluation *exact,
                            const RunSizes *sizes, double **given);

/* What turn t of a body reads: `of` the values, or of the errors. */
static const double **turn_inputs(Arena *arena, const Turns *turns, int64_t turn, const double **of,
                                  const double *number) {
    const Scan *scan = turns->scan;
    const double **given = arena_new_array(arena, const double *, scan->body->nodes.count + 1);
    int count = scan_operand_count(scan);
    for (int i = 0; i <= count; i++) {
        if (turns->inputs[i] == NODE_NONE) continue;
        const Type *type = &graph_node(scan->body, turns->inputs[i])->type;
        bool scanned = i >= scan->carried && i < scan->carried + scan->scanned;
        given[turns->inputs[i]] = i == count ? number
                                  : scanned  ? of[i] + turn * extent_of(turns->bounder, type).count
                                             : of[i];
    }
    return given;
}

static void bound_turn(Turns *turns, int64_t turn) {
    Arena *arena = turns->bounder->arena;
    const Graph *body = turns->scan->body;
    const RunSizes *sizes = turns->bounder->sizes;
    double *number = arena_new_array(arena, double, 2);
    number[0] = (double)turn;
    const double **values = turn_inputs(arena, turns, turn, turns->values, number);
    const double **errors = turn_inputs(arena, turns, turn, turns->errors, number + 1);
    Evaluation exact =
        graph_evaluate_sized(arena, body, values, sizes->batch, sizes->bounded, true);
    double **found = bound_graph(arena, body, &exact, sizes, (double **)errors);
    for (int i = 0; i < scan_result_count(turns->scan); i++) {
        NodeId value = body->outputs.items[i].value;
        bool carried = i < turns->scan->carried;
        memcpy(turns->parts[i] + (carried ? 0 : turn * turns->counts[i]), found[value],
               sizeof(double) * (size_t)turns->counts[i]);
        if (carried) turns->values[i] = exact.values[value], turns->errors[i] = found[value];
    }
}

static void bound_scan(const Bounder *bounder, NodeId id) {
    const Scan *scan = graph_node(bounder->graph, id)->scan;
    Arena *arena = bounder->arena;
    int results = scan_result_count(scan), operands = scan_operand_count(scan);
    Type type = {.rank = 1, .dims = {scan->turns}};
    int64_t count = extent_of(bounder, &type).count;
    Turns turns = {bounder,
                   scan,
                   list_operands(arena, bounder->graph, id),
                   scan_inputs(arena, scan),
                   arena_new_array(arena, const double *, operands + 1),
                   arena_new_array(arena, const double *, operands + 1),
                   arena_new_array(arena, double *, results + 1),
                   arena_new_array(arena, int64_t, results + 1)};
    for (int i = 0; i < operands; i++) {
        turns.values[i] = bounder->exact->values[turns.operands[i]];
        turns.errors[i] = bounder->errors[turns.operands[i]];
    }
    for (int i = 0; i < results; i++) {
        Type result = scan_result_type(scan, i);
        int64_t elements = extent_of(bounder, &result).count;
        turns.parts[i] = arena_new_array(arena, double, elements);
        turns.counts[i] = i < scan->carried ? elements : elements / count;
    }
    bounder->parts[id] = turns.parts;
    for (int64_t n = 0; n < count; n++) bound_turn(&turns, scan->backwards ? count - 1 - n : n);
}

/* Nodes. */

static void bound_node(const Bounder *bounder, NodeId id, const Extent *extent, double *error) {
    const Node *node = graph_node(bounder->graph, id);
    const double *moved = node->input_count ? errors_of(bounder, node, 0) : NULL;
    switch (node->op) {
    case OP_list: return;
    case OP_scan: bound_scan(bounder, id); return;
    case OP_part: moved = bounder->parts[node->inputs[0]][node->part]; /* fall through */
    case OP_hold:
    case OP_reshape:
        bounder->sums[id] = bounder->sums[node->inputs[0]];
        memcpy(error, moved, sizeof *error * (size_t)extent->count);
        return;
    case OP_constant: bound_generated(bounder, id, extent, error); return;
    case OP_matmul: bound_matmul(bounder, id, extent, error); return;
    case OP_view: bound_view(bounder, id, extent, error); return;
    case OP_broadcast: bound_broadcast(bounder, id, extent, error); return;
    case OP_gather: bound_gather(bounder, id, extent, error); return;
    case OP_scatter_add: bound_scatter(bounder, id, extent, error); return;
    case OP_sum: bound_sums(bounder, id, extent, error); return;
    case OP_prod: bound_products(bounder, id, extent, error); return;
    case OP_argmax:
    case OP_argmin: bound_best(bounder, id, extent, error); return;
    default: break;
    }
    switch (op_info[node->op].class) {
    case LOOP_reduce: bound_extremes(bounder, id, extent, error); return;
    case LOOP_row: bound_rows(bounder, id, extent, error); return;
    case LOOP_generate: bound_generated(bounder, id, extent, error); return;
    default: bound_elementwise(bounder, id, extent, error);
    }
}

/* What is too large for its type, or no number, is not compared. */
static void give_up_on_large(const Node *node, const double *values, double *errors,
                             int64_t count) {
    double largest = is_floating(node->type.element) ? largest_of(node->type.element) : 0x1p53;
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(values[i]) + errors[i] <= largest)) errors[i] = INFINITY;
}

static double **bound_graph(Arena *arena, const Graph *graph, const Evaluation *exact,
                            const RunSizes *sizes, double **given) {
    size_t count = graph->nodes.count;
    Bounder bounder = {arena,
                       graph,
                       exact,
                       sizes,
                       arena_new_array(arena, double *, count + 1),
                       arena_new_array(arena, double **, count + 1),
                       arena_new_array(arena, Sum *, count + 1)};
    for (NodeId id = 0; id < count; id++) {
        const Node *node = graph_node(graph, id);
        if (!exact->values[id]) continue;
        Extent extent = extent_of(&bounder, &node->type);
        double *error = arena_new_array(arena, double, extent.count + 1);
        bounder.errors[id] = error;
        bool leaf = node->op == OP_input || node->op == OP_weight;
        if (leaf && given) memcpy(error, given[id], sizeof *error * (size_t)extent.count);
        if (!leaf) bound_node(&bounder, id, &extent, error);
        give_up_on_large(node, exact->values[id], error, extent.count);
    }
    return bounder.errors;
}

double **bound_errors(Arena *arena, const Graph *graph, const Evaluation *exact,
                      const RunSizes *sizes) {
    return bound_graph(arena, graph, exact, sizes, NULL);
}
