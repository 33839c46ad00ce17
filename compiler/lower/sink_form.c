/* Sink forms: each sink's form of call is a line of the table here, with what it asks of the
 * fields. */
#include "compiler/lower/sink.h"

#include <string.h>

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
    return report_sink_type(call, field, "u8, or u8[n] for a line");
}

/* The field that no file is given for; NULL: all have one. */
static const SinkField *without_file(const Sink *sink) {
    const SinkField *missing = NULL;
    bool named = false;
    vector_each(SinkField, field, sink->fields) {
        named |= field->path != NULL;
        if (!field->path && !missing) missing = field;
    }
    if (named) return missing;
    return sink->fields.count > 1 ? &sink->fields.items[1] : NULL;
}

/* npy: the only field goes to the call's file, of several each to its own. */
static bool check_npy(const SinkCall *call) {
    const SinkField *missing = without_file(call->sink);
    call->sink->files = (int)call->sink->fields.count;
    if (!missing) return true;
    Diagnostic *d =
        report(call->context, E0204, call->call->range,
               "`npy` writes each field to a file; it has none for `%s`", missing->name);
    diagnostic_help(d, "`|> npy(x: \"x.npy\", y: \"y.npy\")`");
    return false;
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
    call->sink->files = 0;
    fix_path(call);
    if (call->sink->path == any_string) return true;
    const char *dot = strrchr(call->sink->path, '.'), *encoder = dot ? encoder_of(dot + 1) : NULL;
    if (!encoder)
        return report_pattern(call, "", call->sink->path, " ends in neither .png nor .jpg");
    vector_each(SinkField, field, call->sink->fields) {
        if (!image && is_image(&field->type)) image = field;
        else if (!is_whole(&field->type))
            return report_sink_type(call, field,
                                    "one u8[h, w, 3] or u8[h, w, 1], and whole numbers");
        else if (!strcmp(field->name, "index"))
            return report_pattern(call, "a field can't be called ", "index",
                                  " here: that is the number of the record");
        else if (!has_part(call, field->name))
            return report_pattern(call, "", field->name,
                                  " goes nowhere: it is no part of the files' names");
    }
    if (!image)
        return report_sink_type(call, call->sink->fields.items,
                                "an image, u8[h, w, 3] or u8[h, w, 1]");
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
    if (path == any_string) return true;
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
    {"safetensors", "safetensors(\"results.safetensors\")", SAYS_file | NEEDS_count,
     check_safetensors},
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

const SinkForm *sink_form(const char *name) {
    for (int i = 0; i < FORM_COUNT; i++)
        if (!strcmp(forms[i].name, name)) return &forms[i];
    return NULL;
}

bool is_sink_name(const char *name) {
    return sink_form(name) != NULL;
}
