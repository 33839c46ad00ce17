/* Size: how many values, and dimensions, something has. */
#include "compiler/lower/operation.h"

Value call_rank(BuiltinCall *call) {
    return value_number(value_type(&call->values[0])->rank, call->range);
}

Dim size_along(Dimensions *table, const Type *type, uint32_t axes) {
    Dim count = dim_constant(table, 1);
    for (int i = 0; i < type->rank && count; i++)
        if (axes >> i & 1) count = dim_multiply(table, count, type->dims[i]);
    return count;
}

/* Is it `...`? Its sizes are those of the signature. */
static bool is_rest(const Value *value) {
    return value->kind == VALUE_items && value->string;
}

static Dim size_of_rest(const BuiltinCall *call, const Items *sizes) {
    Dim count = constant(call, 1);
    for (size_t i = 0; i < sizes->count && count; i++)
        count = dim_multiply(table_of(call), count, sizes->values[i].size);
    return count;
}

static Value size_value(const BuiltinCall *call, Dim count) {
    if (count) return value_size(count, call->range);
    report(call->context, E0216, call->range, "the number of values passes 2^40");
    return value_error;
}

/* Of a tensor along some axes, of a list, of `...`. */
Value call_size(BuiltinCall *call) {
    const Value *value = &call->values[0];
    if (value->kind == VALUE_tensor) {
        if (!tensor_argument(call, 0)) return value_error;
        const Type *type = value_type(value);
        uint32_t axes = axes_argument(call, 1, type->rank);
        return call->broken ? value_error
                            : size_value(call, size_along(table_of(call), type, axes));
    }
    if (value->kind == VALUE_items && !is_rest(value))
        return size_value(call, constant(call, (int64_t)value->items.count));
    const Binding *rest = is_rest(value) ? scope_find(call->context->scope, "...") : NULL;
    if (rest) return size_value(call, size_of_rest(call, &rest->value.items));
    report(call->context, E0203, call->range, "size takes a tensor, a list or `...`, not %s",
           is_rest(value) ? "`...` of a signature without it" : text_of(call, value));
    return value_error;
}
