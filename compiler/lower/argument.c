/* Argument: what a parameter of a builtin was given, as tensors, numbers, axes and sizes. */
#include "compiler/lower/builtin.h"

#include <math.h>
#include <string.h>

const char *text_of(const BuiltinCall *call, const Value *value) {
    return value_text(call->context->lowering->arena, value);
}

Value fail_call(BuiltinCall *call) {
    call->broken = true;
    return value_error;
}

Range argument_range(const BuiltinCall *call, int which) {
    Range range = call->values[which].range;
    return range.source ? range : call->range;
}

/* Tensors. */

static bool report_no_tensor(BuiltinCall *call, const Value *value, Range range) {
    Diagnostic *d = report(call->context, E0203, range, "`%s` takes a tensor, not %s",
                           call->builtin->name, text_of(call, value));
    if (value->kind == VALUE_field) help_untyped(d, value);
    fail_call(call);
    return false;
}

bool is_tensor(BuiltinCall *call, const Value *value, Range range) {
    if (value->kind == VALUE_error) return false;
    if (value->kind == VALUE_tensor && value->graph == call->context->graph)
        return has_one_shape(call->context, value, range);
    if (value->kind != VALUE_tensor) return report_no_tensor(call, value, range);
    report_foreign(call->context, range);
    return false;
}

bool tensor_argument(BuiltinCall *call, int which) {
    Value *value = &call->values[which];
    Range range = argument_range(call, which);
    bool columns = value->kind == VALUE_field && value->form == FORM_columns;
    bool list = value->kind == VALUE_items && value->items.count && !value->items.names;
    if (!columns && !list) return is_tensor(call, value, range);
    NodeId node = to_node(call->context, value, columns ? TYPE_f32 : list_element(value), range);
    if (node != NODE_NONE) *value = value_tensor(call->context->graph, node, range);
    return node != NODE_NONE;
}

/* Numbers. */

double number_argument(BuiltinCall *call, int which, double otherwise) {
    double number = otherwise;
    if (call->given[which] &&
        !to_number(call->context, &call->values[which], argument_range(call, which), &number))
        fail_call(call);
    return call->broken ? otherwise : number;
}

int64_t whole_argument(BuiltinCall *call, int which, int64_t otherwise) {
    double number = number_argument(call, which, (double)otherwise);
    if (call->broken) return otherwise;
    if (number == floor(number) && fabs(number) <= (double)DIMENSION_LIMIT) return (int64_t)number;
    report(call->context, E0211, argument_range(call, which), "`%s` is a whole number, not %.15g",
           call->builtin->parameters[which], number);
    fail_call(call);
    return otherwise;
}

/* Lists. */

static bool fits_rank(BuiltinCall *call, size_t rank, Range range) {
    if (rank <= RANK_LIMIT) return true;
    report(call->context, E0208, range, "a tensor has at most %d dimensions", RANK_LIMIT);
    fail_call(call);
    return false;
}

/* A size, or a whole number less than 0. */
static Dim size_of_item(BuiltinCall *call, const Value *item, Range range) {
    bool whole = item->kind == VALUE_number && item->number == floor(item->number);
    if (!whole || item->number >= 0) return to_size(call->context, item, range);
    if (item->number >= -(double)DIMENSION_LIMIT) return constant(call, (int64_t)item->number);
    report(call->context, E0216, range, "a size is at least -2^40 here, not %.15g", item->number);
    return NULL;
}

/* A list of sizes, or one size. Returns how many. */
static int sizes_argument(BuiltinCall *call, int which, Dim *sizes) {
    const Value *value = &call->values[which];
    bool list = value->kind == VALUE_items;
    size_t count = list ? value->items.count : 1;
    if (!fits_rank(call, count, argument_range(call, which))) return 0;
    for (size_t i = 0; i < count; i++) {
        const Value *item = list ? &value->items.values[i] : value;
        sizes[i] = size_of_item(call, item, argument_range(call, which));
        if (!sizes[i]) fail_call(call);
    }
    return call->broken ? 0 : (int)count;
}

/* Axes. */

/* The axis, counted from 0. */
static int axis_in(BuiltinCall *call, double axis, int rank, Range range) {
    if (axis == floor(axis) && axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    Diagnostic *d =
        report(call->context, E0211, range, "there is no axis %.15g: the tensor has %d dimension%s",
               axis, rank, rank == 1 ? "" : "s");
    if (rank) diagnostic_help(d, "axes count from 0, or from the last, which is -1");
    fail_call(call);
    return 0;
}

int axis_argument(BuiltinCall *call, int which, int otherwise, int rank) {
    double axis = number_argument(call, which, otherwise);
    return call->broken ? 0 : axis_in(call, axis, rank, argument_range(call, which));
}

static uint32_t axis_bit(BuiltinCall *call, const Value *value, int rank, Range range) {
    double axis;
    if (!to_number(call->context, value, range, &axis)) fail_call(call);
    return call->broken ? 0 : 1u << axis_in(call, axis, rank, range);
}

uint32_t axes_argument(BuiltinCall *call, int which, int rank) {
    const Value *value = &call->values[which];
    uint32_t axes = 0;
    if (!call->given[which] || value->kind == VALUE_all) return (1u << rank) - 1;
    Range range = argument_range(call, which);
    if (value->kind != VALUE_items) return axis_bit(call, value, rank, range);
    for (size_t i = 0; i < value->items.count && !call->broken; i++)
        axes |= axis_bit(call, &value->items.values[i], rank, range);
    return axes;
}

int ordered_axes(BuiltinCall *call, int which, int rank, int *axes) {
    Dim given[RANK_LIMIT];
    int count = sizes_argument(call, which, given);
    uint32_t seen = 0;
    for (int i = 0; i < count && !call->broken; i++) {
        int64_t axis = rank;
        dim_is_constant(given[i], &axis);
        axes[i] = axis_in(call, (double)axis, rank, argument_range(call, which));
        if (seen >> axes[i] & 1 && !call->broken) {
            report(call->context, E0211, argument_range(call, which), "axis %d is named twice",
                   axes[i]);
            fail_call(call);
        }
        seen |= 1u << axes[i];
    }
    return call->broken ? 0 : count;
}

/* Sizes. */

bool has_room(BuiltinCall *call, int rank) {
    return fits_rank(call, (size_t)rank, call->range);
}

void exact_sizes(BuiltinCall *call, int which, int count, int64_t otherwise, Dim *sizes) {
    for (int i = 0; i < count; i++) sizes[i] = constant(call, otherwise);
    if (!call->given[which] || call->broken) return;
    Dim found[RANK_LIMIT];
    int given = sizes_argument(call, which, found);
    if (call->broken) return;
    memcpy(sizes, found, sizeof(Dim) * (size_t)(given < count ? given : count));
    if (given == count) return;
    report(call->context, E0204, argument_range(call, which),
           "`%s` has %d value%s, and %d %s needed", call->builtin->parameters[which], given,
           given == 1 ? "" : "s", count, count == 1 ? "is" : "are");
    fail_call(call);
}

void exact_numbers(BuiltinCall *call, int which, int count, int64_t otherwise, int64_t least,
                   int64_t *numbers) {
    Dim sizes[RANK_LIMIT];
    exact_sizes(call, which, count, otherwise, sizes);
    for (int i = 0; i < count && !call->broken; i++) {
        bool known = dim_is_constant(sizes[i], &numbers[i]);
        if (known && numbers[i] >= least && numbers[i] <= FACTOR_LIMIT) continue;
        report(call->context, known ? E0211 : E0206, argument_range(call, which),
               "`%s` is from %lld to 2^19 and known at compile time, not %s",
               call->builtin->parameters[which], (long long)least,
               dim_text(call->context->lowering->arena, sizes[i]));
        fail_call(call);
    }
}

bool shape_argument(BuiltinCall *call, int which, Type *type) {
    const Value *value = &call->values[which];
    Context fixing = *call->context;
    fixing.fixing = true;
    size_t count = value->kind == VALUE_items ? value->items.count : 1;
    if (!fits_rank(call, count, argument_range(call, which))) return false;
    for (size_t i = 0; i < count && !call->broken; i++) {
        const Value *item = value->kind == VALUE_items ? &value->items.values[i] : value;
        Range place = item->range.source ? item->range : argument_range(call, which);
        Dim size = to_size(&fixing, item, place);
        if (!size || !is_dimension(call->context, size, place)) fail_call(call);
        type->dims[type->rank++] = size;
    }
    return !call->broken;
}

Dim checked(BuiltinCall *call, Dim size) {
    if (size && is_dimension(call->context, size, call->range)) return size;
    if (!size) report(call->context, E0216, call->range, "a size passes 2^40");
    fail_call(call);
    return constant(call, 1);
}
