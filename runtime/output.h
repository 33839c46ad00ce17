/* Output: bytes on their way to standard output or into a file, in large pieces. A file is written
 * beside its place, as PATH.part, and gets its name when it is whole; what is no regular file (a
 * pipe, a device) is written to as it is. */
#ifndef FLOW_OUTPUT_H
#define FLOW_OUTPUT_H

#include "runtime/flow.h"

typedef struct Output {
    const char *path; /* as it was given; NULL: standard output */
    char *target;     /* behind symbolic links; NULL: there is nothing to rename to it */
    char *part;       /* what is written until then */
    int descriptor;   /* -1: not open */
    bool prompt;      /* whole records are written at once */
    int error;        /* of the first write that failed; nothing is written after it */
    char *bytes;      /* `used` of them are not written yet */
    size_t used, capacity;
    uint64_t written;
} Output;

/* Fails when another process is writing the file. The path has to live as long. When the reader of
 * standard output has gone, this and the next ones fail with FLOW_EXIT_interrupted and no text.
 * records: at most so many come; INT64_MAX: nobody knows, as the next may take its time: each
 * output_pass then writes, as it always does into a pipe or a device. */
FlowStatus output_open(const char *path, int64_t records, Output *output);

/* Standard output was closed when the program began: opening it fails. */
void output_has_no_stdout(void);

/* Room for `size` bytes, which output_used then says how far it was used; or NULL, when there is no
 * memory or a write has failed: the next output_pass tells. */
char *output_room(Output *output, size_t size);
void output_used(Output *output, const char *end);

void output_add(Output *output, const void *bytes, size_t size);
void output_text(Output *output, const char *text);

/* Whole records are in. */
FlowStatus output_pass(Output *output);

/* Writes over `size` bytes from `offset` on, which were added before. Not of standard output. */
FlowStatus output_over(Output *output, uint64_t offset, const void *bytes, size_t size);

/* FLOW_END_whole: the file gets its name. FLOW_END_stopped: what was written stays in PATH.part,
 * and the status says so: FLOW_EXIT_interrupted with that name as its text. FLOW_END_failed:
 * nothing stays. An output that was not opened may be closed. */
FlowStatus output_close(Output *output, FlowEnd end);

#endif
