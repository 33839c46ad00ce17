/* Operand: the walk from an operand of a contraction down to a node in memory.
 *
 * The axes of the operand as it is used are the loops' axes. On the way each coordinate of the
 * node at hand is a sum of start and axes with strides. A view without guards puts sums into sums,
 * a reshape that joins axes adds them up, one that splits an axis needs a coordinate that is
 * nothing but digits, and splits these if need be. Where that fails, the node is in memory. */
#include "compiler/passes/operand.h"

#include "compiler/passes/loops.h"

#include <assert.h>
#include <string.h>

typedef enum Loop { LOOP_outer, LOOP_first, LOOP_second, LOOP_COUNT } Loop;

/* A digit of a loop's index. */
typedef struct Axis {
    Dim size;
    Loop loop;
} Axis;

/* start + sum strides[i] * axis i; NULL is 0. */
typedef struct Place {
    Dim start, strides[DIGIT_LIMIT];
} Place;

typedef struct Walk {
    const Graph *graph;
    Dimensions *table;
    NodeId node;
    Type type; /* of the node, or of a reshape just above it: what the places are for */
    int axis_count;
    Axis axes[DIGIT_LIMIT];
    Place places[RANK_LIMIT];
} Walk;

/* Sums; NULL stands for 0 and for failure, which `good` tells apart. */

static Dim multiply(Walk *walk, Dim a, Dim b, bool *good) {
    Dim product = a && b ? dim_multiply(walk->table, a, b) : NULL;
    *good = *good && (product || !a || !b);
    return product;
}

static Dim add(Walk *walk, Dim a, Dim b, bool *good) {
    if (!a || !b) return a ? a : b;
    Dim sum = dim_add(walk->table, a, b);
    *good = *good && sum;
    return sum;
}

static void add_multiple(Walk *walk, Place *sum, const Place *part, Dim factor, bool *good) {
    sum->start = add(walk, sum->start, multiply(walk, part->start, factor, good), good);
    for (int i = 0; i < walk->axis_count; i++)
        sum->strides[i] =
            add(walk, sum->strides[i], multiply(walk, part->strides[i], factor, good), good);
}

static bool is_zero(Dim dim) {
    int64_t value;
    return !dim || (dim_is_constant(dim, &value) && !value);
}

/* Digits. */

/* The axes that a place is made of when it is all their digits and nothing else, the most
 * significant first; -1 when it is something else. */
static int digits_of(Walk *walk, const Place *place, Dim size, int *axes) {
    int found[DIGIT_LIMIT], count = 0, used = 0;
    Dim stride = dim_constant(walk->table, 1);
    for (int i = 0; i < walk->axis_count; i++) used += !is_zero(place->strides[i]);
    while (count < used && stride && stride != size) {
        int next = 0;
        while (next < walk->axis_count && place->strides[next] != stride) next++;
        if (next == walk->axis_count) return -1;
        found[count++] = next;
        stride = dim_multiply(walk->table, stride, walk->axes[next].size);
    }
    for (int i = 0; i < count; i++) axes[i] = found[count - 1 - i];
    return count == used && stride == size && is_zero(place->start) ? count : -1;
}

/* Makes axis `at` two: its digits above and below `low`. */
static bool split_axis(Walk *walk, int at, Dim high, Dim low) {
    bool good = walk->axis_count < DIGIT_LIMIT;
    if (!good) return false;
    size_t behind = (size_t)(walk->axis_count - at - 1);
    memmove(&walk->axes[at + 2], &walk->axes[at + 1], sizeof(Axis) * behind);
    walk->axes[at + 1] = (Axis){low, walk->axes[at].loop};
    walk->axes[at].size = high;
    for (int i = 0; i < RANK_LIMIT; i++) {
        Dim *strides = walk->places[i].strides;
        memmove(&strides[at + 2], &strides[at + 1], sizeof(Dim) * behind);
        strides[at + 1] = strides[at];
        strides[at] = multiply(walk, strides[at], low, &good);
    }
    walk->axis_count++;
    return good;
}

/* Steps through a node; false when it can't be. */

static bool step_view(Walk *walk, const Node *node, const Type *operand) {
    Place places[RANK_LIMIT] = {0};
    bool good = !view_is_guarded(walk->table, node->view, operand, &node->type);
    for (int i = 0; i < operand->rank && good; i++) {
        const Coordinate *from = &node->view->coordinates[i];
        good = from->divisor == 1;
        places[i].start = from->start;
        for (int j = 0; j < node->type.rank && good; j++)
            if (from->factors[j])
                add_multiple(walk, &places[i], &walk->places[j],
                             dim_constant(walk->table, from->factors[j]), &good);
    }
    if (good) memcpy(walk->places, places, sizeof places);
    return good;
}

static bool step_broadcast(Walk *walk, const Node *node, const Type *operand) {
    int missing = node->type.rank - operand->rank;
    if (!operand->rank) return false;
    Place places[RANK_LIMIT] = {0};
    for (int i = 0; i < operand->rank; i++)
        if (!dim_is_one(operand->dims[i])) places[i] = walk->places[i + missing];
    memcpy(walk->places, places, sizeof places);
    return true;
}

/* The place in axes [first, last) of the shape, taken as one. */
static Place joined(Walk *walk, const Type *shape, int first, int last, bool *good) {
    Place sum = {0};
    Dim stride = dim_constant(walk->table, 1);
    for (int i = last - 1; i >= first && *good; i--) {
        add_multiple(walk, &sum, &walk->places[i], stride, good);
        stride = multiply(walk, stride, shape->dims[i], good);
    }
    return sum;
}

/* Grows two runs of dims, from where they start, until they hold as many elements. */
static bool match_runs(Dimensions *table, const Dim *a, int a_count, const Dim *b, int b_count,
                       int *a_last, int *b_last) {
    Dim from_a = a[(*a_last)++], from_b = b[(*b_last)++];
    while (from_a && from_b && from_a != from_b) {
        if (dim_bound(from_a) < dim_bound(from_b)) {
            if (*a_last == a_count) return false;
            from_a = dim_multiply(table, from_a, a[(*a_last)++]);
        } else {
            if (*b_last == b_count) return false;
            from_b = dim_multiply(table, from_b, b[(*b_last)++]);
        }
    }
    return from_a && from_b;
}

/* One digit as several: splits it from the right. */
static bool split_digit(Walk *walk, int axis, const Dim *sizes, int count) {
    for (int i = count - 1; i > 0; i--) {
        Dim high = sizes[0];
        for (int j = 1; j < i && high; j++) high = dim_multiply(walk->table, high, sizes[j]);
        if (!high || !split_axis(walk, axis, high, sizes[i])) return false;
    }
    return true;
}

/* Splits digits of the place until each of `sizes` is a run of them. */
static bool align_digits(Walk *walk, int at, Dim size, const Dim *sizes, int count) {
    for (int done = 0, digit = 0; done < count;) {
        int axes[DIGIT_LIMIT], digits = digits_of(walk, &walk->places[at], size, axes);
        Dim digit_sizes[DIGIT_LIMIT];
        for (int i = 0; i < digits; i++) digit_sizes[i] = walk->axes[axes[i]].size;
        int digit_last = digit, last = done;
        if (digits <= digit ||
            !match_runs(walk->table, digit_sizes, digits, sizes, count, &digit_last, &last))
            return false;
        bool one = digit_last == digit + 1;
        if (!one && last != done + 1) return false;
        if (one && !split_digit(walk, axes[digit], sizes + done, last - done)) return false;
        digit = one ? digit + last - done : digit_last;
        done = last;
    }
    return true;
}

/* The part of a place that the digits of `size` are, when those behind it hold `below`. */
static Place digit_part(Walk *walk, const Place *place, Dim total, Dim size, Dim below,
                        bool *good) {
    int axes[DIGIT_LIMIT], count = digits_of(walk, place, total, axes);
    Place part = {0};
    Dim under = dim_constant(walk->table, 1), stride = under;
    for (int i = count - 1; i >= 0 && *good; i--) {
        Dim digit = walk->axes[axes[i]].size;
        bool reached = part.start || under == below;
        if (reached && stride != size) {
            part.start = dim_constant(walk->table, 0);
            part.strides[axes[i]] = stride;
            stride = multiply(walk, stride, digit, good);
        }
        under = multiply(walk, under, digit, good);
    }
    *good = *good && count > 0 && stride == size;
    return part;
}

/* The run [first, last) of `node`'s axes becomes the run [begin, end) of the operand's. */
static bool reshape_run(Walk *walk, const Type *shape, int first, int last, const Type *operand,
                        int begin, int end, Place *places) {
    bool good = true;
    int wide = 0, only = begin;
    Dim sizes[RANK_LIMIT];
    for (int i = begin; i < end; i++)
        if (!dim_is_one(operand->dims[i])) sizes[wide++] = operand->dims[only = i];
    if (wide <= 1) {
        places[only] = joined(walk, shape, first, last, &good);
        return good;
    }
    int at = first, others = 0;
    for (int i = first; i < last; i++)
        if (!dim_is_one(shape->dims[i])) at = i, others++;
    if (others != 1 || !align_digits(walk, at, shape->dims[at], sizes, wide)) return false;
    Dim below = dim_constant(walk->table, 1);
    for (int i = end - 1; i >= begin && good; i--) {
        if (dim_is_one(operand->dims[i])) continue;
        places[i] =
            digit_part(walk, &walk->places[at], shape->dims[at], operand->dims[i], below, &good);
        below = multiply(walk, below, operand->dims[i], &good);
    }
    return good;
}

static bool step_reshape(Walk *walk, const Node *node, const Type *operand) {
    Walk tried = *walk;
    const Type *shape = &node->type;
    int runs[RANK_LIMIT + 1][2] = {{0}}, count = 0;
    for (int i = 0, j = 0; i < shape->rank && j < operand->rank; count++) {
        if (!match_runs(walk->table, shape->dims, shape->rank, operand->dims, operand->rank, &i,
                        &j))
            return false;
        runs[count + 1][0] = i;
        runs[count + 1][1] = j;
    }
    /* Splitting digits of one run changes the places of others: twice, the second time nothing is
     * left to be split. */
    Place places[RANK_LIMIT];
    for (int pass = 0; pass < 2; pass++) {
        memset(places, 0, sizeof places);
        for (int k = 0; k < count; k++)
            if (!reshape_run(&tried, shape, runs[k][0], runs[k + 1][0], operand, runs[k][1],
                             runs[k + 1][1], places))
                return false;
    }
    memcpy(tried.places, places, sizeof places);
    *walk = tried;
    return true;
}

static bool step(Walk *walk) {
    const Node *node = graph_node(walk->graph, walk->node);
    if (node->kernel != NO_KERNEL) return false;
    const Type *operand =
        node->input_count ? &graph_node(walk->graph, node->inputs[0])->type : NULL;
    bool stepped = node->op == OP_view        ? step_view(walk, node, operand)
                   : node->op == OP_broadcast ? step_broadcast(walk, node, operand)
                   : node->op == OP_reshape   ? step_reshape(walk, node, operand)
                                              : false;
    if (!stepped) return false;
    walk->node = node->inputs[0];
    walk->type = *operand;
    return true;
}

/* The contraction. */

bool is_widening(const Graph *graph, const Node *node) {
    return node->op == OP_cast && node->kernel == NO_KERNEL && node->type.element == TYPE_f32 &&
           is_half(graph_node(graph, node->inputs[0])->type.element);
}

bool widens_both(const Graph *graph, const Node *matmul) {
    const Node *a = graph_node(graph, matmul->inputs[0]), *b = graph_node(graph, matmul->inputs[1]);
    return is_widening(graph, a) && is_widening(graph, b) &&
           graph_node(graph, a->inputs[0])->type.element ==
               graph_node(graph, b->inputs[0])->type.element;
}

static Walk begin(const Graph *graph, NodeId id, bool collapses) {
    Walk walk = {.graph = graph,
                 .table = graph->dimensions,
                 .node = id,
                 .type = graph_node(graph, id)->type};
    for (int i = 0; i < walk.type.rank; i++) {
        int last = walk.type.rank - 1;
        Loop loop = i == last ? LOOP_second : i == last - 1 || collapses ? LOOP_first : LOOP_outer;
        if (dim_is_one(walk.type.dims[i])) continue;
        walk.places[i].strides[walk.axis_count] = dim_constant(walk.table, 1);
        walk.axes[walk.axis_count++] = (Axis){walk.type.dims[i], loop};
    }
    return walk;
}

/* Two digits that are one: the upper's stride is the lower's size times its stride. */
static bool merge_digits(Walk *walk, Digits *digits) {
    Digit *last = &digits->items[digits->count - 1], *before = last - 1;
    if (digits->count < 2) return false;
    if (dim_multiply(walk->table, last->size, last->stride) != before->stride) return false;
    Dim size = dim_multiply(walk->table, before->size, last->size);
    if (!size) return false;
    *before = (Digit){size, last->stride};
    digits->count--;
    return true;
}

static void add_digit(Walk *walk, Digits *digits, Digit digit) {
    if (!digit.stride) digit.stride = dim_constant(walk->table, 0);
    digits->items[digits->count++] = digit;
    merge_digits(walk, digits);
}

ContractionOperand contraction_operand(const Graph *graph, const Node *matmul, int which) {
    NodeId id = matmul->inputs[which];
    if (widens_both(graph, matmul)) id = graph_node(graph, id)->inputs[0];
    Walk walk = begin(graph, id, which == 0 && contraction_collapses(graph, matmul));
    while (step(&walk)) continue;
    bool good = true;
    Place place = joined(&walk, &walk.type, 0, walk.type.rank, &good);
    assert(good && "strides past the limit of a dimension");
    ContractionOperand operand = {.node = strip_reshapes(graph, walk.node), .start = place.start};
    if (!operand.start) operand.start = dim_constant(walk.table, 0);
    Digits *const loops[LOOP_COUNT] = {&operand.outer, &operand.first, &operand.second};
    for (int i = 0; i < walk.axis_count; i++)
        add_digit(&walk, loops[walk.axes[i].loop], (Digit){walk.axes[i].size, place.strides[i]});
    return operand;
}

bool is_run(const Digits *digits) {
    int64_t stride;
    return digits->count == 1 && dim_is_constant(digits->items[0].stride, &stride) && stride == 1;
}

bool is_in_order(const Graph *graph, const ContractionOperand *operand) {
    Dimensions *table = graph->dimensions;
    const Type *type = &graph_node(graph, operand->node)->type;
    const Digits *const loops[] = {&operand->second, &operand->first, &operand->outer};
    Dim stride = dim_constant(table, 1);
    for (int loop = 0; loop < LOOP_COUNT; loop++)
        for (int i = loops[loop]->count - 1; i >= 0 && stride; i--) {
            if (loops[loop]->items[i].stride != stride) return false;
            stride = dim_multiply(table, stride, loops[loop]->items[i].size);
        }
    return is_zero(operand->start) && stride == type_elements(table, type);
}
