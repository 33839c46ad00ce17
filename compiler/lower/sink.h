/* Sink: what the files that lower the ends of pipelines share. */
#ifndef FLOW_LOWER_SINK_H
#define FLOW_LOWER_SINK_H

#include "compiler/lower/stream.h"

/* What a call of a sink may say. */
enum {
    SAYS_file = 1,
    SAYS_stdout = 2,
    SAYS_text = 4,  /* text = name: which fields are characters */
    SAYS_files = 8, /* name: file, one for each field */
    SAYS_quality = 16,
    SAYS_records = 32, /* records = 1000: in each file, whose names differ in {shard} */
    NEEDS_count = 64,  /* how many records come has to be known before the first */
};

typedef struct SinkForm SinkForm;

/* A call that is being read. */
typedef struct SinkCall {
    const Context *context;
    const Expression *call;
    const SinkForm *form;
    Sink *sink;
} SinkCall;

struct SinkForm {
    const char *name, *example;
    unsigned says;
    bool (*check)(const SinkCall *call); /* the fields; NULL: any will do */
};

/* sink_form.c: the form of that sink. */
const SinkForm *sink_form(const char *name);

bool is_sink_name(const char *name);

/* sink.c: the call's arguments, once the sink has its fields. False after reporting. */
bool read_sink(const Context *context, const Expression *call, Sink *sink);

/* Does the stream say how many records come, where the sink needs to know? False after
 * reporting. */
bool suits_sink(const Context *context, const Stream *stream, const Sink *sink, Range range);

/* target.c: does nothing else of the pipeline write to the sink's files? False after reporting. */
bool has_own_target(const Context *context, const Stream *stream, const Sink *sink, Range range);

/* sink.c: false, after reporting that the sink takes something else. */
bool report_sink_type(const SinkCall *call, const SinkField *field, const char *wanted);

#endif
