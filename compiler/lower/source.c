/* Source: where a pipeline begins. Each source has its own form of call. */
#include "compiler/lower/stream.h"

#include <ctype.h>
#include <string.h>

static const char *const source_names[] = {
#define SOURCE(name, ...) #name,
#include "runtime/source/sources.def"
#undef SOURCE
};
static const SourceRecords records_of[] = {
#define SOURCE(name, records, ...) RECORDS_##records,
#include "runtime/source/sources.def"
#undef SOURCE
};
enum { SOURCE_COUNT = sizeof source_names / sizeof *source_names };

const char *find_source(const char *name) {
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        if (!strcmp(source_names[i], name)) return source_names[i];
    return NULL;
}

const char *nearest_source(const char *name) {
    return nearest_name(name, source_names, SOURCE_COUNT);
}

SourceRecords source_records(const char *source) {
    size_t index = 0;
    while (strcmp(source_names[index], source)) index++;
    return records_of[index];
}

const char *streaming_sources(const Context *context) {
    Text text = text_new(context->lowering->arena);
    size_t left = 0;
    for (size_t i = 0; i < SOURCE_COUNT; i++) left += records_of[i] == RECORDS_either;
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (records_of[i] != RECORDS_either) continue;
        left--;
        text_format(&text, "`%s`%s", source_names[i], left > 1 ? ", " : left ? " and " : "");
    }
    return text_string(&text);
}

static const char *pipeline_name(const Context *context) {
    for (const Frame *frame = context->frame; frame; frame = frame->caller)
        if (frame->declaration && frame->declaration->kind == DECLARATION_pipeline)
            return frame->declaration->name.text;
    return "data";
}

/* path: a string, or NULL. */
static void add_field(const Context *context, Stream *stream, const char *name, const Value *path,
                      Value value) {
    Field field = {.name = name};
    if (path) {
        field.path = path->string;
        field.path_option = path->index;
    }
    vector_push(context->lowering->arena, &stream->pipeline->section->fields, field);
    size_t index = stream->record.count++;
    stream->record.names[index] = name;
    stream->record.values[index] = value;
}

Value *add_typed_field(const Context *context, Stream *stream, const char *name, const Value *path,
                       Type type, Range range) {
    Context inner = record_context(context, stream);
    size_t index = stream->record.count;
    add_field(context, stream, name, path, value_error);
    stream->pipeline->section->fields.items[index].type = type;
    NodeId node = input_node(&inner, name, INPUT_field, (int)index, type, type, range);
    stream->record.values[index] = value_tensor(inner.graph, node, range);
    return &stream->record.values[index];
}

/* The one field of a source whose values lie in 0..high. */
static void add_known_field(const Context *context, Stream *stream, const char *name,
                            const Value *path, Element element, double high, Range range) {
    Dimensions *table = context->lowering->dimensions;
    Value *value = add_typed_field(context, stream, name, path, type_scalar(element), range);
    if (high > (double)DIMENSION_LIMIT) return;
    value->low = dim_constant(table, 0);
    value->high = dim_constant(table, (int64_t)high);
}

/* A field that the program may use or not; its use tells the type. */
static void offer_field(const Context *context, Stream *stream, const char *name, FieldForm form,
                        const Value *path) {
    Field *field = arena_new_item(context->lowering->arena, Field);
    *field =
        (Field){.name = name, .column = name, .path = path->string, .path_option = path->index};
    field->digits = form == FORM_number;
    size_t index = stream->record.count++;
    stream->record.names[index] = name;
    stream->record.values[index] = (Value){
        .kind = VALUE_field, .range = path->range, .form = form, .field = field, .stream = stream};
}

static bool is_given_twice(const Context *context, const ArgumentList *arguments, size_t which) {
    const Name *name = &arguments->items[which].name;
    for (size_t i = 0; i < which; i++) {
        if (strcmp(arguments->items[i].name.text, name->text)) continue;
        report(context, E0202, name->range, "field `%s` is given twice", name->text);
        return true;
    }
    return false;
}

/* field: path */
static bool open_file(const Context *context, const Argument *argument, Stream *stream) {
    const char *source = stream->pipeline->source;
    Value path = lower_expression(context, argument->value);
    if (path.kind == VALUE_error) return false;
    if (path.kind == VALUE_string && !value_is_empty(&path) && argument->name.text) {
        add_field(context, stream, argument->name.text, &path,
                  (Value){.kind = VALUE_field,
                          .range = argument->name.range,
                          .index = (int)stream->record.count,
                          .stream = stream});
        return take_path(context, stream->pipeline, &path, argument->value->range);
    }
    Diagnostic *d = report(context, E0204, argument->value->range,
                           "`%s` takes the name and the file of each field", source);
    diagnostic_help(d, "`%s(image: \"file\")`", source);
    return false;
}

/* name(field: path, …) */
static bool open_files(const Context *context, const Expression *call, Stream *stream) {
    const char *source = stream->pipeline->source;
    if (!call->arguments.count) {
        Diagnostic *d =
            report(context, E0204, call->range, "`%s` starts a pipeline from named files", source);
        diagnostic_help(d, "`%s(image: images, label: labels)`", source);
        return false;
    }
    for (size_t i = 0; i < call->arguments.count; i++)
        if (!open_file(context, &call->arguments.items[i], stream) ||
            is_given_twice(context, &call->arguments, i))
            return false;
    return true;
}

/* The call's file, a string, and the argument after it; value_error after reporting. */
static Value file_argument(const Context *context, const Expression *call, const Stream *stream,
                           const char *second, const Expression **second_value) {
    const char *source = call->name.text;
    const char *what = strcmp(source, "images") ? "file" : "folder";
    const Expression *first = NULL;
    *second_value = NULL;
    bool broken = false;
    vector_each(Argument, argument, call->arguments) {
        bool is_second = argument->name.text ? second && !strcmp(argument->name.text, second)
                                             : first && second && !*second_value;
        if (is_second) *second_value = argument->value;
        else if (!argument->name.text && !first) first = argument->value;
        else broken = true;
    }
    if (!first || broken) {
        Diagnostic *d =
            report(context, E0204, call->range, "`%s` takes the name of a %s%s%s%s", source, what,
                   second ? " and `" : "", second ? second : "", second ? " = …`" : "");
        diagnostic_help(d, "`%s(\"%s\")`", source, what);
        return value_error;
    }
    Value path = lower_expression(context, first);
    bool empty = value_is_empty(&path);
    if (path.kind == VALUE_string && !empty)
        return take_path(context, stream->pipeline, &path, first->range) ? path : value_error;
    if (path.kind != VALUE_error)
        report(context, E0203, first->range, "`%s` takes the name of a %s, not %s", source, what,
               empty ? "an empty text" : value_text(context->lowering->arena, &path));
    return value_error;
}

static bool open_text(const Context *context, const Expression *call, Stream *stream) {
    const Expression *none;
    Value path = file_argument(context, call, stream, NULL, &none);
    if (path.kind == VALUE_error) return false;
    add_known_field(context, stream, "byte", &path, TYPE_u8, 256, call->range);
    return true;
}

static bool open_images(const Context *context, const Expression *call, Stream *stream) {
    const Expression *none;
    Value path = file_argument(context, call, stream, NULL, &none);
    if (path.kind == VALUE_error) return false;
    offer_field(context, stream, "image", FORM_bytes, &path);
    offer_field(context, stream, "label", FORM_number, &path);
    return true;
}

static bool open_range(const Context *context, const Expression *call, Stream *stream) {
    double records = 0;
    bool counted = call->arguments.count > 0;
    if (counted && !whole_number(context, only_argument(context, call, "records", "range(1000)"),
                                 "records", 1, 0x1p53, &records))
        return false;
    stream->pipeline->records = (int64_t)records;
    add_known_field(context, stream, "index", NULL, TYPE_i64, counted ? records : 0x1p53,
                    call->range);
    return true;
}

/* A text of each record, which becomes what a use of it asks for. */
static bool open_texts(const Context *context, const Expression *call, Stream *stream,
                       const char *name) {
    const Expression *none;
    Value path = file_argument(context, call, stream, NULL, &none);
    if (path.kind == VALUE_error) return false;
    stream->form = FORM_bytes;
    stream->lines = true;
    stream->path = path.string;
    stream->path_option = path.index;
    Context inner = *context;
    inner.stream = stream;
    stream->record.count = 1;
    stream->record.names[0] = name;
    stream->record.values[0] = open_field(&inner, name, call->range);
    return true;
}

static bool open_lines(const Context *context, const Expression *call, Stream *stream) {
    return open_texts(context, call, stream, "line");
}

/* The name of a file that comes into a folder. */
static bool open_watch(const Context *context, const Expression *call, Stream *stream) {
    return open_texts(context, call, stream, "path");
}

/* Fields are those that the program asks for, by their names. */
static void open_by_use(Stream *stream, FieldForm form, const Value *path) {
    stream->open = true;
    stream->form = form;
    stream->path = path->string;
    stream->path_option = path->index;
}

static FieldForm form_of(const char *source) {
    return !strcmp(source, "tar")     ? FORM_bytes
           : !strcmp(source, "jsonl") ? FORM_value
                                      : FORM_tensor;
}

static bool open_named(const Context *context, const Expression *call, Stream *stream) {
    const Expression *none;
    Value path = file_argument(context, call, stream, NULL, &none);
    if (path.kind == VALUE_error) return false;
    open_by_use(stream, form_of(call->name.text), &path);
    return true;
}

/* csv: how the table is written. */

/* One character that can be told from numbers and quotes. */
static bool character_argument(const Context *context, const Argument *argument, char *character) {
    Value value = lower_expression(context, argument->value);
    if (value.kind == VALUE_error || value.string == any_string) return value.kind == VALUE_string;
    bool good = value.kind == VALUE_string && !value.index && strlen(value.string) == 1 &&
                (unsigned char)*value.string < 128 && !isalnum((unsigned char)*value.string) &&
                !strchr("\"\r\n+-._", *value.string);
    if (good) *character = *value.string;
    else
        diagnostic_help(
            report(context, E0203, argument->value->range,
                   "`%s` is one character, no letter, digit, quote, `+`, `-`, `.` or `_`",
                   argument->name.text),
            "`csv(\"file\", %s = \"%s\")`", argument->name.text,
            strcmp(argument->name.text, "comment") ? ";" : "#");
    return good;
}

static bool missing_argument(const Context *context, const Argument *argument, Pipeline *pipeline) {
    Value list = lower_expression(context, argument->value);
    if (list.kind == VALUE_error) return false;
    bool good = list.kind == VALUE_items;
    for (size_t i = 0; good && i < list.items.count; i++) {
        good = list.items.values[i].kind == VALUE_string;
        vector_push(context->lowering->arena, &pipeline->missing,
                    good ? fixed_string(context, &list.items.values[i]) : NULL);
    }
    if (!good)
        diagnostic_help(report(context, E0203, argument->value->range,
                               "`missing` takes a list of texts, not %s",
                               value_text(context->lowering->arena, &list)),
                        "`missing = [\"NA\", \"?\"]`");
    return good;
}

static bool form_argument(const Context *context, const Argument *argument, Pipeline *pipeline) {
    const char *name = argument->name.text;
    double header;
    if (!strcmp(name, "separator"))
        return character_argument(context, argument, &pipeline->separator);
    if (!strcmp(name, "comment")) return character_argument(context, argument, &pipeline->comment);
    if (!strcmp(name, "missing")) return missing_argument(context, argument, pipeline);
    if (!whole_number(context, argument->value, name, 0, 1, &header)) return false;
    pipeline->headless = !header;
    return true;
}

static bool is_form_argument(const char *name) {
    return !strcmp(name, "header") || !strcmp(name, "separator") || !strcmp(name, "comment") ||
           !strcmp(name, "missing");
}

static bool open_csv(const Context *context, const Expression *call, Stream *stream) {
    const Expression *none;
    Expression plain = *call;
    bool good = true;
    plain.arguments.count = 0;
    plain.arguments.items =
        arena_new_array(context->lowering->arena, Argument, call->arguments.count + 1);
    vector_each(Argument, argument, call->arguments) {
        if (argument->name.text && is_form_argument(argument->name.text))
            good &= form_argument(context, argument, stream->pipeline);
        else plain.arguments.items[plain.arguments.count++] = *argument;
    }
    Value path = file_argument(context, &plain, stream, NULL, &none);
    if (path.kind == VALUE_error || !good) return false;
    open_by_use(stream, FORM_cell, &path);
    return true;
}

static bool open_features(const Context *context, const Expression *call, Stream *stream) {
    const Expression *none;
    Value path = file_argument(context, call, stream, NULL, &none);
    if (path.kind == VALUE_error) return false;
    open_by_use(stream, FORM_feature, &path);
    return true;
}

static bool open_query(const Context *context, const Expression *call, Stream *stream) {
    const Expression *argument;
    Context fixing = *context;
    fixing.fixing = true;
    Value path = file_argument(context, call, stream, "query", &argument);
    if (path.kind == VALUE_error) return false;
    Value query = argument ? lower_expression(&fixing, argument) : (Value){.kind = VALUE_items};
    if (query.kind == VALUE_error) return false;
    if (query.kind != VALUE_string) {
        Diagnostic *d = report(context, E0204, call->range,
                               "`sqlite` takes the name of a file and the query of its rows");
        diagnostic_help(d, "`sqlite(\"file.db\", \"select age, fare from passengers\")`");
        return false;
    }
    open_by_use(stream, FORM_feature, &path);
    stream->pipeline->query = fixed_string(context, &query);
    return true;
}

static const struct {
    const char *name;
    bool (*open)(const Context *context, const Expression *call, Stream *stream);
} forms[] = {
#define FROM(name, opens, values, what) {#name, opens},
#include "compiler/lower/stages.def"
};

_Static_assert(sizeof forms / sizeof *forms == SOURCE_COUNT,
               "every source of sources.def is in stages.def");

/* log("bad.jsonl") */
static bool lower_log(const Context *context, const Expression *call, Pipeline *pipeline) {
    if (!expect_no_annotations(context, call)) return false;
    Value path = call->arguments.count == 1
                     ? lower_expression(context, call->arguments.items[0].value)
                     : (Value){.kind = VALUE_items};
    if (path.kind == VALUE_string && !value_is_empty(&path)) {
        pipeline->on_error = ON_ERROR_log;
        pipeline->log = path.string;
        pipeline->log_option = path.index;
        return true;
    }
    if (path.kind == VALUE_error) return false;
    Diagnostic *d = report(context, E0204, call->range, "`log` takes the name of a file");
    diagnostic_help(d, "`on_error = log(\"bad.jsonl\")`");
    return false;
}

/* stop, skip or log("bad.jsonl"); false after reporting. */
static bool lower_on_error(const Context *context, const Expression *wish, Pipeline *pipeline) {
    bool named = wish->kind == EXPRESSION_name;
    if (wish->kind == EXPRESSION_call && !strcmp(wish->name.text, "log"))
        return lower_log(context, wish, pipeline);
    if (named && !strcmp(wish->name.text, "skip")) pipeline->on_error = ON_ERROR_skip;
    else if (!named || strcmp(wish->name.text, "stop")) {
        report(context, E0204, wish->range, "`on_error` is `stop`, `skip` or `log(\"bad.jsonl\")`");
        return false;
    }
    return true;
}

/* The call without `on_error = …`, which every source takes. NULL after reporting. */
static const Expression *take_on_error(const Context *context, const Expression *call,
                                       Pipeline *pipeline) {
    Expression *rest = arena_new_item(context->lowering->arena, Expression);
    *rest = *call;
    memset(&rest->arguments, 0, sizeof rest->arguments);
    vector_each(Argument, argument, call->arguments) {
        bool wish = argument->name.text && !strcmp(argument->name.text, "on_error");
        if (!wish) vector_push(context->lowering->arena, &rest->arguments, *argument);
        else if (!lower_on_error(context, argument->value, pipeline)) return NULL;
    }
    return rest;
}

Value open_source(const Context *context, const Expression *call, const char *source,
                  const Value *piped) {
    Lowering *lowering = context->lowering;
    Pipeline *pipeline = arena_new_item(lowering->arena, Pipeline);
    Stream *stream = arena_new_item(lowering->arena, Stream);
    *pipeline = (Pipeline){.name = pipeline_name(context), .range = call->range, .source = source};
    *stream = (Stream){.pipeline = pipeline,
                       .record = items_new(lowering->arena, call->arguments.count + 1)};
    stream->record.count = 0;
    add_section(context, pipeline);
    note_stage(context, pipeline, call, STAGE_source);
    if (piped) {
        report(context, E0204, call->range, "`%s` starts a pipeline; nothing flows into it",
               source);
        return value_error;
    }
    call = take_on_error(context, call, pipeline);
    if (source_records(source) == RECORDS_coming) pipeline->origin.kind = ORIGIN_folder;
    if (call) call = take_origin(context, call, pipeline);
    if (!call) return value_error;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i].name, source) && !forms[i].open(context, call, stream))
            return value_error;
    return (Value){.kind = VALUE_stream, .range = call->range, .stream = stream};
}
