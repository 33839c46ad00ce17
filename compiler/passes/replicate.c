/* Replicate: one program for several GPUs, each with its share of a batch (SPMD). The graph says
 * what one of them computes, its batch being the share. What has a dimension that counts records is
 * the share of a value; all else is the same on all GPUs. That a reduction, a product or a scatter
 * over records gives the same, what the replicas have of it is put together at once, by whole_sum
 * and its like; on one device these are nothing.
 *
 * Records stay in their share. What takes them from other places, or goes with two of them at a
 * time, is refused. What runs on the CPU there, with the whole batch, is whole already. */
#include "compiler/passes/pass.h"

#include "compiler/graph/list.h"

#include <ctype.h>

enum { NO_AXIS = -1, BAD_AXIS = -2 };

typedef struct Replication {
    const Graph *from;
    Graph *to;
    Diagnostics *diagnostics;
} Replication;

/* How many of the dimension's units are a record's; NULL: it has records in another way. */
static Dim units_of_record(const Graph *graph, Dim dim) {
    Dim units = dim_divide(graph->dimensions, dim, graph->batch);
    return units && !dim_counts_records(units) ? units : NULL;
}

/* The one axis that counts records. */
static int batch_axis(const Graph *graph, const Type *type) {
    int axis = NO_AXIS;
    for (int i = 0; i < type->rank; i++) {
        if (!dim_counts_records(type->dims[i])) continue;
        if (axis != NO_AXIS || !units_of_record(graph, type->dims[i])) return BAD_AXIS;
        axis = i;
    }
    return axis;
}

/* Does it count records before a reshape where it does behind it? */
static bool keeps_records(const Graph *graph, const Node *node, int from, int to) {
    const Type *operand = &graph_node(graph, node->inputs[0])->type;
    if (from < 0 || to < 0) return from == to;
    return type_count(graph->dimensions, operand, 0, from) ==
           type_count(graph->dimensions, &node->type, 0, to);
}

/* Is a record's part of this coordinate of the operand what its part of the axis of the result
 * has? `each` and `own` are units of a record in the result and the operand. */
static bool stays_in_record(const Graph *graph, const Node *node, const Coordinate *coordinate,
                            int axis, int64_t each, int64_t own) {
    Type record = node->type;
    Dimensions *table = graph->dimensions;
    if (coordinate->factors[axis] * each != own * coordinate->divisor) return false;
    record.dims[axis] = dim_constant(table, each);
    Dim least = coordinate_extreme(table, coordinate, &record, false);
    Dim most = coordinate_extreme(table, coordinate, &record, true);
    int64_t low, high;
    return least && most && dim_is_constant(least, &low) && dim_is_constant(most, &high) &&
           low >= 0 && high < own * coordinate->divisor;
}

/* Coordinate `from` is axis `to` and nothing else. */
static bool is_along(const Node *node, const Coordinate *coordinate, int to) {
    int64_t start;
    for (int axis = 0; axis < node->type.rank; axis++)
        if (coordinate->factors[axis] != (axis == to)) return false;
    return coordinate->divisor == 1 && dim_is_constant(coordinate->start, &start) && !start;
}

static bool views_records(const Graph *graph, const Node *node, int from, int to) {
    const Type *operand = &graph_node(graph, node->inputs[0])->type;
    int64_t each, own;
    if (from < 0 && to < 0) return true;
    if (to < 0) return false;
    for (int i = 0; i < operand->rank; i++)
        if (i != from && node->view->coordinates[i].factors[to]) return false;
    if (from < 0) return true;
    const Coordinate *coordinate = &node->view->coordinates[from];
    if (is_along(node, coordinate, to)) return operand->dims[from] == node->type.dims[to];
    return dim_is_constant(units_of_record(graph, node->type.dims[to]), &each) &&
           dim_is_constant(units_of_record(graph, operand->dims[from]), &own) &&
           stays_in_record(graph, node, coordinate, to, each, own);
}

/* Can each replica compute its share of the node by itself? */
static bool is_of_records(const Graph *graph, const Node *node) {
    int to = batch_axis(graph, &node->type), from[ARITY_LIMIT];
    for (int i = 0; i < node->input_count; i++) {
        from[i] = batch_axis(graph, &graph_node(graph, node->inputs[i])->type);
        if (from[i] == BAD_AXIS) return false;
    }
    if (to == BAD_AXIS) return false;
    switch (op_info[node->op].class) {
    case LOOP_row: return to != node->type.rank - 1;
    case LOOP_gather: return from[0] != 0;
    case LOOP_scatter: return to != 0;
    case LOOP_reduce: return to >= 0 || from[0] < 0 || op_info[node->op].gives != GIVES_index;
    default: break;
    }
    if (node->op == OP_reshape) return keeps_records(graph, node, from[0], to);
    return node->op != OP_view || views_records(graph, node, from[0], to);
}

/* How the results of replicas are put together; OP_constant: they are the same, or shares. */
static Op whole_op(const Graph *graph, const Node *node) {
    bool over_records = false;
    for (int i = 0; i < node->input_count; i++)
        over_records |= batch_axis(graph, &graph_node(graph, node->inputs[i])->type) >= 0;
    if (!over_records || batch_axis(graph, &node->type) >= 0) return OP_constant;
    switch (node->op) {
    case OP_max:
    case OP_any: return OP_whole_max;
    case OP_min:
    case OP_all: return OP_whole_min;
    case OP_prod: return OP_whole_prod;
    default: return OP_whole_sum;
    }
}

/* As the program calls it, or the operation's own name where that is no call. */
static const char *written_name(const Replication *all, const Node *node) {
    const Range range = node->range;
    const char *text = range.source ? range.source->text + range.begin : "";
    size_t size = 0;
    while (isalnum((unsigned char)text[size]) || text[size] == '_') size++;
    return size ? arena_copy(all->to->arena, text, size) : op_info[node->op].name;
}

static bool refuse(const Replication *all, const Node *node) {
    Diagnostic *d = diagnostic_add(all->diagnostics, E0214, node->range,
                                   "`%s` goes from record to record here, and each replica has "
                                   "records of its own",
                                   written_name(all, node));
    diagnostic_help(d, "without `replicas`, or `@cpu` behind it, one device has the whole batch");
    return false;
}

static bool refuse_device(const Replication *all, const Node *node) {
    Diagnostic *d = diagnostic_add(all->diagnostics, E0305, node->placement.range,
                                   "a block with `replicas` runs on each of their GPUs, not on "
                                   "gpu(%d) alone",
                                   node->placement.index);
    diagnostic_help(d, "`@cpu` is possible: it computes the whole batch");
    return false;
}

/* Where records lie apart by a size that each run chooses, shares would have to be found then. */
static bool has_chosen_size(const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (dim_is_bounded(type->dims[i])) return true;
    return false;
}

static bool refuse_size(const Replication *all, const Node *node) {
    diagnostic_add(all->diagnostics, E0214, node->range,
                   "replicas take values of known sizes, not `%s`",
                   type_text(all->to->arena, &node->type));
    return false;
}

static bool is_on_cpu(const Node *node) {
    return has_list_form(node->op) || node->placement.device == DEVICE_cpu;
}

static bool may_replicate(const Replication *all, const Node *node) {
    const Placement *placement = &node->placement;
    if (placement->device == DEVICE_gpu && !placement->soft) return refuse_device(all, node);
    if (has_chosen_size(&node->type)) return refuse_size(all, node);
    return is_on_cpu(node) || is_of_records(all->from, node) || refuse(all, node);
}

static NodeId copy_node(const Replication *all, NodeId id, const NodeId *map) {
    const Graph *from = all->from;
    Node node = *graph_node(from, id);
    const Op op = is_on_cpu(&node) ? OP_constant : whole_op(from, &node);
    for (int i = 0; i < node.input_count; i++) node.inputs[i] = map[node.inputs[i]];
    if (node.placement.device != DEVICE_cpu)
        node.placement = (Placement){.device = DEVICE_gpu, .index = EVERY_GPU, .soft = true};
    NodeId copy = graph_must_add(all->to, node);
    if (op == OP_constant) return copy;
    return graph_must_add(all->to, (Node){.op = op,
                                          .inputs = {copy},
                                          .range = node.range,
                                          .library = node.library,
                                          .gradient_of = node.gradient_of,
                                          .placement = node.placement});
}

static Graph *replicate_needed(const Replication *all, Arena *arena) {
    const bool *needed = graph_needed(arena, all->from);
    NodeId *map = arena_new_array(arena, NodeId, all->from->nodes.count + 1);
    bool good = true;
    for (NodeId id = 0; id < all->from->nodes.count; id++)
        if (needed[id] || graph_node(all->from, id)->op == OP_weight) {
            good &= may_replicate(all, graph_node(all->from, id));
            if (good) map[id] = copy_node(all, id, map);
        }
    if (good) graph_copy_outputs(all->to, all->from, map);
    return good ? all->to : NULL;
}

Graph *replicate(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    if (graph->wishes.replicas < 2) return (Graph *)graph;
    const Replication all = {graph, graph_like(arena, graph), diagnostics};
    return replicate_needed(&all, arena);
}
