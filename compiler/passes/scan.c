/* Scan: loops that keep what their derivative needs, the loop backwards, and dropping the rest. */
#include "compiler/passes/scan.h"

#include "compiler/graph/list.h"

#include <string.h>

/* Copying a body. */

static NodeId *new_ids(Arena *arena, size_t count) {
    NodeId *ids = arena_new_array(arena, NodeId, count + 1);
    memset(ids, 0xff, sizeof *ids * (count + 1)); /* NODE_NONE */
    return ids;
}

/* Copies the nodes that are not in the map yet. */
static void copy_nodes(Graph *to, const Graph *from, const bool *needed, NodeId *map) {
    for (NodeId id = 0; id < from->nodes.count; id++)
        if (needed[id] && map[id] == NODE_NONE) map[id] = graph_copy_node(to, from, id, map);
}

/* Keeping. */

static Graph *copy_keeping(Arena *arena, const Graph *from, int carried, Range range) {
    Graph *body = graph_new(arena, from->dimensions, from->name);
    body->batch = from->batch;
    NodeId *map = new_ids(arena, from->nodes.count);
    copy_nodes(body, from, graph_needed(arena, from), map);
    vector_each(Output, output, from->outputs)
        graph_output(body, OUTPUT_result, output->name, map[output->value], NODE_NONE);
    for (int i = 0; i < carried; i++) {
        Type type = graph_node(from, from->outputs.items[i].value)->type;
        const char *name = scan_name(arena, OPERAND_carried, i);
        NodeId input = graph_must_add(
            body, (Node){.op = OP_input, .name = name, .type = type, .range = range});
        graph_output(body, OUTPUT_result, arena_format(arena, "kept.%d", i), input, NODE_NONE);
    }
    return body;
}

NodeId scan_keep(Graph *to, const Node *scan, NodeId list, const Graph *body) {
    return scan_copy(to, scan, list,
                     copy_keeping(to->arena, body, scan->scan->carried, scan->range));
}

/* Backwards. */

typedef struct Backwards {
    Arena *arena;
    Graph *graph;
    const Adjoint *adjoint;
    const Scan *scan;
    const NodeId *operands, *inputs;
    ScanBuilder *builder;
    NodeId *map; /* from the forward body to this one */
} Backwards;

/* The first of those that were kept. */
static int kept_results(const Scan *scan) {
    return scan_result_count(scan) - scan->carried;
}

static bool is_differentiable(const Backwards *all, int operand) {
    return is_floating(graph_node(all->graph, all->operands[operand])->type.element);
}

static NodeId *input_place(const Backwards *all, int operand) {
    static NodeId nowhere;
    NodeId input = all->inputs[operand];
    return input == NODE_NONE ? &nowhere : &all->map[input];
}

/* Carries the adjoints of the carried values, then the sums of the shared ones' gradients. */
static void carry_adjoints(Backwards *all) {
    const Scan *scan = all->scan;
    for (int i = 0; i < scan->carried; i++) {
        if (!is_differentiable(all, i)) continue;
        NodeId first = all->adjoint->results[i];
        Type type = scan_result_type(scan, i);
        if (first == NODE_NONE) first = graph_zeros(all->graph, type, all->builder->range);
        scan_carry(all->builder, first);
    }
    for (int i = scan->carried + scan->scanned; i < scan_operand_count(scan); i++)
        if (all->adjoint->wanted[i]) {
            Type type = graph_node(all->graph, all->operands[i])->type;
            scan_carry(all->builder, graph_zeros(all->graph, type, all->builder->range));
        }
}

/* What the forward body reads, from what was kept, the operands and the turn. */
static void read_operands(Backwards *all) {
    const Scan *scan = all->scan;
    ScanBuilder *builder = all->builder;
    int count = scan_operand_count(scan);
    for (int i = 0; i < count; i++) {
        OperandKind kind = scan_operand_kind(scan, i);
        NodeId from = all->operands[i];
        if (kind == OPERAND_carried)
            from =
                list_part(all->graph, all->adjoint->scan, kept_results(scan) + i, builder->range);
        *input_place(all, i) =
            kind == OPERAND_shared ? scan_share(builder, from) : scan_slice(builder, from);
    }
    if (all->inputs[count] != NODE_NONE) all->map[all->inputs[count]] = scan_turn(builder);
}

/* Adds value * adjoint, summed over all elements, to a sum in f64 or the widest type there is. */
static NodeId add_product(Graph *body, NodeId sum, NodeId value, NodeId adjoint, Element element,
                          Range range) {
    NodeId product = graph_make(body, OP_multiply, value, adjoint, NODE_NONE, range);
    int rank = graph_node(body, product)->type.rank;
    if (rank) product = graph_reduce(body, OP_sum, product, (1u << rank) - 1, range);
    Type scalar = type_scalar(graph_node(body, product)->type.element);
    product = graph_declared(body, OP_reshape, product, scalar, range);
    product = graph_declared(body, OP_cast, product, type_scalar(element), range);
    if (sum == NODE_NONE) return product;
    return graph_make(body, OP_add, sum, product, NODE_NONE, range);
}

static Element widest_element(const Backwards *all) {
    Element widest = TYPE_f32;
    for (int i = 0; i < kept_results(all->scan); i++) {
        Type type = scan_result_type(all->scan, i);
        if (is_floating(type.element) &&
            element_info[type.element].size > element_info[widest].size)
            widest = type.element;
    }
    return widest;
}

/* What the turn's results contribute to the loss, when their adjoints are taken as constants. What
 * was kept is one of them when the scan is differentiated a second time. */
static NodeId turn_loss(Backwards *all) {
    ScanBuilder *builder = all->builder;
    Element element = widest_element(all);
    NodeId sum = NODE_NONE;
    size_t carried = 0;
    for (int i = 0; i < scan_result_count(all->scan); i++) {
        NodeId value = all->map[all->scan->body->outputs.items[i].value], adjoint;
        if (i < all->scan->carried) {
            if (!is_differentiable(all, i)) continue;
            adjoint = builder->carried.inputs.items[carried++];
        } else {
            if (all->adjoint->results[i] == NODE_NONE) continue;
            adjoint = scan_slice(builder, all->adjoint->results[i]);
        }
        sum = add_product(builder->body, sum, value, adjoint, element, builder->range);
    }
    return sum;
}

static NodeId gradient_by(Backwards *all, NodeId loss, int operand) {
    ScanBuilder *builder = all->builder;
    Type type = graph_node(all->graph, all->operands[operand])->type;
    if (scan_operand_kind(all->scan, operand) == OPERAND_scanned) type = type_without(type, 0);
    if (all->inputs[operand] == NODE_NONE || loss == NODE_NONE)
        return graph_zeros(builder->body, type, builder->range);
    return graph_make(builder->body, OP_gradient, loss, *input_place(all, operand), NODE_NONE,
                      builder->range);
}

static void add_results(Backwards *all, NodeId loss) {
    const Scan *scan = all->scan;
    ScanBuilder *builder = all->builder;
    size_t carried = 0;
    for (int i = 0; i < scan_operand_count(scan); i++) {
        OperandKind kind = scan_operand_kind(scan, i);
        if (kind == OPERAND_carried ? !is_differentiable(all, i) : !all->adjoint->wanted[i])
            continue;
        NodeId gradient = gradient_by(all, loss, i);
        if (kind == OPERAND_shared)
            gradient = graph_make(builder->body, OP_add, builder->carried.inputs.items[carried],
                                  gradient, NODE_NONE, builder->range);
        if (kind == OPERAND_scanned) scan_stack(builder, gradient);
        else scan_next(builder, gradient), carried++;
    }
}

ScanBuilder scan_begin_adjoint(Arena *arena, Graph *graph, const Adjoint *adjoint) {
    const Node node = *graph_node(graph, adjoint->scan);
    const Scan *scan = node.scan;
    ScanBuilder builder =
        scan_begin(graph, scan->body->name, scan->turns, !scan->backwards, node.range);
    Backwards all = {arena,
                     graph,
                     adjoint,
                     scan,
                     list_operands(arena, graph, adjoint->scan),
                     scan_inputs(arena, scan),
                     &builder,
                     new_ids(arena, scan->body->nodes.count)};
    carry_adjoints(&all);
    read_operands(&all);
    copy_nodes(builder.body, scan->body, graph_needed(arena, scan->body), all.map);
    add_results(&all, turn_loss(&all));
    scan_end_body(&builder);
    return builder;
}

NodeId *scan_end_adjoint(Arena *arena, const Adjoint *adjoint, ScanBuilder *builder,
                         const Graph *body) {
    Graph *graph = builder->outside;
    const Scan *scan = graph_node(graph, adjoint->scan)->scan;
    const NodeId *operands = list_operands(arena, graph, adjoint->scan);
    int count = scan_operand_count(scan), stacked = (int)builder->next.count, carried = 0;
    NodeId *gradients = new_ids(arena, (size_t)count);
    NodeId back = scan_end(builder, copy_keeping(arena, body, stacked, builder->range));
    for (int i = 0; i < count; i++) {
        OperandKind kind = scan_operand_kind(scan, i);
        bool carries =
            kind == OPERAND_carried && is_floating(graph_node(graph, operands[i])->type.element);
        if (!carries && !adjoint->wanted[i]) continue;
        int part = kind == OPERAND_scanned ? stacked++ : carried++;
        if (adjoint->wanted[i]) gradients[i] = list_part(graph, back, part, builder->range);
    }
    return gradients;
}

/* Trimming. */

/* Fills the new numbers of the results: all carried ones and the stacks that are needed. */
static void number_results(const Graph *from, NodeId id, const bool *needed, int *parts) {
    const Scan *scan = graph_node(from, id)->scan;
    for (int i = 0; i < scan_result_count(scan); i++) parts[i] = i < scan->carried ? i : -1;
    for (NodeId user = id + 1; user < from->nodes.count; user++) {
        const Node *node = graph_node(from, user);
        if (needed[user] && node->op == OP_part && node->inputs[0] == id) parts[node->part] = 0;
    }
    for (int i = 0, next = 0; i < scan_result_count(scan); i++)
        if (parts[i] >= 0) parts[i] = next++;
}

static const Graph *with_results(Arena *arena, const Scan *scan, const int *parts) {
    Graph *body = arena_new_item(arena, Graph);
    *body = *scan->body;
    memset(&body->outputs, 0, sizeof body->outputs);
    body->updates = (UpdateIndex){0};
    for (int i = 0; i < scan_result_count(scan); i++)
        if (parts[i] >= 0) vector_push(arena, &body->outputs, scan->body->outputs.items[i]);
    return body;
}

/* The body with the operands that it asks for and no others; builder gets those. */
static Graph *with_operands(ScanBuilder *builder, Arena *arena, const Scan *scan, const Graph *body,
                            const NodeId *operands, const NodeId *map) {
    Scan trimmed = *scan;
    trimmed.body = body;
    const NodeId *inputs = scan_inputs(arena, &trimmed);
    NodeId *renamed = new_ids(arena, body->nodes.count);
    int count = scan_operand_count(scan);
    for (int i = 0; i < count; i++) {
        NodeId from = map[operands[i]], input = NODE_NONE;
        OperandKind kind = scan_operand_kind(scan, i);
        if (kind == OPERAND_carried) input = scan_carry(builder, from);
        else if (inputs[i] == NODE_NONE) continue;
        else if (kind == OPERAND_scanned) input = scan_slice(builder, from);
        else input = scan_share(builder, from);
        if (inputs[i] != NODE_NONE) renamed[inputs[i]] = input;
    }
    if (inputs[count] != NODE_NONE) renamed[inputs[count]] = scan_turn(builder);
    copy_nodes(builder->body, body, graph_needed(arena, body), renamed);
    vector_each(Output, output, body->outputs)
        graph_output(builder->body, OUTPUT_result, output->name, renamed[output->value], NODE_NONE);
    return builder->body;
}

NodeId scan_trim(Arena *arena, Graph *to, const Graph *from, NodeId id, const NodeId *map,
                 const bool *needed, Graph *(*trim)(Arena *, const Graph *), int *parts) {
    const Node *node = graph_node(from, id);
    const Scan *scan = node->scan;
    number_results(from, id, needed, parts);
    const Graph *body = trim(arena, with_results(arena, scan, parts));
    ScanBuilder builder =
        scan_begin(to, scan->body->name, scan->turns, scan->backwards, node->range);
    const NodeId *operands = list_operands(arena, from, id);
    body = with_operands(&builder, arena, scan, body, operands, map);
    return scan_end(&builder, trim(arena, body));
}
