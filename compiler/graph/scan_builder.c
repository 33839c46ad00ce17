/* Scan builder: the body's inputs as they are asked for, then its results, then the node. */
#include "compiler/graph/scan_builder.h"

#include "compiler/graph/list.h"

ScanBuilder scan_begin(Graph *outside, const char *name, Dim turns, bool backwards, Range range) {
    Graph *body = graph_new(outside->arena, outside->dimensions, name);
    body->batch = outside->batch;
    return (ScanBuilder){
        .outside = outside, .body = body, .turns = turns, .backwards = backwards, .range = range};
}

static NodeId add_input(ScanBuilder *builder, OperandKind kind, size_t index, Type type) {
    const char *name = scan_name(builder->body->arena, kind, (int)index);
    return graph_must_add(
        builder->body, (Node){.op = OP_input, .name = name, .type = type, .range = builder->range});
}

static NodeId add_operand(ScanBuilder *builder, OperandKind kind, ScanOperands *operands,
                          NodeId value, Type type) {
    Arena *arena = builder->body->arena;
    NodeId input = add_input(builder, kind, operands->values.count, type);
    vector_push(arena, &operands->values, value);
    vector_push(arena, &operands->inputs, input);
    return input;
}

static NodeId find_input(const ScanOperands *operands, NodeId value) {
    for (size_t i = 0; i < operands->values.count; i++)
        if (operands->values.items[i] == value) return operands->inputs.items[i];
    return NODE_NONE;
}

NodeId scan_turn(ScanBuilder *builder) {
    return add_input(builder, OPERAND_turn, 0, type_scalar(TYPE_i32));
}

NodeId scan_carry(ScanBuilder *builder, NodeId first) {
    Type type = graph_node(builder->outside, first)->type;
    return add_operand(builder, OPERAND_carried, &builder->carried, first, type);
}

NodeId scan_slice(ScanBuilder *builder, NodeId array) {
    NodeId known = find_input(&builder->scanned, array);
    if (known != NODE_NONE) return known;
    Type slice = type_without(graph_node(builder->outside, array)->type, 0);
    return add_operand(builder, OPERAND_scanned, &builder->scanned, array, slice);
}

NodeId scan_share(ScanBuilder *builder, NodeId value) {
    NodeId known = find_input(&builder->shared, value);
    if (known != NODE_NONE) return known;
    Type type = graph_node(builder->outside, value)->type;
    return add_operand(builder, OPERAND_shared, &builder->shared, value, type);
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
        graph_output(builder->body, OUTPUT_result, scan_name(arena, OPERAND_carried, (int)i),
                     builder->next.items[i], NODE_NONE);
    for (size_t i = 0; i < builder->stacked.count; i++)
        graph_output(builder->body, OUTPUT_result, arena_format(arena, "stacked.%zu", i),
                     builder->stacked.items[i], NODE_NONE);
}

static NodeId add_to_list(ScanBuilder *builder, NodeId list, const ScanOperands *operands) {
    vector_each(const NodeId, value, operands->values)
        list = list_add(builder->outside, list, *value, builder->range);
    return list;
}

NodeId scan_end(ScanBuilder *builder, const Graph *body) {
    NodeId list = list_none(builder->outside, builder->range);
    list = add_to_list(builder, list, &builder->carried);
    list = add_to_list(builder, list, &builder->scanned);
    list = add_to_list(builder, list, &builder->shared);
    Scan *scan = arena_new_item(body->arena, Scan);
    *scan = (Scan){.body = body,
                   .turns = builder->turns,
                   .carried = (int)builder->carried.values.count,
                   .scanned = (int)builder->scanned.values.count,
                   .shared = (int)builder->shared.values.count,
                   .backwards = builder->backwards};
    return graph_must_add(
        builder->outside,
        (Node){.op = OP_scan, .inputs = {list}, .scan = scan, .range = builder->range});
}
