/* Sink: where a pipeline ends. Each sink has its own form of call. */
#include "compiler/lower/stream.h"

#include <string.h>

enum { RUN_BATCH = 64 }; /* records made together for a sink that gets them one by one */

static bool open_print(const Context *context, const Expression *call, Sink *sink) {
    (void)sink;
    if (!call->arguments.count) return true;
    report(context, E0204, call->range, "`print` takes no arguments: it prints every field");
    return false;
}

static bool open_csv(const Context *context, const Expression *call, Sink *sink) {
    const Expression *argument = call->arguments.count == 1 && !call->arguments.items[0].name.text
                                     ? call->arguments.items[0].value
                                     : NULL;
    Value path = argument ? lower_expression(context, argument) : (Value){.kind = VALUE_items};
    if (path.kind == VALUE_error) return false;
    if (path.kind == VALUE_string && *path.string) {
        sink->path = path.string;
        sink->path_option = path.index;
    }
    if (sink->path || path.kind == VALUE_stdout) return true;
    Diagnostic *d = report(context, E0204, call->range, "`csv` writes to a file or to `stdout`");
    diagnostic_help(d, "`|> csv(\"results.csv\")`");
    return false;
}

static const struct {
    const char *name;
    bool (*open)(const Context *context, const Expression *call, Sink *sink);
} forms[] = {{"csv", open_csv}, {"print", open_print}};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

#define SINK(name) +1
_Static_assert(FORM_COUNT == 0
#include "runtime/sink/sinks.def"
               ,
               "every sink of sinks.def has a form of call");
#undef SINK

Value lower_sink(const Context *context, const Expression *call, const Value *piped) {
    Stream *stream = piped->stream;
    stream->sink = (Sink){.name = call->name.text};
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (!strcmp(forms[i].name, call->name.text) && !forms[i].open(context, call, &stream->sink))
            return value_error;
    if (!stream->unbatched && !finish_pipeline(context, stream, RUN_BATCH)) return value_error;
    return (Value){.kind = VALUE_sink, .range = call->range, .stream = stream};
}
