/* Fuzz: any bytes as an IDX file, plain or compressed, of several types. Every record is
 * read. */
#define _GNU_SOURCE
#include "runtime/flow.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const FlowType types[] = {
    {FLOW_u8, 2, {2, 2}}, {FLOW_i32, 0, {0}}, {FLOW_f32, 1, {3}}, {FLOW_f64, 0, {0}}};

static unsigned sum_bytes(const void *value, size_t size) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)value)[i];
    return sum;
}

static unsigned read_all(const FlowReader *reader, const FlowType *type) {
    const void *first;
    flow_source_idx.point(reader, &first);
    return sum_bytes(first, (size_t)flow_source_idx.records(reader) * flow_type_size(type));
}

static void open_as(const char *path, const FlowType *type) {
    static volatile unsigned total;
    FlowField field = {.name = "x", .path = path, .type = *type};
    FlowReader *reader;
    if (!flow_source_idx.open(&field, 1, NULL, &reader).exit) total += read_all(reader, type);
    flow_source_idx.close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) open_as(path, &types[i]);
    return 0;
}
