/* Scan: its operands, the types of its parts, and what its body may hold. */
#include "compiler/graph/scan.h"

#include "compiler/graph/list.h"

#include <stdlib.h>
#include <string.h>

/* Operands. */

static const char *const prefixes[] = {"carried.", "scanned.", "shared."};

OperandKind scan_operand_kind(const Scan *scan, int operand) {
    if (operand < scan->carried) return OPERAND_carried;
    if (operand < scan->carried + scan->scanned) return OPERAND_scanned;
    return operand < scan_operand_count(scan) ? OPERAND_shared : OPERAND_turn;
}

const char *scan_name(Arena *arena, OperandKind kind, int index) {
    return kind == OPERAND_turn ? "turn" : arena_format(arena, "%s%d", prefixes[kind], index);
}

const char *scan_input_name(Arena *arena, const Scan *scan, int operand) {
    const int before[] = {0, scan->carried, scan->carried + scan->scanned, 0};
    OperandKind kind = scan_operand_kind(scan, operand);
    return scan_name(arena, kind, operand - before[kind]);
}

/* The number that the name has behind the prefix; -1: it is none below `count`. */
static int index_behind(const char *prefix, const char *name, int count) {
    size_t size = strlen(prefix);
    if (strncmp(name, prefix, size)) return -1;
    char *end;
    long index = strtol(name + size, &end, 10);
    bool plain = end > name + size && !*end && index >= 0 && index < count;
    return plain ? (int)index : -1;
}

int scan_operand_of(const Scan *scan, const char *name) {
    const int counts[] = {scan->carried, scan->scanned, scan->shared};
    int before = 0;
    if (!strcmp(name, "turn")) return scan_operand_count(scan);
    for (int kind = 0; kind < OPERAND_turn; before += counts[kind++]) {
        int index = index_behind(prefixes[kind], name, counts[kind]);
        if (index >= 0) return before + index;
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

static const Type *result_type(const Scan *scan, int part) {
    return &graph_node(scan->body, scan->body->outputs.items[part].value)->type;
}

Type scan_result_type(const Scan *scan, int part) {
    Type type = *result_type(scan, part);
    return part < scan->carried ? type : type_with(type, 0, scan->turns);
}

static bool is_array_of(const Type *array, const Type *slice, Dim turns) {
    if (slice->rank >= RANK_LIMIT) return false;
    Type wanted = type_with(*slice, 0, turns);
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
    return scan_operand_kind(scan, operand) == OPERAND_scanned
               ? is_array_of(type, inside, scan->turns)
               : type_equal(type, inside);
}

Problem scan_infer(const Graph *graph, Node *node) {
    const Scan *scan = node->scan;
    if (!scan) return mismatch("a scan without body");
    Arena *arena = arena_new();
    Problem problem = no_problem;
    int count = scan_operand_count(scan);
    Node copy = *node;
    if (list_size(graph, copy.inputs[0]) != count) problem = mismatch("operands are missing");
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

Problem scan_infer_part(const Scan *scan, Node *node) {
    if (node->part < 0 || node->part >= scan_result_count(scan))
        return mismatch("the scan has no such part");
    if (node->part >= scan->carried && result_type(scan, node->part)->rank >= RANK_LIMIT)
        return (Problem){E0208, "a stack of slices has at most 8 dimensions"};
    node->type = scan_result_type(scan, node->part);
    return no_problem;
}

/* What a body may hold. */

static const char *verify_input(const Scan *scan, const Node *node, const NodeId *inputs,
                                NodeId id) {
    int operand = scan_operand_of(scan, node->name);
    if (operand < 0) return "a body has an input that its scan does not know";
    if (inputs[operand] != id) return "a body has an input twice";
    Type turn = type_scalar(TYPE_i32);
    bool is_turn = scan_operand_kind(scan, operand) == OPERAND_turn;
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

bool graph_has(const Graph *graph, IsNode *is_such) {
    vector_each(Node, node, graph->nodes)
        if (is_such(graph, node) || (node->op == OP_scan && graph_has(node->scan->body, is_such)))
            return true;
    return false;
}

NodeId scan_copy(Graph *to, const Node *scan, NodeId list, const Graph *body) {
    Scan *copy = arena_new_item(to->arena, Scan);
    *copy = *scan->scan;
    copy->body = body;
    return graph_must_add(
        to, (Node){.op = OP_scan, .inputs = {list}, .scan = copy, .range = scan->range});
}
