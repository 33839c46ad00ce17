/* Query: a select on a file that may be anybody's: it can do nothing but read. */
#ifndef FLOW_SQLITE_QUERY_H
#define FLOW_SQLITE_QUERY_H

#include "runtime/flow.h"

#include <sqlite3.h>

typedef struct Query {
    const char *path;
    sqlite3 *base;
    sqlite3_stmt *statement;
    bool denied; /* it wanted to do something else than read */
} Query;

/* Whatever it returns, query_close has to follow. */
FlowStatus query_open(const char *path, const char *text, Query *query);
void query_close(Query *query);

/* The place of the column with that name in a row. */
FlowStatus query_column(const Query *query, const char *name, int *place);

/* What SQLite says of its last failure, which has that code. */
FlowStatus query_failure(const Query *query, int code);

#endif
