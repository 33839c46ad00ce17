/* tar: records of several shards, names of every kind, and clear errors for every truncation. */
#include "runtime/flow.h"
#include "tests/runtime/test.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, LARGEST = 1 << 15 };

static char archive[LARGEST];
static size_t archive_size;

static void add_member(const char *name, char kind, const char *bytes, size_t size) {
    char *header = archive + archive_size;
    unsigned sum = 0;
    memset(header, 0, BLOCK);
    snprintf(header, 100, "%s", name);
    snprintf(header + 100, 8, "%07o", 0644);
    snprintf(header + 124, 12, "%011o", (unsigned)size);
    header[156] = kind;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    memset(header + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    memset(header + BLOCK, 0, (size + BLOCK - 1) / BLOCK * BLOCK);
    memcpy(header + BLOCK, bytes, size);
    archive_size += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

static void write_archive(const char *path) {
    memset(archive + archive_size, 0, 2 * BLOCK);
    write_test_file(path, archive, archive_size + 2 * BLOCK);
}

static FlowStatus open_as(const char *path, FlowReader **reader) {
    static FlowField fields[2];
    fields[0] =
        (FlowField){.name = "cls", .path = path, .type = {FLOW_i32, 0, {0}}, .digits = true};
    fields[1] = (FlowField){.name = "raw", .path = path, .type = {FLOW_u8, 1, {3}}};
    return flow_source_tar.open(fields, 2, NULL, reader);
}

static void expect_record(const FlowReader *reader, int64_t record, int32_t class,
                          const char *raw) {
    int32_t found;
    char bytes[3];
    FlowStatus failure = flow_ok;
    bool made = flow_source_tar.make(reader, record, (void *const[]){&found, bytes}, &failure);
    CHECK(made, "record %d: %s", (int)record, failure.text);
    CHECK(made && found == class && !memcmp(bytes, raw, 3), "record %d is %d", (int)record, found);
}

static void reads_shards(void) {
    static const char pax[] = "32 path=folder.d/long/three.cls\n";
    FlowReader *reader;
    archive_size = 0;
    add_member("README", '0', "hello", 5);
    add_member("one.raw", '0', "abc", 3);
    add_member("one.cls", '0', "7\n", 2);
    add_member("two.cls", 0, "-12", 3);
    add_member("two.raw", '0', "def", 3);
    write_archive("a-000.tar");
    archive_size = 0;
    add_member("folder.d/", '5', "", 0);
    add_member("pax", 'x', pax, strlen(pax));
    add_member("short", '0', "3", 1);
    add_member("name", 'L', "folder.d/long/three.raw", 24);
    add_member("short", '0', "ghi", 3);
    write_archive("a-001.tar");
    FlowStatus status = open_as("a-*.tar", &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_tar.records(reader) == 3, "%d", (int)flow_source_tar.records(reader));
    expect_record(reader, 2, 3, "ghi");
    expect_record(reader, 0, 7, "abc");
    expect_record(reader, 1, -12, "def");
    flow_source_tar.close(reader);
}

static void refuses(const char *says) {
    FlowReader *reader;
    FlowStatus status = open_as("b.tar", &reader);
    CHECK(status.exit == FLOW_EXIT_data, "exit %d", (int)status.exit);
    CHECK_SAYS(status.text, says);
    if (!status.exit) flow_source_tar.close(reader);
}

static void refuses_value(const char *cls, const char *raw, const char *says) {
    FlowReader *reader;
    FlowStatus failure = flow_ok;
    int32_t class;
    char bytes[3];
    archive_size = 0;
    add_member("x/one.cls", '0', cls, strlen(cls));
    add_member("x/one.raw", '0', raw, strlen(raw));
    write_archive("b.tar");
    FlowStatus status = open_as("b.tar", &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(!flow_source_tar.make(reader, 0, (void *const[]){&class, bytes}, &failure), "%s", says);
    CHECK_SAYS(failure.text, says);
    flow_source_tar.close(reader);
}

static void refuses_what_is_wrong(void) {
    refuses_value("", "abc", "b.tar: x/one.cls: `` is no whole number");
    refuses_value("1.5", "abc", "b.tar: x/one.cls: `1.5` is no whole number");
    refuses_value("99999999999", "abc", "b.tar: x/one.cls: `99999999999` is no i32");
    refuses_value("1", "abcd", "b.tar: x/one.raw: has 4 bytes, the program expects u8[3]");
    archive_size = 0;
    add_member("one.cls", '0', "1", 1);
    write_archive("b.tar");
    refuses("b.tar: one.raw: there is no such member");
    add_member("one.raw", '0', "abc", 3);
    archive[BLOCK * 2 + 3] ^= 1;
    write_archive("b.tar");
    refuses("b.tar: at byte 1024: this is no tar header");
    archive_size = 0;
    write_archive("b.tar");
    refuses("b.tar: has no records");
}

static void refuses_truncation(void) {
    archive_size = 0;
    add_member("one.cls", '0', "1", 1);
    add_member("one.raw", '0', "abc", 3);
    for (size_t size = 1; size < archive_size; size += 37) {
        FlowReader *reader;
        write_test_file("b.tar", archive, size);
        FlowStatus status = open_as("b.tar", &reader);
        CHECK(status.exit == FLOW_EXIT_data, "%zu bytes were taken", size);
        if (!status.exit) flow_source_tar.close(reader);
    }
}

int main(void) {
    test_folder();
    reads_shards();
    refuses_what_is_wrong();
    refuses_truncation();
    test_folder_remove();
    return test_result();
}
