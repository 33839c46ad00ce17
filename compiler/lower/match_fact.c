/* Match, facts: the range of values that a declared type asks for. */
#include "compiler/lower/signature.h"

#include "compiler/lower/fact.h"

#include <string.h>

static const char *source_field(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    while (node->input_count) node = graph_node(graph, node->inputs[0]);
    return node->op == OP_input ? node->name : NULL;
}

static void help_fact(const Match *match, Diagnostic *d, const Value *value, Dim low, Dim high) {
    Arena *arena = match->context->lowering->arena;
    const char *field = source_field(value->graph, value->node);
    const char *dot = field ? strrchr(field, '.') : NULL;
    diagnostic_help(d, "declare the range where the data enters: `-> (%s: %s in %s..%s)`",
                    dot ? dot + 1 : "y", element_info[value_type(value)->element].name,
                    dim_text(arena, low), dim_text(arena, high));
}

/* A check of each record where data enters; elsewhere the fact has to be known. */
static Value check_fact(const Match *match, const Value *value, Dim low, Dim high) {
    const Context *context = match->context;
    Arena *arena = context->lowering->arena;
    int64_t from, to;
    if (context->checking) return *value;
    bool entering = context->entering && source_field(value->graph, value->node);
    if (!entering || !dim_is_constant(low, &from) || !dim_is_constant(high, &to)) {
        const char *known = fact_text(arena, fact_of(context->lowering->dimensions, value));
        Diagnostic *d = report(context, E0211, match->range, "%s expects values in %s..%s, %s",
                               match->what, dim_text(arena, low), dim_text(arena, high), known);
        diagnostic_note(d, match->declared->range, "declared here");
        help_fact(match, d, value, low, high);
        return value_error;
    }
    Problem problem;
    Node node = {.op = OP_check,
                 .inputs = {value->node},
                 .low = from,
                 .high = to,
                 .name = source_field(value->graph, value->node),
                 .range = match->declared->range};
    NodeId id = graph_add(value->graph, node, &problem);
    if (id == NODE_NONE) {
        report(context, problem.code, match->range, "%s", problem.text);
        return value_error;
    }
    Value checked = *value;
    checked.node = id;
    return checked;
}

/* `in 0..V`, where the value would have to say what V is and does not. */
static Value unknown_range(const Match *match, Value value) {
    const Context *context = match->context;
    const Name *name = &match->declared->high->name;
    if (context->checking) {
        Dim symbol = dim_symbol(context->lowering->dimensions, name->text, SIZE_UNKNOWN, false);
        scope_put(context->lowering->arena, context->scope, name->text,
                  value_size(symbol, match->range));
        value.low = dimension_size(context, match->declared->low);
        value.high = symbol;
        return value;
    }
    Diagnostic *d = report(context, E0211, match->range,
                           "%s expects values in a range `0..%s`, nothing is known of these",
                           match->what, name->text);
    diagnostic_note(d, match->declared->range, "declared here");
    diagnostic_help(d, "declare the range where the data enters: `-> (ids: i32[16] in 0..256)`");
    return value_error;
}

Value match_fact(const Match *match, Value value) {
    const Context *context = match->context;
    if (!match->declared->low || value.kind != VALUE_tensor) return value;
    Dimensions *table = context->lowering->dimensions;
    Fact known = fact_of(table, &value);
    const Expression *most = match->declared->high;
    if (known.high && is_free(context, most)) {
        scope_put(context->lowering->arena, context->scope, most->name.text,
                  value_size(known.high, match->range));
        scope_find(context->scope, most->name.text)->at_least = true;
    } else if (is_free(context, most)) {
        return unknown_range(match, value);
    }
    Dim low = dimension_size(context, match->declared->low);
    Dim high = dimension_size(context, match->declared->high);
    if (!low || !high) return value_error;
    if (!fact_within(table, known, low, high)) value = check_fact(match, &value, low, high);
    value.low = low;
    value.high = high;
    return value;
}
