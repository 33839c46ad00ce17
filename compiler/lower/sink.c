/* Sink: where a pipeline ends: the fields of its records, and what the call says of them. */
#include "compiler/lower/sink.h"

#include <string.h>

enum {
    RUN_BATCH = 1024,    /* records made together for a sink that gets them one by one: so many, */
    RUN_BYTES = 1 << 20, /* or as many bytes */
    USUAL_QUALITY = 90,
};

static const double run_patience = 0.02; /* seconds: nobody asked for a whole batch of a feed */

/* The fields. */

static void add_field(const Context *context, Sink *sink, const char *name, Type type) {
    SinkField field = {.name = name, .type = type, .index = (int)sink->fields.count};
    vector_push(context->lowering->arena, &sink->fields, field);
}

/* What a record is when it gets here. */
static void take_fields(const Context *context, const Stream *stream, Sink *sink) {
    const Section *section = stream->pipeline->section;
    sink->of_results = stream->function != NULL;
    for (size_t i = 0; stream->function && i < stream->results.count; i++)
        add_field(context, sink, stream->results.names[i], stream->function->results.items[i]);
    for (size_t i = 0; !stream->function && i < stream->record.count; i++)
        add_field(context, sink, section->outputs.items[i].name, section->outputs.items[i].type);
}

static SinkField *find_sink_field(const SinkCall *call, const Name *name) {
    Arena *arena = call->context->lowering->arena;
    const char **names = arena_new_array(arena, const char *, call->sink->fields.count + 1);
    for (size_t i = 0; i < call->sink->fields.count; i++) {
        SinkField *field = &call->sink->fields.items[i];
        if (!strcmp(field->name, name->text)) return field;
        names[i] = field->name;
    }
    Diagnostic *d =
        report(call->context, E0212, name->range, "the records have no field `%s`", name->text);
    const char *nearest = nearest_name(name->text, names, call->sink->fields.count);
    help_nearest(d, nearest);
    if (!nearest)
        diagnostic_help(d, "their fields are %s",
                        names_text(arena, names, call->sink->fields.count));
    return NULL;
}

bool report_sink_type(const SinkCall *call, const SinkField *field, const char *wanted) {
    report(call->context, E0203, call->call->range, "`%s` takes %s; `%s` is %s", call->form->name,
           wanted, field->name, type_text(call->context->lowering->arena, &field->type));
    return false;
}

/* Arguments. */

static bool report_usage(const SinkCall *call, Range range, const char *problem) {
    Diagnostic *d = report(call->context, E0204, range, "`%s` %s", call->form->name, problem);
    diagnostic_help(d, "`|> %s`", call->form->example);
    return false;
}

static bool report_target(const SinkCall *call, Range range) {
    return report_usage(call, range,
                        call->form->says & SAYS_stdout ? "writes to a file or to `stdout`"
                                                       : "writes to a file");
}

static bool report_argument(const SinkCall *call, const Argument *argument) {
    Arena *arena = call->context->lowering->arena;
    if (!call->form->says)
        return report_usage(call, argument->value->range,
                            "takes no arguments: it prints every field");
    if (!argument->name.text)
        return report_usage(call, argument->value->range, "writes to one file");
    return report_usage(call, argument->name.range,
                        arena_format(arena, "takes no `%s`", argument->name.text));
}

/* The name of a file; none stands for standard output. */
static bool read_path(const SinkCall *call, const Expression *argument, const char **name,
                      int *option) {
    Value path = lower_expression(call->context, argument);
    if (path.kind == VALUE_error) return false;
    if (path.kind == VALUE_stdout && call->form->says & SAYS_stdout) return true;
    if (path.kind != VALUE_string || value_is_empty(&path))
        return report_target(call, argument->range);
    *name = path.string;
    *option = path.index;
    return true;
}

static bool read_field_path(const SinkCall *call, const Argument *argument) {
    SinkField *field = find_sink_field(call, &argument->name);
    if (!field) return false;
    if (!field->path) return read_path(call, argument->value, &field->path, &field->path_option);
    report(call->context, E0202, argument->name.range, "field `%s` is given twice", field->name);
    return false;
}

static bool mark_text(const SinkCall *call, const Expression *name) {
    if (name->kind != EXPRESSION_name) {
        Diagnostic *d =
            report(call->context, E0204, name->range, "`text` takes the names of fields");
        diagnostic_help(d, "`text = name`, `text = [name, city]`");
        return false;
    }
    SinkField *field = find_sink_field(call, &name->name);
    if (!field) return false;
    field->text = field->type.element == TYPE_u8 && field->type.rank == 1;
    return field->text || report_sink_type(call, field, "u8[n] as text");
}

static bool read_text(const SinkCall *call, const Expression *argument) {
    if (argument->kind != EXPRESSION_list) return mark_text(call, argument);
    vector_each(Expression *, name, argument->items)
        if (!mark_text(call, *name)) return false;
    return true;
}

static bool read_quality(const SinkCall *call, const Expression *argument) {
    double quality;
    if (!whole_number(call->context, argument, "quality", 1, 100, &quality)) return false;
    call->sink->quality = (int)quality;
    return true;
}

static bool read_records(const SinkCall *call, const Expression *argument) {
    double records;
    if (!whole_number(call->context, argument, "records", 1, 0x1p53, &records)) return false;
    call->sink->shard = (int64_t)records;
    return true;
}

static bool read_arguments(const SinkCall *call) {
    bool targeted = !call->form->says;
    bool alone = !(call->form->says & SAYS_files) || call->call->arguments.count == 1;
    vector_each(Argument, argument, call->call->arguments) {
        const char *name = argument->name.text;
        bool good = true;
        if (!name && !targeted && alone)
            good = read_path(call, argument->value, &call->sink->path, &call->sink->path_option);
        else if (name && !strcmp(name, "text") && call->form->says & SAYS_text)
            good = read_text(call, argument->value);
        else if (name && !strcmp(name, "quality") && call->form->says & SAYS_quality)
            good = read_quality(call, argument->value);
        else if (name && !strcmp(name, "records") && call->form->says & SAYS_records)
            good = read_records(call, argument->value);
        else if (name && call->form->says & SAYS_files) good = read_field_path(call, argument);
        else return report_argument(call, argument);
        if (!good) return false;
        targeted |= !name || call->form->says & SAYS_files;
    }
    return targeted || report_target(call, call->call->range);
}

static bool finish_run(const Context *context, Stream *stream, Range range) {
    int64_t bytes = 1;
    if (bucket_of(stream->pipeline)) {
        Diagnostic *d = report(context, E0214, range, "`bucket` is for batches, and none are made");
        diagnostic_help(d, "`|> batch(64) |> unbatch()` before the sink");
        return false;
    }
    if (!finish_pipeline(context, stream, RUN_BATCH)) return false;
    vector_each(Field, output, stream->pipeline->section->outputs)
        bytes += type_size_bound(&output->type);
    if (bytes > RUN_BYTES / RUN_BATCH)
        stream->pipeline->batch = bytes < RUN_BYTES ? RUN_BYTES / bytes : 1;
    stream->pipeline->patience = run_patience;
    return true;
}

bool read_sink(const Context *context, const Expression *call, Sink *sink) {
    SinkCall reading = {context, call, sink_form(call->name.text), sink};
    sink->name = reading.form->name;
    sink->quality = USUAL_QUALITY;
    sink->files = 1;
    return read_arguments(&reading) && (!reading.form->check || reading.form->check(&reading));
}

bool suits_sink(const Context *context, const Stream *stream, const Sink *sink, Range range) {
    vector_each(SinkField, field, sink->fields)
        if (!has_one_size(context, stream->pipeline, field->name, &field->type, range))
            return false;
    if (!(sink_form(sink->name)->says & NEEDS_count)) return true;
    return can_count(context, range, sink->name, stream->pipeline);
}

Value lower_sink(const Context *context, const Expression *call, const Value *piped) {
    Stream *stream = piped->stream;
    stream->sink = (Sink){0};
    if (!stream->unbatched && !finish_run(context, stream, call->range)) return value_error;
    take_fields(context, stream, &stream->sink);
    if (!read_sink(context, call, &stream->sink) ||
        !suits_sink(context, stream, &stream->sink, call->range) ||
        !has_own_target(context, stream, &stream->sink, call->range))
        return value_error;
    return (Value){.kind = VALUE_sink, .range = call->range, .stream = stream};
}
