/* Safetensors, writing: the header as text in memory, then everything by file_replace. Wide
 * elements come first and the header is padded to 8 bytes, so every tensor is aligned in a
 * mapped file. */
#define _GNU_SOURCE
#include "runtime/file.h"
#include "runtime/format/safetensors.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALIGNMENT = 8, WIDEST = 8, LENGTH_SIZE = 8 };

static const char *const dtypes[] = {
    [FLOW_bool] = "BOOL", [FLOW_u8] = "U8",   [FLOW_i8] = "I8",
    [FLOW_i32] = "I32",   [FLOW_i64] = "I64", [FLOW_f16] = "F16",
    [FLOW_bf16] = "BF16", [FLOW_f32] = "F32", [FLOW_f64] = "F64",
};

static void write_string(FILE *out, const char *string) {
    putc_unlocked('"', out);
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\') putc_unlocked('\\', out);
        if ((unsigned char)*c < ' ') fprintf(out, "\\u%04x", (unsigned)*c);
        else putc_unlocked(*c, out);
    }
    putc_unlocked('"', out);
}

static void write_metadata(FILE *out, const Metadata *metadata, int count) {
    fputs("\"__metadata__\":{", out);
    for (int i = 0; i < count; i++) {
        if (i) fputc(',', out);
        write_string(out, metadata[i].name);
        fputc(':', out);
        write_string(out, metadata[i].value);
    }
    fputc('}', out);
}

static void write_entry(FILE *out, const FlowStorage *storage, size_t begin) {
    const FlowType *type = &storage->type;
    fputc(',', out);
    write_string(out, storage->name);
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[type->element]);
    for (int i = 0; i < type->rank; i++)
        fprintf(out, i ? ",%lld" : "%lld", (long long)type->sizes[i]);
    fprintf(out, "],\"data_offsets\":[%zu,%zu]}", begin, begin + flow_type_size(type));
}

/* The storages' bytes as they follow the header in the file. */
static void order_parts(const FlowStorage **ordered, const FlowStorage *storages, int count) {
    int used = 0;
    for (size_t size = WIDEST; size; size /= 2)
        for (int i = 0; i < count; i++)
            if (flow_element_size(storages[i].type.element) == size) ordered[used++] = &storages[i];
}

static void write_header(FILE *out, const FlowStorage **storages, int count,
                         const Metadata *metadata, int metadata_count) {
    size_t begin = 0;
    fwrite((char[LENGTH_SIZE]){0}, 1, LENGTH_SIZE, out);
    fputc('{', out);
    write_metadata(out, metadata, metadata_count);
    for (int i = 0; i < count; i++) {
        write_entry(out, storages[i], begin);
        begin += flow_type_size(&storages[i]->type);
    }
    fputc('}', out);
    while (ftell(out) % ALIGNMENT) fputc(' ', out);
}

char *safetensors_header(const FlowStorage *storages, int count, const Metadata *metadata,
                         int metadata_count, const FlowStorage **ordered, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out) return NULL;
    order_parts(ordered, storages, count);
    write_header(out, ordered, count, metadata, metadata_count);
    bool written = !ferror(out);
    if (fclose(out) || !written) {
        free(text);
        return NULL;
    }
    for (int i = 0; i < LENGTH_SIZE; i++) text[i] = (char)((*size - LENGTH_SIZE) >> 8 * i);
    return text;
}

FlowStatus safetensors_write(const char *path, const FlowStorage *storages, int count,
                             const char *memory, const Metadata *metadata, int metadata_count) {
    const FlowStorage **ordered = calloc((size_t)count + 1, sizeof *ordered);
    FilePart *parts = calloc((size_t)count + 1, sizeof *parts);
    char *text = NULL;
    FlowStatus status = flow_failure(FLOW_EXIT_resource, "%s: no memory to write it", path);
    if (ordered && parts)
        text = safetensors_header(storages, count, metadata, metadata_count, ordered, &parts->size);
    if (text && parts->size > LENGTH_SIZE + (size_t)SAFETENSORS_HEADER_LIMIT) {
        status =
            flow_failure(FLOW_EXIT_resource, "%s: its header would have more than 100 MiB", path);
    } else if (text) {
        parts->bytes = text;
        for (int i = 0; i < count; i++)
            parts[1 + i] =
                (FilePart){memory + ordered[i]->offset, flow_type_size(&ordered[i]->type)};
        status = file_replace(path, parts, count + 1);
    }
    free(text);
    free(parts);
    free(ordered);
    return status;
}
