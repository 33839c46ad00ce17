/* Movement: views and reshapes of one tensor. */
#include "compiler/lower/builtin.h"

#include "compiler/graph/movement.h"
#include "compiler/lower/view.h"

#include <string.h>

static Value view_of(BuiltinCall *call, const View *view, Type type) {
    if (call->broken) return value_error;
    return make_view(call->context, &call->values[0], view, type, call->range);
}

static Value lower_permutation(BuiltinCall *call, const int *axes) {
    Type from = *value_type(&call->values[0]), to = from;
    View view = {.rank = from.rank};
    for (int i = 0; i < from.rank; i++) {
        view.coordinates[axes[i]] = coordinate_along(constant(call, 0), i);
        to.dims[i] = from.dims[axes[i]];
    }
    return view_of(call, &view, to);
}

Value call_transpose(BuiltinCall *call) {
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

Value call_permute(BuiltinCall *call) {
    int rank = value_type(&call->values[0])->rank, axes[RANK_LIMIT] = {0};
    Dim one_each[RANK_LIMIT];
    exact_sizes(call, 1, rank, 0, one_each);
    ordered_axes(call, 1, rank, axes);
    return call->broken ? value_error : lower_permutation(call, axes);
}

Value call_exchange(BuiltinCall *call) {
    int rank = value_type(&call->values[0])->rank, axes[RANK_LIMIT];
    int first = axis_argument(call, 1, 0, rank), second = axis_argument(call, 2, -1, rank);
    if (call->broken) return value_error;
    for (int i = 0; i < rank; i++) axes[i] = i == first ? second : i == second ? first : i;
    return lower_permutation(call, axes);
}

Value call_pad(BuiltinCall *call) {
    Type type = *value_type(&call->values[0]);
    Dim before[RANK_LIMIT], after[RANK_LIMIT];
    View view = view_identity(table_of(call), type.rank);
    exact_sizes(call, 1, type.rank, 0, before);
    exact_sizes(call, 2, type.rank, 0, after);
    view.fill = number_argument(call, 3, 0);
    if (call->broken) return value_error;
    for (int i = 0; i < type.rank; i++) {
        Dim size = dim_add(table_of(call), type.dims[i], before[i]);
        type.dims[i] = checked(call, size ? dim_add(table_of(call), size, after[i]) : NULL);
        view.coordinates[i].start = dim_subtract(table_of(call), constant(call, 0), before[i]);
    }
    return view_of(call, &view, type);
}

Value call_flip(BuiltinCall *call) {
    Type type = *value_type(&call->values[0]);
    int axis = axis_argument(call, 1, -1, type.rank);
    if (call->broken) return value_error;
    View view = view_identity(table_of(call), type.rank);
    view.coordinates[axis].start = dim_subtract(table_of(call), type.dims[axis], constant(call, 1));
    view.coordinates[axis].factors[axis] = -1;
    return view_of(call, &view, type);
}

Value call_expand(BuiltinCall *call) {
    const Value *x = &call->values[0];
    Type type = *value_type(x);
    if (!has_room(call, type.rank + 1)) return value_error;
    int axis = axis_argument(call, 1, -1, type.rank + 1);
    if (call->broken) return value_error;
    type = type_with(type, axis, constant(call, 1));
    return make_reshape(call->context, x, type, call->range);
}

Value call_squeeze(BuiltinCall *call) {
    const Value *x = &call->values[0];
    Type type = *value_type(x);
    int axis = axis_argument(call, 1, -1, type.rank);
    if (call->broken) return value_error;
    if (dim_is_one(type.dims[axis]))
        return make_reshape(call->context, x, type_without(type, axis), call->range);
    report(call->context, E0207, call->range, "axis %d of %s is not of size 1", axis,
           text_of(call, x));
    return value_error;
}

/* Each axis behind one that repeats it. */
Value call_tile(BuiltinCall *call) {
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
