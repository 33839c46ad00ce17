/* Action: what a train block does every so often. */
#include "compiler/lower/training.h"

#include <string.h>

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

void lower_every(const Context *context, const Declaration *declaration, Train *train,
                 const Statement *statement) {
    Value count = lower_expression(context, statement->value);
    Action action = {.every = {-1, 1}};
    if (count.kind != VALUE_error)
        action.every = to_setting(context, &count, statement->value->range, 1);
    action.unit = action_unit(context, &statement->names.items[0]);
    vector_each(Statement *, inner, statement->body)
        lower_action(context, declaration, train, *inner, action);
}
