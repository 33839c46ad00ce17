/* Sink: where a pipeline ends. Each sink has its own form of call: a line of the table here, and what it
 * asks of the fields. */
#include "compiler/lower/stream.h"

#include <string.h>

enum {
    RUN_BATCH = 64, /* records made together for a sink that gets them one by one */
    USUAL_QUALITY = 90,
};

/* What a call may say. */
enum {
    SAYS_file = 1,
    SAYS_stdout = 2,
    SAYS_text = 4,  /* text = name: which fields are characters */
    SAYS_files = 8, /* name: file, one for each field */
    SAYS_quality = 16,
    SAYS_records = 32, /* records = 1000: in each file, whose names differ in {shard} */
};

typedef struct SinkForm SinkForm;

/* A call that is being read. */
typedef struct SinkCall {
    const Context *context;
    const Expression *call;
    const SinkForm *form;
    Sink *sink;
} SinkCall;

struct SinkForm {
    const char *name, *example;
    unsigned says;
    bool (*check)(const SinkCall *call); /* the fields; NULL: any will do */
};

/* The fields. */

static void add_field(const Context *context, Sink *sink, const char *name, Type type) {
    vector_push(context->lowering->arena, &sink->fields, (SinkField){.name = name, .type = type});
}

/* What a record is when it gets here. */
static void take_fields(const Context *context, const Stream *stream, Sink *sink) {
    const Section *section = stream->pipeline->section;
    if (stream->function)
        for (size_t i = 0; i < stream->results.count; i++)
            add_field(context, sink, stream->results.names[i], stream->function->results.items[i]);
    else
        vector_each(Field, field, section->outputs)
            add_field(context, sink, field->name, field->type);
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

static bool report_type(const SinkCall *call, const SinkField *field, const char *wanted) {
    report(call->context, E0203, call->call->range, "`%s` takes %s; `%s` is %s", call->form->name,
           wanted, field->name, type_text(call->context->lowering->arena, &field->type));
    return false;
}

/* text: one record is a character, or a line of them. */
static bool check_text(const SinkCall *call) {
    const SinkField *field = &call->sink->fields.items[0];
    if (call->sink->fields.count != 1) {
        report(call->context, E0204, call->call->range,
               "`%s` takes records of one field; these have %zu", call->form->name,
               call->sink->fields.count);
        return false;
    }
    if (field->type.element == TYPE_u8 && field->type.rank <= 1) return true;
    return report_type(call, field, "u8, or u8[n] for a line");
}

/* npy: the only field goes to the call's file, of several each to its own. */
static bool check_npy(const SinkCall *call) {
    bool several = call->sink->fields.items[0].path;
    vector_each(SinkField, field, call->sink->fields) {
        if (several == (field->path != NULL) && (several || call->sink->fields.count == 1))
            continue;
        Diagnostic *d = report(call->context, E0204, call->call->range,
                               "`npy` writes each field to a file; it has none for `%s`",
                               several ? field->name : call->sink->fields.items[1].name);
        diagnostic_help(d, "`|> npy(x: \"x.npy\", y: \"y.npy\")`");
        return false;
    }
    return true;
}

/* safetensors: the records are one more axis. */
static bool check_safetensors(const SinkCall *call) {
    vector_each(SinkField, field, call->sink->fields) {
        if (field->type.rank < RANK_LIMIT) continue;
        report(call->context, E0208, call->call->range,
               "`%s` has too many dimensions for a tensor of all records", field->name);
        return false;
    }
    return true;
}

/* images, tar */

/* The encoder that files with such an ending want; NULL: none. */
static const char *encoder_of(const char *ending) {
    static const char *const endings[][2] = {{"jpg", "jpeg"}, {"jpeg", "jpeg"}, {"png", "png"}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(endings[i][0], ending)) return endings[i][1];
    return NULL;
}

static bool is_image(const Type *type) {
    int64_t channels;
    return type->element == TYPE_u8 && type->rank == 3 &&
           dim_is_constant(type->dims[2], &channels) && (channels == 1 || channels == 3);
}

static bool is_whole(const Type *type) {
    return !type->rank && (type->element == TYPE_u8 || type->element == TYPE_i8 ||
                           type->element == TYPE_i32 || type->element == TYPE_i64);
}

/* Whether the pattern has {name}. */
static bool has_part(const SinkCall *call, const char *name) {
    return strstr(call->sink->path, arena_format(call->context->lowering->arena, "{%s}", name));
}

static bool report_pattern(const SinkCall *call, const char *before, const char *name,
                           const char *after) {
    Diagnostic *d =
        report(call->context, E0204, call->call->range, "%s`%s`%s", before, name, after);
    diagnostic_help(d, "`{index}` is the number of the record, `{label}` a whole number of its "
                       "own: `|> images(\"out/{label}/{index}.png\")`");
    return false;
}

/* Each {name} is a field or the index. */
static bool knows_parts(const SinkCall *call) {
    for (const char *c = strchr(call->sink->path, '{'); c; c = strchr(c + 1, '{')) {
        size_t length = strcspn(c, "}");
        const char *name =
            arena_copy(call->context->lowering->arena, c + 1, length ? length - 1 : 0);
        bool known = !strcmp(name, "index") && c[length];
        vector_each(SinkField, field, call->sink->fields)
            known |= c[length] && !field->encoder && !strcmp(field->name, name);
        if (!known)
            return report_pattern(call, "there is no whole number ", name,
                                  " to put into the files' names");
    }
    return true;
}

/* What names the files is looked at now. */
static void fix_path(const SinkCall *call) {
    Value path = {.string = call->sink->path, .index = call->sink->path_option};
    call->sink->path = fixed_string(call->context, &path);
    call->sink->path_option = 0;
}

/* images: one field is an image, the others are numbers in the files' names. */
static bool check_images(const SinkCall *call) {
    SinkField *image = NULL;
    fix_path(call);
    const char *dot = strrchr(call->sink->path, '.'), *encoder = dot ? encoder_of(dot + 1) : NULL;
    if (!encoder)
        return report_pattern(call, "", call->sink->path, " ends in neither .png nor .jpg");
    vector_each(SinkField, field, call->sink->fields) {
        if (!image && is_image(&field->type)) image = field;
        else if (!is_whole(&field->type))
            return report_type(call, field, "one u8[h, w, 3] or u8[h, w, 1], and whole numbers");
        else if (!strcmp(field->name, "index"))
            return report_pattern(call, "a field can't be called ", "index",
                                  " here: that is the number of the record");
        else if (!has_part(call, field->name))
            return report_pattern(call, "", field->name,
                                  " goes nowhere: it is no part of the files' names");
    }
    if (!image)
        return report_type(call, call->sink->fields.items, "an image, u8[h, w, 3] or u8[h, w, 1]");
    image->encoder = encoder;
    if (!has_part(call, "index"))
        return report_pattern(call, "", call->sink->path, " is one name for all files");
    return knows_parts(call);
}

/* tar: images are encoded as their fields' names say. */
static bool check_tar(const SinkCall *call) {
    const char *path = call->sink->path;
    bool sharded = path && strstr(path, "{shard}");
    vector_each(SinkField, field, call->sink->fields)
        if (is_image(&field->type)) field->encoder = encoder_of(field->name);
    if (sharded || call->sink->shard) fix_path(call);
    if (sharded == (call->sink->shard > 0)) return true;
    Diagnostic *d = report(call->context, E0204, call->call->range,
                           "`{shard}` in the name and `records` in each file go together");
    diagnostic_help(d, "`|> tar(\"out-{shard}.tar\", records = 1000)`");
    return false;
}

static const SinkForm forms[] = {
    {"csv", "csv(\"results.csv\")", SAYS_file | SAYS_stdout | SAYS_text, NULL},
    {"images", "images(\"out/{index}.png\")", SAYS_file | SAYS_quality, check_images},
    {"jsonl", "jsonl(\"results.jsonl\")", SAYS_file | SAYS_stdout | SAYS_text, NULL},
    {"npy", "npy(\"results.npy\")", SAYS_file | SAYS_stdout | SAYS_files, check_npy},
    {"print", "print()", 0, NULL},
    {"safetensors", "safetensors(\"results.safetensors\")", SAYS_file, check_safetensors},
    {"tar", "tar(\"results.tar\")",
     SAYS_file | SAYS_stdout | SAYS_text | SAYS_quality | SAYS_records, check_tar},
    {"text", "text(\"results.txt\")", SAYS_file | SAYS_stdout, check_text},
};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

#define SINK(name) +1
_Static_assert(FORM_COUNT == 0
#include "runtime/sink/sinks.def"
               ,
               "every sink of sinks.def has a form of call");
#undef SINK

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

/* A file name; NULL after reporting, or when it is not one. */
static bool read_path(const SinkCall *call, const Expression *argument, const char **name,
                      int *option) {
    Value path = lower_expression(call->context, argument);
    if (path.kind == VALUE_error) return false;
    if (path.kind != VALUE_string || !*path.string) return report_target(call, argument->range);
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

static bool read_target(const SinkCall *call, const Expression *argument) {
    bool is_stdout = argument->kind == EXPRESSION_name && !strcmp(argument->name.text, "stdout");
    return (is_stdout && call->form->says & SAYS_stdout) ||
           read_path(call, argument, &call->sink->path, &call->sink->path_option);
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
    return field->text || report_type(call, field, "u8[n] as text");
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
        if (!name && !targeted && alone) good = read_target(call, argument->value);
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

static const SinkForm *find_form(const char *name) {
    const SinkForm *form = forms;
    while (strcmp(form->name, name)) form++;
    return form;
}

Value lower_sink(const Context *context, const Expression *call, const Value *piped) {
    Stream *stream = piped->stream;
    SinkCall reading = {context, call, find_form(call->name.text), &stream->sink};
    stream->sink = (Sink){.name = reading.form->name, .quality = USUAL_QUALITY};
    if (!stream->unbatched && !finish_pipeline(context, stream, RUN_BATCH)) return value_error;
    take_fields(context, stream, &stream->sink);
    if (!read_arguments(&reading)) return value_error;
    if (reading.form->check && !reading.form->check(&reading)) return value_error;
    return (Value){.kind = VALUE_sink, .range = call->range, .stream = stream};
}
