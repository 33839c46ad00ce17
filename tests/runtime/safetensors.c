/* Safetensors: what is written can be read, what is unsound is refused, and a failed write
 * leaves the old file as it was. */
#include "runtime/format/safetensors.h"
#include "tests/runtime/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char memory[64] = "0123456789abcdefghijklmnopqrstuvwxyz";

static const FlowStorage storages[] = {
    {.name = "bytes", .type = {FLOW_u8, 1, {3}}, .offset = 0},
    {.name = "layer/dense.1/w", .type = {FLOW_f32, 2, {2, 3}}, .offset = 8},
    {.name = "scalar", .type = {FLOW_f64, 0, {0}}, .offset = 32},
    {.name = "empty", .type = {FLOW_i64, 2, {0, 5}}, .offset = 40},
    {.name = "quote\" back\\slash \n \xc3\xa4", .type = {FLOW_i8, 1, {2}}, .offset = 40},
};

enum { STORAGES = sizeof storages / sizeof *storages };

static FlowStatus save(const char *path) {
    static const Metadata metadata[] = {{"format", "test"}, {"odd \"name\"", "tab\t"}};
    return safetensors_write(path, storages, STORAGES, memory, metadata, 2);
}

static void round_trip(void) {
    Safetensors *file;
    FlowStatus status = save("a.safetensors");
    CHECK(!status.exit, "%s", status.text);
    status = safetensors_open("a.safetensors", &file);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    for (int i = 0; i < STORAGES; i++) {
        char bytes[64] = "";
        status = safetensors_read(file, &storages[i], bytes);
        CHECK(!status.exit, "%s", status.text);
        CHECK(!memcmp(bytes, memory + storages[i].offset, flow_type_size(&storages[i].type)),
              "%s differs", storages[i].name);
    }
    const char *value = safetensors_metadata(file, "odd \"name\"");
    CHECK(value && !strcmp(value, "tab\t"), "%s", value ? value : "none");
    CHECK(!safetensors_metadata(file, "other") && !safetensors_find(file, "other"), "found");
    safetensors_close(file);
    save("b.safetensors");
    CHECK(files_equal("a.safetensors", "b.safetensors"), "not the same bytes");
}

static void refuses_other_types(void) {
    static const FlowStorage wrong[] = {
        {.name = "scalar", .type = {FLOW_f32, 0, {0}}, .offset = 0},
        {.name = "bytes", .type = {FLOW_u8, 1, {4}}, .offset = 0},
        {.name = "nowhere", .type = {FLOW_u8, 0, {0}}, .offset = 0},
    };
    static const char *const says[] = {
        "a.safetensors: `scalar` is f64, the program expects f32",
        "a.safetensors: `bytes` is u8[3], the program expects u8[4]",
        "a.safetensors: has no tensor `nowhere`",
    };
    char bytes[64];
    Safetensors *file;
    if (safetensors_open("a.safetensors", &file).exit) return;
    for (int i = 0; i < 3; i++) {
        FlowStatus status = safetensors_read(file, &wrong[i], bytes);
        CHECK(status.exit == FLOW_EXIT_data, "exit %d", (int)status.exit);
        CHECK_SAYS(status.text, says[i]);
    }
    safetensors_close(file);
}

/* Opens header + buffer; the length may be given as another one. */
static FlowStatus open_with_length(const char *header, uint64_t length, int buffer) {
    char bytes[70000];
    size_t size = strlen(header);
    Safetensors *file;
    for (int i = 0; i < 8; i++) bytes[i] = (char)(length >> 8 * i);
    memcpy(bytes + 8, header, size);
    memset(bytes + 8 + size, 'x', (size_t)buffer);
    write_test_file("hostile.safetensors", bytes, 8 + size + (size_t)buffer);
    FlowStatus status = safetensors_open("hostile.safetensors", &file);
    safetensors_close(file);
    return status;
}

#define ENTRY(name, dtype, shape, begin, end)                                                    \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end \
    "]}"

static const struct {
    const char *header;
    int buffer;
    const char *says;
} hostile[] = {
    {"", 0, "length is outside"},
    {"[]", 0, "does not begin with {"},
    {" {}", 0, "does not begin with {"},
    {"{", 0, "length is outside"},
    {"{}x", 0, "something follows the end"},
    {"{},", 0, "something follows the end"},
    {"{}", 1, "belong to none"},
    {"{\"a\":", 0, "an object is expected"},
    {"{\"a\":1}", 0, "an object is expected"},
    {"{\"a\":{}}", 0, "lacks dtype"},
    {"{" ENTRY("a", "U7", "[1]", "0", "1") "}", 1, "unknown dtype"},
    {"{" ENTRY("a", "U8", "[1]", "0", "2") "}", 2, "disagree with dtype and shape"},
    {"{" ENTRY("a", "F32", "[1]", "0", "3") "}", 3, "disagree with dtype and shape"},
    {"{" ENTRY("a", "U8", "[1]", "0", "1") "}", 2, "belong to none"},
    {"{" ENTRY("a", "U8", "[1]", "1", "2") "}", 2, "belong to none"},
    {"{" ENTRY("a", "U8", "[1]", "0", "1") "}", 0, "outside of the file"},
    {"{" ENTRY("a", "U8", "[1]", "1", "0") "}", 1, "outside of the file"},
    {"{" ENTRY("a", "U8", "[1]", "-1", "0") "}", 1, "a whole number is expected"},
    {"{" ENTRY("a", "U8", "[-1]", "0", "1") "}", 1, "a whole number is expected"},
    {"{" ENTRY("a", "U8", "[1.0]", "0", "1") "}", 1, "a whole number is expected"},
    {"{" ENTRY("a", "U8", "[1e0]", "0", "1") "}", 1, "a whole number is expected"},
    {"{" ENTRY("a", "U8", "[01]", "0", "1") "}", 1, "begins with zero"},
    {"{" ENTRY("a", "U8", "[1]", "0", "18446744073709551615") "}", 1, "outside of the file"},
    {"{" ENTRY("a", "U8", "[1]", "0", "18446744073709551617") "}", 1, "too large"},
    {"{" ENTRY("a", "U8", "[4294967296,4294967296]", "0", "0") "}", 0, "overflows"},
    {"{" ENTRY("a", "F64", "[2305843009213693952]", "0", "0") "}", 0, "overflows"},
    {"{" ENTRY("a", "U8", "[9223372036854775808]", "0", "0") "}", 0, "dimension is too large"},
    {"{" ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,1]", "0", "1") "}", 1, "more than 8 dimensions"},
    {"{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "1", "3") "}", 3, "overlap"},
    {"{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "0", "2") "}", 2, "overlap"},
    {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("b", "U8", "[1]", "2", "3") "}", 3,
     "between two"},
    {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("a", "U8", "[1]", "1", "2") "}", 2,
     "same name"},
    {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("\\u0061", "U8", "[1]", "1", "2") "}", 2,
     "same name"},
    {"{" ENTRY("a", "U8", "[1]", "0", "1") ",}", 1, "a string is expected"},
    {"{" ENTRY("a", "U8", "[1,]", "0", "1") "}", 1, "a whole number is expected"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, "fewer than two"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1, "more than two"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     "appears twice"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "a string is expected"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "metadata entries have the same name"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "appears twice"},
    {"{\"\\u0000\":{}}", 0, "stands for no character"},
    {"{\"\\ud800\":{}}", 0, "stands for no character"},
    {"{\"\\x\":{}}", 0, "unknown escape"},
    {"{\"\xff\":{}}", 0, "not UTF-8"},
    {"{\"\xc0\x80\":{}}", 0, "not UTF-8"},
    {"{\"a\nb\":{}}", 0, "control character"},
    {"{\"abc", 0, "does not end"},
};

static void refuses_hostile_headers(void) {
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        FlowStatus status =
            open_with_length(hostile[i].header, strlen(hostile[i].header), hostile[i].buffer);
        CHECK(status.exit == FLOW_EXIT_data, "header %zu was taken: %s", i, hostile[i].header);
        CHECK_SAYS(status.text, hostile[i].says);
        CHECK_SAYS(status.text, "hostile.safetensors: ");
    }
}

static void refuses_hostile_lengths(void) {
    CHECK_SAYS(open_with_length("{}", 3, 0).text, "longer than the file");
    CHECK_SAYS(open_with_length("{}", UINT64_MAX, 0).text, "length is outside");
    CHECK_SAYS(open_with_length("{}", (100 << 20) + 1, 0).text, "length is outside");
    CHECK(!open_with_length("{}      ", 8, 0).exit, "padding is allowed");
    CHECK(!open_with_length("{" ENTRY("a", "F8_E4M3", "[1]", "0", "1") "}",
                            strlen("{" ENTRY("a", "F8_E4M3", "[1]", "0", "1") "}"), 1)
               .exit,
          "foreign element types are read over");
}

static void refuses_deep_nesting(void) {
    char header[60000] = "{\"a\":{\"x\":";
    memset(header + strlen(header), '[', 50000);
    CHECK_SAYS(open_with_length(header, strlen(header), 0).text, "nested too deeply");
}

static void refuses_every_truncation(void) {
    size_t size = 0;
    char *bytes = read_test_file("a.safetensors", &size);
    Safetensors *file;
    for (size_t i = 0; i < size; i++) {
        write_test_file("short.safetensors", bytes, i);
        FlowStatus status = safetensors_open("short.safetensors", &file);
        CHECK(status.exit == FLOW_EXIT_data && !file, "%zu of %zu bytes were taken", i, size);
        safetensors_close(file);
    }
    free(bytes);
}

static void refuses_what_is_no_file(void) {
    Safetensors *file;
    mkfifo("pipe", 0600);
    CHECK_SAYS(safetensors_open("missing", &file).text, "missing: cannot be read: No such file");
    CHECK_SAYS(safetensors_open("pipe", &file).text, "no regular file");
    CHECK_SAYS(safetensors_open("/dev/zero", &file).text, "no regular file");
    CHECK_SAYS(safetensors_open("/", &file).text, "no regular file");
}

/* A limit on the size of files stands in for a full disk. */
static void full_disk_keeps_the_old_file(void) {
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    save("kept.safetensors");
    for (rlim_t size = 0; size < 200; size += 20) {
        limit = (struct rlimit){size, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        FlowStatus status = save("kept.safetensors");
        setrlimit(RLIMIT_FSIZE, &old);
        CHECK(status.exit == FLOW_EXIT_resource, "exit %d", (int)status.exit);
        CHECK_SAYS(status.text, "kept.safetensors: cannot be written: File too large");
        CHECK(files_equal("kept.safetensors", "a.safetensors"), "the old file has changed");
        CHECK(access("kept.safetensors.tmp", F_OK), "the temporary file is left");
    }
}

static void says_what_cannot_be_written(void) {
    CHECK_SAYS(save("nowhere/x.safetensors").text,
               "nowhere/x.safetensors: cannot be written: No such file");
    mkdir("folder", 0700);
    FlowStatus status = save("folder");
    CHECK_SAYS(status.text, "folder: cannot be written: Is a directory");
    CHECK(access("folder.tmp", F_OK), "the temporary file is left");
}

/* What can't be read again is not written. */
static void refuses_to_write_large_headers(void) {
    for (int more = 0; more < 2; more++) {
        size_t size = SAFETENSORS_HEADER_LIMIT - 32 + 32 * (size_t)more;
        char *value = malloc(size + 1);
        memset(value, 'a', size);
        value[size] = 0;
        Metadata metadata = {"long", value};
        FlowStatus status =
            safetensors_write(more ? "more" : "most", storages, 0, memory, &metadata, 1);
        CHECK(!status.exit == !more, "%s", status.text);
        Safetensors *file = NULL;
        if (!more) status = safetensors_open("most", &file);
        CHECK(more || !status.exit, "%s", status.text);
        if (more) CHECK_SAYS(status.text, "more: its header would have more than 100 MiB");
        CHECK(!more || access("more", F_OK), "it is there");
        safetensors_close(file);
        free(value);
    }
}

int main(void) {
    test_folder();
    round_trip();
    refuses_other_types();
    refuses_hostile_headers();
    refuses_hostile_lengths();
    refuses_deep_nesting();
    refuses_every_truncation();
    refuses_what_is_no_file();
    full_disk_keeps_the_old_file();
    says_what_cannot_be_written();
    refuses_to_write_large_headers();
    test_folder_remove();
    return test_result();
}
