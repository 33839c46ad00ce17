/* Report: errors in the library are errors of the call that led there. */
#include "compiler/lower/lowering.h"

#include "lang/habit.h"

const char *range_text(const Context *context, Range range) {
    return arena_copy(context->lowering->arena, range.source->text + range.begin,
                      range.end - range.begin);
}

void help_nearest(Diagnostic *d, const char *nearest) {
    if (nearest) diagnostic_help(d, "did you mean `%s`?", nearest);
}

bool help_habit(Diagnostic *d, const char *name) {
    const char *habit = habit_of_name(name);
    if (habit) diagnostic_help(d, "%s", habit);
    return habit != NULL;
}

const char *names_text(Arena *arena, const char *const *names, size_t count) {
    enum { SHOWN = 16 };
    Text text = text_new(arena);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        text_format(&text, "%s%s", i ? ", " : "", names[i]);
    if (count > SHOWN) text_add(&text, ", …");
    return text_string(&text);
}

static bool in_library(const Module *module, Range range) {
    for (size_t i = 0; i < module->library.count; i++)
        if (module->library.items[i]->tree->source == range.source) return true;
    return false;
}

Range users_place(const Context *context, Range range) {
    const Module *module = context->lowering->module;
    for (const Frame *frame = context->frame; frame && in_library(module, range);
         frame = frame->caller)
        if (frame->call.source) range = frame->call;
    return range;
}

static bool is_inside(Range inner, Range outer) {
    return inner.source == outer.source && inner.begin >= outer.begin && inner.end <= outer.end;
}

/* How the place was reached, where that is not to be seen at the place itself. */
static void note_call(const Context *context, Diagnostic *d, Range place) {
    const Frame *frame = context->frame;
    while (frame && frame->call.source && is_inside(place, frame->call)) frame = frame->caller;
    if (!frame || !frame->caller || !frame->call.source) return;
    if (in_library(context->lowering->module, frame->call)) return;
    bool by_itself = frame->declaration && is_inside(frame->call, frame->declaration->name.range);
    if (by_itself) return;
    bool called = frame->declaration && frame->declaration->parameters.count;
    diagnostic_note(d, frame->call, called ? "in this call" : "used here");
}

Diagnostic *report(const Context *context, ErrorCode code, Range range, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_format_list(context->lowering->arena, format, arguments);
    va_end(arguments);
    Range place = users_place(context, range);
    Diagnostic *d = diagnostic_add(context->lowering->diagnostics, code, place, "%s", text);
    if (place.source != range.source || place.begin != range.begin)
        diagnostic_note(d, range, "the library does it here");
    else note_call(context, d, range);
    return d;
}
