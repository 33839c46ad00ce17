/* Action: what a train block does every so often. */
#include "compiler/lower/training.h"

#include <math.h>
#include <string.h>

enum { WATCH_LIMIT = 32 }; /* of the runtime's watch.h */

/* Where an action stands. */
typedef struct Place {
    const Context *context;
    const Declaration *declaration;
    Train *train;
    int evaluated; /* the evaluate that stands before it in its block, or -1 */
} Place;

static Arena *arena_of(const Place *place) {
    return place->context->lowering->arena;
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

static void add_action(const Place *place, Action action) {
    vector_push(arena_of(place), &place->train->actions, action);
}

/* Evaluate and print: functions of their own. */

/* The pipeline that is written first. NULL: the stages of a source stand there. */
static const char *data_name(const Context *context, const Expression *data) {
    const Unit *unit;
    while (data->kind == EXPRESSION_pipe || data->kind == EXPRESSION_assert) data = data->left;
    const char *name = data->kind == EXPRESSION_call ? data->name.text : NULL;
    bool declared = name && module_find(context->lowering->module, context->unit, name, &unit);
    return declared ? name : NULL;
}

/* ", in an evaluation where `x` is f32[2], not f32[1]": the first field that differs from the
 * training data's; or "". */
static const char *difference_text(const Place *place, const Pipeline *data) {
    Arena *arena = arena_of(place);
    vector_each(Field, field, data->section->outputs)
        vector_each(Field, trained, place->train->data->section->outputs)
            if (!strcmp(field->name, trained->name) && !type_equal(&field->type, &trained->type))
                return arena_format(arena, ", in an evaluation where `%s` is %s, not %s",
                                    field->name, type_text(arena, &field->type),
                                    type_text(arena, &trained->type));
    return "";
}

/* The errors since `before` are at the loss, which is sound for the training data. */
static void note_evaluation(const Place *place, size_t before, Range range, const Pipeline *data) {
    const Diagnostics *diagnostics = place->context->lowering->diagnostics;
    for (size_t i = before; i < diagnostics->list.count; i++) {
        Diagnostic *d = diagnostics->list.items[i];
        d->text = arena_format(arena_of(place), "%s%s", d->text, difference_text(place, data));
        diagnostic_note(d, range, "in this evaluation");
    }
}

static void lower_evaluate(Place *place, const Statement *statement, Action action) {
    const Context *context = place->context;
    Arena *arena = arena_of(place);
    Value data = lower_data(context, statement->value);
    if (data.kind == VALUE_error) return;
    Pipeline *pipeline = data.stream->pipeline;
    Function *function = arena_new_item(arena, Function);
    size_t number = place->train->actions.count;
    *function = function_new(context, place->train->name,
                             number ? arena_format(arena, "evaluate%zu", number + 1) : "evaluate",
                             pipeline);
    Frame frame = {.declaration = place->declaration,
                   .call = statement->range,
                   .path = "",
                   .callees = map_new(arena)};
    Context inner = *context;
    inner.frame = &frame;
    inner.graph = function->graph;
    inner.function = function;
    inner.averaged = true;
    inner.measures = function->name;
    size_t before = context->lowering->diagnostics->list.count;
    lower_measures(&inner, place->declaration, data);
    note_evaluation(place, before, statement->range, pipeline);
    action.function = function;
    action.pipeline = pipeline;
    action.text = data_name(context, statement->value);
    place->evaluated = (int)number;
    add_action(place, action);
}

/* A text, or one number that is known without data: a learning rate. */
static void lower_print_action(Place *place, const Statement *statement, Action action) {
    const Context *context = place->context;
    Arena *arena = arena_of(place);
    Function *function = arena_new_item(arena, Function);
    *function =
        function_new(context, place->train->name,
                     arena_format(arena, "print%zu", place->train->actions.count + 1), NULL);
    Context inner = *context;
    inner.graph = function->graph;
    inner.function = function;
    Value value = lower_expression(&inner, statement->value);
    if (value.kind == VALUE_error) return;
    if (value.kind == VALUE_string) {
        action.text = fixed_string(context, &value);
        add_action(place, action);
        return;
    }
    const char *name = range_text(context, statement->value->range);
    add_measure(&inner, name, statement->value, &value);
    action.function = function;
    if (function->results.count) add_action(place, action);
}

/* Watching a measure. */

static const Argument *named_argument(const Expression *call, const char *name) {
    vector_each(Argument, argument, call->arguments)
        if (argument->name.text && !strcmp(argument->name.text, name)) return argument;
    return NULL;
}

static const Function *measured(const Place *place) {
    if (place->evaluated < 0) return &place->train->step;
    return place->train->actions.items[place->evaluated].function;
}

static int find_measure(const Place *place, const Expression *measure) {
    const Graph *graph = measured(place)->graph;
    const char *names[32];
    size_t count = 0;
    vector_each(Output, output, graph->outputs) {
        if (output->kind != OUTPUT_result || count == sizeof names / sizeof *names) continue;
        names[count] = output->name;
        if (measure->kind == EXPRESSION_name && !strcmp(output->name, measure->name.text))
            return (int)count;
        count++;
    }
    Diagnostic *d = report(place->context, E0201, measure->range, "`%s` is not measured here",
                           range_text(place->context, measure->range));
    diagnostic_help(d, "the block measures %s", names_text(arena_of(place), names, count));
    return -1;
}

/* highest = NAME or lowest = NAME. False after reporting. */
static bool lower_watch(const Place *place, const Expression *call, Watch *watch) {
    const Argument *highest = named_argument(call, "highest");
    const Argument *lowest = named_argument(call, "lowest");
    const Argument *argument = highest ? highest : lowest;
    if (!highest == !lowest) {
        Diagnostic *d =
            report(place->context, E0204, call->range, "`%s` watches one measure", call->name.text);
        diagnostic_help(d, "say which, and which way is better: `lowest = loss` or "
                           "`highest = accuracy`");
        return false;
    }
    if (place->train->actions.count >= WATCH_LIMIT) {
        report(place->context, E0217, call->range, "only the first %d actions can watch a measure",
               WATCH_LIMIT);
        return false;
    }
    *watch = (Watch){.set = true,
                     .action = place->evaluated,
                     .result = find_measure(place, argument->value),
                     .highest = highest != NULL,
                     .patience = {-1, 1}};
    return watch->result >= 0;
}

/* A call with the arguments at these places and with these names, and no others. */
static bool has_arguments(const Place *place, const Expression *call, size_t positions,
                          const char *const *names) {
    size_t found = 0;
    if (!expect_no_annotations(place->context, call)) return false;
    vector_each(Argument, argument, call->arguments) {
        bool known = !argument->name.text && ++found <= positions;
        for (size_t i = 0; argument->name.text && names[i] && !known; i++)
            known = !strcmp(names[i], argument->name.text);
        if (known) continue;
        report(place->context, E0204,
               argument->name.text ? argument->name.range : argument->value->range,
               "`%s` does not take this argument", call->name.text);
        return false;
    }
    if (found == positions) return true;
    report(place->context, E0204, call->range, "`%s` takes %zu argument%s before the named ones",
           call->name.text, positions, positions == 1 ? "" : "s");
    return false;
}

static Setting setting_of(const Place *place, const Expression *expression, double least) {
    Value value = lower_expression(place->context, expression);
    if (value.kind == VALUE_error) return (Setting){-1, least};
    return to_setting(place->context, &value, expression->range, least);
}

/* `name(times, lowest = loss)`. False after reporting. */
static bool lower_patience(const Place *place, const Statement *statement, const char *name,
                           const char *const *names, Action *action) {
    const Expression *call = statement->value;
    if (call->kind != EXPRESSION_call || strcmp(call->name.text, name)) {
        Diagnostic *d = report(place->context, E0203, call->range, "`%s` takes `%s(…)`",
                               statement->names.items[0].text, name);
        diagnostic_help(d, "`%s %s(5, lowest = loss)`", statement->names.items[0].text, name);
        return false;
    }
    if (!has_arguments(place, call, 1, names) || !lower_watch(place, call, &action->watch))
        return false;
    const Expression *times = call->arguments.items[0].value;
    action->watch.patience = setting_of(place, times, 1);
    return true;
}

/* stop patience(5, lowest = loss) */
static void lower_stop(Place *place, const Statement *statement, Action action) {
    static const char *const names[] = {"highest", "lowest", NULL};
    if (lower_patience(place, statement, "patience", names, &action)) add_action(place, action);
}

static Setting lower_factor(const Place *place, const Expression *expression) {
    Value value = lower_expression(place->context, expression);
    Setting factor = {-1, 0.1};
    if (value.kind == VALUE_option && !run_number(&value)) {
        factor = (Setting){value.index,
                           place->context->lowering->program->options.items[value.index].number};
    } else if (!to_number(place->context, &value, expression->range, &factor.value)) {
        return factor;
    }
    if (!(factor.value > 0 && factor.value < 1))
        report(place->context, E0211, expression->range,
               "the factor lies between 0 and 1, this is %.15g", factor.value);
    return factor;
}

/* reduce plateau(3, lowest = loss, factor = 0.1) */
static void lower_reduce(Place *place, const Statement *statement, Action action) {
    static const char *const names[] = {"highest", "lowest", "factor", NULL};
    if (!lower_patience(place, statement, "plateau", names, &action)) return;
    const Argument *factor = named_argument(statement->value, "factor");
    action.factor = factor ? lower_factor(place, factor->value) : (Setting){-1, 0.1};
    add_action(place, action);
}

/* Save. */

static bool lower_path(const Place *place, const Expression *expression, Action *action) {
    Value path = lower_expression(place->context, expression);
    if (path.kind == VALUE_error) return false;
    if (path.kind == VALUE_string && *path.string) {
        action->path = path.string;
        action->path_option = path.index;
        return true;
    }
    Diagnostic *d = report(place->context, E0203, expression->range, "save takes a file name");
    diagnostic_help(d, "save \"model.safetensors\"");
    return false;
}

static bool lower_target(const Place *place, const Expression *target, Action *action);

/* best(target, highest = accuracy): only when the measure is better than ever before. */
static bool lower_best(const Place *place, const Expression *call, Action *action) {
    static const char *const names[] = {"highest", "lowest", NULL};
    return has_arguments(place, call, 1, names) && lower_watch(place, call, &action->watch) &&
           lower_target(place, call->arguments.items[0].value, action);
}

/* keep(target, 3): the last three. */
static bool lower_keep(const Place *place, const Expression *call, Action *action) {
    static const char *const names[] = {NULL};
    double count;
    if (!has_arguments(place, call, 2, names)) return false;
    const Expression *number = call->arguments.items[1].value;
    Context fixing = *place->context;
    fixing.fixing = true;
    Value value = lower_expression(&fixing, number);
    if (!to_number(&fixing, &value, number->range, &count)) return false;
    if (!(count >= 1 && count <= 1000 && count == floor(count))) {
        report(place->context, E0211, number->range,
               "keep takes a whole number from 1 to 1000, not %.15g", count);
        return false;
    }
    action->keep = (int)count;
    return lower_target(place, call->arguments.items[0].value, action);
}

/* weights(target): what is deployed. */
static bool lower_weights(const Place *place, const Expression *call, Action *action) {
    static const char *const names[] = {NULL};
    action->weights_only = true;
    return has_arguments(place, call, 1, names) &&
           lower_target(place, call->arguments.items[0].value, action);
}

static bool lower_target(const Place *place, const Expression *target, Action *action) {
    if (target->kind != EXPRESSION_call) return lower_path(place, target, action);
    if (!strcmp(target->name.text, "best")) return lower_best(place, target, action);
    if (!strcmp(target->name.text, "keep")) return lower_keep(place, target, action);
    if (!strcmp(target->name.text, "weights")) return lower_weights(place, target, action);
    return lower_path(place, target, action);
}

static void lower_save(Place *place, const Statement *statement, Action action) {
    action.keep = 1;
    if (lower_target(place, statement->value, &action)) add_action(place, action);
}

/* All of them. */

typedef void LowerAction(Place *place, const Statement *statement, Action action);

static const struct {
    const char *name;
    ActionKind kind;
    LowerAction *lower;
} kinds[] = {{"evaluate", ACTION_evaluate, lower_evaluate},
             {"print", ACTION_print, lower_print_action},
             {"save", ACTION_save, lower_save},
             {"stop", ACTION_stop, lower_stop},
             {"reduce", ACTION_reduce, lower_reduce}};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static void lower_action(Place *place, const Statement *statement, Action action) {
    const char *names[KIND_COUNT];
    if (statement->kind != STATEMENT_action) {
        report(place->context, E0214, statement->range,
               "`every` holds actions: evaluate, print, save, stop, reduce");
        return;
    }
    const Name *name = &statement->names.items[0];
    for (int i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        action.kind = kinds[i].kind;
        if (strcmp(kinds[i].name, name->text)) continue;
        kinds[i].lower(place, statement, action);
        return;
    }
    Diagnostic *d =
        report(place->context, E0301, name->range, "there is no action `%s`", name->text);
    const char *nearest = nearest_name(name->text, names, KIND_COUNT);
    help_nearest(d, nearest);
    if (!nearest)
        diagnostic_help(d, "the actions are %s", names_text(arena_of(place), names, KIND_COUNT));
}

void lower_every(const Context *context, const Declaration *declaration, Train *train,
                 const Statement *statement) {
    Value count = lower_expression(context, statement->value);
    Action action = {.every = {-1, 1}};
    if (count.kind != VALUE_error)
        action.every = to_setting(context, &count, statement->value->range, 1);
    action.unit = action_unit(context, &statement->names.items[0]);
    Place place = {context, declaration, train, -1};
    vector_each(Statement *, inner, statement->body) lower_action(&place, *inner, action);
}
