/* binary: fields side by side, headers, several files, and sizes that are no whole number of
 * records. */
#include "runtime/flow.h"
#include "tests/runtime/test.h"

#include <zlib.h>

enum { RECORD = 1 + 3 * 4 };

static unsigned char file[4 + 10 * RECORD];

static void fill_file(void) {
    memcpy(file, "head", 4);
    for (int i = 0; i < 10; i++) {
        float x[3] = {(float)i, i + 0.5f, -1e30f};
        file[4 + i * RECORD] = (unsigned char)(250 + i);
        memcpy(file + 4 + i * RECORD + 1, x, sizeof x);
    }
}

static FlowStatus open_as(const char *path, int64_t header, FlowReader **reader) {
    static FlowField fields[2];
    FlowSourceArguments arguments = {.header_size = header};
    fields[0] = (FlowField){.name = "label", .path = path, .type = {.element = FLOW_u8}};
    fields[1] = (FlowField){.name = "x", .path = path, .type = {FLOW_f32, 1, {3}}};
    return flow_source_binary.open(fields, 2, &arguments, reader);
}

static void expect_record(const FlowReader *reader, int64_t record, int number) {
    unsigned char label = 0;
    float x[3] = {0};
    bool made = flow_source_binary.make(reader, record, (void *const[]){&label, x}, NULL);
    CHECK(made && label == (unsigned char)(250 + number), "record %d: label %d", (int)record,
          label);
    CHECK(x[0] == (float)number && x[1] == (float)number + 0.5f && x[2] == -1e30f, "record %d: %g",
          (int)record, (double)x[0]);
}

static void reads_files(void) {
    FlowReader *reader;
    const void *first;
    write_test_file("a-0.bin", file, sizeof file);
    write_test_file("a-1.bin", file, 4);
    write_test_file("a-2.bin", file, 4 + 3 * RECORD);
    FlowStatus status = open_as("a-*.bin", 4, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_binary.records(reader) == 13, "%d", (int)flow_source_binary.records(reader));
    CHECK(!flow_source_binary.point(reader, &first), "two fields side by side");
    for (int i = 0; i < 13; i++) expect_record(reader, i, i % 10);
    flow_source_binary.close(reader);
}

/* A file that begins as a compressed one does is as it is; a name says it. */
static void unpacks_by_name(void) {
    FlowReader *reader;
    file[0] = 0x1f;
    file[1] = 0x8b;
    write_test_file("b.bin", file, sizeof file);
    gzFile out = gzopen("c.bin.gz", "wb");
    if (!out || gzwrite(out, file, sizeof file) != sizeof file || gzclose(out)) exit(99);
    for (int i = 0; i < 2; i++) {
        FlowStatus status = open_as(i ? "c.bin.gz" : "b.bin", 4, &reader);
        CHECK(!status.exit, "%s", status.text);
        if (status.exit) continue;
        expect_record(reader, 7, 7);
        flow_source_binary.close(reader);
    }
}

static FlowStatus open_numbers(const char *path, int64_t header, FlowReader **reader) {
    static FlowField field;
    FlowSourceArguments arguments = {.header_size = header};
    field = (FlowField){.name = "x", .path = path, .type = {.element = FLOW_i32}};
    return flow_source_binary.open(&field, 1, &arguments, reader);
}

/* Only where elements may lie are they pointed at. */
static void points_at_numbers(void) {
    int32_t numbers[7] = {0, 1, 2, 3, 4, 5, 6}, found;
    const void *first;
    FlowReader *reader;
    for (int header = 0; header < 9; header++) {
        char bytes[64] = {0};
        memcpy(bytes + header, numbers, sizeof numbers);
        write_test_file("n.bin", bytes, sizeof numbers + (size_t)header);
        FlowStatus status = open_numbers("n.bin", header, &reader);
        CHECK(!status.exit, "%s", status.text);
        if (status.exit) continue;
        bool points = flow_source_binary.point(reader, &first);
        CHECK(points == (header % 4 == 0), "a header of %d", header);
        if (points) CHECK(((const int32_t *)first)[5] == 5, "%d", ((const int32_t *)first)[5]);
        flow_source_binary.make(reader, 5, (void *const[]){&found}, NULL);
        CHECK(found == 5, "%d", found);
        flow_source_binary.close(reader);
    }
}

static void refuses(const char *path, int64_t header, const char *says) {
    FlowReader *reader;
    FlowStatus status = open_as(path, header, &reader);
    CHECK(status.exit == FLOW_EXIT_data, "%s: exit %d", says, (int)status.exit);
    CHECK_SAYS(status.text, says);
    if (!status.exit) flow_source_binary.close(reader);
}

static void refuses_what_is_wrong(void) {
    for (size_t size = 0; size < sizeof file; size++) {
        write_test_file("d.bin", file, size);
        if (size < 4) refuses("d.bin", 4, "fewer than its header of 4");
        else if (size == 4) refuses("d.bin", 4, "d.bin: has no records");
        else if ((size - 4) % RECORD) refuses("d.bin", 4, "d.bin: the ");
    }
    write_test_file("d.bin", file, 4 + 2 * RECORD + 1);
    refuses("d.bin", 4,
            "d.bin: the 27 bytes behind the header are 2 records of 13 bytes, and 1 is left");
    refuses("d.bin", 0, "d.bin: the 31 bytes are 2 records of 13 bytes, and 5 are left");
    refuses("d.bin", 1 << 30, "d.bin: has 31 bytes, fewer than its header of 1073741824");
    refuses("e*", 0, "e*: no such file");
    refuses(".", 0, ".: is not a regular file");
}

/* A size beyond 32 bits, of a file with holes. */
static void reads_large_files(void) {
    FlowReader *reader;
    FlowField field = {.name = "x", .path = "large", .type = {FLOW_i64, 1, {1 << 20}}};
    FlowSourceArguments arguments = {.header_size = 8};
    int64_t size = 8 + 1025ll * (8 << 20), mark = 42;
    FILE *out = fopen("large", "wb");
    if (!out || fseek(out, size - 8, SEEK_SET) || fwrite(&mark, 8, 1, out) != 1 || fclose(out))
        exit(99);
    FlowStatus status = flow_source_binary.open(&field, 1, &arguments, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    const void *first;
    CHECK(flow_source_binary.records(reader) == 1025, "%d",
          (int)flow_source_binary.records(reader));
    flow_source_binary.point(reader, &first);
    CHECK(((const int64_t *)first)[(1025 << 20) - 1] == 42, "the last number of 8 GiB");
    flow_source_binary.close(reader);
}

int main(void) {
    test_folder();
    fill_file();
    reads_files();
    unpacks_by_name();
    points_at_numbers();
    refuses_what_is_wrong();
    reads_large_files();
    test_folder_remove();
    return test_result();
}
