/* Train: a block of entries becomes the functions of a step, of its evaluations and of the first
 * values, and the table of what happens when. */
#include "compiler/lower/training.h"

#include "compiler/lower/stream.h"

#include <math.h>
#include <string.h>

static const char *const entries[] = {"data",         "loss",       "metric",    "optimizer",
                                      "epochs",       "steps",      "seed",      "accumulate",
                                      "clip_norm",    "clip_value", "ema",       "replicas",
                                      "microbatches", "memory",     "precision", "recompute"};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

bool is_entry(const char *name) {
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (!strcmp(entries[i], name)) return true;
    return false;
}

static bool is_plain_entry(const Statement *statement, const char *name) {
    return statement->kind == STATEMENT_assign && !statement->pattern &&
           !strcmp(statement->names.items[0].text, name);
}

/* Also in regions. */
static const Statement *find_in(const StatementList *body, const char *name) {
    vector_each(Statement *, item, *body) {
        const Statement *statement = *item, *inside = NULL;
        if (is_plain_entry(statement, name)) return statement;
        if (statement->kind == STATEMENT_on) inside = find_in(&statement->body, name);
        if (inside) return inside;
    }
    return NULL;
}

const Statement *find_entry(const Declaration *declaration, const char *name) {
    return find_in(&declaration->body, name);
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
            diagnostic_help(d, "its entries are %s; `let %s = …` introduces a name",
                            names_text(context->lowering->arena, entries, ENTRY_COUNT), name->text);
    }
    if (statement->pattern) {
        if (strcmp(name->text, "optimizer"))
            report(context, E0214, statement->range, "only `optimizer` can be for some weights");
        return;
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

/* What a region of a train block may hold: what a step computes of its data. */
static bool can_be_placed(const char *entry) {
    return !strcmp(entry, "loss") || !strcmp(entry, "metric") || !is_entry(entry);
}

static void check_placed_entry(const Context *context, const Declaration *declaration,
                               const Statement *region, const Statement *statement) {
    const Name *name = &statement->names.items[0];
    check_entry(context, declaration, statement);
    if (can_be_placed(name->text)) return;
    Diagnostic *d = report(context, E0214, name->range, "`%s` can't be placed", name->text);
    diagnostic_note(d, region->value->range, "the region is here");
    diagnostic_help(d, "`let`, `loss` and `metric` can: the optimizer runs where each weight is, "
                       "data where its stages say");
}

static void check_region(const Context *context, const Declaration *declaration,
                         const Statement *region) {
    vector_each(Statement *, item, region->body) {
        StatementKind kind = (*item)->kind;
        if (kind == STATEMENT_on) check_region(context, declaration, *item);
        else if (kind == STATEMENT_assign) check_placed_entry(context, declaration, region, *item);
        else if (kind != STATEMENT_let)
            report(context, E0214, (*item)->range,
                   "a region of a train block holds `let`, `loss` and `metric`");
    }
}

static void report_misplaced(const Context *context, const Statement *statement) {
    bool action = statement->kind == STATEMENT_action;
    Diagnostic *d = report(context, E0214, statement->range,
                           action ? "actions stand in `every`"
                                  : "a train block holds entries, `let`, `on` and `every`");
    if (action) diagnostic_help(d, "`every 1 epoch { … }`");
}

static bool check_entries(const Context *context, const Declaration *declaration) {
    bool whole = true;
    vector_each(Statement *, statement, declaration->body) {
        StatementKind kind = (*statement)->kind;
        if (kind == STATEMENT_assign) check_entry(context, declaration, *statement);
        else if (kind == STATEMENT_on) check_region(context, declaration, *statement);
        else if (kind != STATEMENT_let && kind != STATEMENT_every)
            report_misplaced(context, *statement);
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

static bool may_train(const Context *context, Range range, const Stream *stream) {
    return !report_tees(context, stream, range) &&
           can_look_up(context, range, "a train block", stream->pipeline);
}

Value lower_data(const Context *context, const Expression *expression) {
    Value data = lower_expression(context, expression);
    if (data.kind == VALUE_error) return data;
    if (data.kind == VALUE_batch)
        return may_train(context, expression->range, data.stream) ? data : value_error;
    Diagnostic *d = report(context, E0203, expression->range, "expects batches, receives %s",
                           value_text(context->lowering->arena, &data));
    diagnostic_help(d, "end it in `|> batch(64)`");
    return value_error;
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

/* Batches of one update. */
static int64_t lower_count(const Context *context, const Declaration *declaration) {
    const Statement *statement = find_entry(declaration, "accumulate");
    double count;
    Context fixing = *context;
    fixing.fixing = true;
    if (!statement) return 1;
    Value value = lower_expression(&fixing, statement->value);
    Range range = statement->value->range;
    if (!to_number(&fixing, &value, range, &count)) return 1;
    if (count >= 1 && count <= 0x1p30 && count == floor(count)) return (int64_t)count;
    report(context, E0211, range, "accumulate takes a whole number of at least 1, not %.15g",
           count);
    return 1;
}

static void refuse_precision(const Context *context, Range range, const Value *value) {
    Diagnostic *d = report(context, E0203, range, "expects `bf16`, `tf32` or `f32`, receives %s",
                           value_text(context->lowering->arena, value));
    if (value->kind == VALUE_element && value->element == TYPE_f16)
        diagnostic_help(d,
                        "gradients are often too small for `f16`; `bf16` has the range of `f32`");
}

/* What products round their operands to; f32: they don't. tf32 is the type of no value, only a name
 * here. */
static void lower_precision(const Context *context, const Declaration *declaration,
                            GraphWishes *wishes) {
    const Statement *statement = find_entry(declaration, "precision");
    const Expression *wanted = statement ? statement->value : NULL;
    wishes->product = TYPE_f32;
    if (!wanted) return;
    wishes->tf32 = wanted->kind == EXPRESSION_name && !strcmp(wanted->name.text, "tf32");
    if (wishes->tf32) return;
    Value value = lower_expression(context, wanted);
    bool known = value.kind == VALUE_element;
    if (known && (value.element == TYPE_f32 || value.element == TYPE_bf16))
        wishes->product = value.element;
    else if (value.kind != VALUE_error) refuse_precision(context, wanted->range, &value);
}

static bool lower_recompute(const Context *context, const Declaration *declaration) {
    const Statement *statement = find_entry(declaration, "recompute");
    bool wanted = false;
    if (statement) lower_condition(context, statement->value, "recompute", &wanted);
    return wanted;
}

Context step_context(const Context *context, const Declaration *declaration, Train *train,
                     Function *function, const char *name) {
    Frame *frame = arena_new_item(context->lowering->arena, Frame);
    *frame = (Frame){
        .declaration = declaration, .path = "", .callees = map_new(context->lowering->arena)};
    Context inner = *context;
    *function = function_new(context, train->name, name, train->data);
    inner.frame = frame;
    inner.graph = function->graph;
    inner.function = function;
    inner.initialise = &train->initialise;
    inner.updates = true;
    function->graph->wishes = train->wishes;
    inner.measures = train->step.name;
    return inner;
}

/* A sum over a pass may become anything: a metric makes of it what it wants. */
static bool is_guarded(const Context *context, const Node *target) {
    return is_floating(target->type.element) && !find_storage(context, target->name)->pass;
}

/* The first result; updates of the model's states may come before it. NODE_NONE after an error. */
static NodeId loss_of(const Graph *graph) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result) return output->value;
    return NODE_NONE;
}

/* What a step keeps stays as it is when its loss is not finite, and each number where its new value
 * is not: where that began can be found then. */
static void guard_updates(const Context *context, Range range) {
    Graph *graph = context->graph;
    NodeId loss = loss_of(graph);
    if (loss == NODE_NONE) return;
    NodeId zero = graph_make(graph, OP_subtract, loss, loss, NODE_NONE, range);
    NodeId none = graph_constant(graph, graph_node(graph, loss)->type.element, 0, range);
    NodeId finite = graph_make(graph, OP_equal, zero, none, NODE_NONE, range);
    vector_each(Output, output, graph->outputs) {
        if (output->kind != OUTPUT_update) continue;
        const Node *target = graph_node(graph, output->target);
        Op op = is_guarded(context, target) ? OP_keep : OP_select;
        graph->placement = target->placement;
        output->value = graph_make(graph, op, finite, output->value, output->target,
                                   graph_node(graph, output->value)->range);
    }
    graph->placement = (Placement){0};
}

static void lower_step(const Context *context, const Declaration *declaration, Train *train,
                       Value data) {
    train->data = data.stream->pipeline;
    train->initialise = function_new(context, train->name, "initialise", NULL);
    train->initialise.once = true;
    context->lowering->fits = false;
    Context step = step_context(context, declaration, train, &train->step, "step");
    lower_measures(&step, declaration, data);
    lower_optimizer(&step, declaration, train);
    guard_updates(&step, find_entry(declaration, "loss")->range);
    if (context->lowering->fits && !context->lowering->diagnostics->list.count)
        lower_fits(context, declaration, train, data);
    if (train->accumulate_count == 1) return;
    Context sum = step_context(context, declaration, train, &train->accumulate, "accumulate");
    lower_measures(&sum, declaration, data);
    lower_accumulation(&sum, declaration, train);
    guard_updates(&sum, find_entry(declaration, "loss")->range);
}

/* How long it trains: epochs, if nothing is said one of them; or steps; or what ends first. */
static void lower_length(const Context *context, const Declaration *declaration, Train *train) {
    bool open = find_entry(declaration, "steps") && !find_entry(declaration, "epochs");
    train->epochs = lower_setting(context, declaration, "epochs", open ? 0x1p40 : 1, 1);
    train->steps = lower_setting(context, declaration, "steps", 0x1p53, 1);
}

void lower_train(const Context *context, const Declaration *declaration) {
    Lowering *lowering = context->lowering;
    Frame frame = {.declaration = declaration, .path = "", .callees = map_new(lowering->arena)};
    Context inner = *context;
    inner.frame = &frame;
    inner.scope = scope_new(lowering->arena, NULL);
    if (!check_entries(&inner, declaration)) return;
    Train train = {.name = declaration->name.text, .range = declaration->range};
    lower_length(&inner, declaration, &train);
    train.seed = lower_setting(&inner, declaration, "seed", 0, 0);
    train.accumulate_count = lower_count(&inner, declaration);
    lower_precision(&inner, declaration, &train.wishes);
    train.wishes.recompute = lower_recompute(&inner, declaration);
    lowering->learning = true;
    Value data = lower_data(&inner, find_entry(declaration, "data")->value);
    lowering->learning = false;
    if (data.kind == VALUE_error) return;
    lower_resources(&inner, declaration, &data, &train);
    lower_step(&inner, declaration, &train, data);
    vector_each(Statement *, statement, declaration->body)
        if ((*statement)->kind == STATEMENT_every)
            lower_every(&inner, declaration, &train, *statement);
    vector_push(lowering->arena, &lowering->program->trains, train);
}
