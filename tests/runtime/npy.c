/* npy: every element type in both byte orders, every version of the header; clear errors for what
 * does not fit the program, for every truncation and every damaged byte of a header. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "runtime/holdings.h"
#include "runtime/type.h"
#include "tests/runtime/arrays.h"

enum { LARGEST = 1 << 18 };

static char file[LARGEST];

static FlowStatus open_as(const char *path, FlowType type, FlowReader **reader) {
    static FlowField field;
    field = (FlowField){.name = "x", .path = path, .type = type};
    return flow_source_npy.open(&field, 1, NULL, reader);
}

static void write_array(const char *path, const char *literal, const void *values, size_t size) {
    write_test_file(path, file, make_npy(file, 1, literal, values, size));
}

/* Made or pointed at, as the reader says. */
static bool get(const FlowReader *reader, int64_t record, size_t size, void *value,
                FlowStatus *failure) {
    const void *there;
    if (!flow_source_npy.point(reader, &there))
        return flow_source_npy.make(reader, record, &value, failure);
    memcpy(value, (const char *)there + (size_t)record * size, size);
    return true;
}

/* Elements. */

static const struct {
    const char *type;
    FlowElement becomes;
    uint64_t bits[2];
    double numbers[2];
} elements[] = {
    {"b1", FLOW_bool, {1, 0}, {1, 0}},
    {"b1", FLOW_f32, {255, 0}, {1, 0}},
    {"u1", FLOW_u8, {200, 3}, {200, 3}},
    {"u1", FLOW_i64, {200, 3}, {200, 3}},
    {"u1", FLOW_f16, {255, 3}, {255, 3}},
    {"u1", FLOW_bf16, {255, 3}, {255, 3}},
    {"u1", FLOW_bool, {0, 1}, {0, 1}},
    {"i1", FLOW_i8, {0x80, 3}, {-128, 3}},
    {"i1", FLOW_f32, {0xff, 3}, {-1, 3}},
    {"u2", FLOW_i32, {65535, 3}, {65535, 3}},
    {"u2", FLOW_f32, {65535, 3}, {65535, 3}},
    {"i2", FLOW_i32, {0xfffe, 3}, {-2, 3}},
    {"i2", FLOW_i8, {0xfffe, 3}, {-2, 3}},
    {"i2", FLOW_f64, {0x8000, 3}, {-32768, 3}},
    {"u4", FLOW_i64, {0xffffffff, 3}, {4294967295, 3}},
    {"u4", FLOW_f64, {0xffffffff, 3}, {4294967295, 3}},
    {"i4", FLOW_i32, {0xfffffffe, 3}, {-2, 3}},
    {"i4", FLOW_u8, {255, 3}, {255, 3}},
    {"u8", FLOW_i64, {1ull << 62, 3}, {0x1p62, 3}},
    {"i8", FLOW_i64, {~0ull, 3}, {-1, 3}},
    {"i8", FLOW_i32, {-2147483648ll, 2147483647}, {-2147483648.0, 2147483647}},
    {"f2", FLOW_f16, {0x3c00, 0xc000}, {1, -2}},
    {"f2", FLOW_f32, {0x3c00, 0x0001}, {1, 0x1p-24}},
    {"V2", FLOW_bf16, {0x3f80, 0xc000}, {1, -2}},
    {"f4", FLOW_f32, {0x3f800000, 0xc0000000}, {1, -2}},
    {"f4", FLOW_f64, {0x3f800000, 0xc0000000}, {1, -2}},
    {"f8", FLOW_f64, {0x3ff0000000000000, 0xc000000000000000}, {1, -2}},
};

static void put(char *out, uint64_t bits, int size, bool big) {
    for (int i = 0; i < size; i++) out[big ? size - 1 - i : i] = (char)(bits >> 8 * i);
}

static void reads_element(size_t index, char order) {
    char type[4] = {order, elements[index].type[0], elements[index].type[1]}, values[16];
    int size = type[2] - '0';
    FlowReader *reader;
    for (int i = 0; i < 2; i++) put(values + i * size, elements[index].bits[i], size, order == '>');
    write_array("a.npy", literal_of(type, "(2,)"), values, 2 * (size_t)size);
    FlowStatus status = open_as("a.npy", (FlowType){.element = elements[index].becomes}, &reader);
    CHECK(!status.exit, "%s: %s", type, status.text);
    if (status.exit) return;
    for (int64_t i = 0; i < 2; i++) {
        char value[8] = {0};
        bool made = get(reader, i, flow_element_size(elements[index].becomes), value, NULL);
        double number = number_read(elements[index].becomes, value);
        CHECK(made && number == elements[index].numbers[i], "%s as %d: %.17g", type,
              (int)elements[index].becomes, number);
    }
    flow_source_npy.close(reader);
}

static void reads_every_element(void) {
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        reads_element(i, '<');
        if (elements[i].type[0] != 'V') reads_element(i, '>');
        if (elements[i].type[1] == '1') reads_element(i, '|');
    }
}

/* Headers. */

static void reads_literal(int version, const char *literal) {
    static const float values[] = {1, 2, 3, 4, 5, 6};
    FlowReader *reader;
    write_test_file("a.npy", file, make_npy(file, version, literal, values, sizeof values));
    FlowStatus status = open_as("a.npy", (FlowType){FLOW_f32, 1, {2}}, &reader);
    CHECK(!status.exit, "%s: %s", literal, status.text);
    if (status.exit) return;
    float value[2];
    const void *first;
    CHECK(flow_source_npy.records(reader) == 3 && get(reader, 2, sizeof value, value, NULL) &&
              value[0] == 5 && value[1] == 6,
          "%s", literal);
    CHECK(flow_source_npy.point(reader, &first), "%s is copied", literal);
    flow_source_npy.close(reader);
}

static void reads_every_header(void) {
    for (int version = 1; version <= 3; version++)
        reads_literal(version, literal_of("<f4", "(3, 2)"));
    reads_literal(1, "{'shape': (3L, 2L), 'fortran_order': False, 'descr': '<f4'}");
    reads_literal(1, "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(3,2)}");
    reads_literal(1, "{ 'descr' : '=f4' , 'fortran_order' : False , 'shape' : ( 3 , 2 , ) , }");
}

/* Elements that lie at odd places are copied. */
static void reads_misaligned(void) {
    static const char literal[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,2), }\n";
    static const double values[] = {1.5, -2.5, 3.5, 4.5};
    FlowReader *reader;
    double value[2];
    const void *first;
    size_t length = sizeof literal - 1;
    memcpy(file, "\x93NUMPY\1\0", 8);
    file[8] = (char)length, file[9] = 0;
    memcpy(file + 10, literal, length);
    memcpy(file + 10 + length, values, sizeof values);
    write_test_file("a.npy", file, 10 + length + sizeof values);
    FlowStatus status = open_as("a.npy", (FlowType){FLOW_f64, 1, {2}}, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(!flow_source_npy.point(reader, &first), "at %zu", (10 + length) % 8);
    CHECK(get(reader, 1, sizeof value, value, NULL) && value[0] == 3.5, "%g", value[0]);
    flow_source_npy.close(reader);
}

/* Labels of another type than their field's are held as it is, beside what lies as it should. */
static void points_at_labels(void) {
    static const float inputs[] = {1, 2, 3, 4, 5, 6};
    static const unsigned char labels[] = {7, 0, 255};
    FlowField fields[] = {{.name = "x", .path = "a.npy", .type = {FLOW_f32, 1, {2}}},
                          {.name = "y", .path = "b.npy", .type = {.element = FLOW_i32}}};
    FlowReader *reader;
    const void *firsts[2];
    write_array("a.npy", literal_of("<f4", "(3, 2)"), inputs, sizeof inputs);
    write_array("b.npy", literal_of("|u1", "(3,)"), labels, sizeof labels);
    for (size_t room = 0; room <= 64; room += 64) { /* 12 bytes are much of 64 */
        holdings_limit(room ? holdings_sum() + room : 0);
        FlowStatus status = flow_source_npy.open(fields, 2, NULL, &reader);
        CHECK(!status.exit, "%s", status.text);
        if (status.exit) return;
        bool points = flow_source_npy.point(reader, firsts);
        CHECK(points == !room, "of %zu bytes", room);
        if (points)
            CHECK(((const int32_t *)firsts[1])[2] == 255 && ((const float *)firsts[0])[5] == 6,
                  "%d", ((const int32_t *)firsts[1])[2]);
        flow_source_npy.close(reader);
    }
    holdings_limit(0);
}

/* What is refused. */

static void refuses_as(FlowType type, const char *says) {
    FlowReader *reader;
    FlowStatus status = open_as("b.npy", type, &reader);
    CHECK(status.exit == FLOW_EXIT_data, "exit %d: %s", (int)status.exit, says);
    CHECK_SAYS(status.text, says);
    if (!status.exit) flow_source_npy.close(reader);
}

static void refuses(const char *literal, size_t size, const char *says) {
    static const char zeros[64];
    write_array("b.npy", literal, zeros, size);
    refuses_as((FlowType){FLOW_f32, 1, {2}}, says);
}

static void refuses_types(void) {
    refuses(literal_of("|O", "(1, 2)"), 0, "b.npy: its elements are Python objects");
    refuses(literal_of("<U10", "(1, 2)"), 64, "b.npy: its elements are texts");
    refuses(literal_of("|S8", "(1, 2)"), 16, "b.npy: its elements are texts");
    refuses(literal_of("<c8", "(1, 2)"), 16, "b.npy: its elements are complex");
    refuses(literal_of("<M8[ns]", "(1, 2)"), 16, "b.npy: its elements are times");
    refuses(literal_of("<f16", "(1, 2)"), 32, "of a type that is not known here");
    refuses(literal_of("<f4x", "(1, 2)"), 8, "of a type that is not known here");
    refuses(literal_of("", "(1, 2)"), 8, "of a type that is not known here");
    refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2), }", 8,
            "its elements are records (a structured dtype)");
    refuses(literal_of("<f8", "(1, 2)"), 16,
            "records are f64[2], the program expects f32[2]; `x |> : f64[2] |> cast(f32)`");
    refuses(literal_of("<u4", "(1, 2)"), 8,
            "records are u32[2], the program expects f32[2]; `x |> : i64[2] |> cast(f32)`");
    refuses(literal_of("<V2", "(1, 2)"), 4, "records are bf16[2], the program expects f32[2]");
}

static void refuses_shapes(void) {
    refuses(literal_of("<f4", "(1, 3)"), 12, "records are f32[3], the program expects f32[2]");
    refuses(literal_of("<f4", "(4,)"), 16, "records are f32, the program expects f32[2]");
    refuses(literal_of("<f4", "()"), 4, "is one number; its first axis has to count the records");
    refuses(literal_of("<f4", "(0, 2)"), 0, "b.npy: has no records");
    refuses(literal_of("<f4", "(1, 2)"), 7, "it declares more data than it holds");
    refuses(literal_of("<f4", "(1, 2)"), 9, "it holds more data than its header declares");
    refuses(literal_of("<f4", "(4294967296, 4294967296, 2)"), 8, "declares more data than it");
    refuses(literal_of("<f4", "(2305843009213693952, 2)"), 8, "declares more data than it holds");
    refuses(literal_of("<f4", "(99999999999999999999, 2)"), 8, "a size of its shape is too large");
    refuses(literal_of("<f4", "(-1, 2)"), 8, "its shape is damaged");
    refuses(literal_of("<f4", "(1 2)"), 8, "its shape is damaged");
    refuses(literal_of("<f4", "(1, 2"), 8, "its shape is damaged");
    refuses(literal_of("<f4", "[1, 2]"), 8, "its shape is damaged");
    refuses(literal_of("<f4", "(1,1,1,1,1,1,1,1,1,2)"), 8, "it has more than 9 axes");
    refuses("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 8,
            "is stored by columns (fortran_order), so that no record lies in one piece; save "
            "numpy.ascontiguousarray(x)");
}

static void refuses_headers(void) {
    refuses("{'descr': '<f4', 'shape': (1, 2), }", 8, "its header is damaged");
    refuses("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", 8,
            "its header is damaged");
    refuses("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, 2), }", 8,
            "its header is damaged");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), 'more': 1}", 8,
            "its header is damaged");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)} + {}", 8,
            "its header is damaged");
    refuses("", 8, "its header is damaged");
    static const char padding[(1 << 16) + 16] = "";
    make_npy(file, 4, literal_of("<f4", "(1, 2)"), padding, 8);
    write_test_file("b.npy", file, 200);
    refuses_as((FlowType){FLOW_f32, 1, {2}}, "its version is none of 1, 2 and 3");
    make_npy(file, 2, literal_of("<f4", "(1, 2)"), padding, sizeof padding);
    memcpy(file + 8, "\xff\xff\xff\x7f", 4);
    write_test_file("b.npy", file, 1 << 16);
    refuses_as((FlowType){FLOW_f32, 1, {2}}, "its header has more than 64 KiB");
    write_test_file("b.npy", "1,2\n3,4\n5,6\n", 12);
    refuses_as((FlowType){FLOW_f32, 1, {2}}, "it is no .npy file");
}

/* A number that its field can't hold is told when its record is made. */
static void refuses_values(void) {
    static const int64_t values[] = {7, 5000000000, -1};
    FlowReader *reader;
    int32_t value;
    FlowStatus failure = flow_ok;
    write_array("b.npy", literal_of("<i8", "(3,)"), values, sizeof values);
    FlowStatus status = open_as("b.npy", (FlowType){.element = FLOW_i32}, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(get(reader, 0, sizeof value, &value, &failure) && value == 7, "%d", value);
    CHECK(!get(reader, 1, sizeof value, &value, &failure), "%d", value);
    CHECK_SAYS(failure.text, "b.npy: record 1: 5000000000 is no i32");
    CHECK(!get(reader, 1, sizeof value, &value, NULL), "%d", value);
    flow_source_npy.close(reader);
}

static void refuses_other_lengths(void) {
    static const float values[6] = {0};
    FlowField fields[] = {{.name = "x", .path = "a.npy", .type = {.element = FLOW_f32}},
                          {.name = "y", .path = "b.npy", .type = {.element = FLOW_f32}}};
    FlowReader *reader;
    write_array("a.npy", literal_of("<f4", "(6,)"), values, 24);
    write_array("b.npy", literal_of("<f4", "(5,)"), values, 20);
    FlowStatus status = flow_source_npy.open(fields, 2, NULL, &reader);
    CHECK_SAYS(status.text, "a.npy has 6 records, but b.npy has 5");
    fields[1].path = "none.npy";
    status = flow_source_npy.open(fields, 2, NULL, &reader);
    CHECK_SAYS(status.text, "none.npy: cannot be read: No such file");
    fields[1].path = "/dev/null";
    status = flow_source_npy.open(fields, 2, NULL, &reader);
    CHECK_SAYS(status.text, "/dev/null: is not a regular file");
}

/* A file cut off anywhere is refused; a byte that is damaged is, or else changes a value. */
static void refuses_damage(void) {
    static const unsigned char marks[] = {0, 0x7f, 0x80, 0xff};
    static const float values[] = {1, 2, 3, 4};
    FlowReader *reader;
    const char *literal = literal_of("<f4", "(2, 2)");
    size_t size = make_npy(file, 1, literal, values, sizeof values);
    FlowType type = {FLOW_f32, 1, {2}};
    for (size_t cut = 0; cut < size; cut++) {
        FlowStatus status = open_as(memory_file(file, cut), type, &reader);
        CHECK(status.exit == FLOW_EXIT_data, "%zu bytes were taken", cut);
        if (!status.exit) flow_source_npy.close(reader);
    }
    for (size_t at = 0; at < size; at++)
        for (size_t i = 0; i < sizeof marks; i++) {
            float value[2];
            make_npy(file, 1, literal, values, sizeof values);
            file[at] = (char)marks[i];
            if (open_as(memory_file(file, size), type, &reader).exit) continue;
            CHECK(get(reader, 1, sizeof value, value, NULL), "byte %zu", at);
            flow_source_npy.close(reader);
        }
}

int main(void) {
    test_folder();
    reads_every_element();
    reads_every_header();
    reads_misaligned();
    points_at_labels();
    refuses_types();
    refuses_shapes();
    refuses_headers();
    refuses_values();
    refuses_other_lengths();
    refuses_damage();
    test_folder_remove();
    return test_result();
}
