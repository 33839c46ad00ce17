/* Fuzz: any bytes as JSON lines: numbers, arrays, categories, members of members. Every record is
 * made. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "tests/runtime/category.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const categories[] = {"a", "", "b\"c", "\xc3\xa9"};

static const FlowField fields[] = {
    {.name = "x", .type = {.element = FLOW_f64}},
    {.name = "x", .type = {FLOW_f32, 2, {2, 2}}, .fills = true, .filling = 0.5},
    {.name = "y.z", .type = {.element = FLOW_i64}, .fills = true},
    {.name = "y.z.x", .type = {.element = FLOW_i8}, .fills = true},
    {.name = "x", .type = {.element = FLOW_i32}, .categories = categories, .fills = true},
};
static FlowField kind;
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* The fields from `first` on, `count` of them. What fails has a reason. */
static void open_as(const char *path, int first, int count) {
    FlowField wanted[FIELD_COUNT];
    double values[FIELD_COUNT][4];
    void *places[FIELD_COUNT];
    FlowReader *reader;
    for (int i = 0; i < count; i++) {
        wanted[i] = fields[first + i];
        wanted[i].path = path;
        if (wanted[i].categories) wanted[i].texts = kind.texts;
        places[i] = values[i];
    }
    if (flow_source_jsonl.open(wanted, count, NULL, &reader).exit) return;
    for (int64_t i = 0; i < flow_source_jsonl.records(reader); i++) {
        FlowStatus failure = flow_ok;
        bool made = flow_source_jsonl.make(reader, i, places, &failure);
        if (made != !failure.exit || made != flow_source_jsonl.make(reader, i, places, NULL))
            abort();
    }
    flow_source_jsonl.close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) {
        kind = with_categories(kind, categories, sizeof categories / sizeof *categories);
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    for (int i = 0; i < FIELD_COUNT; i++) open_as(path, i, 1);
    open_as(path, 1, 3);
    return 0;
}
