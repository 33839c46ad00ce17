/* jsonl: numbers, arrays, texts and what lies in other objects; lines of every kind; an error names
 * the line, the column and what is wrong there, for every truncation and every damaged byte. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "tests/runtime/arrays.h"
#include "tests/runtime/category.h"

#include <zlib.h>

static const char *const sexes[] = {"male", "female", "a\"b"};

static FlowReader *opened(const char *text, size_t size, const FlowField *field) {
    static FlowField fields[1];
    FlowReader *reader;
    fields[0] = *field;
    fields[0].path = "a.jsonl";
    write_test_file("a.jsonl", text, size);
    FlowStatus status = flow_source_jsonl.open(fields, 1, NULL, &reader);
    CHECK(!status.exit, "%s: %s", text, status.text);
    return status.exit ? NULL : reader;
}

/* The field of the last line. */
static void reads(const char *text, FlowField field, const void *wanted, size_t size) {
    char value[64] = {0};
    FlowStatus failure = flow_ok;
    FlowReader *reader = opened(text, strlen(text), &field);
    if (!reader) return;
    int64_t last = flow_source_jsonl.records(reader) - 1;
    bool made = flow_source_jsonl.make(reader, last, (void *const[]){value}, &failure);
    CHECK(made && !memcmp(value, wanted, size), "%s: %s", text, failure.text);
    flow_source_jsonl.close(reader);
}

static void refuses(const char *text, FlowField field, const char *says) {
    char value[64];
    FlowStatus failure = flow_ok;
    FlowReader *reader = opened(text, strlen(text), &field);
    if (!reader) return;
    int64_t last = flow_source_jsonl.records(reader) - 1;
    CHECK(!flow_source_jsonl.make(reader, last, (void *const[]){value}, &failure), "%s", text);
    CHECK(!strcmp(failure.text, says), "`%s`, not `%s`", failure.text, says);
    CHECK(!flow_source_jsonl.make(reader, last, (void *const[]){value}, NULL), "%s", text);
    flow_source_jsonl.close(reader);
}

static FlowField field_of(const char *name, FlowElement element) {
    return (FlowField){.name = name, .type = {.element = element}};
}

static FlowField array_of(const char *name, int64_t rows, int64_t columns) {
    FlowField field = {.name = name, .type = {FLOW_f32, 1, {columns}}};
    if (rows) field.type = (FlowType){FLOW_f32, 2, {rows, columns}};
    return field;
}

static FlowField filled(FlowField field, double filling) {
    field.fills = true;
    field.filling = filling;
    return field;
}

static FlowField category_of(const char *name) {
    return with_categories(field_of(name, FLOW_i32), sexes, 3);
}

#define READS(text, field, type, ...) \
    reads(text, field, (const type[]){__VA_ARGS__}, sizeof(const type[]){__VA_ARGS__})

static void reads_numbers(void) {
    FlowField f32 = field_of("x", FLOW_f32), f64 = field_of("x", FLOW_f64);
    READS("{\"x\":1.5}", f32, float, 1.5f);
    READS("{ \"x\" : -0.25e1 , \"y\" : {} }\r\n", f32, float, -2.5f);
    READS("\t{\"y\":[],\"x\":1E2}", f64, double, 100);
    READS("{\"x\":0.1}", f64, double, 0.1);
    READS("{\"x\":9007199254740993}", field_of("x", FLOW_i64), int64_t, 9007199254740993);
    READS("{\"x\":-128}", field_of("x", FLOW_i8), int8_t, -128);
    READS("{\"x\":2.0}", field_of("x", FLOW_i32), int32_t, 2);
    READS("{\"x\":true}", field_of("x", FLOW_bool), uint8_t, 1);
    READS("{\"x\":false}", field_of("x", FLOW_bool), uint8_t, 0);
    READS("{\"x\":1}", field_of("x", FLOW_bool), uint8_t, 1);
    READS("{\"x\":true}", f32, float, 1);
    READS("{\"\\u0078\":3}", f32, float, 3);
    READS("{\"total rooms\":3}", field_of("total rooms", FLOW_f32), float, 3);
}

static void reads_arrays(void) {
    READS("{\"x\":[1,2.5,-3]}", array_of("x", 0, 3), float, 1, 2.5f, -3);
    READS("{\"x\":[ [1 , 2] , [ 3, 4 ] ]}", array_of("x", 2, 2), float, 1, 2, 3, 4);
    READS("{\"x\":[true,null]}", filled(array_of("x", 0, 2), 7), float, 1, 7);
    READS("{\"x\":null}", filled(array_of("x", 0, 2), 7), float, 7, 7);
    READS("{}", filled(array_of("x", 0, 2), 7), float, 7, 7);
}

static void reads_members(void) {
    FlowField inner = field_of("a.b.c", FLOW_f32);
    READS("{\"a\":{\"c\":1,\"b\":{\"c\":2}},\"b\":3}", inner, float, 2);
    READS("{\"a.b\":{\"c\":2}}", inner, float, 2);
    READS("{\"a\":{\"b.c\":2}}", inner, float, 2);
    READS("{\"a.b.c\":2,\"a\":{\"b\":{}}}", inner, float, 2);
    READS("{\"a\":{\"b\":5}}", filled(inner, 4), float, 4);
    READS("{\"a\":null}", filled(inner, 4), float, 4);
    READS("{\"a.b.\":1,\"a.\":1,\"\":1,\"a.b.c\":2,\"a.b.cd\":3}", inner, float, 2);
    READS("{\"x\":\"female\"}", category_of("x"), int32_t, 1);
    READS("{\"x\":\"f\\u0065male\"}", category_of("x"), int32_t, 1);
    READS("{\"x\":\"a\\\"b\"}", category_of("x"), int32_t, 2);
    READS("{\"x\":null}", filled(category_of("x"), 2), int32_t, 2);
}

static void reads_lines(void) {
    FlowField f32 = field_of("x", FLOW_f32);
    READS("\n\n{\"x\":1}\n \t\r\n{\"x\":2}\n\n", f32, float, 2);
    READS("\xef\xbb\xbf{\"x\":1}", f32, float, 1);
    READS("{\"x\":1}\n{\"x\":2}", f32, float, 2);
    char deep[300] = "{\"y\":";
    for (int i = 0; i < 63; i++) strcat(deep, "[");
    for (int i = 0; i < 63; i++) strcat(deep, "]");
    strcat(deep, ",\"x\":5}");
    READS(deep, f32, float, 5);
}

/* A record is the same whoever asks, and a file whose last line ends at the end of a page is no
 * trap. */
static void reads_to_the_page(void) {
    static char text[1 << 16];
    FlowField field = field_of("x", FLOW_f32);
    size_t size = 0;
    int64_t records = 0;
    for (; size + 40 < 1 << 14; records++)
        size += (size_t)sprintf(text + size, "{\"x\": %d}\n", (int)records);
    size += (size_t)sprintf(text + size, "{\"x\": %*d}", (int)((1 << 14) - size) - 7, 77);
    CHECK(size == 1 << 14, "%zu", size);
    FlowReader *reader = opened(text, size, &field);
    if (!reader) return;
    CHECK(flow_source_jsonl.records(reader) == records + 1, "%d",
          (int)flow_source_jsonl.records(reader));
    for (int64_t i = records; i >= 0; i--) {
        float value = -1;
        CHECK(flow_source_jsonl.make(reader, i, (void *const[]){&value}, NULL) &&
                  value == (i == records ? 77 : (float)i),
              "record %d: %g", (int)i, value);
    }
    flow_source_jsonl.close(reader);
}

static void reads_compressed(void) {
    FlowField field = field_of("x", FLOW_f32);
    FlowReader *reader;
    float value;
    gzFile file = gzopen("a.jsonl.gz", "wb");
    gzputs(file, "{\"x\":1}\n{\"x\":2}");
    gzclose(file);
    field.path = "a.jsonl.gz";
    FlowStatus status = flow_source_jsonl.open(&field, 1, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_jsonl.make(reader, 1, (void *const[]){&value}, NULL) && value == 2, "%g",
          value);
    flow_source_jsonl.close(reader);
}

/* One value of the line is two fields. */
static void reads_twice(void) {
    FlowField fields[] = {field_of("x", FLOW_f32), field_of("x", FLOW_i32), field_of("y", FLOW_u8)};
    FlowReader *reader;
    float x = 0;
    int32_t again = 0;
    uint8_t y = 0;
    write_test_file("a.jsonl", "{\"x\":5,\"y\":6}", 13);
    for (int i = 0; i < 3; i++) fields[i].path = "a.jsonl";
    FlowStatus status = flow_source_jsonl.open(fields, 3, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_jsonl.make(reader, 0, (void *const[]){&x, &again, &y}, NULL) && x == 5 &&
              again == 5 && y == 6,
          "%g %d %d", x, again, y);
    flow_source_jsonl.close(reader);
}

static void refuses_values(void) {
    FlowField f32 = field_of("x", FLOW_f32), i32 = field_of("x", FLOW_i32);
    refuses("{\"x\":1}\n\n{\"x\": \"a\"}", f32,
            "a.jsonl: line 3, column 7: `x` is a text, the program expects f32");
    refuses("{\"x\":{\"y\":1}}", f32,
            "a.jsonl: line 1, column 6: `x` is an object, the program expects f32");
    refuses("{\"x\":[1]}", f32,
            "a.jsonl: line 1, column 6: `x` is an array, the program expects f32; `x |> : f32[1]` "
            "takes one of 1");
    refuses("{\"x\":1.5}", i32, "a.jsonl: line 1, column 6: `x` is 1.5, the program expects i32");
    refuses("{\"x\":256}", field_of("x", FLOW_u8),
            "a.jsonl: line 1, column 6: `x` is 256, the program expects u8");
    refuses("{\"x\":2}", field_of("x", FLOW_bool),
            "a.jsonl: line 1, column 6: `x` is 2, the program expects bool");
    refuses("{\"x\":1e999}", f32,
            "a.jsonl: line 1, column 6: `x` is 1e999, the program expects f32");
    refuses("{\"x\":null}", f32,
            "a.jsonl: line 1, column 6: `x` is missing; `missing(x, 0)` takes 0 for it");
    refuses(
        "{\"a\":1}", field_of("long.name", FLOW_f32),
        "a.jsonl: line 1, column 1: `long.name` is missing; `missing(column(\"long.name\"), 0)` "
        "takes 0 for it");
    refuses("{\"height\":1}", field_of("heigth", FLOW_f32),
            "a.jsonl: line 1, column 1: there is no `heigth`; did you mean `height`?");
    refuses("{\"x\":null}", filled(i32, 0.5),
            "a.jsonl: line 1, column 6: `x` is missing, and 0.5 is no i32");
    refuses("{\"x\":1,\"x\":2}", f32, "a.jsonl: line 1, column 9: `x` is there twice");
    refuses("{\"x\":\"other\"}", category_of("x"),
            "a.jsonl: line 1, column 6: `x` is `other`, none of its 3 categories");
    refuses("{\"x\":1}", category_of("x"),
            "a.jsonl: line 1, column 6: `x` is a number, but its categories are texts");
}

static void refuses_arrays(void) {
    FlowField three = array_of("x", 0, 3), square = array_of("x", 2, 2);
    refuses("{\"x\":[1,2]}", three,
            "a.jsonl: line 1, column 6: `x` is an array of 2, the program expects f32[3]");
    refuses(
        "{\"x\":[1,2,3,4]}", three,
        "a.jsonl: line 1, column 6: `x` is an array of more than 3, the program expects f32[3]");
    refuses("{\"x\":[]}", three,
            "a.jsonl: line 1, column 6: `x` is an array of 0, the program expects f32[3]");
    refuses("{\"x\":5}", three,
            "a.jsonl: line 1, column 6: `x` is a number, the program expects f32[3]");
    refuses("{\"x\":[1,\"2\",3]}", three,
            "a.jsonl: line 1, column 9: `x` is a text, the program expects f32[3]");
    refuses("{\"x\":[1,null,3]}", three,
            "a.jsonl: line 1, column 9: `x` is missing; `missing(x, 0)` takes 0 for it");
    refuses("{\"x\":[[1,2],[3]]}", square,
            "a.jsonl: line 1, column 13: `x` is an array of 1, the program expects f32[2, 2]");
    refuses("{\"x\":[1,2,3,4]}", square,
            "a.jsonl: line 1, column 7: `x` is a number, the program expects f32[2, 2]");
    refuses("{\"x\":[[[1],2],[3,4]]}", square,
            "a.jsonl: line 1, column 8: `x` is an array, the program expects f32[2, 2]");
}

static void refuses_syntax(void) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[{\"x\":1}]", "column 1: an object is expected"},
        {"x,y", "column 1: an object is expected"},
        {"{", "column 2: a string is expected"},
        {"{\"x\"", "column 5: a colon is missing"},
        {"{\"x\":", "column 6: the line ends too early"},
        {"{\"x\":1", "column 7: the line ends too early"},
        {"{\"x\":1,", "column 8: a string is expected"},
        {"{\"x\":1,}", "column 8: a string is expected"},
        {"{\"x\":1}}", "column 8: something follows the end"},
        {"{\"x\":1} {\"x\":2}", "column 9: something follows the end"},
        {"{\"x\":1 \"y\":2}", "column 8: a comma is missing"},
        {"{x:1}", "column 2: a string is expected"},
        {"{'x':1}", "column 2: a string is expected"},
        {"{\"x\":01}", "column 8: a number begins with zero"},
        {"{\"x\":1.}", "column 8: a digit is missing"},
        {"{\"x\":.5}", "column 6: a value is expected"},
        {"{\"x\":+5}", "column 6: a value is expected"},
        {"{\"x\":-}", "column 7: a digit is missing"},
        {"{\"x\":1e}", "column 8: a digit is missing"},
        {"{\"x\":0x10}", "column 7: something follows a number"},
        {"{\"x\":NaN}", "column 6: NaN and Infinity are no numbers in JSON"},
        {"{\"x\":-Infinity}", "column 7: NaN and Infinity are no numbers in JSON"},
        {"{\"x\":nul}", "column 6: a value is expected"},
        {"{\"x\":nullx}", "column 6: a value is expected"},
        {"{\"y\":[1,]}", "column 9: a value is expected"},
        {"{\"y\":[1}", "column 8: a comma is missing"},
        {"{\"y\":\"abc}", "column 11: a string does not end"},
        {"{\"y\":\"a\\", "column 8: unknown escape in a string"},
        {"{\"y\":\"\\q\"}", "column 7: unknown escape in a string"},
        {"{\"y\":\"\\u12g4\"}", "column 12: a \\u escape stands for no character"},
        {"{\"y\":\"a\tb\"}", "column 8: control character in a string"},
    };
    char says[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(says, sizeof says, "a.jsonl: line 1, %s", cases[i].says);
        refuses(cases[i].text, field_of("x", FLOW_f32), says);
    }
    char deep[300] = "{\"y\":";
    for (int i = 0; i < 64; i++) strcat(deep, "[");
    refuses(deep, field_of("x", FLOW_f32), "a.jsonl: line 1, column 70: nested too deeply");
}

/* A NUL is no end of a line. */
static void refuses_nul(void) {
    static const char text[] = "{\"x\":1}\0{\"x\":2}\n{\"x\":3}";
    FlowField field = field_of("x", FLOW_f32);
    FlowStatus failure;
    float value;
    FlowReader *reader = opened(text, sizeof text - 1, &field);
    if (!reader) return;
    CHECK(!flow_source_jsonl.make(reader, 0, (void *const[]){&value}, &failure), "%g", value);
    CHECK_SAYS(failure.text, "line 1, column 8: something follows the end");
    CHECK(flow_source_jsonl.make(reader, 1, (void *const[]){&value}, NULL) && value == 3, "%g",
          value);
    flow_source_jsonl.close(reader);
}

static void refuses_files(void) {
    FlowReader *reader;
    FlowField field = field_of("x", FLOW_f32);
    field.path = "b.jsonl";
    write_test_file("b.jsonl", " \n\n", 3);
    FlowStatus status = flow_source_jsonl.open(&field, 1, NULL, &reader);
    CHECK_SAYS(status.text, "b.jsonl: has no records");
    write_test_file("b.jsonl", "", 0);
    status = flow_source_jsonl.open(&field, 1, NULL, &reader);
    CHECK_SAYS(status.text, "b.jsonl: has no records");
    field.path = "none.jsonl";
    status = flow_source_jsonl.open(&field, 1, NULL, &reader);
    CHECK_SAYS(status.text, "none.jsonl: cannot be read: No such file");
}

static const char whole[] =
    "{\"v\": [1, -2.5e0], \"s\": \"f\\u0065male\", \"a\": {\"b\": null}}\n"
    "{\"s\": \"male\", \"v\": [null, 4], \"a\": {\"b\": true, \"c\": [{}]}}";

static void make_all(const char *text, size_t size) {
    FlowField fields[] = {filled(array_of("v", 0, 2), 1), category_of("s"),
                          filled(field_of("a.b", FLOW_i64), 3)};
    const char *path = memory_file(text, size);
    float v[2];
    int32_t s;
    int64_t b;
    FlowReader *reader;
    FlowStatus failure;
    for (int i = 0; i < 3; i++) fields[i].path = path;
    if (flow_source_jsonl.open(fields, 3, NULL, &reader).exit) return;
    int64_t records = flow_source_jsonl.records(reader), last = records - 1;
    for (int64_t i = 0; i < records; i++) {
        bool made = flow_source_jsonl.make(reader, i, (void *const[]){v, &s, &b}, &failure);
        bool cut = size < sizeof whole - 1 && i == last &&
                   size != strchr(whole, '\n') - whole + 1 &&
                   size != (size_t)(strchr(whole, '\n') - whole);
        CHECK(!cut || !made, "%zu bytes were taken", size);
        CHECK(made || *failure.text, "no failure");
    }
    flow_source_jsonl.close(reader);
}

static void refuses_damage(void) {
    static const unsigned char marks[] = {0, '\n', ' ', '"', '\\', '}', 0x7f, 0x80, 0xff};
    static char text[sizeof whole];
    for (size_t size = 1; size < sizeof whole; size++) make_all(whole, size);
    for (size_t at = 0; at < sizeof whole - 1; at++)
        for (size_t i = 0; i < sizeof marks; i++) {
            memcpy(text, whole, sizeof whole);
            text[at] = (char)marks[i];
            make_all(text, sizeof whole - 1);
        }
}

int main(void) {
    test_folder();
    reads_numbers();
    reads_arrays();
    reads_members();
    reads_lines();
    reads_to_the_page();
    reads_compressed();
    reads_twice();
    refuses_values();
    refuses_arrays();
    refuses_syntax();
    refuses_nul();
    refuses_files();
    refuses_damage();
    test_folder_remove();
    return test_result();
}
