/* Sink: records as text, one a line: to standard output or into a file. */
#ifndef FLOW_SINK_H
#define FLOW_SINK_H

#include "runtime/flow.h"

#include <stdio.h>

/* A named value of each record: record r lies `r` sizes of its type behind `values`. */
typedef struct SinkField {
    const char *name;
    FlowType type;
    const char *values;
} SinkField;

typedef struct Sink {
    FlowSink kind;
    const char *path; /* NULL: standard output */
    FILE *file;
} Sink;

/* Opens the file; that of standard output is there already. When the reader of standard output has gone,
 * these fail with FLOW_EXIT_interrupted and no text. */
FlowStatus sink_open(FlowSink kind, const char *path, Sink *sink);

/* What comes before the first record. */
void sink_begin(Sink *sink, const SinkField *fields, int count);

/* Writes the records and hands them on. */
FlowStatus sink_write(Sink *sink, const SinkField *fields, int count, int64_t records);

/* Closes the file. */
FlowStatus sink_close(Sink *sink);

#endif
