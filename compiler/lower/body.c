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

/* Down to the first tensors in them that differ; the name becomes theirs: "pair.a". */
static const char *find_change(Arena *arena, const char *name, const Value **old,
                               const Value **new) {
    if ((*old)->kind != VALUE_items) return name;
    const Items *before = &(*old)->items, *after = &(*new)->items;
    size_t i = 0;
    while (same_type(&before->values[i], &after->values[i])) i++;
    *old = &before->values[i];
    *new = &after->values[i];
    const char *item = before->names ? before->names[i] : NULL;
    return find_change(arena,
                       item ? arena_format(arena, "%s.%s", name, item)
                            : arena_format(arena, "%s[%zu]", name, i),
                       old, new);
}

/* A name keeps its type when it gets a new value. */
static bool keeps_type(const Context *context, const Statement *statement, const Value *old,
                       const Value *new) {
    if (same_type(old, new)) return true;
    Arena *arena = context->lowering->arena;
    const char *name = find_change(arena, statement->names.items[0].text, &old, &new);
    Diagnostic *d =
        report(context, E0203, statement->value->range, "`%s` is %s and stays so, this is %s", name,
               value_text(arena, old), value_text(arena, new));
    diagnostic_note(d, old->range, "its value comes from here");
    return false;
}

static bool may_assign(const Context *context, const Name *name, const Binding *binding) {
    if (!binding) {
        Diagnostic *d = report(context, E0201, name->range, "`%s` is not declared", name->text);
        const char *nearest = nearest_value(context, name->text);
        help_nearest(d, nearest);
        if (!nearest) diagnostic_help(d, "`let %s = …` introduces a name", name->text);
        bind(context, name, value_error, false);
        return false;
    }
    if (!binding->weight || binding->state) return may_change(context, name, binding);
    Diagnostic *d = report(context, E0214, name->range,
                           "`%s` is a weight, which only the optimizer changes", name->text);
    diagnostic_note(d, binding->value.range, "declared here");
    diagnostic_help(d, "`let` another name for the value; a `state` can be changed here");
    return false;
}

/* A state stays a tensor: a number is each of its elements. */
static Value as_state(const Context *context, const Value *state, Value value, Range range) {
    if (value.kind == VALUE_tensor) return value;
    const Type type = *value_type(state);
    NodeId node = to_node(context, &value, type.element, range);
    if (node == NODE_NONE) return value_error;
    return value_tensor(context->graph,
                        graph_declared(context->graph, OP_broadcast, node, type, range), range);
}

static void lower_assign(const Context *context, const Statement *statement) {
    const Name *name = &statement->names.items[0];
    Value value = lower_expression(context, statement->value);
    Binding *binding = scope_find(context->scope, name->text);
    if (!may_assign(context, name, binding)) return;
    if (value.kind == VALUE_error || binding->value.kind == VALUE_error) {
        binding->value = value_error;
        return;
    }
    if (binding->state) value = as_state(context, &binding->value, value, statement->value->range);
    if (value.kind == VALUE_error) return;
    if (keeps_type(context, statement, &binding->value, &value)) binding->value = value;
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
    case STATEMENT_state: lower_weight(&inner, statement); break;
    case STATEMENT_return: lower_return(context, statement, result); break;
    case STATEMENT_repeat: lower_repeat(&inner, statement, result); break;
    case STATEMENT_scan: lower_scan(&inner, statement, result); break;
    case STATEMENT_if: lower_if(context, statement, result); break;
    case STATEMENT_on: lower_on(context, statement, result); break;
    case STATEMENT_fit: lower_fit(&inner, statement); break;
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
