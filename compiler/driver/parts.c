#include "compiler/driver/parts.h"

#include <string.h>

/* Of the source: what is read from files. */
typedef bool Asked(const Field *field, const char *name);

static bool any_field(const Program *program, Asked *asked, const char *name) {
    vector_each(Pipeline *, pipeline, program->pipelines)
        vector_each(Field, field, (*pipeline)->sections.items[0]->fields)
            if (asked(field, name)) return true;
    return false;
}

/* The decoder `any` needs all others. */
static bool is_decoder(const Field *field, const char *name) {
    return field->decoder && (!strcmp(field->decoder, name) || !strcmp(field->decoder, "any"));
}

static bool decodes(const Program *program, const char *name) {
    return any_field(program, is_decoder, name);
}

static bool encodes(const Program *program, const char *name) {
    vector_each(Run, run, program->runs)
        vector_each(Sink, sink, run->sinks)
            vector_each(SinkField, field, sink->fields)
                if (field->encoder && !strcmp(field->encoder, name)) return true;
    return false;
}

static bool begins(const Program *program, const char *name) {
    vector_each(Pipeline *, pipeline, program->pipelines)
        if ((*pipeline)->source && !strcmp((*pipeline)->source, name)) return true;
    return false;
}

/* May its file be compressed so? An option and a pattern may name any file. */
static bool may_be_packed(const Field *field, const char *name) {
    (void)name;
    const char *path = field->path;
    if (field->path_option) return true;
    return path && (strstr(path, ".zst") || (*path && strchr("*?]", path[strlen(path) - 1])));
}

/* What is read as it comes may be so too. */
static bool unpacks(const Program *program, const char *name) {
    vector_each(Pipeline *, pipeline, program->pipelines)
        if (reads_a_stream(*pipeline)) return true;
    return any_field(program, may_be_packed, name);
}

/* A source with a library may have more files than one. */
const Part parts[] = {
#define DECODER(name, library) {#name, "runtime/decode/decode_" #name ".c", library, decodes},
#include "runtime/decode/decoders.def"
#undef DECODER
#define ENCODER(name, library) {#name, "runtime/encode/encode_" #name ".c", library, encodes},
#include "runtime/encode/encoders.def"
#undef ENCODER
#define SOURCE(name, records, ...) {#name, "runtime/source/" #name "%", "" __VA_ARGS__, begins},
#include "runtime/source/sources.def"
#undef SOURCE
    {"zstd", "runtime/codec_zstd.c", "-Wl,-u,codec_zstd -l:libzstd.a", unpacks},
    {0},
};
