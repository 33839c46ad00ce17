/* Parse, nodes: an op with its operands, attributes, type, device and kernel. */
#include "compiler/graph/parse.h"

#include "compiler/graph/build.h"
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"

#include <string.h>

enum {
    BODY_DEPTH_LIMIT = 8,
    OPERAND_LIMIT = 1 << 16, /* of each kind, of one scan */
};

static uint32_t read_axes(Reader *reader) {
    uint32_t axes = 0;
    expect_mark(reader, "[");
    while (!reader->failed && !take_mark(reader, "]")) {
        int64_t axis = read_integer(reader);
        if (axis < 0 || axis >= RANK_LIMIT) reader_fail(reader, "there is no such axis");
        else axes |= 1u << axis;
        if (!take_mark(reader, ",")) skip_blanks(reader);
    }
    return axes;
}

static bool take_attribute(Reader *reader, const char *name) {
    if (!take_name(reader, name)) return false;
    expect_mark(reader, "=");
    return true;
}

static int read_count(Reader *reader, const char *name) {
    if (!take_attribute(reader, name)) reader_fail(reader, "expected `%s=`", name);
    int64_t count = reader->failed ? 0 : read_integer(reader);
    if (count < 0 || count > OPERAND_LIMIT) reader_fail(reader, "no such number of operands");
    return (int)count;
}

static const Graph *read_body(Reader *reader) {
    Graph *outside = reader->graph;
    Graph *body = graph_new(reader->arena, outside->dimensions, outside->name);
    if (++reader->depth > BODY_DEPTH_LIMIT) reader_fail(reader, "bodies are nested too deeply");
    body->batch = outside->batch;
    reader->graph = body;
    expect_mark(reader, "{");
    while (!reader->failed && !take_mark(reader, "}")) read_line(reader);
    reader->graph = outside;
    reader->depth--;
    return body;
}

static void read_scan(Reader *reader, Node *node) {
    Scan *scan = arena_new_item(reader->arena, Scan);
    if (!take_attribute(reader, "turns")) reader_fail(reader, "expected `turns=`");
    scan->turns = reader->failed ? dim_constant(reader->graph->dimensions, 1) : read_dim(reader);
    scan->carried = read_count(reader, "carried");
    scan->scanned = read_count(reader, "scanned");
    scan->shared = read_count(reader, "shared");
    scan->backwards = take_name(reader, "backwards");
    scan->body = read_body(reader);
    node->scan = scan;
}

static void begin_list(Reader *reader, const char *name) {
    if (!take_attribute(reader, name)) reader_fail(reader, "expected `%s=`", name);
    expect_mark(reader, "[");
}

/* Is there another item? */
static bool take_item(Reader *reader, size_t count) {
    if (reader->failed || take_mark(reader, "]")) return false;
    if (count) expect_mark(reader, ",");
    return !reader->failed;
}

static void read_external(Reader *reader, Node *node) {
    External *external = arena_new_item(reader->arena, External);
    external->name = read_string(reader);
    if (!reader->failed && external_name_problem(external->name))
        reader_fail(reader, "no name of a C function");
    begin_list(reader, "sizes");
    while (take_item(reader, external->sizes.count))
        vector_push(reader->arena, &external->sizes, read_dim(reader));
    begin_list(reader, "gives");
    while (take_item(reader, external->results.count))
        vector_push(reader->arena, &external->results, read_type(reader));
    node->external = external;
}

static int read_part(Reader *reader) {
    int64_t part = read_integer(reader);
    if (part < 0 || part > OPERAND_LIMIT) reader_fail(reader, "no such part");
    return (int)part;
}

static void read_attributes(Reader *reader, Node *node) {
    if (op_info[node->op].class == LOOP_reduce && take_attribute(reader, "axes"))
        node->axes = read_axes(reader);
    if (op_info[node->op].class == LOOP_generate && take_attribute(reader, "stream"))
        node->stream = read_integer(reader);
    if (node->op == OP_check && take_attribute(reader, "name")) node->name = read_string(reader);
}

static void read_operands(Reader *reader, Node *node) {
    for (int i = 0; i < op_info[node->op].arity; i++) node->inputs[i] = read_id(reader);
    if (node->op == OP_constant) node->number = read_number(reader);
    if (node->op == OP_view) read_view(reader, node);
    if (node->op == OP_scan) read_scan(reader, node);
    if (node->op == OP_extern) read_external(reader, node);
    if (node->op == OP_part) node->part = read_part(reader);
    if (node->op == OP_input || node->op == OP_weight) node->name = read_string(reader);
    if (node->op == OP_check) {
        node->low = read_integer(reader);
        expect_mark(reader, "..");
        node->high = read_integer(reader);
    }
    read_attributes(reader, node);
}

static Placement read_device(Reader *reader) {
    Placement device = {.device = DEVICE_cpu};
    if (take_name(reader, "cpu")) return device;
    device.device = DEVICE_gpu;
    if (!take_name(reader, "gpu")) reader_fail(reader, "expected `cpu` or `gpu`");
    expect_mark(reader, "(");
    int64_t index = read_integer(reader);
    if (index < 0 || index >= GPU_LIMIT) reader_fail(reader, "there is no such GPU");
    device.index = (int)index;
    expect_mark(reader, ")");
    return device;
}

static Placement read_placement(Reader *reader) {
    uint32_t begin = (skip_blanks(reader), reader->at);
    if (!take_mark(reader, "@")) return (Placement){0};
    bool soft = take_name(reader, "prefer");
    if (soft) expect_mark(reader, "(");
    Placement placement = read_device(reader);
    if (soft) expect_mark(reader, ")");
    placement.soft = soft;
    placement.range = (Range){reader->source, begin, reader->at};
    return placement;
}

static void read_kernel(Reader *reader, Node *node) {
    node->kernel = NO_KERNEL;
    if (!take_name(reader, "kernel")) return;
    expect_mark(reader, "=");
    int64_t kernel = read_integer(reader);
    if (kernel < 0 || kernel >= NODE_LIMIT) reader_fail(reader, "no such kernel");
    if (reader->failed) return;
    node->kernel = (int)kernel;
    if (kernel >= reader->graph->kernel_count) reader->graph->kernel_count = (int)kernel + 1;
}

/* The written type, or none for the ops whose type follows. */
static bool read_node_type(Reader *reader, Node *node) {
    if (take_mark(reader, ":")) {
        node->type = read_type(reader);
        return true;
    }
    if (op_info[node->op].gives == GIVES_declared && !node->type.rank)
        reader_fail(reader, "expected a type");
    return false;
}

static void append_node(Reader *reader, Node *node, bool typed) {
    Problem problem;
    if (reader->failed) return;
    if (node->op == OP_constant) node->number = element_round(node->type.element, node->number);
    NodeId id = graph_append(reader->graph, *node, &problem);
    reader->begin = node->range.begin;
    if (id == NODE_NONE) {
        reader_fail(reader, "%s", problem.text);
        return;
    }
    const Type *type = &graph_node(reader->graph, id)->type;
    if (typed && !type_equal(type, &node->type))
        reader_fail(reader, "the type is %s", type_text(reader->arena, type));
}

void read_node(Reader *reader) {
    Node node = {.range = {reader->source, reader->begin, reader->begin}};
    int64_t id = read_integer(reader);
    if (id != (int64_t)reader->graph->nodes.count)
        reader_fail(reader, "expected node %%%zu", reader->graph->nodes.count);
    expect_mark(reader, "=");
    const char *name = read_name(reader);
    bool transpose = !strcmp(name, "transpose");
    if (!transpose && !op_by_name(name, &node.op)) reader_fail(reader, "unknown op `%s`", name);
    if (reader->failed) return;
    (transpose ? read_transpose : read_operands)(reader, &node);
    const Type exchanged = node.type;
    bool typed = read_node_type(reader, &node);
    if (transpose && !shape_equal(&exchanged, &node.type))
        reader_fail(reader, "the type is %s", type_text(reader->arena, &exchanged));
    node.range.end = reader->at;
    node.placement = read_placement(reader);
    read_kernel(reader, &node);
    append_node(reader, &node, typed);
}
