/* npz: stored and packed arrays, 32 and 64 bits; clear errors for arrays that are not there, for
 * every truncation and every damaged byte. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "tests/runtime/archive.h"
#include "tests/runtime/arrays.h"

/* Two arrays of three records. */
static void add_arrays(int method, bool wide) {
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int64_t y[] = {7, 8, 9};
    static char bytes[1024];
    archive_begin();
    size_t size = make_npy(bytes, 1, literal_of("<f4", "(3, 2)"), x, sizeof x);
    add_member("x.npy", bytes, size, method, wide);
    size = make_npy(bytes, 1, literal_of("<i8", "(3,)"), y, sizeof y);
    add_member("y.npy", bytes, size, method, wide);
    add_member("notes.txt", "hello", 5, 0, false);
}

static FlowStatus open_fields(const char *path, const char *x, FlowReader **reader) {
    static FlowField fields[2];
    fields[0] = (FlowField){.name = x, .path = path, .type = {FLOW_f32, 1, {2}}};
    fields[1] = (FlowField){.name = "y", .path = path, .type = {.element = FLOW_i32}};
    return flow_source_npz.open(fields, 2, NULL, reader);
}

static void reads(const char *what) {
    FlowReader *reader;
    FlowStatus failure = flow_ok, status = open_fields("a.npz", "x", &reader);
    CHECK(!status.exit, "%s: %s", what, status.text);
    if (status.exit) return;
    CHECK(flow_source_npz.records(reader) == 3, "%s", what);
    for (int64_t i = 0; i < 3; i++) {
        float x[2] = {0};
        int32_t y = 0;
        bool made = flow_source_npz.make(reader, i, (void *const[]){x, &y}, &failure);
        CHECK(made && x[0] == (float)(1 + 2 * i) && x[1] == (float)(2 + 2 * i) && y == 7 + i,
              "%s: record %d: %g %g %d %s", what, (int)i, x[0], x[1], y, failure.text);
    }
    flow_source_npz.close(reader);
}

static void reads_archives(void) {
    static char odd[5000];
    memset(odd, 'x', sizeof odd - 1);
    for (int method = 0; method <= 8; method += 8)
        for (int wide = 0; wide <= 1; wide++) {
            add_arrays(method, wide);
            write_archive("a.npz", wide, "");
            reads("an archive");
            add_arrays(method, wide);
            write_archive("a.npz", wide, odd);
            reads("an archive with a comment");
        }
}

/* What lies at the right place is pointed at. */
static void points(void) {
    static const uint8_t x[] = {1, 2, 3};
    static char bytes[256];
    FlowField field = {.name = "x", .path = "a.npz", .type = {.element = FLOW_u8}};
    FlowReader *reader;
    const void *first;
    archive_begin();
    add_member("x.npy", bytes, make_npy(bytes, 1, literal_of("|u1", "(3,)"), x, sizeof x), 0, true);
    write_archive("a.npz", false, "");
    FlowStatus status = flow_source_npz.open(&field, 1, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_npz.point(reader, &first), "bytes are copied");
    CHECK(((const uint8_t *)first)[2] == 3, "%d", ((const uint8_t *)first)[2]);
    flow_source_npz.close(reader);
}

static void refuses(const char *x, const char *says) {
    FlowReader *reader;
    FlowStatus status = open_fields("b.npz", x, &reader);
    CHECK(status.exit == FLOW_EXIT_data, "exit %d: %s", (int)status.exit, says);
    CHECK_SAYS(status.text, says);
    if (!status.exit) flow_source_npz.close(reader);
}

static void refuses_what_is_wrong(void) {
    add_arrays(0, true);
    write_archive("b.npz", false, "");
    refuses("z", "b.npz: has no array `z`; its arrays are x, y");
    refuses("notes", "b.npz: has no array `notes`");
    refuses("y", "b.npz: y: records are i64, the program expects f32[2]");
    add_arrays(8, true);
    add_member("pixels.npy", "?", 1, 0, false);
    add_member("x.npy", "?", 1, 0, false);
    write_archive("b.npz", false, "");
    refuses("pixel", "b.npz: has no array `pixel`; did you mean `pixels`?");
    refuses("pixels", "b.npz: pixels: it is no .npy file");
    refuses("x", "b.npz: has 2 arrays `x`");
    add_arrays(0, false);
    archive[30 + 5 + 128 + 3] ^= 1;
    write_archive("b.npz", false, "");
    refuses("x", "b.npz: x: its checksum is wrong: it is damaged");
    add_arrays(0, false);
    directory[8] = 1;
    write_archive("b.npz", false, "");
    refuses("x", "b.npz: a member is encrypted");
    add_arrays(0, false);
    archive[8] = directory[10] = 12;
    write_archive("b.npz", false, "");
    refuses("x", "b.npz: a member is packed by another method than deflate");
    add_arrays(0, false);
    archive[30] = 'w';
    write_archive("b.npz", false, "");
    refuses("x", "b.npz: a member has another name than its directory says");
    write_test_file("b.npz", "PK", 2);
    refuses("x", "b.npz: it is no zip archive, or it is truncated");
}

/* A member whose sizes lie asks for no memory. */
static void refuses_bombs(void) {
    add_arrays(8, false);
    memcpy(directory + 24, "\xff\xff\xff\x7f", 4);
    write_archive("b.npz", false, "");
    refuses("x", "b.npz: x: it declares more data than it can hold");
    static char zeros[1 << 17];
    archive_begin();
    add_member("x.npy", zeros, sizeof zeros, 8, false);
    write_archive("b.npz", false, "");
    refuses("x", "b.npz: x: it is no .npy file");
}

static void try_bytes(const char *bytes, size_t size, bool cut, size_t at) {
    FlowReader *reader;
    float x[2];
    int32_t y;
    FlowStatus status = open_fields(memory_file(bytes, size), "x", &reader);
    CHECK(!cut || status.exit == FLOW_EXIT_data, "%zu bytes were taken", at);
    if (status.exit) return;
    for (int64_t i = 0; i < flow_source_npz.records(reader); i++)
        flow_source_npz.make(reader, i, (void *const[]){x, &y}, NULL);
    flow_source_npz.close(reader);
}

static void refuses_damage(int method) {
    static const unsigned char marks[] = {0, 0x7f, 0x80, 0xff};
    static char bytes[ARCHIVE_LIMIT];
    add_arrays(method, true);
    write_archive("b.npz", true, "");
    size_t size = archive_size;
    for (size_t cut = 0; cut < size; cut++) try_bytes(archive, cut, true, cut);
    for (size_t at = 0; at < size; at++)
        for (size_t i = 0; i < sizeof marks; i++) {
            memcpy(bytes, archive, size);
            bytes[at] = (char)marks[i];
            try_bytes(bytes, size, false, at);
        }
}

int main(void) {
    test_folder();
    reads_archives();
    points();
    refuses_what_is_wrong();
    refuses_bombs();
    refuses_damage(0);
    refuses_damage(8);
    test_folder_remove();
    return test_result();
}
