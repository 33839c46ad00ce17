/* Scan, carrying: which names a body assigns, and whether they can be carried from turn to turn. */
#include "compiler/lower/loop.h"

#include <string.h>

static bool has_name(const Names *names, const char *text) {
    vector_each(Name, name, *names)
        if (!strcmp(name->text, text)) return true;
    return false;
}

/* Lists the names that the statements assign and that the body does not introduce itself; `local`
 * are those that it did so far. */
static void collect_assigned(const Context *context, const StatementList *body, Names local,
                             Names *assigned) {
    Arena *arena = context->lowering->arena;
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        Names inner = {0};
        vector_each(Name, name, local) vector_push(arena, &inner, *name);
        vector_each(const Name, name, statement->names) {
            bool assigns = statement->kind == STATEMENT_assign;
            if (!assigns) vector_push(arena, &inner, *name);
            else if (!has_name(&local, name->text) && !has_name(assigned, name->text) &&
                     scope_find(context->scope, name->text))
                vector_push(arena, assigned, *name);
        }
        bool introduces = statement->kind != STATEMENT_repeat && statement->kind != STATEMENT_scan;
        collect_assigned(context, &statement->body, inner, assigned);
        collect_assigned(context, &statement->otherwise, inner, assigned);
        if (introduces && !statement->indices.count) local = inner;
    }
}

Names names_assigned(const Context *context, const Statement *scan) {
    Names assigned = {0}, local = {0};
    vector_push(context->lowering->arena, &local, scan->names.items[0]);
    collect_assigned(context, &scan->body, local, &assigned);
    return assigned;
}

static bool may_assign(const Context *context, const Name *name, const Binding *binding) {
    if (binding->weight && !binding->state) return true; /* it is reported */
    if (!binding->state) return may_change(context, name, binding);
    Diagnostic *d = report(context, E0214, name->range,
                           "`%s` is a state, which a scan can't change", name->text);
    diagnostic_help(d, "`let` another name for its value, and assign the state behind the scan");
    return false;
}

/* "pair.a", or "pair[0]" of a list. */
static Name item_name(const Context *context, const Name *name, const Items *items, size_t i) {
    Arena *arena = context->lowering->arena;
    const char *item = items->names ? items->names[i] : NULL;
    const char *text = item ? arena_format(arena, "%s.%s", name->text, item)
                            : arena_format(arena, "%s[%zu]", name->text, i);
    return (Name){.text = text, .range = name->range};
}

/* Adds the value, or all that is in it. False after reporting. */
static bool add_carried(Loop *loop, const Name *name, const Value *value) {
    const Context *context = loop->context;
    Carried carried = {.name = *name, .before = *value, .typed = value->kind == VALUE_tensor};
    if (value->kind == VALUE_error) return false;
    for (size_t i = 0; value->kind == VALUE_items && i < value->items.count; i++) {
        Name item = item_name(context, name, &value->items, i);
        if (!add_carried(loop, &item, &value->items.values[i])) return false;
    }
    if (value->kind == VALUE_items) return true;
    if (!carried.typed && !value_is_number(value)) {
        Diagnostic *d =
            report(context, E0203, name->range, "`%s` is %s and can't be carried from turn to turn",
                   name->text, value_text(context->lowering->arena, value));
        if (value->range.source) diagnostic_note(d, value->range, "its value comes from here");
        return false;
    }
    if (carried.typed && value->graph != context->graph) {
        report_foreign(context, name->range);
        return false;
    }
    if (carried.typed) carried.type = *value_type(value);
    vector_push(context->lowering->arena, &loop->carried, carried);
    return true;
}

/* False after reporting. */
bool find_carried(Loop *loop) {
    const Context *context = loop->context;
    Names assigned = names_assigned(context, loop->statement);
    vector_each(Name, name, assigned) {
        const Binding *binding = scope_find(context->scope, name->text);
        if (!may_assign(context, name, binding)) return false;
        if (binding->weight) continue;
        Assigned found = {*name, inside_scan(context, binding->value)};
        if (!add_carried(loop, name, &found.before)) return false;
        vector_push(context->lowering->arena, &loop->assigned, found);
    }
    return true;
}

/* A value like that one, made of those from *next on. */
static Value with_carried(Arena *arena, const Value *like, const Value **next) {
    if (like->kind != VALUE_items) return *(*next)++;
    Value value = *like;
    value.items = items_new(arena, like->items.count);
    for (size_t i = 0; i < like->items.count; i++) {
        if (like->items.names) value.items.names[i] = like->items.names[i];
        value.items.values[i] = with_carried(arena, &like->items.values[i], next);
    }
    if (!like->items.names) value.items.names = NULL;
    return value;
}

void bind_carried(Loop *loop, const Values *values, Scope *scope, bool new) {
    Arena *arena = loop->context->lowering->arena;
    const Value *next = values->items;
    vector_each(Assigned, assigned, loop->assigned) {
        Value value = with_carried(arena, &assigned->before, &next);
        if (new) scope_put(arena, scope, assigned->name.text, value);
        else scope_find(scope, assigned->name.text)->value = value;
    }
}

static bool is_same_item(const Items *a, const Items *b, size_t i) {
    if (!a->names || !b->names) return a->names == b->names;
    return a->names[i] && b->names[i] ? !strcmp(a->names[i], b->names[i])
                                      : a->names[i] == b->names[i];
}

bool list_carried(Arena *arena, const Value *like, const Value *value, Values *list) {
    if (like->kind != VALUE_items) {
        vector_push(arena, list, *value);
        return value->kind != VALUE_items;
    }
    if (value->kind != VALUE_items || value->items.count != like->items.count) return false;
    for (size_t i = 0; i < like->items.count; i++)
        if (!is_same_item(&like->items, &value->items, i) ||
            !list_carried(arena, &like->items.values[i], &value->items.values[i], list))
            return false;
    return true;
}
