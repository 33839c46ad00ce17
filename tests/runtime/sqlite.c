/* sqlite: cells of every kind, queries that may only read, logs, and clear errors for wrong
 * files. */
#include "runtime/interrupt.h"
#include "runtime/flow.h"
#include "tests/runtime/category.h"
#include "tests/runtime/test.h"

#include <sqlite3.h>
#include <sys/stat.h>

static const char *const kinds[] = {"cat", "dog"};

static void run(const char *path, const char *commands) {
    sqlite3 *base;
    char *wrong = NULL;
    if (sqlite3_open(path, &base)) exit(99);
    sqlite3_exec(base, "pragma synchronous = off", NULL, NULL, NULL);
    if (sqlite3_exec(base, commands, NULL, NULL, &wrong)) printf("%s\n", wrong), exit(99);
    sqlite3_close(base);
}

static FlowField field(const char *name, FlowElement element, int64_t size) {
    FlowField field = {.name = name, .path = "a.db", .type = {.element = element}};
    field.type.rank = size > 0;
    field.type.sizes[0] = size;
    return field;
}

static FlowStatus open_query(const char *query, const FlowField *fields, int count,
                             FlowReader **reader) {
    FlowSourceArguments arguments = {.query = query};
    return flow_source_sqlite.open(fields, count, &arguments, reader);
}

/* The first failure of opening and then making every record; flow_ok: there is none. */
static FlowStatus try(const char *query, FlowField wanted, int64_t *records) {
    FlowReader *reader;
    double value[8];
    *records = 0;
    FlowStatus status = open_query(query, &wanted, 1, &reader);
    if (status.exit) return status;
    bool good = true;
    for (int64_t i = 0; good && i < flow_source_sqlite.records(reader); i++)
        good = flow_source_sqlite.make(reader, i, (void *const[]){value}, &status);
    *records = flow_source_sqlite.records(reader);
    flow_source_sqlite.close(reader);
    return status;
}

static void refuses(const char *query, FlowField wanted, const char *says) {
    int64_t records;
    FlowStatus status = try(query, wanted, &records);
    CHECK(status.exit == FLOW_EXIT_data, "%s: exit %d", query, (int)status.exit);
    CHECK_SAYS(status.text, says);
}

static void reads_cells(void) {
    FlowField fields[] = {field("id", FLOW_i64, 0),   field("age", FLOW_f32, 0),
                          field("kind", FLOW_i32, 0), field("v", FLOW_f32, 2),
                          field("v", FLOW_u8, 8),     field("note", FLOW_u8, 0)};
    struct {
        int64_t id;
        float age, v[2];
        int32_t kind;
        uint8_t raw[8], note;
    } row;
    void *const values[] = {&row.id, &row.age, &row.kind, row.v, row.raw, &row.note};
    FlowReader *reader;
    FlowStatus failure = flow_ok;
    fields[1].fills = true;
    fields[1].filling = -2;
    fields[2] = with_categories(fields[2], kinds, 2);
    fields[5].digits = true;
    FlowStatus status = open_query("select * from t order by id;  -- all", fields, 6, &reader);
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return;
    CHECK(flow_source_sqlite.records(reader) == 2, "%d", (int)flow_source_sqlite.records(reader));
    CHECK(flow_source_sqlite.make(reader, 1, values, &failure), "%s", failure.text);
    CHECK(row.id == 9007199254740993 && row.age == -2 && row.kind == 1 && row.note == 7,
          "record 1");
    CHECK(flow_source_sqlite.make(reader, 0, values, &failure), "%s", failure.text);
    CHECK(row.id == -1 && row.age == 1.5f && row.kind == 0 && row.note == 42, "record 0");
    CHECK(row.v[0] == 1 && row.v[1] == 2 && !memcmp(row.raw, row.v, 8), "bytes are elements");
    flow_source_sqlite.close(reader);
}

static void refuses_other_types(void) {
    FlowField kind = with_categories(field("kind", FLOW_i32, 0), kinds, 1);
    FlowField digits = field("note", FLOW_i32, 0);
    digits.digits = true;
    refuses("select id from t", field("id", FLOW_i32, 0),
            "a.db: row 1: `id` is 9007199254740993, the program expects i32");
    refuses("select id from t", field("id", FLOW_u8, 0),
            "row 0: `id` is -1, the program expects u8");
    refuses("select 1.5 as x", field("x", FLOW_i32, 0), "`x` is 1.5, the program expects i32");
    refuses("select 1e300 as x", field("x", FLOW_f32, 0), "`x` is 1.0000000000000001e+300");
    refuses("select 1 as x", field("x", FLOW_f32, 3), "`x` is 1, the program expects f32[3]");
    refuses("select age from t", field("age", FLOW_f32, 0),
            "row 1: `age` is NULL; `missing(age, 0)` takes 0 for it");
    refuses("select kind from t", kind, "row 1: `kind` is `dog`, none of its 1 categories");
    refuses("select kind from t", field("kind", FLOW_f32, 0),
            "`kind` is the text `cat`, the program expects f32; `cast(… as real)` in the query");
    refuses("select v from t", field("v", FLOW_f32, 0), "`v` holds bytes, the program expects f32");
    refuses("select v from t", field("v", FLOW_f32, 3),
            "`v` has 8 bytes, the program expects f32[3]");
    refuses("select kind as note from t", digits, "`note` `cat` is no whole number");
    refuses("select 1 as note", digits, "`note` is a number, the program takes text or bytes");
}

static void refuses_what_is_no_select(void) {
    static const char *const others[] = {"delete from t",
                                         "insert into t (id) values (3)",
                                         "create table u(x)",
                                         "attach 'b.db' as b",
                                         "pragma journal_mode",
                                         "select * from pragma_table_info('t')",
                                         "explain select 1 as x",
                                         "vacuum into 'b.db'",
                                         "begin"};
    FlowField x = field("x", FLOW_f32, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        refuses(others[i], x, "a.db: the query may only be a `select`");
    CHECK(access("b.db", F_OK), "a file was made");
    refuses("select 1 as x; select 2 as x", x, "the query is more than one statement");
    refuses("select 1 as x; delete from t", x, "the query is more than one statement");
    refuses("select id as x from t where id = ?", x, "has a parameter, which nothing gives");
    refuses(" ; -- nothing", x, "the query is empty");
    refuses("select x from nowhere", x, "a.db: no such table: nowhere");
    refuses("selec", x, "syntax error");
    refuses("select id as x from t where 0", x, "the query selects no records");
    refuses("select 1 as x, 2 as x", x, "the query has 2 columns `x`; `select … as …` names them");
    refuses("select id as xs from t", x, "has no column `x`; its columns are xs");
    refuses("select age as ages from t", field("age", FLOW_f32, 0), "did you mean `ages`?");
    refuses("select load_extension('b') as x", x, "a.db: ");
}

static void refuses_other_files(void) {
    FlowField x = field("x", FLOW_f32, 0);
    const char *query = "select id as x from t";
    x.path = "missing.db";
    refuses(query, x, "missing.db: cannot be read");
    x.path = "/dev/zero";
    refuses(query, x, "/dev/zero: is not a regular file");
    mkfifo("pipe", 0600);
    x.path = "pipe";
    refuses(query, x, "pipe: is not a regular file");
    write_test_file("text.db",
                    "this is a file of text, not of tables, and long enough to be seen\n", 66);
    x.path = "text.db";
    refuses(query, x, "text.db: is no SQLite file");
}

static void reads_odd_names(void) {
    static const char *const names[] = {"a b?mode=rw#%41.db", ":memory:", "file:c.db"};
    int64_t records;
    FlowField x = field("x", FLOW_f32, 0);
    run("plain.db", "create table t(x); insert into t values (5)");
    for (int i = 0; i < 3; i++) {
        x.path = names[i];
        if (rename(i ? names[i - 1] : "plain.db", names[i])) exit(99);
        FlowStatus status = try("select x from t", x, &records);
        CHECK(!status.exit && records == 1, "%s", status.text);
    }
}

/* A log beside the file is read; without one nothing is made beside it. */
static void reads_logs(void) {
    int64_t records;
    FlowField x = field("x", FLOW_f32, 0);
    sqlite3 *writer;
    x.path = "log.db";
    run("log.db", "pragma journal_mode = wal; create table t(x); insert into t values (1)");
    mkdir("log.db-shm", 0700); /* so that none could be made */
    FlowStatus status = try("select x from t", x, &records);
    CHECK(!status.exit && records == 1, "at rest: %s", status.text);
    CHECK(access("log.db-wal", F_OK), "a log was made");
    rmdir("log.db-shm");
    if (sqlite3_open("log.db", &writer) ||
        sqlite3_exec(writer, "insert into t values (2)", NULL, NULL, NULL))
        exit(99);
    status = try("select x from t", x, &records);
    CHECK(!status.exit && records == 2, "in use: %s, %d records", status.text, (int)records);
    sqlite3_close(writer);
}

/* Cut or changed anywhere: an error that names the file, or other values, within bounds. */
static void survives_damage(void) {
    static const unsigned char marks[] = {0x00, 0x7f, 0x80, 0xff};
    size_t size = 0;
    int failed = 0;
    char *bytes = read_test_file("a.db", &size);
    int64_t records;
    FlowField x = field("id", FLOW_i64, 0);
    x.path = "damaged.db";
    for (size_t i = 0; i < size; i += 61) {
        write_test_file("damaged.db", bytes, i);
        FlowStatus status = try("select id from t", x, &records);
        CHECK(status.exit, "%zu bytes were taken", i);
        CHECK_SAYS(status.text, "damaged.db: ");
    }
    for (size_t i = 0; i < size; i += i < 200 ? 1 : 31)
        for (size_t mark = 0; mark < sizeof marks; mark++) {
            char before = bytes[i];
            bytes[i] = (char)marks[mark];
            write_test_file("damaged.db", bytes, size);
            bytes[i] = before;
            failed += try("select id from t", x, &records).exit != 0;
        }
    CHECK(failed > 20, "%d failed", failed);
    free(bytes);
}

/* A view may never end. */
static void stops_when_asked(void) {
    int64_t records;
    FlowField x = field("x", FLOW_f32, 0);
    x.path = "view.db";
    run("view.db",
        "create view t as with recursive c(x) as (select 1 union all select x + 1 from c)"
        " select sum(x) as x from c");
    interrupt_now();
    FlowStatus status = try("select x from t", x, &records);
    CHECK(status.exit == FLOW_EXIT_interrupted, "exit %d: %s", (int)status.exit, status.text);
}

int main(void) {
    test_folder();
    run("a.db", "create table t(id integer, age real, kind text, v blob, note text);"
                "insert into t values (-1, 1.5, 'cat', x'0000803f00000040', '42'),"
                "(9007199254740993, null, 'dog', x'0000803f00000041', '7 ')");
    reads_cells();
    refuses_other_types();
    refuses_what_is_no_select();
    refuses_other_files();
    reads_odd_names();
    reads_logs();
    survives_damage();
    stops_when_asked();
    test_folder_remove();
    return test_result();
}
