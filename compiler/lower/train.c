/* Train: a block of entries becomes the functions of a step, of its evaluations and of the first
 * values, and the table of what happens when. */
#include "compiler/lower/training.h"

#include <string.h>

static const char *const entries[] = {"data", "loss", "metric", "optimizer", "epochs", "seed"};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries, METRIC_LIMIT = 15 };

static bool is_entry(const char *name) {
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (!strcmp(entries[i], name)) return true;
    return false;
}

const Statement *find_entry(const Declaration *declaration, const char *name) {
    vector_each(Statement *, statement, declaration->body)
        if ((*statement)->kind == STATEMENT_assign &&
            !strcmp((*statement)->names.items[0].text, name))
            return *statement;
    return NULL;
}

static void check_entry(const Context *context, const Declaration *declaration,
                        const Statement *statement) {
    const Name *name = &statement->names.items[0];
    if (!is_entry(name->text)) {
        Diagnostic *d =
            report(context, E0301, name->range, "a train block has no entry `%s`", name->text);
        const char *nearest = nearest_name(name->text, entries, ENTRY_COUNT);
        help_nearest(d, nearest);
        if (!nearest)
            diagnostic_help(d,
                            "its entries are data, loss, metric, optimizer, epochs, seed; "
                            "`let %s = …` introduces a name",
                            name->text);
    }
    const Statement *first = find_entry(declaration, name->text);
    if (first == statement) return;
    Diagnostic *d = report(context, E0303, name->range, "`%s` is given a second time", name->text);
    diagnostic_note(d, first->names.items[0].range, "the first time is here");
}

/* Is there an unknown entry that was meant to be this one? It was reported then. */
static bool is_misspelt(const Declaration *declaration, const char *entry) {
    vector_each(Statement *, statement, declaration->body) {
        if ((*statement)->kind != STATEMENT_assign) continue;
        const char *name = (*statement)->names.items[0].text;
        const char *nearest = is_entry(name) ? NULL : nearest_name(name, entries, ENTRY_COUNT);
        if (nearest && !strcmp(nearest, entry)) return true;
    }
    return false;
}

static bool check_entries(const Context *context, const Declaration *declaration) {
    bool whole = true;
    vector_each(Statement *, statement, declaration->body) {
        StatementKind kind = (*statement)->kind;
        if (kind == STATEMENT_assign) check_entry(context, declaration, *statement);
        else if (kind != STATEMENT_let && kind != STATEMENT_every)
            report(context, E0214, (*statement)->range,
                   "a train block holds entries, `let` and `every`");
    }
    static const char *const required[] = {"data", "loss", "optimizer"};
    const char *missing[sizeof required / sizeof *required];
    size_t count = 0;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (find_entry(declaration, required[i])) continue;
        whole = false;
        if (!is_misspelt(declaration, required[i]))
            missing[count++] = arena_format(context->lowering->arena, "`%s`", required[i]);
    }
    if (count)
        report(context, E0302, declaration->name.range, "`%s` lacks %s %s", declaration->name.text,
               count == 1 ? "the entry" : "the entries",
               names_text(context->lowering->arena, missing, count));
    return whole;
}

Value lower_data(const Context *context, const Expression *expression) {
    Value data = lower_expression(context, expression);
    if (data.kind == VALUE_batch || data.kind == VALUE_error) return data;
    Diagnostic *d = report(context, E0203, expression->range, "expects batches, receives %s",
                           value_text(context->lowering->arena, &data));
    diagnostic_help(d, "end it in `|> batch(64)`");
    return value_error;
}

/* "accuracy" for `accuracy(…)` and `… |> accuracy(…)`. */
static const char *measure_name(const Expression *expression, const char *otherwise) {
    if (expression->kind == EXPRESSION_pipe) expression = expression->right;
    return expression->kind == EXPRESSION_call ? expression->name.text : otherwise;
}

/* One number of each batch: the loss or a metric. */
static void add_measure(const Context *context, const char *name, const Expression *expression,
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

/* The block's `let`s, loss and metrics over batches of data. */
void lower_measures(const Context *context, const Declaration *declaration, Value data) {
    Context inner = *context;
    inner.scope = scope_new(context->lowering->arena, NULL);
    scope_put(context->lowering->arena, inner.scope, "data", data);
    const Statement *metric = find_entry(declaration, "metric");
    bool has_loss = false;
    vector_each(Statement *, item, declaration->body) {
        const Statement *statement = *item;
        if (statement->kind == STATEMENT_let) lower_let(&inner, statement);
        if (statement->kind == STATEMENT_assign && !is_entry(statement->names.items[0].text))
            scope_put(context->lowering->arena, inner.scope, statement->names.items[0].text,
                      value_error);
        if (statement->kind != STATEMENT_assign || has_loss) continue;
        if (strcmp(statement->names.items[0].text, "loss")) continue;
        Value loss = lower_expression(&inner, statement->value);
        add_measure(&inner, "loss", statement->value, &loss);
        has_loss = true;
    }
    if (metric) add_metrics(&inner, metric->value);
}

Function function_new(const Context *context, const char *train, const char *name,
                      const Pipeline *data) {
    Lowering *lowering = context->lowering;
    const char *full = arena_format(lowering->arena, "%s.%s", train, name);
    Function function = {.name = full,
                         .graph = graph_new(lowering->arena, lowering->dimensions, full)};
    if (data) function.graph->batch = dim_symbol(lowering->dimensions, "B", data->batch, true);
    return function;
}

static Setting lower_setting(const Context *context, const Declaration *declaration,
                             const char *name, double otherwise, double least) {
    const Statement *statement = find_entry(declaration, name);
    if (!statement) return (Setting){-1, otherwise};
    Value value = lower_expression(context, statement->value);
    if (value.kind == VALUE_error) return (Setting){-1, otherwise};
    return to_setting(context, &value, statement->value->range, least);
}

static void lower_step(const Context *context, const Declaration *declaration, Train *train,
                       Value data) {
    Frame frame = {
        .declaration = declaration, .path = "", .callees = map_new(context->lowering->arena)};
    Context inner = *context;
    train->data = data.stream->pipeline;
    train->step = function_new(context, train->name, "step", train->data);
    train->initialise = function_new(context, train->name, "initialise", NULL);
    inner.frame = &frame;
    inner.graph = train->step.graph;
    inner.function = &train->step;
    inner.initialise = &train->initialise;
    inner.updates = true;
    lower_measures(&inner, declaration, data);
    lower_optimizer(&inner, declaration);
}

void lower_train(const Context *context, const Declaration *declaration) {
    Lowering *lowering = context->lowering;
    Frame frame = {.declaration = declaration, .path = "", .callees = map_new(lowering->arena)};
    Context inner = *context;
    inner.frame = &frame;
    inner.scope = scope_new(lowering->arena, NULL);
    if (!check_entries(&inner, declaration)) return;
    Train train = {.name = declaration->name.text, .range = declaration->range};
    train.epochs = lower_setting(&inner, declaration, "epochs", 1, 1);
    train.seed = lower_setting(&inner, declaration, "seed", 0, 0);
    Value data = lower_data(&inner, find_entry(declaration, "data")->value);
    if (data.kind == VALUE_error) return;
    lower_step(&inner, declaration, &train, data);
    vector_each(Statement *, statement, declaration->body)
        if ((*statement)->kind == STATEMENT_every)
            lower_every(&inner, declaration, &train, *statement);
    vector_push(lowering->arena, &lowering->program->trains, train);
}
