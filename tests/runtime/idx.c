/* idx: reads and widens, and says clearly what is wrong with a file. */
#include "runtime/flow.h"
#include "tests/runtime/digits.h"

#include <math.h>
#include <sys/stat.h>

enum { COUNT = 100, LARGEST = 4096 };

static unsigned char images[LARGEST], labels[LARGEST];
static size_t image_size, label_size;

/* Opens two fields and closes them again. */
static FlowStatus try(const char *image_path, const char *label_path) {
    FlowField fields[] = {
        {.name = "image", .path = image_path, .type = {FLOW_u8, 2, {4, 4}}},
        {.name = "label", .path = label_path, .type = {FLOW_i32, 0, {0}}},
    };
    FlowReader *reader;
    FlowStatus status = flow_source_idx.open(fields, 2, NULL, &reader);
    CHECK(!status.exit == !!reader, "a reader without success, or the other way");
    flow_source_idx.close(reader);
    return status;
}

static void reads(const char *image_path, const char *label_path) {
    FlowField fields[] = {
        {.name = "image", .path = image_path, .type = {FLOW_u8, 2, {4, 4}}},
        {.name = "label", .path = label_path, .type = {FLOW_i32, 0, {0}}},
    };
    FlowReader *reader;
    FlowStatus status = flow_source_idx.open(fields, 2, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_idx.records(reader) == COUNT, "%d", (int)flow_source_idx.records(reader));
    const void *firsts[2];
    flow_source_idx.point(reader, firsts);
    for (int i = 0; i < COUNT; i++) {
        CHECK(!memcmp((const char *)firsts[0] + i * PIXELS, images + IMAGE_HEADER + i * PIXELS,
                      PIXELS),
              "image %d", i);
        CHECK(((const int32_t *)firsts[1])[i] == labels[LABEL_HEADER + i], "label %d", i);
    }
    flow_source_idx.close(reader);
}

/* A scalar file with one number of some element, read as f64 and as i64. */
static void widens(int code, const void *big_endian, size_t size, double expected) {
    unsigned char bytes[16] = {0, 0, (unsigned char)code, 1, 0, 0, 0, 1};
    FlowField field = {.name = "x", .path = "number", .type = {FLOW_f64, 0, {0}}};
    FlowReader *reader;
    const void *value;
    memcpy(bytes + 8, big_endian, size);
    write_test_file("number", bytes, 8 + size);
    FlowStatus status = flow_source_idx.open(&field, 1, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    flow_source_idx.point(reader, &value);
    CHECK(*(const double *)value == expected, "code %02x: %g, not %g", (unsigned)code,
          *(const double *)value, expected);
    flow_source_idx.close(reader);
}

static void widens_all(void) {
    widens(0x08, "\xff", 1, 255);
    widens(0x09, "\xff", 1, -1);
    widens(0x0b, "\x80\x01", 2, -32767);
    widens(0x0c, "\x80\x00\x00\x01", 4, -2147483647.0);
    widens(0x0d, "\x3f\xc0\x00\x00", 4, 1.5);
    widens(0x0e, "\xbf\xf8\x00\x00\x00\x00\x00\x00", 8, -1.5);
}

static void refuses(const char *image_path, const char *label_path, const char *says) {
    FlowStatus status = try(image_path, label_path);
    CHECK(status.exit == FLOW_EXIT_data, "exit %d", (int)status.exit);
    CHECK_SAYS(status.text, says);
}

static void refuses_changed(size_t at, const char *bytes, size_t size, const char *says) {
    unsigned char changed[LARGEST];
    memcpy(changed, images, image_size);
    memcpy(changed + at, bytes, size);
    write_test_file("changed", changed, image_size);
    refuses("changed", "labels", says);
}

static void refuses_wrong_headers(void) {
    refuses_changed(0, "\x50\x4b", 2, "changed: not an IDX file: it begins with 50 4b 08 03");
    refuses_changed(2, "\x0a", 1, "not an IDX file: it begins with 00 00 0a 03");
    refuses_changed(3, "\x00", 1, "has 0 dimensions");
    refuses_changed(3, "\xff", 1, "has 255 dimensions");
    refuses_changed(4, "\xff\xff\xff\xff", 4, "more data than the file can hold");
    refuses_changed(4, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, "more data than");
    refuses_changed(4, "\0\0\0\0", 4, "changed: has no records");
    refuses_changed(7, "\x63", 1, "more data than its header declares");
    refuses_changed(11, "\2", 1, "changed: records are u8[2, 4], the program expects u8[4, 4]");
    refuses_changed(2, "\x09", 1, "changed: records are i8[4, 4], the program expects u8[4, 4]");
    refuses("images", "images", "images: records are u8[4, 4], the program expects i32");
    refuses("labels", "labels", "labels: records are u8, the program expects u8[4, 4]");
}

static void refuses_other_counts(void) {
    unsigned char fewer[LARGEST];
    size_t size = make_labels(fewer, images, COUNT - 1);
    write_test_file("fewer", fewer, size);
    refuses("images", "fewer", "images has 100 records, but fewer has 99");
}

static void refuses_truncation(const char *path) {
    size_t size = 0;
    char *bytes = read_test_file(path, &size);
    for (size_t i = 0; i < size; i += i < 64 ? 1 : 13) {
        write_test_file("short", bytes, i);
        FlowStatus status = try("short", "labels");
        CHECK(status.exit == FLOW_EXIT_data, "%s: %zu of %zu bytes were taken", path, i, size);
        CHECK_SAYS(status.text, "short: ");
        CHECK(strstr(status.text, "ends early") || strstr(status.text, "truncated"), "%s",
              status.text);
    }
    free(bytes);
}

/* Every byte changed: an error that names the file, or, in a gzip header, no effect at all.
 */
static void refuses_damage(void) {
    size_t size = 0;
    char *bytes = read_test_file("images.gz", &size);
    int taken = 0;
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x55;
        write_test_file("damaged.gz", bytes, size);
        bytes[i] ^= 0x55;
        FlowStatus status = try("damaged.gz", "labels");
        taken += !status.exit;
        if (status.exit) CHECK_SAYS(status.text, "damaged.gz: ");
    }
    CHECK(taken < 10, "%d damaged files were taken", taken);
    free(bytes);
}

static void joins_members(void) {
    size_t first, second;
    write_gzip("first.gz", images, 500);
    write_gzip("second.gz", images + 500, image_size - 500);
    char *bytes = read_test_file("first.gz", &first), *more = read_test_file("second.gz", &second);
    memcpy(bytes + first, more, second);
    write_test_file("joined.gz", bytes, first + second);
    reads("joined.gz", "labels");
    bytes[first + second] = 'x';
    write_test_file("trailing.gz", bytes, first + second + 1);
    refuses("trailing.gz", "labels", "trailing.gz: something that is not gzip follows");
    free(bytes);
    free(more);
}

static void refuses_what_is_no_file(void) {
    mkfifo("pipe", 0600);
    refuses("missing", "labels", "missing: cannot be read: No such file");
    refuses("pipe", "labels", "pipe: is not a regular file");
    refuses(".", "labels", ".: is not a regular file");
    refuses("/dev/zero", "labels", "/dev/zero: is not a regular file");
}

int main(void) {
    test_folder();
    image_size = make_images(images, COUNT);
    label_size = make_labels(labels, images, COUNT);
    write_test_file("images", images, image_size);
    write_test_file("labels", labels, label_size);
    write_gzip("images.gz", images, image_size);
    write_gzip("labels.gz", labels, label_size);
    reads("images", "labels");
    reads("images.gz", "labels.gz");
    widens_all();
    refuses_wrong_headers();
    refuses_other_counts();
    refuses_truncation("images");
    refuses_truncation("images.gz");
    refuses_damage();
    joins_members();
    refuses_what_is_no_file();
    test_folder_remove();
    return test_result();
}
