/* Measure: the loss and the metrics of a train block, over batches of any data. */
#include "compiler/lower/training.h"

#include <string.h>

enum { METRIC_LIMIT = 15 };

/* Is it computed of sums over all batches so far? Then its last value counts, not the mean. */
static bool is_total(const Context *context, NodeId measure) {
    const Graph *graph = context->graph;
    bool *total = arena_new_array(context->lowering->arena, bool, graph->nodes.count);
    for (NodeId id = 0; id <= measure; id++) {
        const Node *node = graph_node(graph, id);
        const Storage *storage = node->op == OP_weight ? find_storage(context, node->name) : NULL;
        total[id] = storage && storage->pass;
        for (int i = 0; i < node->input_count; i++) total[id] |= total[node->inputs[i]];
    }
    return total[measure];
}

NodeId total_node(const Context *context, NodeId summand, Range range) {
    Graph *graph = context->graph;
    if (context->checking || !context->measures) return summand;
    Type type = graph_node(graph, summand)->type, wide = type;
    wide.element = TYPE_f64;
    const char *path = arena_format(context->lowering->arena, "total/%s/%d", context->measures,
                                    ++*context->total_count);
    NodeId before = keep_state(context, path, wide, NODE_NONE, range);
    find_storage(context, path)->pass = context->measures;
    NodeId value = graph_declared(graph, OP_cast, summand, wide, range);
    NodeId now = graph_make(graph, OP_add, before, value, NODE_NONE, range);
    graph_output(graph, OUTPUT_update, path, now, before);
    return graph_declared(graph, OP_cast, now, type, range);
}

/* "accuracy" for `accuracy(…)` and `… |> accuracy(…)`. */
static const char *measure_name(const Expression *expression, const char *otherwise) {
    if (expression->kind == EXPRESSION_pipe) expression = expression->right;
    return expression->kind == EXPRESSION_call ? expression->name.text : otherwise;
}

void add_measure(const Context *context, const char *name, const Expression *expression,
                 const Value *value) {
    Arena *arena = context->lowering->arena;
    if (value->kind == VALUE_error) return;
    NodeId node = to_node(context, value, TYPE_f32, expression->range);
    if (node == NODE_NONE) return;
    if (graph_node(context->graph, node)->type.rank) {
        Diagnostic *d = report(context, E0208, expression->range, "expects one number, receives %s",
                               value_text(arena, value));
        diagnostic_help(d, "mean(…) makes one of many");
        return;
    }
    graph_output(context->graph, OUTPUT_result, name, node, NODE_NONE);
    vector_push(arena, &context->function->results, type_scalar(TYPE_f32));
    vector_push(arena, &context->function->totals, is_total(context, node));
}

static void add_metrics(const Context *context, const Expression *expression) {
    size_t count = expression->kind == EXPRESSION_list ? expression->items.count : 1;
    if (count > METRIC_LIMIT) {
        report(context, E0217, expression->range, "there can be at most %d metrics", METRIC_LIMIT);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const Expression *item =
            expression->kind == EXPRESSION_list ? expression->items.items[i] : expression;
        Value value = lower_expression(context, item);
        add_measure(context, measure_name(item, "metric"), item, &value);
    }
}

/* What is measured: the first of each kind counts. Metrics come last, though they may stand
 * before the loss. */
typedef struct Measures {
    bool has_loss;
    const Statement *metric;
    Placement metric_placement;
} Measures;

static void measure_statements(const Context *context, const StatementList *body,
                               Measures *measures);

static void lower_region(const Context *context, const Statement *statement, Measures *measures) {
    Placement before;
    Context inner = enter_region(context, statement->value, &before);
    measure_statements(&inner, &statement->body, measures);
    restore_placement(&inner, before);
}

static void lower_entry(const Context *context, const Statement *statement, Measures *measures) {
    const char *name = statement->names.items[0].text;
    if (!is_entry(name)) scope_put(context->lowering->arena, context->scope, name, value_error);
    if (!strcmp(name, "metric") && !measures->metric) {
        measures->metric = statement;
        measures->metric_placement = context->placement;
    }
    if (strcmp(name, "loss") || measures->has_loss) return;
    Value loss = lower_expression(context, statement->value);
    add_measure(context, "loss", statement->value, &loss);
    measures->has_loss = true;
}

static void measure_statements(const Context *context, const StatementList *body,
                               Measures *measures) {
    vector_each(Statement *, item, *body) {
        const Statement *statement = *item;
        if (statement->kind == STATEMENT_let) lower_let(context, statement);
        if (statement->kind == STATEMENT_on) lower_region(context, statement, measures);
        if (statement->kind == STATEMENT_assign) lower_entry(context, statement, measures);
    }
}

void lower_measures(const Context *context, const Declaration *declaration, Value data) {
    Context inner = *context;
    int total_count = 0;
    Measures measures = {0};
    inner.total_count = &total_count;
    inner.scope = scope_new(context->lowering->arena, NULL);
    scope_put(context->lowering->arena, inner.scope, "data", data);
    measure_statements(&inner, &declaration->body, &measures);
    inner.placement = measures.metric_placement;
    Placement before = place_nodes(&inner);
    if (measures.metric) add_metrics(&inner, measures.metric->value);
    restore_placement(&inner, before);
}
