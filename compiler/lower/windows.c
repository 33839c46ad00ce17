/* Windows: views of small boxes of a tensor, and the sum of such boxes. */
#include "compiler/lower/builtin.h"

#include "compiler/graph/movement.h"
#include "compiler/lower/view.h"

/* How many windows of `size` with gaps there are in an axis, `stride` apart. */
static Dim window_count(BuiltinCall *call, Dim length, int64_t size, int64_t stride,
                        int64_t dilation) {
    Dim room = dim_subtract(table_of(call), length, constant(call, (size - 1) * dilation + 1));
    int64_t known;
    if (!room || (dim_is_constant(room, &known) && known < 0)) {
        report(call->context, E0211, call->range,
               "a window reaches over %lld, which is more than the axis has: %s",
               (long long)((size - 1) * dilation + 1),
               dim_text(call->context->lowering->arena, length));
        fail_call(call);
        return constant(call, 1);
    }
    Dim steps = dim_is_constant(room, &known) ? constant(call, known / stride)
                : stride == 1                 ? room
                              : dim_divide(table_of(call), room, constant(call, stride));
    return checked(call, steps ? dim_add(table_of(call), steps, constant(call, 1)) : NULL);
}

/* The axes that boxes go along, how far apart they are, and how far apart their elements. */
typedef struct Boxes {
    int count, last; /* last: the last of the axes, behind which those inside a box stand */
    int axes[RANK_LIMIT];
    int64_t stride[RANK_LIMIT], dilation[RANK_LIMIT];
} Boxes;

/* From argument 1, the axes of a tensor of that rank, and the two from `stride` on. */
static Boxes read_boxes(BuiltinCall *call, int rank, int stride) {
    Boxes boxes = {0};
    boxes.count = ordered_axes(call, 1, rank, boxes.axes);
    for (int i = 0; i < boxes.count; i++)
        if (boxes.axes[i] > boxes.last) boxes.last = boxes.axes[i];
    exact_numbers(call, stride, boxes.count, 1, 1, boxes.stride);
    exact_numbers(call, stride + 1, boxes.count, 1, 1, boxes.dilation);
    return boxes;
}

/* The coordinate of axis i, from the box's place and that inside it. */
static void stride_along(View *view, const Boxes *boxes, int i) {
    Coordinate *coordinate = &view->coordinates[boxes->axes[i]];
    coordinate->factors[boxes->axes[i]] = boxes->stride[i];
    coordinate->factors[boxes->last + 1 + i] = boxes->dilation[i];
}

Value call_windows(BuiltinCall *call) {
    Type from = *value_type(&call->values[0]), to = from;
    View view = view_identity(table_of(call), from.rank);
    int64_t size[RANK_LIMIT];
    Boxes boxes = read_boxes(call, from.rank, 3);
    exact_numbers(call, 2, boxes.count, 1, 1, size);
    if (call->broken || !has_room(call, from.rank + boxes.count)) return value_error;
    for (int i = boxes.last + 1; i < from.rank; i++) {
        view.coordinates[i] = coordinate_along(constant(call, 0), i + boxes.count);
        to.dims[i + boxes.count] = from.dims[i];
    }
    for (int i = 0; i < boxes.count && !call->broken; i++) {
        int axis = boxes.axes[i];
        to.dims[axis] =
            window_count(call, from.dims[axis], size[i], boxes.stride[i], boxes.dilation[i]);
        to.dims[boxes.last + 1 + i] = constant(call, size[i]);
        stride_along(&view, &boxes, i);
    }
    to.rank = from.rank + boxes.count;
    return call->broken ? value_error
                        : make_view(call->context, &call->values[0], &view, to, call->range);
}

/* How long an axis is that so many boxes reach over; NULL past a limit. */
static Dim covered(BuiltinCall *call, Dim windows, Dim size, int64_t stride, int64_t dilation) {
    Dimensions *table = table_of(call);
    Dim one = constant(call, 1);
    Dim reach = dim_multiply(table, dim_subtract(table, size, one), constant(call, dilation));
    Dim steps = dim_multiply(table, dim_subtract(table, windows, one), constant(call, stride));
    Dim length = steps && reach ? dim_add(table, steps, reach) : NULL;
    return length ? dim_add(table, length, one) : NULL;
}

/* The axes of one tensor that are not inside of boxes; 0: all are. */
static int outer_rank(const BuiltinCall *call, int rank) {
    const Value *axes = &call->values[1];
    int count = axes->kind == VALUE_items ? (int)axes->items.count : 1;
    return count < rank ? rank - count : 0;
}

/* What windows undone is: x has the window's axes behind the last of `axes`; where windows overlap
 * their values are added. */
Value call_overlap_add(BuiltinCall *call) {
    const Value *x = &call->values[0];
    Type from = *value_type(x), to = {.element = from.element};
    to.rank = outer_rank(call, from.rank);
    Boxes boxes = read_boxes(call, to.rank, 2);
    if (call->broken) return value_error;
    View view = {.rank = to.rank};
    for (int i = 0; i < to.rank; i++) {
        int axis = i <= boxes.last ? i : i + boxes.count;
        view.coordinates[i] = coordinate_along(constant(call, 0), axis);
        to.dims[i] = from.dims[axis];
    }
    for (int i = 0; i < boxes.count; i++) {
        Dim windows = from.dims[boxes.axes[i]], size = from.dims[boxes.last + 1 + i];
        to.dims[boxes.axes[i]] =
            checked(call, covered(call, windows, size, boxes.stride[i], boxes.dilation[i]));
        stride_along(&view, &boxes, i);
    }
    if (call->broken) return value_error;
    Range range = users_place(call->context, call->range);
    NodeId sum = graph_adjoint(call->context->graph, &view, x->node, to, range);
    if (sum != NODE_NONE) return value_tensor(call->context->graph, sum, call->range);
    report(call->context, E0208, call->range, "overlap_add takes fewer axes");
    return value_error;
}
