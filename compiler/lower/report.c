/* Report: errors in the library are errors of the call that led there. */
#include "compiler/lower/lowering.h"

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

Diagnostic *report(const Context *context, ErrorCode code, Range range, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_format_list(context->lowering->arena, format, arguments);
    va_end(arguments);
    Range place = users_place(context, range);
    Diagnostic *d = diagnostic_add(context->lowering->diagnostics, code, place, "%s", text);
    const Frame *frame = context->frame;
    if (place.source != range.source || place.begin != range.begin)
        diagnostic_note(d, range, "the library does it here");
    else if (frame && frame->caller && frame->call.source && !in_library(context->lowering->module, frame->call))
        diagnostic_note(d, frame->call, "in this call");
    return d;
}
