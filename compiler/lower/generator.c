/* Generator: tensors that are made of nothing: iota and random numbers. */
#include "compiler/lower/operation.h"

/* Is there a graph to make a tensor in? */
static bool has_graph(BuiltinCall *call) {
    if (call->context->graph && call->context->function) return true;
    report(call->context, E0206, call->range, "tensors don't exist here");
    fail_call(call);
    return false;
}

Value call_iota(BuiltinCall *call) {
    Node node = {.op = OP_iota, .type.element = TYPE_i32};
    if (!has_graph(call) || !shape_argument(call, 0, &node.type)) return value_error;
    Dim count = type_elements(table_of(call), &node.type);
    if (count && dim_bound(count) != SIZE_UNKNOWN && dim_bound(count) > INT32_MAX) {
        report(call->context, E0216, call->range, "iota counts in i32, up to 2^31 - 1");
        return value_error;
    }
    Value result = add_node(call->context, node, call->range);
    result.low = constant(call, 0);
    result.high = count;
    return result;
}

int64_t stream_key(const Context *context) {
    uint64_t hash = 0xcbf29ce484222325u;
    const char *path = context->frame ? context->frame->path : "";
    for (; *path; path++) hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
    uintptr_t count = 0;
    if (context->frame) {
        count = (uintptr_t)map_get(&context->frame->callees, "random numbers") + 1;
        map_put(&context->frame->callees, "random numbers", (void *)count);
    }
    if (context->frame) hash ^= context->frame->repetition * 0xd6e8feb86659fd93u;
    return (int64_t)((hash ^ count * 0x9e3779b97f4a7c15u) >> 1);
}

/* The seed, changed by `key = …`: other numbers for each key. */
static NodeId keyed_seed(BuiltinCall *call) {
    enum { KEY = 1 };
    const Context *context = call->context;
    const double spread = 2654435769.0 * 1048583; /* odd, below 2^53 */
    Range range = users_place(context, call->range);
    NodeId seed = seed_node(context, call->range);
    if (!call->given[KEY]) return seed;
    NodeId key = to_node(context, &call->values[KEY], TYPE_i64, argument_range(call, KEY));
    if (key == NODE_NONE) return key;
    if (graph_node(context->graph, key)->type.rank) {
        report(context, E0208, argument_range(call, KEY), "a key is one number, not %s",
               text_of(call, &call->values[KEY]));
        return NODE_NONE;
    }
    NodeId factor = graph_constant(context->graph, TYPE_i64, spread, call->range);
    NodeId far = graph_make(context->graph, OP_multiply, key, factor, NODE_NONE, range);
    return graph_make(context->graph, OP_add, seed, far, NODE_NONE, range);
}

Value lower_random(BuiltinCall *call) {
    Node node = {.op = call->op, .type.element = TYPE_f32};
    if (!has_graph(call) || !shape_argument(call, 0, &node.type)) return value_error;
    node.inputs[0] = keyed_seed(call);
    if (node.inputs[0] == NODE_NONE) return value_error;
    node.stream = stream_key(call->context);
    return add_node(call->context, node, call->range);
}
