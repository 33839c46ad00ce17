/* idx: the format of MNIST: a big-endian header with an element code and sizes, then the
 * elements. Each field is a file; all are read into memory when opened, large ones each by a thread
 * of its own, because decompression is what a start-up waits for. */
#include "runtime/holdings.h"
#include "runtime/packed.h"
#include "runtime/memory.h"
#include "runtime/plural.h"
#include "runtime/type.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DIMENSION_LIMIT = FLOW_RANK_LIMIT + 1,
    SMALL_FILE = 64 << 10, /* bytes */
};

/* An element code, and what its numbers may become without changing. */
typedef struct Code {
    int code;
    const char *name;
    size_t size;
    unsigned widens_to; /* a bit for each FlowElement */
    bool is_real, is_signed;
} Code;

#define BIT(element) (1u << FLOW_##element)

static const Code codes[] = {
    {0x08, "u8", 1, BIT(u8) | BIT(i32) | BIT(i64) | BIT(f32) | BIT(f64), false, false},
    {0x09, "i8", 1, BIT(i8) | BIT(i32) | BIT(i64) | BIT(f32) | BIT(f64), false, true},
    {0x0b, "i16", 2, BIT(i32) | BIT(i64) | BIT(f32) | BIT(f64), false, true},
    {0x0c, "i32", 4, BIT(i32) | BIT(i64) | BIT(f64), false, true},
    {0x0d, "f32", 4, BIT(f32) | BIT(f64), true, true},
    {0x0e, "f64", 8, BIT(f64), true, true},
};

/* What a file's header says. */
typedef struct Header {
    const Code *code;
    int dimensions; /* the first counts the records */
    int64_t sizes[DIMENSION_LIMIT];
    size_t elements; /* of all records */
} Header;

typedef struct Column {
    const FlowField *field;
    FlowStatus status;
    int64_t records;
    size_t record_size;
    char *values;
    pthread_t thread;
    bool threaded;
    Holding *holding; /* of the thread that opens the source */
} Column;

struct FlowReader {
    int64_t records;
    int count;
    Column columns[];
};

static uint64_t big_endian(const unsigned char *bytes, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value = value << 8 | bytes[i];
    return value;
}

static const Code *find_code(int number) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == number) return &codes[i];
    return NULL;
}

static FlowStatus read_magic(Packed *file, const char *path, Header *header) {
    unsigned char magic[4];
    FlowStatus status = packed_read(file, magic, sizeof magic);
    if (status.exit) return status;
    header->code = magic[0] || magic[1] ? NULL : find_code(magic[2]);
    header->dimensions = magic[3];
    if (!header->code)
        return flow_failure(FLOW_EXIT_data,
                            "%s: not an IDX file: it begins with %02x %02x %02x %02x", path,
                            magic[0], magic[1], magic[2], magic[3]);
    if (header->dimensions < 1 || header->dimensions > DIMENSION_LIMIT)
        return flow_failure(FLOW_EXIT_data, "%s: has %d dimensions; 1 to %d are possible", path,
                            header->dimensions, DIMENSION_LIMIT);
    return flow_ok;
}

static FlowStatus read_sizes(Packed *file, const char *path, Header *header) {
    uint64_t bytes = header->code->size;
    bool overflow = false;
    for (int i = 0; i < header->dimensions; i++) {
        unsigned char size[4];
        FlowStatus status = packed_read(file, size, sizeof size);
        if (status.exit) return status;
        header->sizes[i] = (int64_t)big_endian(size, sizeof size);
        overflow |= __builtin_mul_overflow(bytes, (uint64_t)header->sizes[i], &bytes);
    }
    if (overflow || bytes > packed_capacity(file))
        return flow_failure(
            FLOW_EXIT_data,
            "%s: declares more data than the file can hold: it is truncated or damaged", path);
    header->elements = bytes / header->code->size;
    return flow_ok;
}

/* "u8[28, 28]", of one record of the file. */
static TypeText record_text(const Header *header) {
    FlowType shape = {.element = FLOW_u8, .rank = header->dimensions - 1};
    memcpy(shape.sizes, header->sizes + 1, sizeof shape.sizes[0] * (size_t)shape.rank);
    TypeText whole = type_name(&shape), text;
    snprintf(text.text, sizeof text.text, "%s%.200s", header->code->name,
             whole.text + strlen("u8"));
    return text;
}

static bool has_shape(const Header *header, const FlowType *type) {
    return header->dimensions == type->rank + 1 &&
           !memcmp(header->sizes + 1, type->sizes, sizeof type->sizes[0] * (size_t)type->rank);
}

static FlowStatus check_type(const Header *header, const FlowField *field) {
    bool widens = header->code->widens_to >> field->type.element & 1;
    if (!widens || !has_shape(header, &field->type))
        return flow_failure(FLOW_EXIT_data, "%s: records are %s, the program expects %s",
                            field->path, record_text(header).text, type_name(&field->type).text);
    if (header->sizes[0] == 0)
        return flow_failure(FLOW_EXIT_data, "%s: has no records", field->path);
    return flow_ok;
}

/* Any number of the format is a double without loss. */
static double read_number(const Code *code, const unsigned char *bytes) {
    uint64_t bits = big_endian(bytes, code->size);
    if (code->is_real && code->size == 8) return number_read(FLOW_f64, &bits);
    if (code->is_real) return number_read(FLOW_f32, &(uint32_t){(uint32_t)bits});
    int unused = 64 - 8 * (int)code->size;
    return code->is_signed ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

static void widen(const Header *header, const unsigned char *from, FlowElement element, char *to) {
    size_t step = flow_element_size(element);
    for (size_t i = 0; i < header->elements; i++)
        number_write(element, read_number(header->code, from + i * header->code->size),
                     to + i * step);
}

/* Reads the elements into `raw`, converts them when they are not the field's already. */
static FlowStatus read_elements(Packed *file, const Header *header, Column *column) {
    bool as_it_is = header->code->size == 1 && flow_element_size(column->field->type.element) == 1;
    size_t raw_size = header->elements * header->code->size;
    char *raw = held_new(raw_size);
    column->values = as_it_is ? raw : held_new(column->record_size * (size_t)column->records);
    FlowStatus status =
        flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", column->field->path);
    if (raw && column->values) status = packed_read(file, raw, raw_size);
    if (!status.exit) status = packed_finish(file);
    if (!status.exit && !as_it_is)
        widen(header, (unsigned char *)raw, column->field->type.element, column->values);
    if (!as_it_is) free(raw);
    if (!as_it_is && raw) held_give(raw_size);
    return status;
}

static FlowStatus load_file(Packed *file, Column *column) {
    Header header = {0};
    const char *path = column->field->path;
    FlowStatus status = read_magic(file, path, &header);
    if (!status.exit) status = read_sizes(file, path, &header);
    if (!status.exit) status = check_type(&header, column->field);
    if (status.exit) return status;
    column->records = header.sizes[0];
    column->record_size = flow_type_size(&column->field->type);
    return read_elements(file, &header, column);
}

static void *load(void *argument) {
    Column *column = argument;
    Packed *file;
    holding_enter(column->holding);
    column->status = packed_open(column->field->path, &file);
    if (!column->status.exit) column->status = load_file(file, column);
    packed_close(file);
    return NULL;
}

/* Is it read before a thread of its own would begin to? */
static bool is_small(const char *path) {
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && status.st_size < SMALL_FILE;
}

/* The first column and small ones are loaded by the calling thread. */
static void load_all(FlowReader *reader) {
    for (int i = 0; i < reader->count; i++) reader->columns[i].holding = holding_here();
    for (int i = 1; i < reader->count; i++) {
        Column *column = &reader->columns[i];
        column->threaded =
            !is_small(column->field->path) && !pthread_create(&column->thread, NULL, load, column);
    }
    for (int i = 0; i < reader->count; i++)
        if (!reader->columns[i].threaded) load(&reader->columns[i]);
    for (int i = 0; i < reader->count; i++)
        if (reader->columns[i].threaded) pthread_join(reader->columns[i].thread, NULL);
}

static FlowStatus check_all(const FlowReader *reader) {
    const Column *first = &reader->columns[0];
    for (int i = 0; i < reader->count; i++)
        if (reader->columns[i].status.exit) return reader->columns[i].status;
    for (int i = 1; i < reader->count; i++) {
        const Column *column = &reader->columns[i];
        if (column->records != first->records)
            return flow_failure(FLOW_EXIT_data, "%s has %lld record%s, but %s has %lld",
                                first->field->path, (long long)first->records,
                                plural(first->records), column->field->path,
                                (long long)column->records);
    }
    return flow_ok;
}

static void idx_close(FlowReader *reader) {
    for (int i = 0; reader && i < reader->count; i++) free(reader->columns[i].values);
    free(reader);
}

static FlowStatus idx_open(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                           FlowReader **out) {
    (void)arguments;
    FlowReader *reader = calloc(1, sizeof *reader + sizeof *reader->columns * (size_t)count);
    *out = NULL;
    if (!reader)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    reader->count = count;
    for (int i = 0; i < count; i++) reader->columns[i].field = &fields[i];
    load_all(reader);
    FlowStatus status = check_all(reader);
    reader->records = reader->columns[0].records;
    if (status.exit) idx_close(reader);
    else *out = reader;
    return status;
}

static int64_t idx_records(const FlowReader *reader) {
    return reader->records;
}

static bool idx_point(const FlowReader *reader, const void **firsts) {
    for (int i = 0; i < reader->count; i++) firsts[i] = reader->columns[i].values;
    return true;
}

const FlowSource flow_source_idx = {
    .name = "idx",
    .open = idx_open,
    .records = idx_records,
    .point = idx_point,
    .close = idx_close,
};
