/* Scan: its parts and how they are put together. */
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Operands. */

int scan_list_size(const Graph *graph, NodeId list) {
    int size = 0;
    for (; graph_node(graph, list)->op == OP_list; list = graph_node(graph, list)->inputs[0])
        size++;
    return size;
}

const NodeId *scan_operands(Arena *arena, const Graph *graph, NodeId scan) {
    NodeId list = graph_node(graph, scan)->inputs[0];
    int size = scan_list_size(graph, list);
    NodeId *operands = arena_new_array(arena, NodeId, size + 1);
    for (; size > 0; list = graph_node(graph, list)->inputs[0])
        operands[--size] = graph_node(graph, list)->inputs[1];
    return operands;
}

static const char *const kinds[] = {"carried.", "scanned.", "shared."};

static const char *input_name(Arena *arena, int kind, size_t index) {
    return arena_format(arena, "%s%zu", kinds[kind], index);
}

const char *scan_input_name(Arena *arena, const Scan *scan, int operand) {
    const int counts[] = {scan->carried, scan->scanned, scan->shared};
    int kind = 0;
    for (; kind < 3 && operand >= counts[kind]; kind++) operand -= counts[kind];
    return kind == 3 ? "turn" : input_name(arena, kind, (size_t)operand);
}

int scan_operand_of(const Scan *scan, const char *name) {
    const int counts[] = {scan->carried, scan->scanned, scan->shared};
    int before = 0;
    if (!strcmp(name, "turn")) return scan_operand_count(scan);
    for (int kind = 0; kind < 3; before += counts[kind++]) {
        size_t size = strlen(kinds[kind]);
        if (strncmp(name, kinds[kind], size)) continue;
        char *end;
        long index = strtol(name + size, &end, 10);
        bool plain = end > name + size && !*end && index >= 0 && index < counts[kind];
        return plain ? before + (int)index : -1;
    }
    return -1;
}

const NodeId *scan_inputs(Arena *arena, const Scan *scan) {
    int count = scan_operand_count(scan) + 1;
    NodeId *inputs = arena_new_array(arena, NodeId, count);
    memset(inputs, 0xff, sizeof *inputs * (size_t)count); /* NODE_NONE */
    for (NodeId id = 0; id < scan->body->nodes.count; id++) {
        const Node *node = graph_node(scan->body, id);
        int operand = node->op == OP_input ? scan_operand_of(scan, node->name) : -1;
        if (operand >= 0) inputs[operand] = id;
    }
    return inputs;
}

/* Types. */

static Type array_type(Type slice, Dim turns) {
    memmove(slice.dims + 1, slice.dims, sizeof(Dim) * (RANK_LIMIT - 1));
    slice.dims[0] = turns;
    slice.rank++;
    return slice;
}

static const Type *result_type(const Scan *scan, int part) {
    return &graph_node(scan->body, scan->body->outputs.items[part].value)->type;
}

Type scan_result_type(const Scan *scan, int part) {
    Type type = *result_type(scan, part);
    return part < scan->carried ? type : array_type(type, scan->turns);
}

static bool is_array_of(const Type *array, const Type *slice, Dim turns) {
    if (slice->rank >= RANK_LIMIT) return false;
    Type wanted = array_type(*slice, turns);
    return type_equal(array, &wanted);
}

static const Problem no_problem = {0};

static Problem mismatch(const char *text) {
    return (Problem){E0203, text};
}

static bool operand_fits(const Graph *graph, const Scan *scan, int operand, NodeId value,
                         NodeId input) {
    const Type *type = &graph_node(graph, value)->type;
    const Type *inside = &graph_node(scan->body, input)->type;
    bool scanned = operand >= scan->carried && operand < scan->carried + scan->scanned;
    return scanned ? is_array_of(type, inside, scan->turns) : type_equal(type, inside);
}

static Problem infer_scan(const Graph *graph, Node *node) {
    const Scan *scan = node->scan;
    if (!scan) return mismatch("a scan without body");
    Arena *arena = arena_new();
    Problem problem = no_problem;
    int count = scan_operand_count(scan);
    Node copy = *node;
    if (scan_list_size(graph, copy.inputs[0]) != count) problem = mismatch("operands are missing");
    const NodeId *inputs = scan_inputs(arena, scan);
    NodeId list = node->inputs[0];
    for (int i = count; !problem.text && i-- > 0; list = graph_node(graph, list)->inputs[0]) {
        NodeId operand = graph_node(graph, list)->inputs[1];
        if (inputs[i] != NODE_NONE && !operand_fits(graph, scan, i, operand, inputs[i]))
            problem = mismatch("an operand is not what the body takes");
        if (i < scan->carried && i < scan_result_count(scan) &&
            !type_equal(&graph_node(graph, operand)->type, result_type(scan, i)))
            problem = mismatch("a carried value changes its type");
    }
    if (scan_result_count(scan) < scan->carried) problem = mismatch("carried values are missing");
    arena_free(arena);
    node->type = type_scalar(TYPE_bool);
    return problem;
}

static Problem infer_part(const Graph *graph, Node *node) {
    const Node *scan = graph_node(graph, node->inputs[0]);
    if (scan->op == OP_extern) return external_part(scan->external, node);
    if (scan->op != OP_scan) return mismatch("a part is of a scan or an extern");
    if (node->part < 0 || node->part >= scan_result_count(scan->scan))
        return mismatch("the scan has no such part");
    if (node->part >= scan->scan->carried &&
        result_type(scan->scan, node->part)->rank >= RANK_LIMIT)
        return (Problem){E0208, "a stack of slices has at most 8 dimensions"};
    node->type = scan_result_type(scan->scan, node->part);
    return no_problem;
}

static Problem infer_list(const Graph *graph, Node *node) {
    const Node *rest = graph_node(graph, node->inputs[0]);
    const Node *head = graph_node(graph, node->inputs[1]);
    node->type = type_scalar(TYPE_bool);
    if (rest->op != OP_list && rest->op != OP_constant) return mismatch("a list goes on a list");
    return head->op == OP_list || head->op == OP_scan || head->op == OP_extern
               ? mismatch("a list has values")
               : no_problem;
}

Problem scan_infer(const Graph *graph, Node *node) {
    if (node->op == OP_list) return infer_list(graph, node);
    if (node->op == OP_extern) return external_infer(graph, node);
    return node->op == OP_scan ? infer_scan(graph, node) : infer_part(graph, node);
}

/* What a body may hold. */

static const char *verify_input(const Scan *scan, const Node *node, const NodeId *inputs,
                                NodeId id) {
    int operand = scan_operand_of(scan, node->name);
    if (operand < 0) return "a body has an input that its scan does not know";
    if (inputs[operand] != id) return "a body has an input twice";
    Type turn = type_scalar(TYPE_i32);
    bool is_turn = operand == scan_operand_count(scan);
    return is_turn && !type_equal(&node->type, &turn) ? "the turn is an i32" : NULL;
}

const char *scan_verify(Arena *arena, const Scan *scan) {
    const char *broken = graph_verify(arena, scan->body);
    if (broken) return broken;
    if (dim_bound(scan->turns) < 1) return "a scan without turns";
    const NodeId *inputs = scan_inputs(arena, scan);
    for (NodeId id = 0; id < scan->body->nodes.count; id++) {
        const Node *node = graph_node(scan->body, id);
        if (node->op == OP_weight || node->op == OP_check) return "a body has a weight or a check";
        if (node->op == OP_input) broken = verify_input(scan, node, inputs, id);
        if (broken) return broken;
    }
    vector_each(Output, output, scan->body->outputs)
        if (output->kind != OUTPUT_result) return "a body has an update";
    return NULL;
}

/* Nodes. */

static NodeId must_add(Graph *graph, Node node) {
    Problem problem;
    NodeId id = graph_add(graph, node, &problem);
    assert(id != NODE_NONE && "a scan that can't be");
    return id;
}

NodeId scan_copy(Graph *to, const Node *scan, NodeId list, const Graph *body) {
    Scan *copy = arena_new_item(to->arena, Scan);
    *copy = *scan->scan;
    copy->body = body;
    return must_add(to,
                    (Node){.op = OP_scan, .inputs = {list}, .scan = copy, .range = scan->range});
}

NodeId scan_part(Graph *graph, NodeId scan, int part, Range range) {
    return must_add(graph, (Node){.op = OP_part, .inputs = {scan}, .part = part, .range = range});
}

/* Building. */

ScanBuilder scan_begin(Graph *outside, const char *name, Dim turns, bool backwards, Range range) {
    Graph *body = graph_new(outside->arena, outside->dimensions, name);
    body->batch = outside->batch;
    return (ScanBuilder){
        .outside = outside, .body = body, .turns = turns, .backwards = backwards, .range = range};
}

static NodeId add_input(ScanBuilder *builder, const char *name, Type type) {
    return must_add(builder->body,
                    (Node){.op = OP_input, .name = name, .type = type, .range = builder->range});
}

NodeId scan_turn(ScanBuilder *builder) {
    return add_input(builder, "turn", type_scalar(TYPE_i32));
}

NodeId scan_carry(ScanBuilder *builder, NodeId first) {
    Arena *arena = builder->body->arena;
    Type type = graph_node(builder->outside, first)->type;
    NodeId input = add_input(builder, input_name(arena, 0, builder->carried.count), type);
    vector_push(arena, &builder->carried, first);
    vector_push(arena, &builder->carried_inputs, input);
    return input;
}

NodeId scan_slice(ScanBuilder *builder, NodeId array) {
    Arena *arena = builder->body->arena;
    for (size_t i = 0; i < builder->scanned.count; i++)
        if (builder->scanned.items[i] == array) return builder->scanned_inputs.items[i];
    Type type = graph_node(builder->outside, array)->type;
    memmove(type.dims, type.dims + 1, sizeof(Dim) * (size_t)--type.rank);
    type.dims[type.rank] = NULL;
    NodeId input = add_input(builder, input_name(arena, 1, builder->scanned.count), type);
    vector_push(arena, &builder->scanned, array);
    vector_push(arena, &builder->scanned_inputs, input);
    return input;
}

NodeId scan_share(ScanBuilder *builder, NodeId value) {
    Arena *arena = builder->body->arena;
    for (size_t i = 0; i < builder->shared.count; i++)
        if (builder->shared.items[i] == value) return builder->shared_inputs.items[i];
    Type type = graph_node(builder->outside, value)->type;
    NodeId input = add_input(builder, input_name(arena, 2, builder->shared.count), type);
    vector_push(arena, &builder->shared, value);
    vector_push(arena, &builder->shared_inputs, input);
    return input;
}

void scan_next(ScanBuilder *builder, NodeId value) {
    vector_push(builder->body->arena, &builder->next, value);
}

void scan_stack(ScanBuilder *builder, NodeId value) {
    vector_push(builder->body->arena, &builder->stacked, value);
}

void scan_end_body(ScanBuilder *builder) {
    Arena *arena = builder->body->arena;
    for (size_t i = 0; i < builder->next.count; i++)
        graph_output(builder->body, OUTPUT_result, input_name(arena, 0, i), builder->next.items[i],
                     NODE_NONE);
    for (size_t i = 0; i < builder->stacked.count; i++)
        graph_output(builder->body, OUTPUT_result, arena_format(arena, "stacked.%zu", i),
                     builder->stacked.items[i], NODE_NONE);
}

static NodeId add_to_list(ScanBuilder *builder, NodeId list, NodeId value) {
    return graph_make(builder->outside, OP_list, list, value, NODE_NONE, builder->range);
}

NodeId scan_end(ScanBuilder *builder, const Graph *body) {
    NodeId list = graph_constant(builder->outside, TYPE_bool, 0, builder->range);
    vector_each(NodeId, value, builder->carried) list = add_to_list(builder, list, *value);
    vector_each(NodeId, value, builder->scanned) list = add_to_list(builder, list, *value);
    vector_each(NodeId, value, builder->shared) list = add_to_list(builder, list, *value);
    Scan *scan = arena_new_item(body->arena, Scan);
    *scan = (Scan){.body = body,
                   .turns = builder->turns,
                   .carried = (int)builder->carried.count,
                   .scanned = (int)builder->scanned.count,
                   .shared = (int)builder->shared.count,
                   .backwards = builder->backwards};
    return must_add(builder->outside,
                    (Node){.op = OP_scan, .inputs = {list}, .scan = scan, .range = builder->range});
}
