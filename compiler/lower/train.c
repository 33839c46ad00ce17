/* Train: a block of entries becomes the functions of a step, of its evaluations and of the first
 * values, and the table of what happens when. */
#include "compiler/lower/lowering.h"

#include <string.h>

static const char *const entries[] = {"data", "loss", "metric", "optimizer", "epochs", "seed"};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries, METRIC_LIMIT = 15 };

static bool is_entry(const char *name) {
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (!strcmp(entries[i], name)) return true;
    return false;
}

static const Statement *find_entry(const Declaration *declaration, const char *name) {
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

static Value lower_data(const Context *context, const Expression *expression) {
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
static void lower_measures(const Context *context, const Declaration *declaration, Value data) {
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

static Function function_new(const Context *context, const char *train, const char *name,
                             const Pipeline *data) {
    Lowering *lowering = context->lowering;
    const char *full = arena_format(lowering->arena, "%s.%s", train, name);
    Function function = {.name = full,
                         .graph = graph_new(lowering->arena, lowering->dimensions, full)};
    if (data) function.graph->batch = dim_symbol(lowering->dimensions, "B", data->batch, true);
    return function;
}

static const char *trained_weight(const Context *context, const Node *node) {
    if (node->op != OP_weight) return NULL;
    uintptr_t index = (uintptr_t)map_get(&context->lowering->stored, node->name);
    return index && context->lowering->program->storage.items[index - 1].trained ? node->name
                                                                                 : NULL;
}

static void update_weight(const Context *context, const Expression *optimizer, NodeId loss,
                          NodeId weight, const char *name) {
    Graph *graph = context->graph;
    Problem problem;
    Range range = optimizer->range;
    NodeId gradient = graph_add(
        graph, (Node){.op = OP_gradient, .inputs = {loss, weight}, .range = range}, &problem);
    if (gradient == NODE_NONE) {
        report(context, problem.code, range, "%s", problem.text);
        return;
    }
    Value first[] = {value_tensor(graph, weight, range), value_tensor(graph, gradient, range)};
    const char *path = arena_format(context->lowering->arena, "optimizer/%s", name);
    Value updated = call_with(context, optimizer, first, 2, path);
    if (updated.kind == VALUE_error) return;
    Type type = graph_node(graph, weight)->type;
    NodeId node = to_node(context, &updated, type.element, range);
    if (node == NODE_NONE) return;
    if (shape_equal(&graph_node(graph, node)->type, &type)) {
        graph_output(graph, OUTPUT_update, name, node, weight);
        return;
    }
    Diagnostic *d = report(context, E0207, range, "the optimizer makes %s of a weight that is %s",
                           type_text(context->lowering->arena, &graph_node(graph, node)->type),
                           type_text(context->lowering->arena, &type));
    diagnostic_note(d, graph_node(graph, weight)->range, "the weight");
}

/* Does a gradient of the node reach that operand? Where ops.def has none, differentiate says so. */
static bool passes_gradient(const Node *node, int operand) {
    const char *gradient = op_info[node->op].gradient;
    if (element_info[node->type.element].class != CLASS_floating) return false;
    if (!gradient) return true;
    for (int i = 0; i < operand && gradient; i++) {
        gradient = strchr(gradient, ';');
        if (gradient) gradient++;
    }
    return gradient && gradient[strspn(gradient, " ")] && gradient[strspn(gradient, " ")] != ';';
}

/* The nodes that a gradient of the loss reaches. */
static const bool *reached_nodes(Arena *arena, const Graph *graph, NodeId loss) {
    bool *reached = arena_new_array(arena, bool, graph->nodes.count + 1);
    reached[loss] = true;
    for (size_t id = (size_t)loss + 1; id-- > 0;) {
        const Node *node = graph_node(graph, (NodeId)id);
        for (int i = 0; reached[id] && i < node->input_count; i++)
            reached[node->inputs[i]] |= passes_gradient(node, i);
    }
    return reached;
}

static void lower_optimizer(const Context *context, const Declaration *declaration) {
    const Expression *optimizer = find_entry(declaration, "optimizer")->value;
    Graph *graph = context->graph;
    size_t count = graph->nodes.count;
    bool any = false, learns = false;
    if (!graph->outputs.count) return; /* the loss is broken, and that was reported */
    if (optimizer->kind != EXPRESSION_call) {
        Diagnostic *d = report(context, E0203, optimizer->range, "expects an optimizer");
        diagnostic_help(d, "`adam(1e-3)`, `sgd(0.1)`");
        return;
    }
    NodeId loss = NODE_NONE;
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result && loss == NODE_NONE) loss = output->value;
    if (loss == NODE_NONE) return;
    const bool *reached = reached_nodes(context->lowering->arena, graph, loss);
    for (NodeId id = 0; id < count; id++) {
        const char *name = trained_weight(context, graph_node(graph, id));
        if (!name) continue;
        any = true;
        learns |= reached[id];
        update_weight(context, optimizer, loss, id, name);
    }
    if (learns) return;
    Diagnostic *d = report(context, E0401, find_entry(declaration, "loss")->value->range,
                           any ? "no gradient flows from this loss to a weight"
                               : "the loss depends on no weight: there is nothing to train");
    if (any) diagnostic_help(d, "comparisons, argmax and integers have no gradient");
}

static ActionUnit action_unit(const Context *context, const Name *name) {
    static const char *const names[] = {"step", "steps", "epoch", "epochs", "second", "seconds"};
    static const ActionUnit units[] = {UNIT_step,  UNIT_step,   UNIT_epoch,
                                       UNIT_epoch, UNIT_second, UNIT_second};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name->text)) return units[i];
    Diagnostic *d = report(context, E0301, name->range,
                           "`every` counts steps, epochs or seconds, not `%s`", name->text);
    help_nearest(d, nearest_name(name->text, names, sizeof names / sizeof *names));
    return UNIT_epoch;
}

static void lower_evaluate(const Context *context, const Declaration *declaration, Train *train,
                           const Statement *statement, Action *action) {
    Arena *arena = context->lowering->arena;
    Value data = lower_data(context, statement->value);
    if (data.kind == VALUE_error) return;
    Pipeline *pipeline = data.stream->pipeline;
    Function *function = arena_new_item(arena, Function);
    size_t number = train->actions.count;
    *function = function_new(context, train->name,
                             number ? arena_format(arena, "evaluate%zu", number + 1) : "evaluate",
                             pipeline);
    Frame frame = {.declaration = declaration,
                   .call = statement->range,
                   .path = "",
                   .callees = map_new(arena)};
    Context inner = *context;
    inner.frame = &frame;
    inner.graph = function->graph;
    inner.function = function;
    lower_measures(&inner, declaration, data);
    action->function = function;
    action->pipeline = pipeline;
    vector_push(arena, &train->actions, *action);
}

static void lower_save(const Context *context, Train *train, const Statement *statement,
                       Action *action) {
    Value path = lower_expression(context, statement->value);
    if (path.kind == VALUE_error) return;
    if (path.kind != VALUE_string || !*path.string) {
        Diagnostic *d = report(context, E0203, statement->value->range, "save takes a file name");
        diagnostic_help(d, "save \"model.safetensors\"");
        return;
    }
    action->path = path.string;
    vector_push(context->lowering->arena, &train->actions, *action);
}

static void lower_action(const Context *context, const Declaration *declaration, Train *train,
                         const Statement *statement, Action action) {
    static const char *const names[] = {"evaluate", "save"};
    const Name *name = &statement->names.items[0];
    if (statement->kind == STATEMENT_action && !strcmp(name->text, "evaluate")) {
        action.kind = ACTION_evaluate;
        lower_evaluate(context, declaration, train, statement, &action);
        return;
    }
    if (statement->kind == STATEMENT_action && !strcmp(name->text, "save")) {
        action.kind = ACTION_save;
        lower_save(context, train, statement, &action);
        return;
    }
    if (statement->kind != STATEMENT_action) {
        report(context, E0214, statement->range, "`every` holds `evaluate` and `save`");
        return;
    }
    Diagnostic *d = report(context, E0301, name->range, "there is no action `%s`", name->text);
    const char *nearest = nearest_name(name->text, names, 2);
    help_nearest(d, nearest);
    if (!nearest) diagnostic_help(d, "the actions are `evaluate` and `save`");
}

static void lower_every(const Context *context, const Declaration *declaration, Train *train,
                        const Statement *statement) {
    Value count = lower_expression(context, statement->value);
    Action action = {.every = {-1, 1}};
    if (count.kind != VALUE_error)
        action.every = to_setting(context, &count, statement->value->range, 1);
    action.unit = action_unit(context, &statement->names.items[0]);
    vector_each(Statement *, inner, statement->body)
        lower_action(context, declaration, train, *inner, action);
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
