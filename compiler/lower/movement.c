/* Movement: transpose, pad, windows, concat and their like. Each is an entry of `movements`: its
 * parameters, which a call fills by position and by name, and a function that makes the nodes. */
#include "compiler/lower/movement.h"

#include "compiler/graph/movement.h"
#include "compiler/lower/fact.h"

#include <math.h>
#include <string.h>

enum { PARAMETER_LIMIT = 5 };

typedef struct Call Call;

typedef struct Movement {
    const char *name;
    const char *parameters[PARAMETER_LIMIT];
    int needed; /* the first ones have no default */
    Value (*lower)(Call *call);
} Movement;

struct Call {
    const Context *context;
    const Expression *expression;
    const Movement *movement;
    Range range;
    bool given[PARAMETER_LIMIT];
    Value values[PARAMETER_LIMIT];
    bool broken; /* something was reported */
};

/* Nodes. */

/* Is the number that fills a view one of those its elements may be? */
static bool fill_fits(Dimensions *table, const Value *x, double fill) {
    Value number = value_number(fill, x->range);
    return fact_within(table, fact_of(table, &number), x->low, x->high);
}

Value make_view(const Context *context, const Value *x, const View *view, Type type, Range range) {
    type.element = value_type(x)->element;
    bool guarded = view_is_guarded(context->lowering->dimensions, view, value_type(x), &type);
    bool known =
        x->low && x->high && (!guarded || fill_fits(context->lowering->dimensions, x, view->fill));
    Dim low = x->low, high = x->high;
    Value result = add_node(
        context, (Node){.op = OP_view, .inputs = {x->node}, .view = view, .type = type}, range);
    if (!known || result.kind == VALUE_error) return result;
    result.low = low;
    result.high = high;
    return result;
}

Value make_reshape(const Context *context, const Value *x, Type type, Range range) {
    Value result =
        add_node(context, (Node){.op = OP_reshape, .inputs = {x->node}, .type = type}, range);
    if (result.kind == VALUE_error) return result;
    result.low = x->low;
    result.high = x->high;
    return result;
}

static Dimensions *table_of(const Call *call) {
    return call->context->lowering->dimensions;
}

static Dim constant(const Call *call, int64_t value) {
    return dim_constant(table_of(call), value);
}

static const char *text_of(const Call *call, const Value *value) {
    return value_text(call->context->lowering->arena, value);
}

/* Arguments. */

static Value broken(Call *call) {
    call->broken = true;
    return value_error;
}

static Range place_of(const Call *call, int which) {
    Range range = call->values[which].range;
    return range.source ? range : call->range;
}

static bool is_tensor(Call *call, const Value *value, Range range) {
    if (value->kind == VALUE_error) return false;
    if (value->kind == VALUE_tensor && value->graph == call->context->graph) return true;
    if (value->kind == VALUE_tensor) report_foreign(call->context, range);
    else
        report(call->context, E0203, range, "`%s` takes a tensor, not %s", call->movement->name,
               text_of(call, value));
    return false;
}

/* A whole number known now; the default when the argument was left out. */
static int64_t whole_argument(Call *call, int which, int64_t otherwise) {
    double number;
    if (!call->given[which]) return otherwise;
    if (!to_number(call->context, &call->values[which], place_of(call, which), &number)) {
        broken(call);
        return otherwise;
    }
    if (number == floor(number) && fabs(number) <= (double)DIMENSION_LIMIT) return (int64_t)number;
    report(call->context, E0211, place_of(call, which), "`%s` is a whole number, not %.15g",
           call->movement->parameters[which], number);
    broken(call);
    return otherwise;
}

static int axis_in(Call *call, double axis, int rank, Range range) {
    if (axis == floor(axis) && axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    Diagnostic *d =
        report(call->context, E0211, range, "there is no axis %.15g: the tensor has %d dimension%s",
               axis, rank, rank == 1 ? "" : "s");
    if (rank) diagnostic_help(d, "axes count from 0, or from the last, which is -1");
    broken(call);
    return 0;
}

static int axis_argument(Call *call, int which, int otherwise, int rank) {
    int64_t axis = whole_argument(call, which, otherwise);
    return call->broken ? 0 : axis_in(call, (double)axis, rank, place_of(call, which));
}

/* A list of sizes, which may be less than 0, or one size. Returns how many. */
static int sizes_argument(Call *call, int which, Dim *sizes) {
    Value *value = &call->values[which];
    bool list = value->kind == VALUE_items;
    size_t count = list ? value->items.count : 1;
    if (count > RANK_LIMIT) {
        report(call->context, E0208, place_of(call, which), "a tensor has at most %d dimensions",
               RANK_LIMIT);
        broken(call);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const Value *item = list ? &value->items.values[i] : value;
        double number = -1;
        bool negative = item->kind == VALUE_number && (number = item->number) < 0;
        sizes[i] = negative && number == floor(number)
                       ? constant(call, (int64_t)number)
                       : to_size(call->context, item, place_of(call, which));
        if (!sizes[i]) broken(call);
    }
    return call->broken ? 0 : (int)count;
}

/* As many sizes as `count`; `otherwise` for each when the argument was left out. */
static void exact_sizes(Call *call, int which, int count, int64_t otherwise, Dim *sizes) {
    for (int i = 0; i < count; i++) sizes[i] = constant(call, otherwise);
    if (!call->given[which] || call->broken) return;
    Dim found[RANK_LIMIT];
    int given = sizes_argument(call, which, found);
    if (call->broken) return;
    memcpy(sizes, found, sizeof(Dim) * (size_t)(given < count ? given : count));
    if (given == count) return;
    report(call->context, E0204, place_of(call, which), "`%s` has %d value%s, and %d %s needed",
           call->movement->parameters[which], given, given == 1 ? "" : "s", count,
           count == 1 ? "is" : "are");
    broken(call);
}

/* The same as numbers from `least` up. */
static void exact_numbers(Call *call, int which, int count, int64_t otherwise, int64_t least,
                          int64_t *numbers) {
    Dim sizes[RANK_LIMIT];
    exact_sizes(call, which, count, otherwise, sizes);
    for (int i = 0; i < count && !call->broken; i++) {
        bool known = dim_is_constant(sizes[i], &numbers[i]);
        if (known && numbers[i] >= least && numbers[i] <= FACTOR_LIMIT) continue;
        report(call->context, known ? E0211 : E0206, place_of(call, which),
               "`%s` is from %lld to 2^19 and known at compile time, not %s",
               call->movement->parameters[which], (long long)least,
               dim_text(call->context->lowering->arena, sizes[i]));
        broken(call);
    }
}

/* Is the sum or difference a dimension? */
static Dim checked(Call *call, Dim size) {
    if (size && is_dimension(call->context, size, call->range)) return size;
    if (!size) report(call->context, E0216, call->range, "a size passes 2^40");
    broken(call);
    return constant(call, 1);
}

/* Movements of one tensor. */

static Value view_of(Call *call, const View *view, Type type) {
    if (call->broken) return value_error;
    return make_view(call->context, &call->values[0], view, type, call->range);
}

static Value lower_permutation(Call *call, const int *axes) {
    Type from = *value_type(&call->values[0]), to = from;
    View view = {.rank = from.rank};
    for (int i = 0; i < from.rank; i++) {
        view.coordinates[axes[i]] = coordinate_along(constant(call, 0), i);
        to.dims[i] = from.dims[axes[i]];
    }
    return view_of(call, &view, to);
}

static Value lower_transpose(Call *call) {
    int rank = value_type(&call->values[0])->rank, axes[RANK_LIMIT];
    for (int i = 0; i < rank; i++) axes[i] = i;
    if (rank < 2) {
        report(call->context, E0208, call->range, "transpose takes a matrix, not %s",
               text_of(call, &call->values[0]));
        return value_error;
    }
    axes[rank - 2] = rank - 1;
    axes[rank - 1] = rank - 2;
    return lower_permutation(call, axes);
}

static Value lower_permute(Call *call) {
    int rank = value_type(&call->values[0])->rank, axes[RANK_LIMIT] = {0};
    int64_t given[RANK_LIMIT] = {0};
    uint32_t seen = 0;
    exact_numbers(call, 1, rank, 0, -rank, given);
    for (int i = 0; i < rank && !call->broken; i++) {
        axes[i] = axis_in(call, (double)given[i], rank, place_of(call, 1));
        if (seen >> axes[i] & 1 && !call->broken) {
            report(call->context, E0211, place_of(call, 1), "axis %d is named twice", axes[i]);
            broken(call);
        }
        seen |= 1u << axes[i];
    }
    return call->broken ? value_error : lower_permutation(call, axes);
}

static Value lower_exchange(Call *call) {
    int rank = value_type(&call->values[0])->rank, axes[RANK_LIMIT];
    int first = axis_argument(call, 1, 0, rank), second = axis_argument(call, 2, -1, rank);
    if (call->broken) return value_error;
    for (int i = 0; i < rank; i++) axes[i] = i == first ? second : i == second ? first : i;
    return lower_permutation(call, axes);
}

static bool fill_argument(Call *call, int which, double *fill) {
    *fill = 0;
    return !call->given[which] ||
           to_number(call->context, &call->values[which], place_of(call, which), fill);
}

static Value lower_pad(Call *call) {
    Type type = *value_type(&call->values[0]);
    Dim before[RANK_LIMIT], after[RANK_LIMIT];
    View view = view_identity(table_of(call), type.rank);
    exact_sizes(call, 1, type.rank, 0, before);
    exact_sizes(call, 2, type.rank, 0, after);
    if (call->broken || !fill_argument(call, 3, &view.fill)) return value_error;
    for (int i = 0; i < type.rank; i++) {
        Dim size = dim_add(table_of(call), type.dims[i], before[i]);
        type.dims[i] = checked(call, size ? dim_add(table_of(call), size, after[i]) : NULL);
        view.coordinates[i].start = dim_subtract(table_of(call), constant(call, 0), before[i]);
    }
    return view_of(call, &view, type);
}

static Value lower_flip(Call *call) {
    Type type = *value_type(&call->values[0]);
    int axis = axis_argument(call, 1, -1, type.rank);
    if (call->broken) return value_error;
    View view = view_identity(table_of(call), type.rank);
    view.coordinates[axis].start = dim_subtract(table_of(call), type.dims[axis], constant(call, 1));
    view.coordinates[axis].factors[axis] = -1;
    return view_of(call, &view, type);
}

static Value add_values(Call *call, const Value *a, const Value *b) {
    Op op = value_type(a)->element == TYPE_bool ? OP_or : OP_add;
    Value sum =
        add_node(call->context, (Node){.op = op, .inputs = {a->node, b->node}}, call->range);
    bool known = a->low && a->low == b->low && a->high == b->high;
    if (sum.kind == VALUE_error || !known) return sum;
    sum.low = a->low;
    sum.high = a->high;
    return sum;
}

/* The tensor behind `start` zeros, in an axis as long as `size`. */
static Value placed(Call *call, const Value *x, int axis, Dim start, Dim size) {
    Type type = *value_type(x);
    View view = view_identity(table_of(call), type.rank);
    view.coordinates[axis].start = dim_subtract(table_of(call), constant(call, 0), start);
    type.dims[axis] = size;
    Value result = make_view(call->context, x, &view, type, call->range);
    result.low = x->low;
    result.high = x->high;
    return result;
}

static Value sliced(Call *call, const Value *x, int axis, Dim start, Dim size) {
    Type type = *value_type(x);
    View view = view_identity(table_of(call), type.rank);
    view.coordinates[axis].start = start;
    type.dims[axis] = size;
    return make_view(call->context, x, &view, type, call->range);
}

/* The last `by` come first: two slices, each in its place. */
static Value lower_roll(Call *call) {
    const Value *x = &call->values[0];
    Type type = *value_type(x);
    int axis = axis_argument(call, 2, -1, type.rank);
    int64_t by = whole_argument(call, 1, 0), size;
    if (call->broken) return value_error;
    if (dim_is_constant(type.dims[axis], &size)) by = (by % size + size) % size;
    if (!by) return *x;
    Dim count = constant(call, by < 0 ? -by : by), zero = constant(call, 0);
    Dim rest = dim_subtract(table_of(call), type.dims[axis], count);
    Dim first = by < 0 ? rest : count, last = by < 0 ? count : rest;
    if (checked(call, first) != first || checked(call, last) != last) return value_error;
    Value head = sliced(call, x, axis, last, first), tail = sliced(call, x, axis, zero, last);
    if (head.kind == VALUE_error || tail.kind == VALUE_error) return value_error;
    head = placed(call, &head, axis, zero, type.dims[axis]);
    tail = placed(call, &tail, axis, first, type.dims[axis]);
    return add_values(call, &head, &tail);
}

static Value lower_expand(Call *call) {
    Type from = *value_type(&call->values[0]), to = from;
    if (from.rank == RANK_LIMIT) {
        report(call->context, E0208, call->range, "a tensor has at most %d dimensions", RANK_LIMIT);
        return value_error;
    }
    int axis = axis_argument(call, 1, -1, from.rank + 1);
    if (call->broken) return value_error;
    memmove(to.dims + axis + 1, from.dims + axis, sizeof(Dim) * (size_t)(from.rank - axis));
    to.dims[axis] = constant(call, 1);
    to.rank++;
    return make_reshape(call->context, &call->values[0], to, call->range);
}

static Value lower_squeeze(Call *call) {
    Type type = *value_type(&call->values[0]);
    int axis = axis_argument(call, 1, -1, type.rank);
    if (call->broken) return value_error;
    if (type.dims[axis] != constant(call, 1)) {
        report(call->context, E0207, call->range, "axis %d of %s is not of size 1", axis,
               text_of(call, &call->values[0]));
        return value_error;
    }
    memmove(type.dims + axis, type.dims + axis + 1, sizeof(Dim) * (size_t)(type.rank - axis - 1));
    type.dims[--type.rank] = NULL;
    return make_reshape(call->context, &call->values[0], type, call->range);
}

/* Each axis behind one that repeats it. */
static Value lower_tile(Call *call) {
    const Value *x = &call->values[0];
    Type from = *value_type(x), to = from, wide = {.element = from.element};
    Dim times[RANK_LIMIT];
    View view = {.rank = from.rank};
    exact_sizes(call, 1, from.rank, 1, times);
    for (int i = 0; i < from.rank && !call->broken; i++) {
        bool repeats = times[i] != constant(call, 1);
        if (wide.rank + repeats >= RANK_LIMIT) {
            report(call->context, E0208, call->range, "tile repeats fewer axes of so many");
            return value_error;
        }
        if (repeats) wide.dims[wide.rank++] = checked(call, times[i]);
        view.coordinates[i] = coordinate_along(constant(call, 0), wide.rank);
        wide.dims[wide.rank++] = from.dims[i];
        to.dims[i] = checked(call, dim_multiply(table_of(call), from.dims[i], times[i]));
    }
    if (call->broken) return value_error;
    Value result = view_of(call, &view, wide);
    return result.kind == VALUE_error ? result
                                      : make_reshape(call->context, &result, to, call->range);
}

/* How many windows of `size` with gaps there are in an axis, `stride` apart. */
static Dim window_count(Call *call, Dim length, int64_t size, int64_t stride, int64_t dilation) {
    Dim room = dim_subtract(table_of(call), length, constant(call, (size - 1) * dilation + 1));
    int64_t known;
    if (!room || (dim_is_constant(room, &known) && known < 0)) {
        report(call->context, E0211, call->range,
               "a window reaches over %lld, which is more than the axis has: %s",
               (long long)((size - 1) * dilation + 1),
               dim_text(call->context->lowering->arena, length));
        broken(call);
        return constant(call, 1);
    }
    Dim steps = dim_is_constant(room, &known) ? constant(call, known / stride)
                : stride == 1                 ? room
                              : dim_divide(table_of(call), room, constant(call, stride));
    return checked(call, steps ? dim_add(table_of(call), steps, constant(call, 1)) : NULL);
}

static Value lower_windows(Call *call) {
    Type from = *value_type(&call->values[0]), to = from;
    View view = view_identity(table_of(call), from.rank);
    Dim given[RANK_LIMIT];
    int64_t size[RANK_LIMIT], stride[RANK_LIMIT], dilation[RANK_LIMIT];
    int axes[RANK_LIMIT] = {0}, count = sizes_argument(call, 1, given), last = 0;
    exact_numbers(call, 2, count, 1, 1, size);
    exact_numbers(call, 3, count, 1, 1, stride);
    exact_numbers(call, 4, count, 1, 1, dilation);
    for (int i = 0; i < count && !call->broken; i++) {
        int64_t axis = from.rank;
        dim_is_constant(given[i], &axis);
        axes[i] = axis_in(call, (double)axis, from.rank, place_of(call, 1));
        for (int j = 0; j < i; j++)
            if (axes[i] == axes[j] && !call->broken) {
                report(call->context, E0211, place_of(call, 1), "axis %d is named twice", axes[i]);
                broken(call);
            }
        if (axes[i] > last) last = axes[i];
    }
    if (!call->broken && from.rank + count > RANK_LIMIT) {
        report(call->context, E0208, call->range, "a tensor has at most %d dimensions", RANK_LIMIT);
        broken(call);
    }
    if (call->broken) return value_error;
    for (int i = last + 1; i < from.rank; i++) {
        view.coordinates[i] = coordinate_along(constant(call, 0), i + count);
        to.dims[i + count] = from.dims[i];
    }
    for (int i = 0; i < count && !call->broken; i++) {
        Coordinate *coordinate = &view.coordinates[axes[i]];
        to.dims[axes[i]] = window_count(call, from.dims[axes[i]], size[i], stride[i], dilation[i]);
        to.dims[last + 1 + i] = constant(call, size[i]);
        coordinate->factors[axes[i]] = stride[i];
        coordinate->factors[last + 1 + i] = dilation[i];
    }
    to.rank = from.rank + count;
    return view_of(call, &view, to);
}

/* What windows undone is: x has the window's axes behind the last of `axes`; where windows overlap
 * their values are added. */
static Value lower_overlap_add(Call *call) {
    const Value *x = &call->values[0];
    Type from = *value_type(x), to = {.element = from.element};
    Dim given[RANK_LIMIT], zero = constant(call, 0);
    int64_t stride[RANK_LIMIT], dilation[RANK_LIMIT];
    int axes[RANK_LIMIT] = {0}, count = sizes_argument(call, 1, given), last = 0;
    exact_numbers(call, 2, count, 1, 1, stride);
    exact_numbers(call, 3, count, 1, 1, dilation);
    for (int i = 0; i < count && !call->broken; i++) {
        int64_t axis = from.rank;
        dim_is_constant(given[i], &axis);
        axes[i] = axis_in(call, (double)axis, from.rank - count, place_of(call, 1));
        if (axes[i] > last) last = axes[i];
    }
    if (call->broken) return value_error;
    to.rank = from.rank - count;
    View view = {.rank = to.rank};
    for (int i = 0; i < to.rank; i++) {
        int axis = i <= last ? i : i + count;
        view.coordinates[i] = coordinate_along(zero, axis);
        to.dims[i] = from.dims[axis];
    }
    for (int i = 0; i < count; i++) {
        Dim one = constant(call, 1), windows = from.dims[axes[i]], size = from.dims[last + 1 + i];
        Dim reach = dim_multiply(table_of(call), dim_subtract(table_of(call), size, one),
                                 constant(call, dilation[i]));
        Dim steps = dim_multiply(table_of(call), dim_subtract(table_of(call), windows, one),
                                 constant(call, stride[i]));
        Dim length = steps && reach ? dim_add(table_of(call), steps, reach) : NULL;
        to.dims[axes[i]] = checked(call, length ? dim_add(table_of(call), length, one) : NULL);
        view.coordinates[axes[i]].factors[axes[i]] = stride[i];
        view.coordinates[axes[i]].factors[last + 1 + i] = dilation[i];
    }
    if (call->broken) return value_error;
    Range range = users_place(call->context, call->range);
    NodeId sum = graph_adjoint(call->context->graph, &view, x->node, to, range);
    if (sum != NODE_NONE) return value_tensor(call->context->graph, sum, call->range);
    report(call->context, E0208, call->range, "overlap_add takes fewer axes");
    return value_error;
}

/* Movements of several tensors. */

/* The tensors of a list; false after reporting. */
static bool tensors_argument(Call *call) {
    const Value *list = &call->values[0];
    if (list->kind != VALUE_items || !list->items.count) {
        report(call->context, E0203, place_of(call, 0), "`%s` takes a list of tensors, not %s",
               call->movement->name, text_of(call, list));
        return false;
    }
    for (size_t i = 0; i < list->items.count; i++) {
        const Value *item = &list->items.values[i];
        if (!is_tensor(call, item, item->range.source ? item->range : call->range)) return false;
    }
    return true;
}

/* Do two shapes agree but for one axis? -1: in all. */
static bool same_but(Call *call, const Value *a, const Value *b, int axis) {
    const Type *from = value_type(a), *other = value_type(b);
    bool same = from->rank == other->rank && from->element == other->element;
    for (int i = 0; same && i < from->rank; i++)
        same = i == axis || from->dims[i] == other->dims[i];
    if (same) return true;
    Diagnostic *d =
        report(call->context, from->element == other->element ? E0207 : E0203, call->range,
               "%s and %s can't stand side by side", text_of(call, a), text_of(call, b));
    if (a->range.source) diagnostic_note(d, a->range, "this is %s", text_of(call, a));
    if (b->range.source) diagnostic_note(d, b->range, "this is %s", text_of(call, b));
    return false;
}

static Value concatenate(Call *call, const Value *items, size_t count, int axis) {
    Dim total = constant(call, 0), start = total;
    for (size_t i = 0; i < count; i++) {
        if (!same_but(call, &items[0], &items[i], axis)) return value_error;
        total = total ? dim_add(table_of(call), total, value_type(&items[i])->dims[axis]) : NULL;
    }
    total = checked(call, total);
    if (call->broken) return value_error;
    Value sum = value_error;
    for (size_t i = 0; i < count; i++) {
        Value part = placed(call, &items[i], axis, start, total);
        start = dim_add(table_of(call), start, value_type(&items[i])->dims[axis]);
        sum = i ? add_values(call, &sum, &part) : part;
        if (sum.kind == VALUE_error) return sum;
    }
    return sum;
}

static Value lower_concat(Call *call) {
    if (!tensors_argument(call)) return value_error;
    const Items *items = &call->values[0].items;
    int axis = axis_argument(call, 1, -1, value_type(&items->values[0])->rank);
    return call->broken ? value_error : concatenate(call, items->values, items->count, axis);
}

static Value lower_stack(Call *call) {
    if (!tensors_argument(call)) return value_error;
    const Items *items = &call->values[0].items;
    Type type = *value_type(&items->values[0]);
    int axis = axis_argument(call, 1, 0, type.rank + 1);
    if (call->broken) return value_error;
    if (type.rank == RANK_LIMIT) {
        report(call->context, E0208, call->range, "a tensor has at most %d dimensions", RANK_LIMIT);
        return value_error;
    }
    Value *parts = arena_new_array(call->context->lowering->arena, Value, items->count);
    memmove(type.dims + axis + 1, type.dims + axis, sizeof(Dim) * (size_t)(type.rank - axis));
    type.dims[axis] = constant(call, 1);
    type.rank++;
    for (size_t i = 0; i < items->count; i++) {
        if (!same_but(call, &items->values[0], &items->values[i], -1)) return value_error;
        parts[i] = make_reshape(call->context, &items->values[i], type, call->range);
        if (parts[i].kind == VALUE_error) return value_error;
    }
    return concatenate(call, parts, items->count, axis);
}

/* The sizes of the parts: those of a list, or as many equal ones. */
static size_t part_sizes(Call *call, Dim whole, Dim **sizes) {
    const Value *parts = &call->values[1];
    bool list = parts->kind == VALUE_items;
    int64_t number = list ? (int64_t)parts->items.count : whole_argument(call, 1, 1);
    if (number < 1 || number > FACTOR_LIMIT) {
        report(call->context, E0211, place_of(call, 1), "there are no %lld parts",
               (long long)number);
        broken(call);
    }
    if (call->broken) return 0;
    *sizes = arena_new_array(call->context->lowering->arena, Dim, number);
    Dim equal = list ? NULL : dim_divide(table_of(call), whole, constant(call, number)), sum = NULL;
    for (int64_t i = 0; i < number && !call->broken; i++) {
        Dim size =
            list ? to_size(call->context, &parts->items.values[i], place_of(call, 1)) : equal;
        if (list && !size) return broken(call), 0;
        if (!size) break;
        (*sizes)[i] = list ? checked(call, size) : size;
        sum = sum ? dim_add(table_of(call), sum, size) : size;
    }
    if (call->broken || sum == whole || (equal && call->context->checking)) return (size_t)number;
    report(call->context, E0209, place_of(call, 1), "an axis of %s can't be split into these parts",
           dim_text(call->context->lowering->arena, whole));
    return broken(call), 0;
}

static Value lower_split(Call *call) {
    const Value *x = &call->values[0];
    Type type = *value_type(x);
    int axis = axis_argument(call, 2, -1, type.rank);
    Dim *sizes = NULL, start = constant(call, 0);
    size_t count = call->broken ? 0 : part_sizes(call, type.dims[axis], &sizes);
    if (call->broken) return value_error;
    Items items = items_new(call->context->lowering->arena, count);
    items.names = NULL;
    for (size_t i = 0; i < count; i++) {
        items.values[i] = sliced(call, x, axis, start, sizes[i]);
        start = dim_add(table_of(call), start, sizes[i]);
    }
    return (Value){.kind = VALUE_items, .range = call->range, .items = items};
}

/* Sizes. */

static Value lower_rank(Call *call) {
    return value_number(value_type(&call->values[0])->rank, call->range);
}

/* The table. Functions whose first parameter is x take a tensor there. */

static const Movement movements[] = {
    {"transpose", {"x"}, 1, lower_transpose},
    {"permute", {"x", "axes"}, 2, lower_permute},
    {"exchange", {"x", "axis", "other"}, 3, lower_exchange},
    {"pad", {"x", "before", "after", "value"}, 1, lower_pad},
    {"flip", {"x", "axis"}, 1, lower_flip},
    {"roll", {"x", "by", "axis"}, 2, lower_roll},
    {"expand", {"x", "axis"}, 1, lower_expand},
    {"squeeze", {"x", "axis"}, 1, lower_squeeze},
    {"tile", {"x", "times"}, 2, lower_tile},
    {"windows", {"x", "axes", "size", "stride", "dilation"}, 3, lower_windows},
    {"overlap_add", {"x", "axes", "stride", "dilation"}, 2, lower_overlap_add},
    {"concat", {"parts", "axis"}, 1, lower_concat},
    {"stack", {"parts", "axis"}, 1, lower_stack},
    {"split", {"x", "parts", "axis"}, 2, lower_split},
    {"rank", {"x"}, 1, lower_rank},
};

static const Movement *find_movement(const char *name) {
    for (size_t i = 0; i < sizeof movements / sizeof *movements; i++)
        if (!strcmp(movements[i].name, name)) return &movements[i];
    return NULL;
}

bool is_movement_name(const char *name) {
    return find_movement(name) != NULL;
}

/* Binding. */

static int parameter_count(const Movement *movement) {
    int count = 0;
    while (count < PARAMETER_LIMIT && movement->parameters[count]) count++;
    return count;
}

static void bind(Call *call, int which, Value value, Range range) {
    if (call->given[which]) {
        report(call->context, E0204, range, "`%s` is given `%s` twice", call->movement->name,
               call->movement->parameters[which]);
        broken(call);
    }
    if (value.kind == VALUE_error) broken(call);
    if (!value.range.source) value.range = range;
    call->given[which] = true;
    call->values[which] = value;
}

static void bind_position(Call *call, int position, Value value, Range range) {
    int most = parameter_count(call->movement);
    if (position < most) {
        bind(call, position, value, range);
        return;
    }
    report(call->context, E0204, range, "`%s` takes %d argument%s, this is one more",
           call->movement->name, most, most == 1 ? "" : "s");
    broken(call);
}

static void bind_name(Call *call, const Name *name, Value value, Range range) {
    const Movement *movement = call->movement;
    int count = parameter_count(movement), which = 0;
    while (which < count && strcmp(movement->parameters[which], name->text)) which++;
    if (which < count) {
        bind(call, which, value, range);
        return;
    }
    Diagnostic *d = report(call->context, E0204, name->range, "`%s` has no argument `%s`",
                           movement->name, name->text);
    const char *nearest = nearest_name(name->text, movement->parameters, (size_t)count);
    help_nearest(d, nearest);
    if (!nearest)
        diagnostic_help(
            d, "its arguments are %s",
            names_text(call->context->lowering->arena, movement->parameters, (size_t)count));
    broken(call);
}

static void bind_all(Call *call, const Value *piped) {
    int position = 0;
    Context outside = *call->context;
    outside.expected = NULL;
    if (piped) bind_position(call, position++, *piped, piped->range);
    vector_each(Argument, argument, call->expression->arguments) {
        Value value = lower_expression(&outside, argument->value);
        Range range = argument->value->range;
        if (argument->name.text) bind_name(call, &argument->name, value, range);
        else bind_position(call, position++, value, range);
    }
    for (int i = 0; i < call->movement->needed && !call->broken; i++) {
        if (call->given[i]) continue;
        report(call->context, E0204, call->range, "`%s` needs `%s`", call->movement->name,
               call->movement->parameters[i]);
        broken(call);
    }
}

bool lower_movement(const Context *context, const Expression *expression, const Value *piped,
                    Value *result) {
    const Movement *movement = find_movement(expression->name.text);
    if (!movement) return false;
    Call call = {.context = context,
                 .expression = expression,
                 .movement = movement,
                 .range = expression->range};
    *result = value_error;
    bind_all(&call, piped);
    bool tensor = !strcmp(movement->parameters[0], "x");
    if (call.broken || (tensor && !is_tensor(&call, &call.values[0], place_of(&call, 0))))
        return true;
    *result = movement->lower(&call);
    return true;
}
