/* Safetensors, reading: 8 bytes of header length, a JSON header, and one buffer that the
 * tensors cover without hole or overlap. A file is refused unless every number in it agrees
 * with every other: https://github.com/huggingface/safetensors, "Format". */
#define _GNU_SOURCE
#include "runtime/format/json.h"
#include "runtime/format/safetensors.h"
#include "runtime/type.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Element types of the format that no program of ours has: read over, never read. */
enum { FOREIGN = -1 };

static const struct {
    const char *name;
    int element;
    unsigned size;
} dtypes[] = {
    {"BOOL", FLOW_bool, 1}, {"U8", FLOW_u8, 1},      {"I8", FLOW_i8, 1},      {"I32", FLOW_i32, 4},
    {"I64", FLOW_i64, 8},   {"F16", FLOW_f16, 2},    {"BF16", FLOW_bf16, 2},  {"F32", FLOW_f32, 4},
    {"F64", FLOW_f64, 8},   {"U16", FOREIGN, 2},     {"I16", FOREIGN, 2},     {"U32", FOREIGN, 4},
    {"U64", FOREIGN, 8},    {"F8_E4M3", FOREIGN, 1}, {"F8_E5M2", FOREIGN, 1},
};

typedef struct Entry {
    Tensor tensor;
    int dtype; /* in dtypes */
} Entry;

struct Safetensors {
    char *path;
    int descriptor;
    char *header; /* names and values point into it */
    uint64_t header_size, buffer_size;
    Entry *entries; /* by name */
    size_t entry_count;
    Metadata *metadata; /* by name */
    size_t metadata_count;
};

static FlowStatus damaged(const Safetensors *file, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: not a sound safetensors file: %s", file->path, why);
}

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

static FlowStatus read_at(const Safetensors *file, void *bytes, uint64_t size, uint64_t offset) {
    for (char *at = bytes; size;) {
        ssize_t count = pread(file->descriptor, at, size, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", file->path,
                                strerror(errno));
        if (count == 0) return damaged(file, "it ends early");
        at += count;
        size -= (uint64_t)count;
        offset += (uint64_t)count;
    }
    return flow_ok;
}

/* Makes room for one more item. */
static void *grow(void *items, size_t count, size_t size) {
    bool full = !(count & (count - 1));
    return full ? reallocarray(items, count ? count * 2 : 1, size) : items;
}

static bool read_dtype(Json *json, Entry *entry) {
    const char *name;
    if (!json_string(json, &name)) return false;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name)) continue;
        entry->dtype = (int)i;
        return true;
    }
    json->error = "unknown dtype";
    return false;
}

static bool read_shape(Json *json, FlowType *type) {
    uint64_t size;
    json_open(json, '[');
    for (type->rank = 0; json_element(json); type->rank++) {
        if (!json_natural(json, &size)) return false;
        if (type->rank == FLOW_RANK_LIMIT) json->error = "a tensor has more than 8 dimensions";
        else if (size > INT64_MAX) json->error = "a dimension is too large";
        else type->sizes[type->rank] = (int64_t)size;
        if (json->error) return false;
    }
    return !json->error;
}

static bool read_offsets(Json *json, Tensor *tensor) {
    bool read = json_open(json, '[') && json_element(json) && json_natural(json, &tensor->begin) &&
                json_element(json) && json_natural(json, &tensor->end);
    if (read && json_element(json)) json->error = "data_offsets has more than two numbers";
    if (!read && !json->error) json->error = "data_offsets has fewer than two numbers";
    return !json->error;
}

/* The bytes that shape and dtype ask for; false when they are too many to count. */
static bool bytes_needed(const Entry *entry, uint64_t *bytes) {
    *bytes = dtypes[entry->dtype].size;
    bool overflow = false, empty = false;
    for (int i = 0; i < entry->tensor.type.rank; i++) {
        uint64_t size = (uint64_t)entry->tensor.type.sizes[i];
        empty |= size == 0;
        overflow |= size && __builtin_mul_overflow(*bytes, size, bytes);
    }
    if (empty) *bytes = 0;
    return !overflow;
}

static const char *entry_error(const Entry *entry, uint64_t buffer_size) {
    const Tensor *tensor = &entry->tensor;
    uint64_t needed;
    if (tensor->begin > tensor->end || tensor->end > buffer_size)
        return "data_offsets lie outside of the file";
    if (!bytes_needed(entry, &needed)) return "a tensor's size overflows";
    if (needed != tensor->end - tensor->begin) return "data_offsets disagree with dtype and shape";
    return NULL;
}

/* One key of an entry's three; `seen` keeps a bit for each. */
static bool read_entry_key(Json *json, const char *name, Entry *entry, unsigned *seen) {
    unsigned key = !strcmp(name, "dtype")          ? 1
                   : !strcmp(name, "shape")        ? 2
                   : !strcmp(name, "data_offsets") ? 4
                                                   : 0;
    if (*seen & key) json->error = "a key appears twice";
    *seen |= key;
    if (json->error) return false;
    if (key == 1) return read_dtype(json, entry);
    if (key == 2) return read_shape(json, &entry->tensor.type);
    return key == 4 ? read_offsets(json, &entry->tensor) : json_skip(json);
}

static bool read_entry(Json *json, Entry *entry, uint64_t buffer_size) {
    const char *name;
    unsigned seen = 0;
    json_open(json, '{');
    while (json_member(json, &name) && read_entry_key(json, name, entry, &seen)) continue;
    if (!json->error && seen != 7) json->error = "a tensor lacks dtype, shape or data_offsets";
    if (json->error) return false;
    entry->tensor.type.element = (FlowElement)dtypes[entry->dtype].element;
    json->error = entry_error(entry, buffer_size);
    return !json->error;
}

static bool add_entry(Json *json, const char *name, Safetensors *file) {
    Entry *entries = grow(file->entries, file->entry_count, sizeof *entries);
    if (!entries) {
        json->error = "there is no memory for its header";
        return false;
    }
    file->entries = entries;
    entries[file->entry_count] = (Entry){.tensor.name = name};
    return read_entry(json, &entries[file->entry_count++], file->buffer_size);
}

static bool add_metadata(Json *json, Safetensors *file) {
    Metadata item;
    json_open(json, '{');
    while (json_member(json, &item.name) && json_string(json, &item.value)) {
        Metadata *metadata = grow(file->metadata, file->metadata_count, sizeof *metadata);
        if (!metadata) {
            json->error = "there is no memory for its header";
            return false;
        }
        file->metadata = metadata;
        metadata[file->metadata_count++] = item;
    }
    return !json->error;
}

static bool read_header(Json *json, Safetensors *file) {
    const char *name;
    bool described = false;
    json_open(json, '{');
    while (json_member(json, &name)) {
        bool metadata = !strcmp(name, "__metadata__");
        if (metadata && described) json->error = "__metadata__ appears twice";
        described |= metadata;
        if (json->error || !(metadata ? add_metadata(json, file) : add_entry(json, name, file)))
            break;
    }
    return json_end(json);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const Entry *)a)->tensor.name, ((const Entry *)b)->tensor.name);
}

static int compare_metadata(const void *a, const void *b) {
    return strcmp(((const Metadata *)a)->name, ((const Metadata *)b)->name);
}

static int compare_offsets(const void *a, const void *b) {
    const Tensor *left = &((const Entry *)a)->tensor, *right = &((const Entry *)b)->tensor;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    return (left->end > right->end) - (left->end < right->end);
}

static const char *duplicate_error(Safetensors *file) {
    if (file->entry_count) qsort(file->entries, file->entry_count, sizeof(Entry), compare_names);
    if (file->metadata_count)
        qsort(file->metadata, file->metadata_count, sizeof(Metadata), compare_metadata);
    for (size_t i = 1; i < file->entry_count; i++)
        if (!compare_names(&file->entries[i - 1], &file->entries[i]))
            return "two tensors have the same name";
    for (size_t i = 1; i < file->metadata_count; i++)
        if (!compare_metadata(&file->metadata[i - 1], &file->metadata[i]))
            return "two metadata entries have the same name";
    return NULL;
}

/* Every byte of the buffer belongs to exactly one tensor. */
static const char *coverage_error(Safetensors *file) {
    uint64_t covered = 0;
    if (file->entry_count) qsort(file->entries, file->entry_count, sizeof(Entry), compare_offsets);
    for (size_t i = 0; i < file->entry_count; i++) {
        const Tensor *tensor = &file->entries[i].tensor;
        if (tensor->begin < covered) return "two tensors overlap";
        if (tensor->begin > covered) return "bytes between two tensors belong to none";
        covered = tensor->end;
    }
    return covered == file->buffer_size ? NULL : "bytes after the last tensor belong to none";
}

static FlowStatus parse_header(Safetensors *file) {
    Json json = json_new(file->header, file->header_size);
    if (file->header[0] != '{') return damaged(file, "its header does not begin with {");
    if (!read_header(&json, file)) return damaged(file, json.error);
    const char *error = coverage_error(file);
    if (!error) error = duplicate_error(file);
    return error ? damaged(file, error) : flow_ok;
}

static FlowStatus measure(Safetensors *file) {
    struct stat stat;
    unsigned char length[8];
    if (fstat(file->descriptor, &stat) || !S_ISREG(stat.st_mode))
        return damaged(file, "it is no regular file");
    if (stat.st_size < 8) return damaged(file, "it is shorter than 8 bytes");
    FlowStatus status = read_at(file, length, 8, 0);
    if (status.exit) return status;
    for (int i = 7; i >= 0; i--) file->header_size = file->header_size << 8 | length[i];
    if (file->header_size < 2 || file->header_size > SAFETENSORS_HEADER_LIMIT)
        return damaged(file, "its header's length is outside of 2 bytes..100 MB");
    if (file->header_size > (uint64_t)stat.st_size - 8)
        return damaged(file, "its header is longer than the file");
    file->buffer_size = (uint64_t)stat.st_size - 8 - file->header_size;
    return flow_ok;
}

static FlowStatus load(Safetensors *file) {
    FlowStatus status = measure(file);
    if (status.exit) return status;
    file->header = malloc(file->header_size);
    if (!file->header) return no_memory(file->path);
    status = read_at(file, file->header, file->header_size, 8);
    return status.exit ? status : parse_header(file);
}

FlowStatus safetensors_open(const char *path, Safetensors **out) {
    *out = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", path, strerror(errno));
    Safetensors *file = calloc(1, sizeof *file);
    if (file) *file = (Safetensors){.path = strdup(path), .descriptor = descriptor};
    if (!file || !file->path) {
        free(file);
        close(descriptor);
        return no_memory(path);
    }
    FlowStatus status = load(file);
    if (status.exit) safetensors_close(file);
    else *out = file;
    return status;
}

void safetensors_close(Safetensors *file) {
    if (!file) return;
    close(file->descriptor);
    free(file->metadata);
    free(file->entries);
    free(file->header);
    free(file->path);
    free(file);
}

const Tensor *safetensors_find(const Safetensors *file, const char *name) {
    Entry key = {.tensor.name = name};
    const Entry *found = file->entry_count ? bsearch(&key, file->entries, file->entry_count,
                                                     sizeof key, compare_names)
                                           : NULL;
    return found ? &found->tensor : NULL;
}

const char *safetensors_metadata(const Safetensors *file, const char *name) {
    Metadata key = {.name = name};
    const Metadata *found =
        file->metadata_count
            ? bsearch(&key, file->metadata, file->metadata_count, sizeof key, compare_metadata)
            : NULL;
    return found ? found->value : NULL;
}

FlowStatus safetensors_read(const Safetensors *file, const FlowStorage *storage, void *bytes) {
    const Tensor *tensor = safetensors_find(file, storage->name);
    if (!tensor)
        return flow_failure(FLOW_EXIT_data, "%s: has no tensor `%s`", file->path, storage->name);
    bool foreign = (int)tensor->type.element == FOREIGN;
    if (foreign || !types_equal(&tensor->type, &storage->type))
        return flow_failure(FLOW_EXIT_data, "%s: `%s` is %s, the program expects %s", file->path,
                            storage->name,
                            foreign ? "of another type" : type_name(&tensor->type).text,
                            type_name(&storage->type).text);
    return read_at(file, bytes, tensor->end - tensor->begin, 8 + file->header_size + tensor->begin);
}
