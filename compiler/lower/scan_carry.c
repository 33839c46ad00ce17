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

static bool may_carry(const Context *context, const Name *name, const Binding *binding) {
    if (binding->weight && !binding->state) return true; /* the assignment is reported */
    if (binding->state) {
        Diagnostic *d = report(context, E0214, name->range,
                               "`%s` is a state, which a scan can't "
                               "change",
                               name->text);
        diagnostic_help(d,
                        "`let` another name for its value, and assign the state behind the scan");
        return false;
    }
    if (binding->value.kind == VALUE_tensor || value_is_number(&binding->value)) return true;
    if (binding->value.kind == VALUE_error) return false;
    Diagnostic *d = report(context, E0203, name->range,
                           "`%s` is %s and can't be carried from turn "
                           "to turn",
                           name->text, value_text(context->lowering->arena, &binding->value));
    if (binding->value.range.source)
        diagnostic_note(d, binding->value.range, "its value comes from here");
    if (binding->value.kind == VALUE_items)
        diagnostic_help(d, "give each tensor in it a name of its own");
    return false;
}

/* False after reporting. */
bool find_carried(Loop *loop) {
    const Context *context = loop->context;
    Names assigned = names_assigned(context, loop->statement);
    vector_each(Name, name, assigned) {
        const Binding *binding = scope_find(context->scope, name->text);
        if (!may_carry(context, name, binding)) return false;
        if (binding->weight) continue;
        Carried carried = {.name = *name, .before = inside_scan(context, binding->value)};
        carried.typed = carried.before.kind == VALUE_tensor;
        if (carried.typed && carried.before.graph != context->graph) {
            report_foreign(context, name->range);
            return false;
        }
        if (carried.typed) carried.type = *value_type(&carried.before);
        vector_push(context->lowering->arena, &loop->carried, carried);
    }
    return true;
}
