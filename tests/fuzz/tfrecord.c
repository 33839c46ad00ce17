/* Fuzz: any bytes as a file of records, and as one record whose sums are right: features of every
 * kind are asked for. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "tests/runtime/category.h"
#include "tests/runtime/examples.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static FlowField kind;
static const char *const categories[] = {"a", ""};

static void open_as(FlowField field) {
    static double value[64];
    FlowReader *reader;
    FlowStatus failure;
    if (flow_source_tfrecord.open(&field, 1, NULL, &reader).exit) return;
    for (int64_t i = 0; i < flow_source_tfrecord.records(reader); i++)
        flow_source_tfrecord.make(reader, i, (void *const[]){value}, &failure);
    flow_source_tfrecord.close(reader);
}

static void open_all(const char *path) {
    FlowField field = {.name = "a", .path = path, .type = {FLOW_u8, 1, {3}}};
    open_as(field);
    field.type = (FlowType){.element = FLOW_f32};
    open_as(field);
    field.type = (FlowType){FLOW_i64, 1, {2}};
    open_as(field);
    field.type = (FlowType){.element = FLOW_i32};
    field.fills = true;
    open_as(field);
    field.digits = true;
    open_as(field);
    field.digits = field.fills = false;
    field.texts = kind.texts;
    open_as(field);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    Bytes file = {.size = 0};
    if (size > sizeof file.at / 2) return 0;
    if (descriptor < 0) {
        kind = with_categories(kind, categories, 2);
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    open_all(path);
    add_frame(&file, bytes, size);
    add_frame(&file, bytes, size / 2);
    if (pwrite(descriptor, file.at, file.size, 0) != (ssize_t)file.size) return 0;
    open_all(path);
    return 0;
}
