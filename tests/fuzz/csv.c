/* Fuzz: any bytes as a table, with and without a header; numbers, categories, missing cells. Every
 * record is read. */
#define _GNU_SOURCE
#include "runtime/flow.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const categories[] = {"a", "", "b\"c"};

static double read_all(const FlowReader *reader, int count) {
    double sum = 0;
    const void *values[4];
    for (int64_t i = 0; i < flow_source_csv.records(reader); i++) {
        flow_source_csv.read(reader, i, values);
        for (int j = 0; j < count; j++) sum += *(const uint8_t *)values[j];
    }
    return sum;
}

static void open_as(const char *path, bool header) {
    static volatile double total;
    FlowField fields[] = {
        {.name = header ? "x" : "0", .path = path, .type = {.element = FLOW_f64}},
        {.name = header ? "y" : "1", .path = path, .type = {.element = FLOW_i64}, .fills = true},
        {.name = header ? "x" : "0",
         .path = path,
         .type = {.element = FLOW_i32},
         .categories = categories,
         .category_count = 3},
    };
    FlowSourceArguments arguments = {.header = header};
    for (int count = 1; count <= 3; count++) {
        FlowReader *reader;
        if (flow_source_csv.open(fields + count - 1, 1, &arguments, &reader).exit) continue;
        total += read_all(reader, 1);
        flow_source_csv.close(reader);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    open_as(path, true);
    open_as(path, false);
    return 0;
}
