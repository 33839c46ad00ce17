/* Fuzz: any bytes as an array of several types, and as an archive of arrays. Every record is
 * made. */
#define _GNU_SOURCE
#include "runtime/flow.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const FlowType types[] = {
    {FLOW_f32, 1, {2}}, {FLOW_i32, 0, {0}}, {FLOW_f64, 0, {0}}, {FLOW_bool, 0, {0}}};

static unsigned sum_bytes(const void *value, size_t size) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)value)[i];
    return sum;
}

static unsigned read_all(const FlowSource *source, const FlowReader *reader, size_t value_size) {
    unsigned sum = 0;
    FlowStatus failure;
    uint64_t made[2];
    for (int64_t i = 0; i < source->records(reader); i++) {
        const void *first, *value = made;
        if (source->point(reader, &first)) value = (const char *)first + (size_t)i * value_size;
        else if (!source->make(reader, i, (void *const[]){made}, &failure)) continue;
        sum += sum_bytes(value, value_size);
    }
    return sum;
}

static void open_as(const FlowSource *source, const char *path, const FlowType *type) {
    static volatile unsigned total;
    FlowField field = {.name = "x", .path = path, .type = *type};
    FlowReader *reader;
    size_t size = type->rank                  ? 8
                  : type->element == FLOW_f64 ? 8
                  : type->element == FLOW_i32 ? 4
                                              : 1;
    if (source->open(&field, 1, NULL, &reader).exit) return;
    total += read_all(source, reader, size);
    source->close(reader);
}

/* Any bytes as what stands behind an array's first eight bytes; as they are. */
static void open_file(int descriptor, const char *path, const uint8_t *bytes, size_t size) {
    if (ftruncate(descriptor, 0) || pwrite(descriptor, "\x93NUMPY\1\0", 8, 0) != 8 ||
        pwrite(descriptor, bytes, size, 8) != (ssize_t)size)
        return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        open_as(&flow_source_npy, path, &types[i]);
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return;
    open_as(&flow_source_npz, path, &types[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    open_file(descriptor, path, bytes, size);
    return 0;
}
