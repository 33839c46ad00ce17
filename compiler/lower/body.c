/* Body: the statements of a fn, model, pipeline or export. */
#include "compiler/lower/lowering.h"

#include <math.h>
#include <string.h>

/* Renews: the statement could be meant to give a new value. */
static void bind(const Context *context, const Name *name, Value value, bool renews) {
    const Binding *first = scope_find_here(context->scope, name->text);
    if (first) {
        Diagnostic *d = report(context, E0202, name->range, "`%s` is declared already", name->text);
        if (first->value.range.source) diagnostic_note(d, first->value.range, "it comes from here");
        if (!first->weight && renews)
            diagnostic_help(d, "`%s = …` without `let` gives it a new value", name->text);
        return;
    }
    scope_put(context->lowering->arena, context->scope, name->text, value);
}

void introduce(const Context *context, const Name *name, Value value) {
    bind(context, name, value, false);
}

static void bind_each(const Context *context, const Statement *statement, const Value *value) {
    size_t count = statement->names.count;
    bool fits = value->kind == VALUE_items && value->items.count == count;
    if (!fits && value->kind != VALUE_error)
        report(context, E0203, statement->value->range, "%zu names can't share %s", count,
               value_text(context->lowering->arena, value));
    for (size_t i = 0; i < count; i++)
        bind(context, &statement->names.items[i], fits ? value->items.values[i] : value_error,
             false);
}

void lower_let(const Context *context, const Statement *statement) {
    if (statement->indices.count) {
        lower_stacked(context, statement);
        return;
    }
    const Name *name = &statement->names.items[0];
    Value value = statement->value->kind == EXPRESSION_new
                      ? lower_new(context, statement->value, name->text)
                      : lower_expression(context, statement->value);
    if (statement->type)
        value = match_type(context, statement->type, value, statement->value->range,
                           arena_format(context->lowering->arena, "`%s`", name->text), NULL);
    if (statement->names.count == 1) bind(context, name, value, true);
    else bind_each(context, statement, &value);
}

static bool same_type(const Value *old, const Value *new) {
    bool same = true;
    if (old->kind == VALUE_items && new->kind == VALUE_items)
        for (size_t i = 0; same && i < old->items.count && i < new->items.count; i++)
            same = same_type(&old->items.values[i], &new->items.values[i]);
    if (old->kind != VALUE_tensor || new->kind != VALUE_tensor) return same;
    return type_equal(value_type(old), value_type(new));
}

/* A name keeps its type when it gets a new value. */
static bool keeps_type(const Context *context, const Statement *statement, const Value *old,
                       const Value *new) {
    if (same_type(old, new)) return true;
    Arena *arena = context->lowering->arena;
    Diagnostic *d =
        report(context, E0203, statement->value->range, "`%s` is %s and stays so, this is %s",
               statement->names.items[0].text, value_text(arena, old), value_text(arena, new));
    diagnostic_note(d, old->range, "its value comes from here");
    return false;
}

static void lower_assign(const Context *context, const Statement *statement) {
    const Name *name = &statement->names.items[0];
    Value value = lower_expression(context, statement->value);
    Binding *binding = scope_find(context->scope, name->text);
    if (!binding) {
        Diagnostic *d = report(context, E0201, name->range, "`%s` is not declared", name->text);
        const char *nearest = nearest_value(context, name->text);
        help_nearest(d, nearest);
        if (!nearest) diagnostic_help(d, "`let %s = …` introduces a name", name->text);
        bind(context, name, value_error, false);
        return;
    }
    if (binding->weight && !binding->state) {
        Diagnostic *d = report(context, E0214, name->range,
                               "`%s` is a weight, which only the optimizer "
                               "changes",
                               name->text);
        diagnostic_note(d, binding->value.range, "declared here");
        diagnostic_help(d, "`let` another name for the value; a `state` can be changed here");
        return;
    }
    if (value.kind == VALUE_error || binding->value.kind == VALUE_error) {
        binding->value = value_error;
        return;
    }
    if (binding->state && value.kind != VALUE_tensor) {
        Element element = value_type(&binding->value)->element;
        NodeId node = to_node(context, &value, element, statement->value->range);
        if (node == NODE_NONE) return;
        Type type = *value_type(&binding->value);
        value = value_tensor(
            context->graph,
            graph_declared(context->graph, OP_broadcast, node, type, statement->value->range),
            statement->value->range);
    }
    if (keeps_type(context, statement, &binding->value, &value)) binding->value = value;
}

/* The first value, in the graph that runs before training. */
static void initialise(const Context *context, const Statement *statement, const char *path,
                       const Type *type) {
    Context inner = *context;
    Function *function = context->initialise;
    Arena *arena = context->lowering->arena;
    Frame frame = {.caller = context->frame,
                   .declaration = NULL,
                   .path = path,
                   .callees = map_new(arena),
                   .depth = context->frame->depth};
    inner.frame = &frame;
    inner.graph = function->graph;
    inner.scan = NULL;
    inner.function = function;
    inner.initialise = NULL;
    inner.updates = false;
    inner.expected = type;
    place_nodes(&inner);
    Range range = statement->value->range;
    Value value = lower_expression(&inner, statement->value);
    if (value.kind == VALUE_error) return;
    NodeId node = to_node(&inner, &value, type->element, range);
    if (node == NODE_NONE) return;
    Problem problem;
    range = users_place(context, range);
    node = graph_add(inner.graph,
                     (Node){.op = OP_broadcast, .inputs = {node}, .type = *type, .range = range},
                     &problem);
    if (node == NODE_NONE) {
        report(context, problem.code, range, "%s", problem.text);
        return;
    }
    NodeId target =
        graph_add(inner.graph, (Node){.op = OP_weight, .name = path, .type = *type, .range = range},
                  &problem);
    graph_output(inner.graph, OUTPUT_update, path, node, target);
}

/* What an earlier call of the same instance makes of a state, or NULL. */
static Output *find_update(const Graph *graph, NodeId target) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_update && output->target == target) return output;
    return NULL;
}

static bool may_store(const Context *context, const Statement *statement) {
    const Frame *frame = context->frame;
    if (context->graph && frame && frame->declaration &&
        frame->declaration->kind == DECLARATION_model)
        return true;
    report(context, E0214, statement->range, "only a model can own a %s",
           statement->kind == STATEMENT_state ? "state" : "weight");
    return false;
}

/* All turns of a scan share one set of weights; what changes from turn to turn is carried. */
static bool may_store_in_scan(const Context *context, const Statement *statement) {
    if (!context->scan) return true;
    bool state = statement->kind == STATEMENT_state;
    if (!state && context->frame != context->scan->frame) return true;
    Diagnostic *d = report(context, E0214, statement->names.items[0].range,
                           "a %s can't be declared in a scan", state ? "state" : "weight");
    diagnostic_note(d, context->scan->statement->names.items[0].range, "the scan begins here");
    if (state) diagnostic_help(d, "`let` a name before the scan; what it assigns is carried");
    else diagnostic_help(d, "declare it before the scan, whose turns all read it");
    return false;
}

static bool has_known_sizes(const Context *context, const Statement *statement, const Type *type) {
    int64_t size;
    for (int i = 0; i < type->rank; i++)
        if (!dim_is_constant(type->dims[i], &size)) {
            bool bounded = dim_is_bounded(type->dims[i]);
            Diagnostic *d = report(context, E0206, statement->type->range,
                                   bounded ? "the size %s of `%s` differs from run to run"
                                           : "the size %s of `%s` is not known",
                                   dim_text(context->lowering->arena, type->dims[i]),
                                   statement->names.items[0].text);
            if (bounded) diagnostic_help(d, "what is kept has one size: use the bound, a number");
            return false;
        }
    return true;
}

static void lower_storage(const Context *context, const Statement *statement) {
    const Name *name = &statement->names.items[0];
    Arena *arena = context->lowering->arena;
    bool trained = statement->kind == STATEMENT_weight, begins = false;
    Type type;
    const char *path = arena_format(arena, "%s/%s", context->frame->path, name->text);
    bool sound = may_store(context, statement) && may_store_in_scan(context, statement) &&
                 resolve_type(context, statement->type, &type);
    if (sound && !context->checking)
        sound = has_known_sizes(context, statement, &type) &&
                store(context, path, &type, trained, name->range, &begins);
    if (!sound) {
        bind(context, name, value_error, false);
        return;
    }
    Problem problem;
    const Storage *storage = context->checking ? NULL : find_storage(context, path);
    bool averaged = context->averaged && storage && storage->average;
    Graph *owner = outside_scans(context)->graph;
    NodeId node = graph_add(owner,
                            (Node){.op = OP_weight,
                                   .name = averaged ? storage->average : path,
                                   .type = type,
                                   .range = users_place(context, name->range)},
                            &problem);
    if (node == NODE_NONE) {
        report(context, problem.code, name->range, "%s", problem.text);
        return;
    }
    bind(context, name, inside_scan(context, value_tensor(owner, node, name->range)), false);
    Binding *binding = scope_find(context->scope, name->text);
    binding->weight = true;
    binding->target = node;
    if (!trained) {
        binding->state = path;
        const Output *updated = find_update(context->graph, node);
        if (updated && context->updates) binding->value.node = updated->value;
    }
    if (!statement->value) {
        Diagnostic *d = report(context, E0302, name->range, "`%s` has no first value", name->text);
        diagnostic_help(d, "`%s %s: … = zeros()`", trained ? "weight" : "state", name->text);
    }
    if (statement->value && context->initialise && (context->checking || begins))
        initialise(context, statement, path, &type);
}

static bool may_go_on(const Context *context, Range range) {
    Lowering *lowering = context->lowering;
    if (lowering->exhausted || context->frame->returned) return false;
    if (++lowering->calls <= CALL_LIMIT) return true;
    report(context, E0217, range, "the program makes more than 2^17 calls and turns of `repeat`");
    return !(lowering->exhausted = true);
}

static void run_turn(const Context *context, const Statement *statement, Value turn,
                     Value *result) {
    const Name *name = &statement->names.items[0];
    Context inner = *context;
    turn.range = name->range;
    inner.scope = scope_new(context->lowering->arena, context->scope);
    scope_put(context->lowering->arena, inner.scope, name->text, turn);
    lower_block(&inner, &statement->body, result);
}

/* Over a list, one turn for each item; else over the numbers below one. */
static void lower_repeat(const Context *context, const Statement *statement, Value *result) {
    double turns;
    Context fixing = *context;
    fixing.fixing = true;
    Range range = statement->value->range;
    Value count = lower_expression(&fixing, statement->value);
    if (count.kind == VALUE_items) {
        for (size_t i = 0; i < count.items.count && may_go_on(context, range); i++)
            run_turn(context, statement, count.items.values[i], result);
        return;
    }
    if (!is_count(&fixing, &count, range) || !to_number(&fixing, &count, range, &turns)) return;
    if (turns < 0 || turns > REPEAT_LIMIT || turns != floor(turns)) {
        report(context, E0211, range, "repeat takes a whole number up to %d, not %.15g",
               REPEAT_LIMIT, turns);
        return;
    }
    for (int turn = 0; turn < (int)turns && may_go_on(context, range); turn++)
        run_turn(context, statement, value_number(turn, range), result);
}

bool lower_condition(const Context *context, const Expression *expression, const char *asker,
                     bool *holds) {
    Context fixing = *context;
    fixing.fixing = true;
    fixing.expected = NULL;
    Value condition = lower_expression(&fixing, expression);
    *holds = condition.number != 0;
    if (condition.kind == VALUE_truth || condition.kind == VALUE_error)
        return condition.kind == VALUE_truth;
    bool symbolic = condition.kind == VALUE_tensor || condition.kind == VALUE_size;
    Diagnostic *d = report(context, symbolic ? E0206 : E0203, expression->range,
                           symbolic ? "`%s` has to know its condition at compile time, this is %s"
                                    : "`%s` takes true or false, not %s",
                           asker, value_text(context->lowering->arena, &condition));
    if (symbolic) diagnostic_help(d, "`select(condition, a, b)` chooses between tensors");
    else diagnostic_help(d, "compare it: `%s … == 1`", asker);
    return false;
}

static void lower_if(const Context *context, const Statement *statement, Value *result) {
    bool holds;
    if (lower_condition(context, statement->value, "if", &holds))
        lower_block(context, holds ? &statement->body : &statement->otherwise, result);
    else context->frame->undecided = true;
}

/* A region is no scope: it says where, not what there is. */
static void lower_on(const Context *context, const Statement *statement, Value *result) {
    Placement before;
    Context inner = enter_region(context, statement->value, &before);
    lower_block(&inner, &statement->body, result);
    restore_placement(&inner, before);
}

static void lower_return(const Context *context, const Statement *statement, Value *result) {
    Context inner = *context;
    *result = lower_expression(&inner, statement->value);
    result->range = statement->value->range;
    context->frame->returned = true;
}

static void misplaced(const Context *context, const Statement *statement, const char *what) {
    report(context, E0214, statement->range, "%s", what);
}

static void lower_statement(const Context *context, const Statement *statement, Value *result) {
    Context inner = *context; /* the declared result is expected of `return` alone */
    inner.expected = NULL;
    switch (statement->kind) {
    case STATEMENT_let: lower_let(&inner, statement); break;
    case STATEMENT_assign: lower_assign(&inner, statement); break;
    case STATEMENT_weight:
    case STATEMENT_state: lower_storage(&inner, statement); break;
    case STATEMENT_return: lower_return(context, statement, result); break;
    case STATEMENT_repeat: lower_repeat(&inner, statement, result); break;
    case STATEMENT_scan: lower_scan(&inner, statement, result); break;
    case STATEMENT_if: lower_if(context, statement, result); break;
    case STATEMENT_on: lower_on(context, statement, result); break;
    case STATEMENT_action:
        if (!strcmp(statement->names.items[0].text, "require")) {
            lower_require(&inner, statement);
            break;
        } /* fall through */
    case STATEMENT_every: misplaced(context, statement, "this belongs in a train block"); break;
    }
}

void lower_block(const Context *context, const StatementList *body, Value *result) {
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        if (i && body->items[i - 1]->kind == STATEMENT_return) {
            report(context, E0214, statement->range, "nothing after `return` is run");
            return;
        }
        if (context->frame->undecided || context->frame->returned) return;
        lower_statement(context, statement, result);
    }
}

/* States that were assigned get their last value at the end of the step. */
static void update_states(const Context *context) {
    if (!context->updates || context->checking) return;
    for (size_t i = 0; i < context->scope->bindings.count; i++) {
        const Binding *binding = &context->scope->bindings.items[i];
        bool changed = binding->state && binding->value.kind == VALUE_tensor &&
                       binding->value.node != binding->target;
        Output *before = changed ? find_update(context->graph, binding->target) : NULL;
        if (before) before->value = binding->value.node;
        else if (changed)
            graph_output(context->graph, OUTPUT_update, binding->state, binding->value.node,
                         binding->target);
    }
}

Value lower_body(const Context *context, const StatementList *body) {
    Value result = {.kind = VALUE_error, .number = 1}; /* number: no return was run */
    context->frame->returned = false;
    lower_block(context, body, &result);
    if (context->frame->undecided) return value_error;
    update_states(context);
    if (result.kind != VALUE_error || !result.number) return result;
    const Declaration *declaration = context->frame->declaration;
    Diagnostic *d = report(context, E0215, declaration->name.range, "`%s` ends without `return`",
                           declaration->name.text);
    diagnostic_help(d, "`return …` gives its value");
    return value_error;
}
