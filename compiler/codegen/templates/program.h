/* program.h: what a build may define about a generated program. */
#ifndef FLOW_GENERATED_PROGRAM_H
#define FLOW_GENERATED_PROGRAM_H

#include "flow.h"
#include "kernel.h"
#include "loops.h"

#ifndef FLOW_PROGRAM_NAME
#define FLOW_PROGRAM_NAME flow_program /* one for each processor, chosen by dispatch.c */
#endif
#ifndef FLOW_FOLDER
#define FLOW_FOLDER "."
#endif

/* Ends a function's run with copies of new weights that could not be written in place. */
static inline void flow_late_copy(const FlowFrame *frame, int thread, size_t from, size_t to,
                                  size_t size) {
    if (thread == 0) __builtin_memcpy(frame->memory + to, frame->memory + from, size);
}

#endif
