/* Join: concat and stack, each part in its place between zeros, and the sum of all; roll, which
 * joins two slices; and split. */
#include "compiler/lower/builtin.h"
#include "compiler/lower/stream.h"
#include "compiler/lower/view.h"

#include <string.h>

/* `size` elements of an axis, from `start` on. */
static Value sliced(BuiltinCall *call, const Value *x, int axis, Dim start, Dim size) {
    Type type = *value_type(x);
    View view = view_identity(table_of(call), type.rank);
    view.coordinates[axis].start = start;
    type.dims[axis] = size;
    return make_view(call->context, x, &view, type, call->range);
}

/* The tensor behind `start` zeros, in an axis as long as `size`. What is known of its values stays
 * known: values of others will stand where the zeros are. */
static Value placed(BuiltinCall *call, const Value *x, int axis, Dim start, Dim size) {
    Value result =
        sliced(call, x, axis, dim_subtract(table_of(call), constant(call, 0), start), size);
    result.low = x->low;
    result.high = x->high;
    return result;
}

static Value add_values(BuiltinCall *call, const Value *a, const Value *b) {
    Op op = value_type(a)->element == TYPE_bool ? OP_or : OP_add;
    Value sum =
        add_node(call->context, (Node){.op = op, .inputs = {a->node, b->node}}, call->range);
    bool known = a->low && a->low == b->low && a->high == b->high;
    if (sum.kind == VALUE_error || !known) return sum;
    sum.low = a->low;
    sum.high = a->high;
    return sum;
}

/* The tensors of a list; false after reporting. */
static bool tensors_argument(BuiltinCall *call) {
    const Value *list = &call->values[0];
    if (list->kind != VALUE_items || !list->items.count) {
        bool streams = list->kind == VALUE_stream && !strcmp(call->builtin->name, "concat");
        Diagnostic *d =
            report(call->context, E0203, argument_range(call, 0), "`%s` takes a list of %s, not %s",
                   call->builtin->name, streams ? "streams" : "tensors",
                   list->kind == VALUE_items ? "an empty one" : text_of(call, list));
        diagnostic_help(d, "`%s([a, b])`", call->builtin->name);
        return false;
    }
    for (size_t i = 0; i < list->items.count; i++) {
        const Value *item = &list->items.values[i];
        if (!is_tensor(call, item, item->range.source ? item->range : call->range)) return false;
    }
    return true;
}

/* Do two shapes agree but for one axis? -1: in all. */
static bool same_but(BuiltinCall *call, const Value *a, const Value *b, int axis) {
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

static Value concatenate(BuiltinCall *call, const Value *items, size_t count, int axis) {
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

/* One after the other. */
static Value concat_streams(BuiltinCall *call) {
    if (!call->given[1]) return join_list(call->context, call->expression, &call->values[0]);
    report(call->context, E0204, argument_range(call, 1), "streams have no axis");
    return fail_call(call);
}

Value call_concat(BuiltinCall *call) {
    if (holds_streams(&call->values[0])) return concat_streams(call);
    if (!tensors_argument(call)) return value_error;
    const Items *items = &call->values[0].items;
    int axis = axis_argument(call, 1, -1, value_type(&items->values[0])->rank);
    return call->broken ? value_error : concatenate(call, items->values, items->count, axis);
}

Value call_stack(BuiltinCall *call) {
    if (!tensors_argument(call)) return value_error;
    const Items *items = &call->values[0].items;
    Type type = *value_type(&items->values[0]);
    int axis = axis_argument(call, 1, 0, type.rank + 1);
    if (call->broken || !has_room(call, type.rank + 1)) return value_error;
    Value *parts = arena_new_array(call->context->lowering->arena, Value, items->count);
    type = type_with(type, axis, constant(call, 1));
    for (size_t i = 0; i < items->count; i++) {
        if (!same_but(call, &items->values[0], &items->values[i], -1)) return value_error;
        parts[i] = make_reshape(call->context, &items->values[i], type, call->range);
        if (parts[i].kind == VALUE_error) return value_error;
    }
    return concatenate(call, parts, items->count, axis);
}

/* The sizes of the parts: those of a list, or as many equal ones. */
static size_t part_sizes(BuiltinCall *call, Dim whole, Dim **sizes) {
    const Value *parts = &call->values[1];
    bool list = parts->kind == VALUE_items;
    int64_t number = list ? (int64_t)parts->items.count : whole_argument(call, 1, 1);
    if (number < 1 || number > FACTOR_LIMIT) {
        report(call->context, E0211, argument_range(call, 1), "there are no %lld parts",
               (long long)number);
        fail_call(call);
    }
    if (call->broken) return 0;
    *sizes = arena_new_array(call->context->lowering->arena, Dim, number);
    Dim equal = list ? NULL : dim_divide(table_of(call), whole, constant(call, number)), sum = NULL;
    for (int64_t i = 0; i < number && !call->broken; i++) {
        Dim size =
            list ? to_size(call->context, &parts->items.values[i], argument_range(call, 1)) : equal;
        if (list && !size) return fail_call(call), 0;
        if (!size) break;
        (*sizes)[i] = list ? checked(call, size) : size;
        sum = sum ? dim_add(table_of(call), sum, size) : size;
    }
    if (call->broken || sum == whole || (equal && call->context->checking)) return (size_t)number;
    report(call->context, E0209, argument_range(call, 1),
           "an axis of %s can't be split into these parts",
           dim_text(call->context->lowering->arena, whole));
    return fail_call(call), 0;
}

Value call_split(BuiltinCall *call) {
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

/* The last `by` come first: two slices, each in its place. */
Value call_roll(BuiltinCall *call) {
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
