/* Fuzz: any bytes as lines, of a file and as they come from standard input: the same records are
 * made, or fail, of both. And as the characters of a text. */
#define _GNU_SOURCE
#include "runtime/feed.h"
#include "tests/runtime/category.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static FlowField kind;
static const char *const categories[] = {"a", ""};

typedef struct Record {
    unsigned char value[16];
    bool made;
} Record;

static Record make(const FlowReader *reader, int64_t record) {
    Record made = {.made = false};
    FlowStatus failure = {0};
    made.made = flow_source_lines.make(reader, record, (void *[]){made.value}, &failure);
    if (made.made == (failure.exit != 0)) abort();
    if (!made.made) memset(made.value, 0, sizeof made.value);
    return made;
}

static void check_feed(FlowField field, const FlowReader *file, int64_t count) {
    FlowReader *reader;
    FlowStatus status = {0};
    bool final;
    field.path = "-";
    if (lseek(STDIN_FILENO, 0, SEEK_SET) || flow_source_lines.open(&field, 1, NULL, &reader).exit)
        return;
    Feed *feed = flow_source_lines.feed(reader);
    for (int64_t i = 0; i < count; i++) {
        if (feed_wait(feed, i + 1, 0, &final) <= i) abort();
        Record expected = make(file, i), got = make(reader, i);
        if (memcmp(&expected, &got, sizeof got)) abort();
        feed_forget(feed, i);
    }
    if (feed_wait(feed, count + 1, 0, &final) != count || !feed_has_ended(feed, &status)) abort();
    if (status.exit) abort();
    flow_source_lines.close(reader);
}

static void open_as(const char *path, FlowField field) {
    FlowReader *reader;
    field.name = "line";
    field.path = path;
    if (flow_source_lines.open(&field, 1, NULL, &reader).exit) return;
    check_feed(field, reader, flow_source_lines.records(reader));
    flow_source_lines.close(reader);
}

static void read_text(const char *path) {
    FlowField field = {.name = "byte", .path = path, .type = {.element = FLOW_u8}};
    FlowReader *reader;
    static volatile unsigned sum;
    if (flow_source_text.open(&field, 1, NULL, &reader).exit) return;
    const void *first;
    flow_source_text.point(reader, &first);
    for (int64_t i = 0; i < flow_source_text.records(reader); i++)
        sum += ((const unsigned char *)first)[i];
    flow_source_text.close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) {
        kind = with_categories(kind, categories, 2);
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        if (dup2(descriptor, STDIN_FILENO)) abort();
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    open_as(path, (FlowField){.type = {FLOW_u8, 1, {6}}});
    open_as(path, (FlowField){.type = {.element = FLOW_i32}, .digits = true});
    open_as(path, (FlowField){.type = {.element = FLOW_u8}, .texts = kind.texts});
    read_text(path);
    return 0;
}
