/* Target: sinks write to different files, and to none that keeps the records of a cache. */
#include "compiler/lower/sink.h"

#include <string.h>

static bool is_same(const char *path, int option, const char *other, int other_option) {
    if (option || other_option) return option == other_option;
    if (path == any_string) return false;
    return path && other ? !strcmp(path, other) : path == other;
}

/* One of its fields has a file of its own. */
static bool has_files(const Sink *sink) {
    vector_each(SinkField, field, sink->fields)
        if (field->path) return true;
    return false;
}

static bool writes_to(const Sink *sink, const char *path, int option) {
    if (!has_files(sink)) return is_same(sink->path, sink->path_option, path, option);
    vector_each(SinkField, field, sink->fields)
        if (field->path && is_same(field->path, field->path_option, path, option)) return true;
    return false;
}

static bool is_written_by(const Sink *sink, const Sink *other) {
    if (!has_files(sink)) return writes_to(other, sink->path, sink->path_option);
    vector_each(SinkField, field, sink->fields)
        if (field->path && writes_to(other, field->path, field->path_option)) return true;
    return false;
}

static bool has_own_fields(const Context *context, const Sink *sink, Range range) {
    for (size_t i = 1; i < sink->fields.count; i++)
        for (size_t j = 0; j < i; j++) {
            const SinkField *a = &sink->fields.items[j], *b = &sink->fields.items[i];
            if (!a->path || !b->path || !is_same(a->path, a->path_option, b->path, b->path_option))
                continue;
            Diagnostic *d =
                report(context, E0204, range, "`%s` and `%s` go to one file", a->name, b->name);
            diagnostic_help(d, "give each a file of its own");
            return false;
        }
    return true;
}

/* The cache that keeps records in a file which the sink writes to, of all that the pipeline comes
 * from; or NULL. */
static const Pipeline *find_cache(const Pipeline *pipeline, const Sink *sink) {
    const Join *join = &pipeline->join;
    bool file = join->inputs.count && join->kind == JOIN_cache && join->path;
    if (file && writes_to(sink, join->path, join->path_option)) return pipeline;
    const Pipeline *found = NULL;
    vector_each(Pipeline *, input, join->inputs)
        if (!found) found = find_cache(*input, sink);
    return found;
}

/* That whose log the sink writes to; or NULL. */
static const Pipeline *find_log(const Pipeline *pipeline, const Sink *sink) {
    if (pipeline->on_error == ON_ERROR_log && writes_to(sink, pipeline->log, pipeline->log_option))
        return pipeline;
    const Pipeline *found = NULL;
    vector_each(Pipeline *, input, pipeline->join.inputs)
        if (!found) found = find_log(*input, sink);
    return found;
}

static bool spares(const Context *context, const Pipeline *other, const char *what, Range range) {
    if (!other) return true;
    Diagnostic *d = report(context, E0204, range, "this sink writes to the file of a `%s`", what);
    diagnostic_note(d, other->range, "it is here");
    diagnostic_help(d, "give each a file of its own");
    return false;
}

bool has_own_target(const Context *context, const Stream *stream, const Sink *sink, Range range) {
    if (!has_own_fields(context, sink, range) ||
        !spares(context, find_cache(stream->pipeline, sink), "cache", range) ||
        !spares(context, find_log(stream->pipeline, sink), "log", range))
        return false;
    vector_each(Tee, tee, stream->tees) {
        if (!is_written_by(sink, &tee->sink)) continue;
        Diagnostic *d =
            report(context, E0204, range, "this sink and the one of a `tee` write to %s",
                   sink->path || has_files(sink) ? "one file" : "standard output");
        diagnostic_note(d, tee->range, "it is here");
        diagnostic_help(d, "give each a file of its own");
        return false;
    }
    return true;
}
