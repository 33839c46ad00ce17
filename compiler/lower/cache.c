/* Cache: the records of a stream are kept as they are first made, in memory or in a file, and are
 * the records of a new pipeline. */
#include "compiler/lower/stream.h"

#include <string.h>

/* Does a draw of the pipeline follow from the run's seed? */
static bool is_seeded(const Pipeline *pipeline) {
    bool seeded = false;
    vector_each(Section *, section, pipeline->sections)
        vector_each(Input, input, (*section)->record.inputs) seeded |= input->kind == INPUT_seed;
    vector_each(Pipeline *, input, pipeline->join.inputs) seeded |= is_seeded(*input);
    return seeded;
}

/* The file of `cache("file")`; false after reporting. */
static bool cache_argument(const Context *context, const Expression *call, Value *path) {
    *path = (Value){.kind = VALUE_string};
    if (!call->arguments.count) return true;
    const Argument *argument = &call->arguments.items[0];
    *path = lower_expression(context, argument->value);
    if (path->kind == VALUE_error) return false;
    bool named = path->kind == VALUE_string && !value_is_empty(path) && strcmp(path->string, "-");
    if (named && !argument->name.text && call->arguments.count == 1) return true;
    diagnostic_help(
        report(context, E0204, call->range, "`cache` takes the name of a file, or nothing"),
        "`cache(\"features.cache\")`, or `cache()` in memory");
    return false;
}

/* What is another value in each epoch would be the same one for ever. */
static bool is_steady(const Context *context, const Expression *call, const Stream *stream) {
    const Section *section = stream->pipeline->section;
    for (size_t i = 0; i < section->outputs.count; i++) {
        const Field *output = &section->outputs.items[i];
        if (!output->varies) continue;
        Diagnostic *d =
            report(context, E0214, call->range,
                   "`cache` keeps records as they are first made, and `%s` is made anew "
                   "in each epoch",
                   output->name);
        diagnostic_note(d, stream->record.values[i].range, "it is made here");
        diagnostic_help(d, "what draws by the epoch stands behind the cache: "
                           "`|> cache() |> map(x: random_flip(x))`");
        return false;
    }
    return true;
}

Value lower_cache(const Context *context, const Expression *call, const Value *piped) {
    Value path;
    if (!cache_argument(context, call, &path)) return value_error;
    settle_orders(piped->stream->pipeline);
    Stream *stream = join_one(context, call, piped, JOIN_cache);
    if (!stream || !is_steady(context, call, piped->stream)) return value_error;
    Join *made = &stream->pipeline->join;
    made->path = path.string;
    made->path_option = path.index;
    made->seeded = is_seeded(piped->stream->pipeline);
    return (Value){.kind = VALUE_stream, .range = call->range, .stream = stream};
}
