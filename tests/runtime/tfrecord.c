/* tfrecord: features of every kind, and clear errors for truncation, damage and wrong types. */
#include "runtime/flow.h"
#include "tests/runtime/category.h"
#include "tests/runtime/examples.h"
#include "tests/runtime/test.h"

static const char *const kinds[] = {"cat", "dog"};

static void has_sums(void) {
    unsigned char bytes[100];
    CHECK(crc32c("123456789", 9) == 0xe3069283u, "%08x", crc32c("123456789", 9));
    CHECK(crc32c_by_table(0, "123456789", 9) == 0xe3069283u, "by table");
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 37);
    for (size_t i = 0; i < sizeof bytes; i++)
        CHECK(crc32c(bytes + i % 8, i - i % 8) == crc32c_by_table(0, bytes + i % 8, i - i % 8),
              "%zu", i);
    const uint32_t all = crc32c(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        const uint32_t part = crc32c(bytes, i);
        CHECK(crc32c_add(part, bytes + i, sizeof bytes - i) == all, "in parts, %zu", i);
        CHECK(crc32c_by_table(part, bytes + i, sizeof bytes - i) == all, "by table, %zu", i);
    }
}

/* All but the last feature are as TensorFlow writes them when packed. */
static void add_record(Bytes *file, int number, int packed) {
    Bytes features = {.size = 0};
    add_integers(&features, "label", (int64_t[]){number}, 1, packed);
    add_integers(&features, "pair", (int64_t[]){-number, 1ll << 53 | 1}, 2, packed);
    add_floats(&features, "x", (float[]){(float)number, 0.5f, -1e9f}, 3, packed);
    add_text(&features, "kind", kinds[number % 2], 3);
    add_text(&features, "digits", "42", 2);
    add_example(file, &features);
}

enum { FIELDS = 6 };

typedef struct Values {
    int32_t label;
    int64_t pair[2];
    float x[3];
    int32_t kind;
    uint8_t raw[3];
    int16_t digits;
} Values;

static FlowField field(const char *name, FlowElement element, int64_t size) {
    FlowField field = {.name = name, .path = "a-*.tfrecord", .type = {.element = element}};
    field.type.rank = size > 0;
    field.type.sizes[0] = size;
    return field;
}

static void describe(FlowField *fields) {
    fields[0] = field("label", FLOW_i32, 0);
    fields[1] = field("pair", FLOW_i64, 2);
    fields[2] = field("x", FLOW_f32, 3);
    fields[3] = with_categories(field("kind", FLOW_i32, 0), kinds, 2);
    fields[4] = field("kind", FLOW_u8, 3);
    fields[5] = field("digits", FLOW_u8, 0);
    fields[5].digits = true;
}

static bool make(const FlowReader *reader, int64_t record, Values *values, FlowStatus *failure) {
    void *places[] = {&values->label, values->pair, values->x,
                      &values->kind,  values->raw,  &values->digits};
    return flow_source_tfrecord.make(reader, record, places, failure);
}

static void expect_record(const FlowReader *reader, int64_t record, int number) {
    Values values = {0};
    FlowStatus failure = flow_ok;
    CHECK(make(reader, record, &values, &failure), "record %d: %s", number, failure.text);
    CHECK(values.label == number && values.pair[0] == -number && values.pair[1] == 9007199254740993,
          "record %d: %d, %lld", number, values.label, (long long)values.pair[1]);
    CHECK(values.x[0] == (float)number && values.x[2] == -1e9f, "record %d: %g", number,
          (double)values.x[0]);
    CHECK(values.kind == number % 2 && !memcmp(values.raw, kinds[number % 2], 3), "record %d",
          number);
    CHECK(*(uint8_t *)&values.digits == 42, "record %d", number);
}

static void reads_shards(void) {
    FlowField fields[FIELDS];
    FlowReader *reader;
    Bytes file = {.size = 0};
    for (int i = 0; i < 3; i++) add_record(&file, i, i % 2);
    write_test_file("a-0.tfrecord", file.at, file.size);
    write_test_file("a-1.tfrecord", "", 0);
    file.size = 0;
    add_record(&file, 3, 1);
    write_test_file("a-2.tfrecord", file.at, file.size);
    write_test_file("a-3.tfrecord", "", 0);
    describe(fields);
    FlowStatus status = flow_source_tfrecord.open(fields, FIELDS, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_tfrecord.records(reader) == 4, "%d",
          (int)flow_source_tfrecord.records(reader));
    for (int i = 4; i-- > 0;) expect_record(reader, i, i);
    flow_source_tfrecord.close(reader);
}

/* The first failure of opening and then making every record; flow_ok: there is none. */
static FlowStatus try(const void *bytes, size_t size, const FlowField *fields, int count) {
    FlowReader *reader;
    double values[FIELDS][8];
    void *places[FIELDS];
    FlowField here[FIELDS];
    write_test_file("b.tfrecord", bytes, size);
    for (int i = 0; i < count; i++) {
        here[i] = fields[i];
        here[i].path = "b.tfrecord";
        places[i] = values[i];
    }
    FlowStatus status = flow_source_tfrecord.open(here, count, NULL, &reader);
    if (status.exit) return status;
    bool good = true;
    for (int64_t i = 0; good && i < flow_source_tfrecord.records(reader); i++)
        good = flow_source_tfrecord.make(reader, i, places, &status);
    flow_source_tfrecord.close(reader);
    return status;
}

static void refuses(const Bytes *file, FlowField wanted, const char *says) {
    FlowStatus status = try(file->at, file->size, &wanted, 1);
    CHECK(status.exit == FLOW_EXIT_data, "%s: exit %d", says, (int)status.exit);
    CHECK_SAYS(status.text, says);
}

static void refuses_other_types(void) {
    Bytes file = {.size = 0};
    FlowField digits = field("kind", FLOW_i32, 0), filled = field("z", FLOW_u8, 0);
    add_record(&file, 7, 1);
    refuses(&file, field("label", FLOW_i32, 2),
            "b.tfrecord: record 0: label: has 1 number, the program expects i32[2]");
    refuses(&file, field("x", FLOW_f32, 2), "x: has 3 numbers, the program expects f32[2]");
    refuses(&file, field("pair", FLOW_f32, 0), "pair: has 2 numbers");
    refuses(&file, field("pair", FLOW_i32, 2), "pair: 9007199254740993 is no i32");
    refuses(&file, field("pair", FLOW_u8, 2), "pair: -7 is no u8");
    refuses(&file, field("x", FLOW_i32, 3), "x: 0.5 is no i32");
    refuses(&file, field("label", FLOW_bool, 0), "label: 7 is no bool");
    refuses(&file, field("kind", FLOW_f32, 0), "kind: holds bytes, the program expects f32");
    refuses(&file, field("kind", FLOW_u8, 4), "kind: has 3 bytes, the program expects u8[4]");
    refuses(&file, field("kind", FLOW_bool, 3), "kind: a byte is 100, the program expects bool");
    refuses(&file, field("y", FLOW_u8, 0),
            "y: there is no such feature; its features are label, pair, x, kind, digits");
    filled.fills = digits.digits = true;
    filled.filling = 256;
    refuses(&file, filled, "z: is missing, and 256 is no u8");
    refuses(&file, digits, "kind: `dog` is no whole number");
    digits.name = "x";
    refuses(&file, digits, "x: holds numbers, the program takes bytes");
    file.size = 0;
    refuses(&file, digits, "b.tfrecord: has no records");
}

static void fills_what_is_missing(void) {
    Bytes file = {.size = 0}, features = {.size = 0};
    FlowReader *reader;
    float values[2] = {0};
    FlowField z = field("z", FLOW_f32, 2);
    z.path = "b.tfrecord";
    z.fills = true;
    z.filling = -1.5;
    add_floats(&features, "z", NULL, 0, 0);
    add_example(&file, &features);
    write_test_file("b.tfrecord", file.at, file.size);
    if (flow_source_tfrecord.open(&z, 1, NULL, &reader).exit) exit(99);
    CHECK(flow_source_tfrecord.make(reader, 0, (void *const[]){values}, NULL), "an empty list");
    CHECK(values[0] == -1.5f && values[1] == -1.5f, "%g", (double)values[1]);
    flow_source_tfrecord.close(reader);
}

static void refuses_truncation(void) {
    FlowField fields[FIELDS];
    Bytes file = {.size = 0};
    describe(fields);
    add_record(&file, 0, 1);
    size_t first = file.size;
    add_record(&file, 1, 1);
    for (size_t size = 0; size < file.size; size++) {
        FlowStatus status = try(file.at, size, fields, FIELDS);
        if (size == first) continue; /* one whole record */
        CHECK(status.exit == FLOW_EXIT_data, "%zu bytes were taken", size);
        CHECK_SAYS(status.text, size ? "it is truncated" : "has no records");
    }
}

/* Nothing but the sums themselves could hide a change. */
static void refuses_damage(void) {
    FlowField fields[FIELDS];
    Bytes file = {.size = 0};
    describe(fields);
    add_record(&file, 0, 1);
    for (size_t i = 0; i < file.size; i++) {
        file.at[i] ^= 0x55;
        FlowStatus status = try(file.at, file.size, fields, FIELDS);
        CHECK(status.exit == FLOW_EXIT_data, "byte %zu", i);
        CHECK_SAYS(status.text, i < 12 ? "sum of the length is wrong" : "its sum is wrong");
        file.at[i] ^= 0x55;
    }
}

static void refuses_lengths(void) {
    static const uint64_t lengths[] = {101, 116, UINT64_MAX, UINT64_MAX - 15, 1ull << 63};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        Bytes file = {.size = 0};
        uint32_t sum = masked_sum(&lengths[i], 8);
        add_bytes(&file, &lengths[i], 8);
        add_bytes(&file, &sum, 4);
        file.size += 100 + 4;
        refuses(&file, field("x", FLOW_f32, 0), "record 0: the file ends within the record");
    }
}

/* Sums are right, messages are not: an error or some values, within bounds. */
static void survives_wrong_messages(void) {
    static const unsigned char marks[] = {0x00, 0x7f, 0x80, 0xff};
    FlowField fields[FIELDS];
    Bytes good = {.size = 0};
    int failed = 0;
    describe(fields);
    add_record(&good, 1, 0);
    size_t length = good.size - 16;
    for (size_t i = 0; i < length; i++)
        for (size_t mark = 0; mark < sizeof marks; mark++) {
            Bytes record = {.size = 0}, file = {.size = 0};
            add_bytes(&record, good.at + 12, length);
            record.at[i] = marks[mark];
            add_frame(&file, record.at, length);
            failed += try(file.at, file.size, fields, FIELDS).exit != 0;
        }
    CHECK(failed > (int)length, "%d failed", failed);
    Bytes file = {.size = 0};
    add_frame(&file, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11);
    refuses(&file, fields[0], "b.tfrecord: record 0: is no tf.train.Example");
    file.size = 0;
    add_frame(&file, "", 0);
    refuses(&file, fields[0], "label: there is no such feature");
}

/* A record beyond 32 bits, of a file with holes. Only its length is read. */
static void reads_large_files(void) {
    FlowReader *reader;
    uint64_t length = 5ull << 30;
    uint32_t sum = masked_sum(&length, sizeof length);
    Bytes last = {.size = 0};
    add_record(&last, 7, 1);
    FILE *out = fopen("a-9.tfrecord", "wb");
    if (!out || fwrite(&length, 8, 1, out) != 1 || fwrite(&sum, 4, 1, out) != 1 ||
        fseek(out, (long)length + 4, SEEK_CUR) || fwrite(last.at, last.size, 1, out) != 1 ||
        fclose(out))
        exit(99);
    FlowField fields[FIELDS];
    describe(fields);
    for (int i = 0; i < FIELDS; i++) fields[i].path = "a-9.tfrecord";
    FlowStatus status = flow_source_tfrecord.open(fields, FIELDS, NULL, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_tfrecord.records(reader) == 2, "%d",
          (int)flow_source_tfrecord.records(reader));
    expect_record(reader, 1, 7);
    flow_source_tfrecord.close(reader);
}

int main(void) {
    test_folder();
    has_sums();
    reads_shards();
    refuses_other_types();
    fills_what_is_missing();
    refuses_truncation();
    refuses_damage();
    refuses_lengths();
    survives_wrong_messages();
    reads_large_files();
    test_folder_remove();
    return test_result();
}
