/* Fuzz: a SQLite file with any bytes changed: three bytes of input say where, and which; what is
 * selected goes through tables, an index, a view. */
#define _GNU_SOURCE
#include "runtime/flow.h"
#include "tests/runtime/category.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static FlowField kind;
static const char *const categories[] = {"a", ""};

static unsigned char *make_file(sqlite3_int64 *size) {
    sqlite3 *base;
    if (sqlite3_open(":memory:", &base) ||
        sqlite3_exec(base,
                     "pragma page_size = 512; create table t(x, y text); create index i on t(y);"
                     "create view v as select x, y from t order by y;"
                     "insert into t values (1, 'a'), (2.5, 'bc'), (null, null), (x'010203', '7');"
                     "insert into t select randomblob(700), 'long' from t",
                     NULL, NULL, NULL))
        abort();
    unsigned char *file = sqlite3_serialize(base, "main", size, 0);
    sqlite3_close(base);
    return file;
}

static void open_as(const char *query, FlowField field) {
    static double value[64];
    FlowReader *reader;
    FlowStatus failure;
    FlowSourceArguments arguments = {.query = query};
    if (flow_source_sqlite.open(&field, 1, &arguments, &reader).exit) return;
    for (int64_t i = 0; i < flow_source_sqlite.records(reader); i++)
        flow_source_sqlite.make(reader, i, (void *const[]){value}, &failure);
    flow_source_sqlite.close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    static unsigned char *file, changed[1 << 16];
    static sqlite3_int64 file_size;
    if (descriptor < 0) {
        file = make_file(&file_size);
        kind = with_categories(kind, categories, 2);
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (!file || file_size > (sqlite3_int64)sizeof changed) abort();
    memcpy(changed, file, (size_t)file_size);
    for (size_t i = 0; i + 3 <= size; i += 3)
        changed[(bytes[i] | bytes[i + 1] << 8) % file_size] = bytes[i + 2];
    if (pwrite(descriptor, changed, (size_t)file_size, 0) != file_size) return 0;
    FlowField field = {.name = "x", .path = path, .type = {.element = FLOW_f32}, .fills = true};
    open_as("select x from t", field);
    field.type = (FlowType){FLOW_u8, 1, {3}};
    open_as("select x from v where y > 'a'", field);
    field.type = (FlowType){.element = FLOW_i32};
    field.texts = kind.texts;
    open_as("select y as x from t order by y", field);
    return 0;
}
