/* Elsewhere: an unknown name that the body does declare, but later, or only inside a block. */
#include "compiler/lower/lowering.h"

#include <string.h>

static bool declares(const Statement *statement, const char *name) {
    bool owns = statement->kind == STATEMENT_let || statement->kind == STATEMENT_weight ||
                statement->kind == STATEMENT_state;
    for (size_t i = 0; owns && i < statement->names.count; i++)
        if (statement->names.items[i].text && !strcmp(statement->names.items[i].text, name))
            return true;
    return false;
}

/* The first statement that declares the name; *block: the innermost with a body around it. */
static const Statement *find_statement(const StatementList *body, const char *name,
                                       const Statement *around, const Statement **block) {
    const Statement *found = NULL;
    for (size_t i = 0; !found && i < body->count; i++) {
        const Statement *statement = body->items[i];
        if (declares(statement, name)) {
            *block = around;
            return statement;
        }
        found = find_statement(&statement->body, name, statement, block);
        if (!found) found = find_statement(&statement->otherwise, name, statement, block);
    }
    return found;
}

void help_elsewhere(const Context *context, Diagnostic *d, const Name *name) {
    const Declaration *declaration = context->frame ? context->frame->declaration : NULL;
    if (!declaration || declaration->range.source != name->range.source) return;
    const Statement *block = NULL;
    const Statement *found = find_statement(&declaration->body, name->text, NULL, &block);
    if (!found) return;
    bool stacked = found->indices.count && found->range.end > name->range.begin;
    bool later = found->range.end > name->range.begin;
    if (!later && (!block || found->indices.count)) return;
    d->text = arena_format(context->lowering->arena, "`%s` is not known here", name->text);
    diagnostic_note(d, found->names.items[0].range,
                    stacked ? "it is known behind the scan that stacks it"
                    : later ? "it is declared only here"
                            : "it is known only in the block where it is declared");
    if (later) d->help = NULL;
    else
        diagnostic_help(d, "`let %s = …` before the block, and `%s = …` in it", name->text,
                        name->text);
}
