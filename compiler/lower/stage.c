/* Stage: pipelines are put together stage by stage. A stage is one line of stages.def and a
 * function that changes the stream. */
#include "compiler/lower/stream.h"

#include <math.h>
#include <string.h>

const Expression *only_argument(const Context *context, const Expression *call, const char *name,
                                const char *example) {
    if (call->arguments.count == 1) {
        const Name *given = &call->arguments.items[0].name;
        if (!given->text || !strcmp(given->text, name)) return call->arguments.items[0].value;
    }
    Diagnostic *d =
        report(context, E0204, call->range, "`%s` takes one argument, `%s`", call->name.text, name);
    diagnostic_help(d, "`%s`", example);
    return NULL;
}

bool whole_number(const Context *context, const Expression *argument, const char *name,
                  double least, double most, double *number) {
    Context fixing = *context;
    fixing.fixing = true;
    if (!argument) return false;
    Value value = lower_expression(&fixing, argument);
    if (!is_count(&fixing, &value, argument->range) ||
        !to_number(&fixing, &value, argument->range, number))
        return false;
    if (*number == floor(*number) && *number >= least && *number <= most) return true;
    if (most < 0x1p53)
        report(context, E0211, argument->range,
               "`%s` is a whole number from %.15g to %.15g, not %.15g", name, least, most, *number);
    else
        report(context, E0211, argument->range,
               "`%s` is a whole number of at least %.15g, not %.15g", name, least, *number);
    return false;
}

void note_stage(const Context *context, Pipeline *pipeline, const Expression *call,
                StageKind kind) {
    vector_push(context->lowering->arena, &pipeline->stages,
                (Stage){.name = call->name.text,
                        .range = call->range,
                        .placement = context->placement,
                        .kind = kind,
                        .section = pipeline->sections.count - 1});
}

enum { DOES_compute = 1, DOES_keep = 2, DOES_write = 4 };

typedef struct StageForm {
    const char *name;
    ValueKind takes;
    Value (*lower)(const Context *context, const Expression *call, const Value *stream);
    unsigned does;
    StageKind kind;
} StageForm;

static const StageForm stages[] = {
#define STAGE(name, takes, lowers, does, what) {#name, VALUE_##takes, lowers, does, STAGE_##takes},
#include "compiler/lower/stages.def"
#define SINK(name) {#name, VALUE_stream, lower_sink, DOES_keep | DOES_write, STAGE_sink},
#include "runtime/sink/sinks.def"
#undef SINK
};
enum { STAGE_COUNT = sizeof stages / sizeof *stages };

/* The stage of that name that takes such a value; or any of that name, or -1. */
static int find_stage(const char *name, const Value *piped) {
    int found = -1;
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (strcmp(stages[i].name, name)) continue;
        if (found < 0 || (piped && stages[i].takes == piped->kind)) found = i;
    }
    return found;
}

/* Is it the stream as the last stage left it? False after reporting. */
static bool is_unread(const Context *context, Range range, const Value *piped) {
    const Stream *stream = piped->stream;
    if (piped->index == stream->stages) return true;
    Diagnostic *d = report(context, E0214, range, "this stream has gone on elsewhere already");
    diagnostic_note(d, stream->reader, "it went on here");
    diagnostic_help(d, "a stream has one reader; open its files a second time for another");
    return false;
}

static bool is_whole(const Context *context, Range range, const Stream *stream) {
    if (!stream->unbatched) return true;
    Diagnostic *d = report(context, E0214, range, "only a sink can follow `unbatch`");
    diagnostic_help(d, "`print()`, `csv(stdout)`");
    return false;
}

static Value report_after_tee(const Context *context, const Expression *call, const Tee *tee) {
    Diagnostic *d = report(context, E0214, call->range, "`%s` can't follow `tee`", call->name.text);
    diagnostic_note(d, tee->range, "it is here");
    diagnostic_help(d, "put `tee` behind it: it writes the records that the run goes through");
    return value_error;
}

/* what: "`take`" */
static bool report_bucket(const Context *context, Range range, const char *what) {
    Diagnostic *d = report(context, E0214, range, "%s can't follow `bucket`", what);
    diagnostic_help(d, "only `map` and `batch` can; what chooses, orders or joins records stands "
                       "before it");
    return false;
}

static int go_on(Stream *stream, Range range) {
    stream->reader = range;
    return ++stream->stages;
}

bool use_stream(const Context *context, Range range, const Value *piped) {
    if (!is_unread(context, range, piped) || !is_whole(context, range, piped->stream) ||
        report_tees(context, piped->stream, range))
        return false;
    if (bucket_of(piped->stream->pipeline)) return report_bucket(context, range, "a join");
    go_on(piped->stream, range);
    return true;
}

/* A stream flows on once: what it was before a stage is gone. */
static Value run_stage(const Context *context, const Expression *call, const Value *piped,
                       const StageForm *form) {
    Stream *stream = piped->stream;
    if (!is_unread(context, call->range, piped)) return value_error;
    if (stream->tees.count && !(form->does & DOES_keep))
        return report_after_tee(context, call, &stream->tees.items[0]);
    if (bucket_of(stream->pipeline) && !(form->does & DOES_keep)) {
        report_bucket(context, call->range,
                      arena_format(context->lowering->arena, "`%s`", call->name.text));
        return value_error;
    }
    if (!(form->does & DOES_write) && !is_whole(context, call->range, stream)) return value_error;
    note_stage(context, stream->pipeline, call, form->kind);
    Value result = form->lower(context, call, piped);
    int stages = go_on(stream, call->range);
    if (result.stream == stream) result.index = stages;
    return result;
}

static Value report_misplaced(const Context *context, const Expression *call, ValueKind takes,
                              const Value *piped) {
    const char *name = call->name.text;
    if (piped && piped->kind == VALUE_batch) {
        Diagnostic *d = report(context, E0214, call->range, "`%s` can't follow `batch`", name);
        diagnostic_help(d, "`map` and `unbatch` can");
        return value_error;
    }
    Diagnostic *d = report(context, E0203, call->range, "`%s` takes %s, not %s", name,
                           takes == VALUE_batch ? "batches" : "a stream of records",
                           piped ? value_text(context->lowering->arena, piped) : "nothing");
    diagnostic_help(d, "`idx(…) |> %s%s(…)`", takes == VALUE_batch ? "batch(64) |> " : "", name);
    return value_error;
}

bool is_stage_name(const char *name) {
    return find_stage(name, NULL) >= 0 || find_source(name) || is_join_name(name);
}

bool is_computing_stage(const char *name) {
    int stage = find_stage(name, NULL);
    return stage >= 0 && stages[stage].does & DOES_compute;
}

const char *nearest_stage(const char *name) {
    const char *nearest = nearest_source(name);
    for (int i = 0; i < STAGE_COUNT && !nearest; i++)
        nearest = nearest_name(name, &stages[i].name, 1);
    return nearest;
}

bool lower_stage(const Context *context, const Expression *call, const Value *piped,
                 Value *result) {
    const char *source = find_source(call->name.text);
    int stage = find_stage(call->name.text, piped);
    if (source && (stage < 0 || !piped)) {
        *result = open_source(context, call, source, piped);
        return true;
    }
    if (stage < 0) return lower_join(context, call, piped, result);
    *result = piped && piped->kind == stages[stage].takes
                  ? run_stage(context, call, piped, &stages[stage])
                  : report_misplaced(context, call, stages[stage].takes, piped);
    return true;
}
