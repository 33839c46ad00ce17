/* Require: what a function asks of its arguments, in its own words. It is the caller who has not
 * met it, so that the message points at the call. */
#include "compiler/lower/lowering.h"

#include <string.h>

/* A value as it would be written. */
static const char *written(const Context *context, const Value *value) {
    Arena *arena = context->lowering->arena;
    switch (value->kind) {
    case VALUE_number: return arena_format(arena, "%.15g", value->number);
    case VALUE_size: return dim_text(arena, value->size);
    case VALUE_string: return value->string;
    default: return value_text(arena, value);
    }
}

/* The text, with the value of x for each {x} that is a name. */
static const char *fill_in(const Context *context, const char *text) {
    Text filled = text_new(context->lowering->arena);
    while (*text) {
        size_t plain = strcspn(text, "{"), size = strcspn(text + plain, "}");
        text_add_bytes(&filled, text, plain);
        text += plain;
        if (!*text) break;
        const char *name =
            text[size] ? arena_copy(context->lowering->arena, text + 1, size - 1) : "";
        const Binding *binding = scope_find(context->scope, name);
        if (binding) text_add(&filled, written(context, &binding->value));
        else text_add_bytes(&filled, text, text[size] ? size + 1 : size);
        text += text[size] ? size + 1 : size;
    }
    return text_string(&filled);
}

void lower_require(const Context *context, const Statement *statement) {
    const Expression *given = statement->value;
    bool holds;
    if (given->kind != EXPRESSION_record || given->arguments.count != 2 ||
        given->arguments.items[0].name.text || given->arguments.items[1].name.text) {
        Diagnostic *d = report(context, E0204, statement->range,
                               "`require` takes a condition and what to say when it is false");
        diagnostic_help(d, "`require(E > 0, \"there are no features\")`");
        return;
    }
    if (!lower_condition(context, given->arguments.items[0].value, "require", &holds)) {
        context->frame->undecided = true;
        return;
    }
    Value text = lower_expression(context, given->arguments.items[1].value);
    if (holds || text.kind == VALUE_error) return;
    if (text.kind != VALUE_string) {
        report(context, E0203, given->arguments.items[1].value->range,
               "`require` says a string, not %s", value_text(context->lowering->arena, &text));
        return;
    }
    Range call = context->frame->call;
    Diagnostic *d = report(context, E0218, call.source ? call : statement->range, "%s",
                           fill_in(context, text.string));
    if (call.source) diagnostic_note(d, statement->range, "required here");
    context->frame->undecided = true;
}
