/* csv: cells of every kind, and clear errors that name file, line and column. */
#include "runtime/flow.h"
#include "tests/runtime/category.h"
#include "tests/runtime/test.h"

#include <math.h>
#include <string.h>

enum { LIMIT = 8 };

static const char *const colours[] = {"red", "green, or so", ""};

static FlowSourceArguments arguments;

static FlowStatus open_text(const char *text, const FlowField *fields, int count, bool header,
                            FlowReader **reader) {
    write_test_file("table.csv", text, strlen(text));
    arguments.header = header;
    return flow_source_csv.open(fields, count, &arguments, reader);
}

/* Twice: the second time from what was kept. */
static bool make(const FlowReader *reader, int64_t record, void *value, FlowStatus *status) {
    bool first = flow_source_csv.make(reader, record, &value, status);
    return flow_source_csv.make(reader, record, &value, status) && first;
}

static FlowField field(const char *name, FlowElement element) {
    return (FlowField){.name = name, .path = "table.csv", .type = {.element = element}};
}

static void reads(const char *text, FlowField wanted, bool header, int count,
                  const double *expected) {
    FlowReader *reader;
    double value;
    FlowStatus status = open_text(text, &wanted, 1, header, &reader);
    CHECK(!status.exit, "%s: %s", text, status.text);
    if (status.exit) return;
    CHECK(flow_source_csv.records(reader) == count, "%s: %d records", text,
          (int)flow_source_csv.records(reader));
    for (int i = 0; i < count && i < flow_source_csv.records(reader); i++) {
        bool good = make(reader, i, &value, &status);
        CHECK(good, "%s: %s", text, status.text);
        CHECK(!good || value == expected[i] || (isnan(value) && isnan(expected[i])),
              "%s: record %d is %g", text, i, value);
    }
    flow_source_csv.close(reader);
}

/* When it is opened, or one of its records. */
static void refuses(const char *text, FlowField wanted, bool header, const char *says) {
    FlowReader *reader;
    double value;
    FlowStatus status = open_text(text, &wanted, 1, header, &reader);
    if (!status.exit) {
        for (int64_t i = 0; i < flow_source_csv.records(reader) && !status.exit; i++)
            make(reader, i, &value, &status);
        flow_source_csv.close(reader);
    }
    CHECK(status.exit == FLOW_EXIT_data, "%s: exit %d", text, (int)status.exit);
    CHECK_SAYS(status.text, says);
}

static void reads_cells(void) {
    FlowField x = field("x", FLOW_f64);
    reads("x\n1\n2.5\n-3e2\n", x, true, 3, (double[]){1, 2.5, -300});
    reads("x\r\n1\r\n2", x, true, 2, (double[]){1, 2});
    reads("a,x\n\"1,\"\"\n\",\"7\"\n\n2, 8 \n", x, true, 2, (double[]){7, 8});
    reads("\xef\xbb\xbfx\n4\n", x, true, 1, (double[]){4});
    reads("\"x\",y\n4,\n", x, true, 1, (double[]){4});
    reads("\"5\"\"\",1\n6,2\n", field("1", FLOW_f64), false, 2, (double[]){1, 2});
    x.fills = true;
    x.filling = 9;
    reads("x,y\n,1\n1,1\n  ,1\n", x, true, 3, (double[]){9, 1, 9});
    FlowField colour = with_categories(field("colour", FLOW_f64), colours, 3);
    reads("colour,y\n\"green, or so\",1\nred,2\n,3\n", colour, true, 3, (double[]){1, 0, 2});
}

static void reads_forms(void) {
    static const char *const texts[] = {"NA", "-1"};
    FlowField x = field("x", FLOW_f64);
    reads("x\ninf\n-Infinity\n+nan\n", x, true, 3, (double[]){INFINITY, -INFINITY, NAN});
    reads("x\n\n\r\n1\n\n", x, true, 1, (double[]){1});
    reads("y,x\n5\",1\na\"b\"\"c,2\n\"\"\"\",3\n", x, true, 3, (double[]){1, 2, 3});
    x.fills = true;
    x.filling = 9;
    arguments = (FlowSourceArguments){
        .separator = '\t', .comment = '#', .missing = texts, .missing_count = 2};
    reads("#\"\n\n#\ny\tx\n1\t2\n#3\t4\n1,\tNA\n1\t-1\n", x, true, 3, (double[]){2, 9, 9});
    arguments = (FlowSourceArguments){0};
}

/* Rows and lines that are longer than what is looked at in one go, and quotes anywhere in them. */
static void reads_long_tables(void) {
    enum { COLUMNS = 1000, ROWS = 3000 };
    static char text[COLUMNS * 40];
    static double values[COLUMNS];
    void *outputs[] = {values};
    FlowReader *reader;
    FlowStatus status;
    FlowField all = field("0", FLOW_f64), last = field("1", FLOW_f64);
    char *end = text;
    all.type = (FlowType){FLOW_f64, 1, {COLUMNS}};
    for (int i = 0; i < COLUMNS; i++)
        end += sprintf(end, i % 7 ? "%s%d" : "%s\"%d\"", i ? "," : "", i);
    status = open_text(text, &all, 1, false, &reader);
    CHECK(!status.exit && flow_source_csv.make(reader, 0, outputs, &status), "%s", status.text);
    for (int i = 0; i < COLUMNS; i++) CHECK(values[i] == i, "column %d is %g", i, values[i]);
    if (reader) flow_source_csv.close(reader);
    end = text;
    for (int i = 0; i < ROWS; i++)
        end += sprintf(end, i % 9 ? "a\"%.*s,%d\n" : "\"\n\"\"%.*s\",%d\n", i % 7, "bcdefgh", i);
    sprintf(end, ",x\n");
    status = open_text(text, &last, 1, false, &reader);
    CHECK(!status.exit && flow_source_csv.records(reader) == ROWS + 1, "%s", status.text);
    for (int i = 0; i < ROWS; i++)
        CHECK(flow_source_csv.make(reader, i, outputs, NULL) && *values == i, "row %d", i);
    CHECK(!flow_source_csv.make(reader, ROWS, outputs, &status), "the last row is no number");
    CHECK_SAYS(status.text, "table.csv: line 3335: `1` is `x`");
    flow_source_csv.close(reader);
}

/* A number of eight characters at most; many of the whole ones lie half way between two f32. */
static int write_short(char *text, uint32_t chance) {
    int places = (int)(chance % 9), whole = (int)(chance >> 4 & 0x7ffffff) % 100000000;
    if (places == 8) return sprintf(text, "%s%d", chance >> 31 ? "-" : "", whole | 1);
    int size = sprintf(text, "%s%d.%d", chance >> 31 ? "-" : "", whole % 10000, whole / 10000);
    return size - (chance >> 31) > 8 ? (int)(chance >> 31) + 8 : size;
}

/* As strtof reads them: rows that are short are read at once. */
static void reads_short_numbers(void) {
    enum { COLUMNS = 12, ROWS = 20000 };
    static char text[ROWS * COLUMNS * 11];
    static float expected[ROWS][COLUMNS], values[COLUMNS];
    FlowField all = field("0", FLOW_f32);
    FlowReader *reader;
    char *end = text;
    uint32_t chance = 1;
    all.type = (FlowType){FLOW_f32, 1, {COLUMNS}};
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        chance = chance * 1664525 + 1013904223;
        char *number = end;
        end += write_short(end, chance ^ chance >> 15);
        *end = 0;
        expected[i / COLUMNS][i % COLUMNS] = strtof(number, NULL);
        *end++ = (i + 1) % COLUMNS ? ',' : '\n';
    }
    FlowStatus status = open_text(text, &all, 1, false, &reader);
    CHECK(!status.exit, "%s", status.text);
    for (int i = 0; i < ROWS && !status.exit; i++) {
        CHECK(flow_source_csv.make(reader, i, (void *[]){values}, &status), "%s", status.text);
        CHECK(!memcmp(values, expected[i], sizeof values), "row %d", i);
    }
    if (reader) flow_source_csv.close(reader);
}

/* One cell as several fields; what is wrong in a row that is short. */
static void reads_short_rows(void) {
    static const char *const wrong[] = {"1.2.3", "1-2", "-", ".", "-.", "--1", "1:2", "1 2"};
    const char *rest = "\n-100000,another\n-200000,another\n-300000,another\n-400000,another"
                       "\n-500000,another\n-600000,another\n-700000,another\n-800000,another\n";
    FlowField fields[] = {field("0", FLOW_f32), field("0", FLOW_i32), field("0", FLOW_f32)};
    char text[512];
    float first, again;
    int32_t whole;
    FlowReader *reader;
    snprintf(text, sizeof text, "-7,a%s", rest);
    FlowStatus status = open_text(text, fields, 3, false, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    void *values[] = {&first, &whole, &again};
    CHECK(flow_source_csv.make(reader, 0, values, &status), "%s", status.text);
    CHECK(first == -7 && whole == -7 && again == -7, "%g, %d, %g", first, (int)whole, again);
    flow_source_csv.close(reader);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char says[64];
        snprintf(text, sizeof text, "%s,a%s", wrong[i], rest);
        snprintf(says, sizeof says, "line 1: `0` is `%s`", wrong[i]);
        refuses(text, fields[0], false, says);
    }
}

/* Half of what is looked at at once is cells' ends. */
static void reads_empty_cells(void) {
    enum { COLUMNS = 63, ROWS = 3 };
    char text[ROWS * (COLUMNS + 1) + 1], *end = text;
    for (int i = 0; i < ROWS; i++, end += COLUMNS + 1) {
        memset(end, ',', COLUMNS - 1);
        memcpy(end + COLUMNS - 1, "\r\n", sizeof "\r\n");
    }
    refuses(text, field("0", FLOW_f32), false, "line 1: `0` is missing");
    refuses(text, field("62", FLOW_f32), false, "line 1: `62` is missing");
}

static void reads_elements(void) {
    FlowField fields[] = {field("big", FLOW_i64), field("yes", FLOW_bool), field("byte", FLOW_u8)};
    FlowReader *reader;
    int64_t big;
    uint8_t yes, byte;
    void *values[] = {&big, &yes, &byte};
    FlowStatus status =
        open_text("byte,big,yes\n255,9007199254740993,True\n41.0,-7,0\n", fields, 3, true, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_csv.make(reader, 0, values, NULL), "the first record is good");
    CHECK(big == 9007199254740993 && yes == 1 && byte == 255, "%lld", (long long)big);
    CHECK(flow_source_csv.make(reader, 1, values, NULL), "the second record is good");
    CHECK(big == -7 && yes == 0 && byte == 41, "%lld", (long long)big);
    flow_source_csv.close(reader);
}

static void refuses_what_is_wrong(void) {
    FlowField x = field("x", FLOW_f64), byte = field("x", FLOW_u8);
    FlowField colour = with_categories(field("x", FLOW_i32), colours, 2);
    refuses("", x, true, "table.csv: is empty");
    refuses("x\n", x, true, "table.csv: has no records");
    refuses("rooms,y\n1,2\n", field("room", FLOW_f32), true,
            "has no column `room`; did you mean `rooms`?");
    refuses("alpha,beta\n1,2\n", x, true, "has no column `x`; its columns are alpha, beta");
    refuses("x,y,x\n1,2,3\n", x, true, "its columns 1 and 3 are both called `x`");
    refuses("1,2\n", field("2", FLOW_f32), false, "has no column 2: it has 2");
    refuses("x,y\n1,2\n\n3\n", x, true, "line 4: has 1 cell, the first line 2");
    refuses("x,y\n1,2\n,3\n", x, true, "line 3: `x` is missing; `missing(x, 0)` takes 0");
    refuses("x\n0x10\n", x, true, "line 2: `x` is `0x10`, the program expects f64");
    refuses("x\nnan\n", byte, true, "line 2: `x` is `nan`");
    refuses("x\n1e999\n", x, true, "line 2: `x` is `1e999`, the program expects f64");
    refuses("x\n-1e39\n", field("x", FLOW_f32), true, "line 2: `x` is `-1e39`");
    refuses("x\n256\n", byte, true, "line 2: `x` is `256`, the program expects u8");
    refuses("x\n\n1.5\n", byte, true, "line 3: `x` is `1.5`");
    refuses("x\n\"a\nb\"\n1\n", x, true, "line 2: `x` is `a?b`");
    refuses("x\nblue\n", colour, true, "line 2: `x` is `blue`, none of its 2 categories");
    refuses("x,y\n1,\"\n", x, true, "line 2: its last cell has a quote that is not closed");
    refuses("x\n\"1\n", x, true, "line 2: `x` has a quote that is not closed");
    refuses("x\n\"1\"2\n", x, true, "line 2: `x` has something between its closing quote");
}

int main(void) {
    test_folder();
    reads_cells();
    reads_elements();
    reads_short_numbers();
    reads_short_rows();
    reads_empty_cells();
    reads_forms();
    reads_long_tables();
    refuses_what_is_wrong();
    test_folder_remove();
    return test_result();
}
