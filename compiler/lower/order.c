/* Order: which records there are and which comes first. Stages that look at nothing but a record's
 * place (shuffle, take, skip), that choose among records (filter) or put them together (window).
 *
 * What comes after a choice has to be the same in every epoch, or a split into training and
 * validation data would leak; so only a shuffle that nothing but `map` follows is a new one each
 * epoch. */
#include "compiler/lower/given.h"
#include "compiler/lower/stream.h"

#include <string.h>

void settle_orders(Pipeline *pipeline) {
    vector_each(Ordering, order, pipeline->section->orders) order->each_epoch = false;
    vector_each(Pipeline *, input, pipeline->join.inputs) settle_orders(*input);
}

static bool add_order(const Context *context, const Expression *call, Section *section,
                      Ordering order) {
    if (section->orders.count == ORDER_LIMIT) {
        report(context, E0217, call->range, "more than %d stages choose or order the records",
               ORDER_LIMIT);
        return false;
    }
    vector_push(context->lowering->arena, &section->orders, order);
    return true;
}

Value lower_shuffle(const Context *context, const Expression *call, const Value *piped) {
    static const char *const parameters[] = {"seed", "window", NULL};
    Ordering order = {.kind = ORDER_shuffle, .each_epoch = true};
    Given given = given_arguments(context, call, parameters, 1,
                                  "shuffle(seed = 1)`, `shuffle(seed = 1, window = 10k)");
    order.number = (uint64_t)given_number(&given, 0, 0, 0, 0x1p53);
    order.window = (int64_t)given_number(&given, 1, 0, 1, 1 << 30);
    if (given.broken) return value_error;
    if (!order.window && !can_shuffle(context, call->range, piped->stream->pipeline))
        return value_error;
    Section *section = piped->stream->pipeline->section;
    vector_each(Ordering, before, section->orders)
        if (before->each_epoch) {
            report(context, E0214, call->range, "this pipeline is shuffled already");
            return value_error;
        }
    return add_order(context, call, section, order) ? *piped : value_error;
}

static Value lower_count(const Context *context, const Expression *call, const Value *piped,
                         OrderKind kind, double least) {
    double records;
    Section *section = piped->stream->pipeline->section;
    if (!whole_number(
            context,
            only_argument(context, call, "records",
                          arena_format(context->lowering->arena, "%s(1000)", call->name.text)),
            "records", least, 0x1p53, &records))
        return value_error;
    settle_orders(piped->stream->pipeline);
    Ordering order = {.kind = kind, .number = (uint64_t)records};
    return add_order(context, call, section, order) ? *piped : value_error;
}

Value lower_take(const Context *context, const Expression *call, const Value *piped) {
    return lower_count(context, call, piped, ORDER_take, 1);
}

Value lower_skip(const Context *context, const Expression *call, const Value *piped) {
    return lower_count(context, call, piped, ORDER_skip, 0);
}

/* Filter. */

Function extract_function(Arena *arena, const Function *from, NodeId node, const char *name) {
    const Graph *graph = from->graph;
    Function function = {
        .name = name, .graph = graph_new(arena, graph->dimensions, name), .of_record = true};
    bool *needed = arena_new_array(arena, bool, graph->nodes.count + 1);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    needed[node] = true;
    for (size_t id = (size_t)node + 1; id-- > 0;)
        for (int i = 0; needed[id] && i < graph_node(graph, (NodeId)id)->input_count; i++)
            needed[graph_node(graph, (NodeId)id)->inputs[i]] = true;
    for (NodeId id = 0; id <= node; id++)
        if (needed[id]) map[id] = graph_copy_node(function.graph, graph, id, map);
    for (NodeId id = 0; id <= node; id++) {
        const Node *leaf = graph_node(graph, id);
        if (!needed[id] || leaf->op != OP_input) continue;
        vector_each(Input, input, from->inputs)
            if (!strcmp(input->name, leaf->name)) vector_push(arena, &function.inputs, *input);
    }
    graph_output(function.graph, OUTPUT_result, "condition", map[node], NODE_NONE);
    vector_push(arena, &function.results, graph_node(graph, node)->type);
    return function;
}

/* One bool of each record; NODE_NONE after reporting. */
static NodeId lower_condition_node(const Context *inner, const Expression *condition) {
    Value value = lower_expression(inner, condition);
    if (value.kind == VALUE_error) return NODE_NONE;
    bool one = value.kind == VALUE_truth || value.kind == VALUE_field ||
               (value.kind == VALUE_tensor && !value_type(&value)->rank);
    if (one) return to_node(inner, &value, TYPE_bool, condition->range);
    Diagnostic *d = report(inner, E0203, condition->range, "`filter` takes one bool, not %s",
                           value_text(inner->lowering->arena, &value));
    diagnostic_help(d, "compare: `filter(label == 3)`");
    return NODE_NONE;
}

static bool shuffles_all(const Pipeline *pipeline) {
    vector_each(Section *, section, pipeline->sections)
        vector_each(Ordering, order, (*section)->orders)
            if (order->kind == ORDER_shuffle && !order->window) return true;
    return false;
}

Value lower_filter(const Context *context, const Expression *call, const Value *piped) {
    Arena *arena = context->lowering->arena;
    Stream *stream = piped->stream;
    Section *section = stream->pipeline->section;
    const Expression *condition = only_argument(context, call, "condition", "filter(label == 3)");
    Context inner = record_context(context, stream);
    inner.scope = scope_new(arena, context->scope);
    put_record(context, inner.scope, &stream->record);
    NodeId node = condition ? lower_condition_node(&inner, condition) : NODE_NONE;
    if (node == NODE_NONE) return value_error;
    settle_orders(stream->pipeline);
    Ordering order = {.kind = ORDER_filter};
    const char *name =
        arena_format(arena, "%s.filter%zu", stream->pipeline->name, section->orders.count + 1);
    order.condition = extract_function(arena, inner.function, node, name);
    if (varies(section, node)) {
        report(context, E0214, condition->range,
               "`filter` chooses once; it can't depend on the epoch");
        return value_error;
    }
    if (is_learned(section, node)) {
        Diagnostic *d = report(context, E0214, condition->range,
                               "`filter` chooses the records whose texts become categories; it "
                               "can't depend on them");
        diagnostic_help(d, "a category whose texts are listed can be asked for");
        return value_error;
    }
    if (!add_order(context, call, section, order)) return value_error;
    return !shuffles_all(stream->pipeline) || can_shuffle(context, call->range, stream->pipeline)
               ? *piped
               : value_error;
}

/* Window. */

/* The fields of the new section: arrays of what came before. */
static bool add_window_fields(const Context *context, Stream *stream, const Section *before,
                              Dim size, Range range) {
    Context inner = record_context(context, stream);
    Arena *arena = context->lowering->arena;
    Items record = items_new(arena, before->outputs.count);
    for (size_t i = 0; i < record.count; i++) {
        Field field = before->outputs.items[i];
        if (field.type.rank == RANK_LIMIT) {
            report(context, E0208, range, "`%s` has too many dimensions for a window", field.name);
            return false;
        }
        field.type = type_with(field.type, 0, size);
        if (type_size_bound(&field.type) < 0) {
            report(context, E0216, range, "a window of `%s` is larger than 2^47 bytes", field.name);
            return false;
        }
        vector_push(arena, &stream->pipeline->section->fields, field);
        NodeId node =
            input_node(&inner, field.name, INPUT_field, (int)i, field.type, field.type, range);
        record.names[i] = field.name;
        record.values[i] = value_tensor(inner.graph, node, range);
        record.values[i].low = stream->record.values[i].low;
        record.values[i].high = stream->record.values[i].high;
    }
    stream->record = record;
    return true;
}

Value lower_window(const Context *context, const Expression *call, const Value *piped) {
    Stream *stream = piped->stream;
    Pipeline *pipeline = stream->pipeline;
    const Section *before = pipeline->section;
    static const char *const parameters[] = {"size", "stride", NULL};
    Given given =
        given_arguments(context, call, parameters, 1, "window(129)`, `window(129, stride = 128)");
    Dim one = dim_constant(context->lowering->dimensions, 1);
    Dim size = given_distance(&given, 0, NULL), stride = given_distance(&given, 1, one);
    if (given.broken) return value_error;
    settle_orders(pipeline);
    if (!finish_section(context, stream)) return value_error;
    if (pipeline->sections.count == SECTION_LIMIT) {
        report(context, E0217, call->range, "a pipeline has at most %d windows", SECTION_LIMIT - 1);
        return value_error;
    }
    Section *section = add_section(context, pipeline);
    section->window = size;
    section->stride = stride;
    stream->open = false;
    return add_window_fields(context, stream, before, size, call->range) ? *piped : value_error;
}
