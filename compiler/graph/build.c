/* Build: adding nodes. Type, simplification, hash-consing, in this order. */
#include "compiler/graph/build.h"

#include "compiler/graph/equal.h"
#include "compiler/graph/list.h"
#include "compiler/graph/movement.h"

#include <assert.h>
#include <string.h>

typedef struct Interned {
    Map names, views;
} Interned;

static Graph *new_graph(Arena *arena, Dimensions *dimensions, const char *name,
                        Interned *interned) {
    Graph *graph = arena_new_item(arena, Graph);
    graph->arena = arena;
    graph->dimensions = dimensions;
    graph->name = name;
    graph->interned = interned;
    return graph;
}

Graph *graph_new(Arena *arena, Dimensions *dimensions, const char *name) {
    Interned *interned = arena_new_item(arena, Interned);
    *interned = (Interned){map_new(arena), map_new(arena)};
    return new_graph(arena, dimensions, name, interned);
}

Graph *graph_like(Arena *arena, const Graph *graph) {
    Graph *new = graph->arena == arena
                     ? new_graph(arena, graph->dimensions, graph->name, graph->interned)
                     : graph_new(arena, graph->dimensions, graph->name);
    new->batch = graph->batch;
    new->wishes = graph->wishes;
    graph_reserve(new, graph->nodes.count + graph->nodes.count / 8);
    return new;
}

void graph_reserve(Graph *graph, size_t count) {
    vector_reserve(graph->arena, &graph->nodes, count);
    equal_reserve(graph, count);
}

void graph_forget(Graph *graph) {
    arena_give_back(graph->arena, graph->nodes.items);
    arena_give_back(graph->arena, graph->equal.entries);
    *graph = (Graph){0};
}

/* The same pointer for equal strings, so that nodes can be compared as bytes. */
static const char *intern_name(Graph *graph, const char *name) {
    if (!name) return NULL;
    char *known = map_get(&graph->interned->names, name);
    if (known) return known;
    known = arena_copy(graph->arena, name, strlen(name));
    map_put(&graph->interned->names, name, known);
    return known;
}

/* The same pointer for equal views. */
static const View *intern_view(Graph *graph, const View *view) {
    if (!view) return NULL;
    View *known = map_get_bytes(&graph->interned->views, view, sizeof *view);
    if (known) return known;
    known = arena_new_item(graph->arena, View);
    *known = *view;
    map_put_bytes(&graph->interned->views, known, sizeof *known, known);
    return known;
}

static NodeId append(Graph *graph, const Node *node, uint32_t hash, Problem *problem) {
    if (graph->nodes.count >= NODE_LIMIT) {
        *problem = (Problem){E0217, "the program needs more than 2^20 operations"};
        return NODE_NONE;
    }
    vector_push(graph->arena, &graph->nodes, *node);
    equal_note(graph, hash);
    return (NodeId)(graph->nodes.count - 1);
}

/* Sets what follows from the rest of the node. */
static Problem complete(Graph *graph, Node *node) {
    node->view = intern_view(graph, node->view);
    Operands operands = {.count = op_info[node->op].arity, .axes = node->axes, .view = node->view};
    node->input_count = operands.count;
    node->name = intern_name(graph, node->name);
    for (int i = 0; i < ARITY_LIMIT; i++) {
        if (i >= operands.count) node->inputs[i] = NODE_NONE;
        else operands.types[i] = &graph->nodes.items[node->inputs[i]].type;
    }
    if (has_list_form(node->op)) return list_infer(graph, node);
    return op_infer(graph->dimensions, node->op, &operands, &node->type);
}

NodeId graph_append(Graph *graph, Node node, Problem *problem) {
    *problem = complete(graph, &node);
    return problem->text ? NODE_NONE : append(graph, &node, equal_hash(&node), problem);
}

/* Appends the node, if it is new. */
static NodeId intern(Graph *graph, const Node *node, Problem *problem) {
    uint32_t hash = equal_hash(node);
    NodeId known = equal_find(graph, node, hash);
    return known != NODE_NONE ? known : append(graph, node, hash, problem);
}

static Placement own_placement(const Graph *graph, const Node *node) {
    if (node->op == OP_constant || node->op == OP_input) return (Placement){0};
    return is_placed(&node->placement) ? node->placement : graph->placement;
}

/* Adds a node whose type, name and view are known. */
static NodeId add_complete(Graph *graph, Node *node, Problem *problem) {
    Placement placement = graph->placement;
    Op gradient_of = graph->gradient_of;
    node->kernel = NO_KERNEL;
    node->placement = own_placement(graph, node);
    if (!node->gradient_of) node->gradient_of = gradient_of;
    graph->placement = node->placement; /* what simplifying adds stands for the node */
    graph->gradient_of = node->gradient_of;
    NodeId simpler = graph_simplify(graph, node);
    graph->placement = placement;
    graph->gradient_of = gradient_of;
    return simpler != NODE_NONE ? simpler : intern(graph, node, problem);
}

NodeId graph_add(Graph *graph, Node node, Problem *problem) {
    *problem = complete(graph, &node);
    return problem->text ? NODE_NONE : add_complete(graph, &node, problem);
}

static NodeId must_be(NodeId id) {
    assert(id != NODE_NONE && "a pass built a node that can't be");
    return id;
}

NodeId graph_must_add(Graph *graph, Node node) {
    Problem problem;
    return must_be(graph_add(graph, node, &problem));
}

NodeId graph_make(Graph *graph, Op op, NodeId a, NodeId b, NodeId c, Range range) {
    return graph_must_add(graph, (Node){.op = op, .inputs = {a, b, c}, .range = range});
}

NodeId graph_constant(Graph *graph, Element element, double value, Range range) {
    return graph_must_add(
        graph,
        (Node){.op = OP_constant, .number = value, .range = range, .type = type_scalar(element)});
}

NodeId graph_reduce(Graph *graph, Op op, NodeId a, uint32_t axes, Range range) {
    return graph_must_add(graph, (Node){.op = op, .inputs = {a}, .axes = axes, .range = range});
}

NodeId graph_declared(Graph *graph, Op op, NodeId a, Type type, Range range) {
    return graph_must_add(graph, (Node){.op = op, .inputs = {a}, .type = type, .range = range});
}

NodeId graph_zeros(Graph *graph, Type type, Range range) {
    NodeId zero = graph_constant(graph, type.element, 0, range);
    return graph_declared(graph, OP_broadcast, zero, type, range);
}

NodeId graph_view(Graph *graph, NodeId a, const View *view, Type type, Range range) {
    type.element = graph_node(graph, a)->type.element;
    return graph_must_add(
        graph, (Node){.op = OP_view, .inputs = {a}, .view = view, .type = type, .range = range});
}

NodeId graph_exchange(Graph *graph, NodeId a, int axis, int other, Range range) {
    Type type = graph_node(graph, a)->type, result = type;
    View view = view_identity(graph->dimensions, type.rank);
    Coordinate kept = view.coordinates[axis];
    view.coordinates[axis] = view.coordinates[other];
    view.coordinates[other] = kept;
    result.dims[axis] = type.dims[other];
    result.dims[other] = type.dims[axis];
    return graph_view(graph, a, &view, result, range);
}

NodeId graph_transpose(Graph *graph, NodeId a, Range range) {
    int rank = graph_node(graph, a)->type.rank;
    return graph_exchange(graph, a, rank - 2, rank - 1, range);
}

void graph_output(Graph *graph, OutputKind kind, const char *name, NodeId value, NodeId target) {
    vector_push(graph->arena, &graph->outputs,
                (Output){kind, intern_name(graph, name), value, target});
}

Output *graph_update(Graph *graph, NodeId target) {
    UpdateIndex *index = &graph->updates;
    if (!index->places.arena) index->places = map_new(graph->arena);
    for (; index->seen < graph->outputs.count; index->seen++) {
        const Output *output = &graph->outputs.items[index->seen];
        const NodeId *key = &output->target;
        if (output->kind == OUTPUT_update && !map_get_bytes(&index->places, key, sizeof *key))
            map_put_bytes(&index->places, key, sizeof *key, (void *)(uintptr_t)(index->seen + 1));
    }
    const uintptr_t known = (uintptr_t)map_get_bytes(&index->places, &target, sizeof target);
    return known ? &graph->outputs.items[known - 1] : NULL;
}

void graph_forget_outputs(Graph *graph) {
    graph->outputs.count = 0;
    graph->updates = (UpdateIndex){0};
}

NodeId graph_copy_node(Graph *to, const Graph *from, NodeId id, const NodeId *map) {
    Node node = *graph_node(from, id);
    bool known = to->interned == from->interned && !has_list_form(node.op);
    for (int i = 0; i < node.input_count; i++) {
        const NodeId input = map[node.inputs[i]];
        known = known &&
                type_equal(&graph_node(from, node.inputs[i])->type, &graph_node(to, input)->type);
        node.inputs[i] = input;
    }
    return known ? must_be(add_complete(to, &node, &(Problem){0})) : graph_must_add(to, node);
}

void graph_copy_outputs(Graph *to, const Graph *from, const NodeId *map) {
    vector_each(Output, output, from->outputs) {
        NodeId target = output->kind == OUTPUT_update ? map[output->target] : NODE_NONE;
        graph_output(to, output->kind, output->name, map[output->value], target);
    }
}

Graph *graph_rewrite(Arena *arena, const Graph *graph, RewriteNode *rewrite) {
    Graph *to = graph_like(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        map[id] = rewrite(to, graph, graph_node(graph, id), map);
        if (map[id] == NODE_NONE) map[id] = graph_copy_node(to, graph, id, map);
    }
    graph_copy_outputs(to, graph, map);
    return to;
}

static bool has_placed_nodes(const Graph *graph) {
    vector_each(Node, node, graph->nodes)
        if (is_placed(&node->placement)) return true;
    return false;
}

const Graph *graph_unplaced(Arena *arena, const Graph *graph) {
    if (!has_placed_nodes(graph)) return graph;
    Graph *to = graph_new(arena, graph->dimensions, graph->name);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    to->batch = graph->batch;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        Node node = *graph_node(graph, id);
        for (int i = 0; i < node.input_count; i++) node.inputs[i] = map[node.inputs[i]];
        node.placement = (Placement){0};
        map[id] = graph_must_add(to, node);
    }
    vector_each(Output, output, graph->outputs)
        graph_output(to, output->kind, output->name, map[output->value],
                     output->kind == OUTPUT_update ? map[output->target] : NODE_NONE);
    return to;
}

bool passes_gradient(const Node *node, int operand) {
    size_t size;
    if (has_list_form(node->op)) return true;
    if (!is_floating(node->type.element)) return false;
    return !op_info[node->op].gradient || op_gradient(node->op, operand, &size);
}

bool graph_has_updates(const Graph *graph) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_update) return true;
    return false;
}

const bool *graph_needed(Arena *arena, const Graph *graph) {
    bool *needed = arena_new_array(arena, bool, graph->nodes.count + 1);
    vector_each(Output, output, graph->outputs) {
        needed[output->value] = true;
        if (output->kind == OUTPUT_update) needed[output->target] = true;
    }
    for (size_t id = graph->nodes.count; id-- > 0;) {
        const Node *node = &graph->nodes.items[id];
        for (int i = 0; needed[id] && i < node->input_count; i++) needed[node->inputs[i]] = true;
    }
    return needed;
}
