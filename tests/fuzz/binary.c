/* Fuzz: any bytes as records of fixed size, behind any header. */
#define _GNU_SOURCE
#include "runtime/flow.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static double read_all(const FlowReader *reader, int count) {
    uint8_t label = 0;
    float x[3] = {0};
    double sum = 0;
    for (int64_t i = 0; i < flow_source_binary.records(reader); i++) {
        flow_source_binary.make(reader, i, (void *const[]){&label, x}, NULL);
        sum += label;
        const void *first;
        if (count == 1 && flow_source_binary.point(reader, &first))
            sum += ((const uint8_t *)first)[i];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    static volatile double total;
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    FlowField fields[] = {{.name = "label", .path = path, .type = {.element = FLOW_u8}},
                          {.name = "x", .path = path, .type = {FLOW_f32, 1, {3}}}};
    FlowSourceArguments arguments = {.header_size = size ? bytes[0] % 32 : 0};
    for (int count = 1; count <= 2; count++) {
        FlowReader *reader;
        if (flow_source_binary.open(fields, count, &arguments, &reader).exit) continue;
        total += read_all(reader, count);
        flow_source_binary.close(reader);
    }
    return 0;
}
