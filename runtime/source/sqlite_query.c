#define _GNU_SOURCE
#include "runtime/source/sqlite_query.h"

#include "runtime/interrupt.h"
#include "runtime/nearest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SHOWN = 80,           /* bytes of a name in a message */
    WAITING = 5000,       /* milliseconds, for somebody who is writing */
    INSTRUCTIONS = 10000, /* of SQLite's between two looks at whether the run is to stop */
};

static FlowStatus failure(const Query *query, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: %s", query->path, why);
}

static FlowStatus no_memory(const Query *query) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", query->path);
}

/* What SQLite says of its last failure. */
FlowStatus query_failure(const Query *query, int code) {
    if (query->denied) return failure(query, "the query may only be a `select`");
    switch (code & 0xff) {
    case SQLITE_NOMEM: return no_memory(query);
    case SQLITE_INTERRUPT:
        return flow_failure(FLOW_EXIT_interrupted, "%s: interrupted in the query", query->path);
    case SQLITE_NOTADB: return failure(query, "is no SQLite file");
    }
    return flow_failure(FLOW_EXIT_data, "%s: %s", query->path, sqlite3_errmsg(query->base));
}

/* The file. */

/* Is there a file with that ending behind its name? */
static bool is_beside(const char *path, const char *ending) {
    char name[PATH_MAX];
    size_t length = strlen(path) + strlen(ending);
    if (length >= sizeof name) return true;
    snprintf(name, sizeof name, "%s%s", path, ending);
    return access(name, F_OK) == 0;
}

/* What the first bytes say. */
typedef struct Header {
    bool logged;   /* it is written through a log */
    uint64_t size; /* that the file has at least; 0: that is not said */
} Header;

static uint32_t big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static Header read_header(const char *path) {
    enum { SIZE = 100, PAGE_SIZE = 16, VERSION = 19, CHANGE = 24, PAGES = 28, VALID_FOR = 92 };
    unsigned char bytes[SIZE];
    FILE *file = fopen(path, "rbe");
    bool whole =
        file && fread(bytes, 1, SIZE, file) == SIZE && !memcmp(bytes, "SQLite format 3", 16);
    if (file) fclose(file);
    if (!whole) return (Header){0};
    uint64_t page = (uint64_t)(bytes[PAGE_SIZE] << 8 | bytes[PAGE_SIZE + 1]);
    bool said = big_endian(bytes + CHANGE) == big_endian(bytes + VALID_FOR);
    return (Header){.logged = bytes[VERSION] == 2,
                    .size = said ? big_endian(bytes + PAGES) * (page == 1 ? 1 << 16 : page) : 0};
}

/* file:PATH?immutable=1; the caller frees it. NULL: no memory. */
static char *address_of(const char *path, bool at_rest) {
    size_t room = 3 * strlen(path) + 40, used = 0;
    char *address = malloc(room);
    if (!address) return NULL;
    used = (size_t)snprintf(address, room, "file:%s", *path == '/' ? "" : "./");
    for (; *path; path++)
        used += (size_t)snprintf(address + used, room - used,
                                 strchr("%?#", *path) ? "%%%02x" : "%c", (unsigned char)*path);
    snprintf(address + used, room - used, "%s", at_rest ? "?immutable=1" : "");
    return address;
}

static int only_select(void *asking, int action, const char *a, const char *b, const char *c,
                       const char *d) {
    Query *query = asking;
    (void)a, (void)b, (void)c, (void)d;
    bool reads = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
                 action == SQLITE_RECURSIVE;
    query->denied |= !reads;
    return reads ? SQLITE_OK : SQLITE_DENY;
}

static int is_to_stop(void *unused) {
    (void)unused;
    return interrupted();
}

/* As SQLite advises for files of others. */
static int distrust(Query *query) {
    static const char careful[] = "pragma cell_size_check = on; pragma mmap_size = 0";
    sqlite3 *base = query->base;
    sqlite3_db_config(base, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(base, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    int code = sqlite3_exec(base, careful, NULL, NULL, NULL);
    if (!code) code = sqlite3_set_authorizer(base, only_select, query);
    if (!code) code = sqlite3_busy_timeout(base, WAITING);
    sqlite3_progress_handler(base, INSTRUCTIONS, is_to_stop, NULL);
    return code;
}

/* A file that is written through a log and has none beside it is opened by nobody. It is read as
 * one that does not change: otherwise SQLite would have to begin a log. */
static FlowStatus open_base(Query *query, bool at_rest) {
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    char *address = address_of(query->path, at_rest);
    if (!address) return no_memory(query);
    int code = sqlite3_open_v2(address, &query->base, flags, NULL);
    free(address);
    if (!code) code = distrust(query);
    return code ? query_failure(query, code) : flow_ok;
}

/* What is missing at the end of a file would be zeros to SQLite. */
static FlowStatus open_file(Query *query) {
    struct stat file;
    if (stat(query->path, &file)) return failure(query, "cannot be read");
    if (!S_ISREG(file.st_mode)) return failure(query, "is not a regular file");
    Header header = read_header(query->path);
    bool changing = is_beside(query->path, "-wal") || is_beside(query->path, "-journal");
    if (!changing && (uint64_t)file.st_size < header.size)
        return failure(query, "it ends early: the file is truncated");
    return open_base(query, header.logged && !changing);
}

/* The query. */

/* Only blanks and comments may follow. */
static FlowStatus check_tail(const Query *query, const char *tail) {
    sqlite3_stmt *next = NULL;
    int code = sqlite3_prepare_v2(query->base, tail, -1, &next, NULL);
    sqlite3_finalize(next);
    if (code == SQLITE_NOMEM) return no_memory(query);
    return code || next ? failure(query, "the query is more than one statement") : flow_ok;
}

static FlowStatus check_statement(const Query *query) {
    if (!sqlite3_stmt_readonly(query->statement) || sqlite3_stmt_isexplain(query->statement))
        return failure(query, "the query may only be a `select`");
    if (sqlite3_bind_parameter_count(query->statement))
        return failure(query, "the query has a parameter, which nothing gives a value");
    return flow_ok;
}

static FlowStatus prepare(Query *query, const char *text) {
    const char *tail;
    int code = sqlite3_prepare_v2(query->base, text, -1, &query->statement, &tail);
    if (code) return query_failure(query, code);
    if (!query->statement) return failure(query, "the query is empty");
    FlowStatus status = check_tail(query, tail);
    return status.exit ? status : check_statement(query);
}

/* "a, b, c, …" */
static void list_names(const Query *query, char *text, size_t room) {
    size_t used = 0;
    for (int i = 0; i < sqlite3_column_count(query->statement) && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "",
                                 sqlite3_column_name(query->statement, i));
    if (used >= room) memcpy(text + room - sizeof "…", "…", sizeof "…");
}

static FlowStatus no_column(const Query *query, const char *name) {
    char list[4 * SHOWN];
    const char *best = NULL;
    int least = name_distance_limit(strlen(name));
    for (int i = 0; i < sqlite3_column_count(query->statement); i++) {
        const char *there = sqlite3_column_name(query->statement, i);
        if (!there) return no_memory(query);
        int edits = name_distance(name, there, strlen(there));
        if (edits >= least) continue;
        least = edits;
        best = there;
    }
    if (best)
        return flow_failure(FLOW_EXIT_data,
                            "%s: the query has no column `%s`; did you mean `%.*s`?", query->path,
                            name, SHOWN, best);
    list_names(query, list, sizeof list);
    return flow_failure(FLOW_EXIT_data, "%s: the query has no column `%s`; its columns are %s",
                        query->path, name, list);
}

FlowStatus query_column(const Query *query, const char *name, int *place) {
    int found = 0;
    for (int i = 0; i < sqlite3_column_count(query->statement); i++) {
        const char *there = sqlite3_column_name(query->statement, i);
        if (!there) return no_memory(query);
        if (strcmp(there, name)) continue;
        *place = i;
        found++;
    }
    if (!found) return no_column(query, name);
    if (found == 1) return flow_ok;
    return flow_failure(FLOW_EXIT_data,
                        "%s: the query has %d columns `%s`; `select … as …` names them",
                        query->path, found, name);
}

FlowStatus query_open(const char *path, const char *text, Query *query) {
    *query = (Query){.path = path};
    FlowStatus status = open_file(query);
    return status.exit ? status : prepare(query, text);
}

void query_close(Query *query) {
    sqlite3_finalize(query->statement);
    sqlite3_close(query->base);
    *query = (Query){0};
}
