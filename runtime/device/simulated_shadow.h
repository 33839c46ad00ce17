/* Shadow: who touched an element last. Time is counted in epochs: each barrier and each block
 * begins another one, and no epoch comes twice, so what earlier launches left is known to be
 * old. A barrier is of the first so many warps: it orders what these have touched, for these. */
#ifndef FLOW_SIMULATED_SHADOW_H
#define FLOW_SIMULATED_SHADOW_H

#include "runtime/device/simulated.h"

enum { WARP = 32 };

typedef struct Epochs {
    uint32_t now;
    uint32_t block;        /* the first one of this block */
    uint32_t launch;       /* the first one of this launch */
    const uint32_t *since; /* of each warp: since it met all those before it at a barrier */
} Epochs;

/* What one of two threads of the block did in an epoch comes before what the other one does now. */
static inline bool epochs_order(const Epochs *epochs, uint32_t epoch, uint32_t a, uint32_t b) {
    return a == b || epoch < epochs->since[(a > b ? a : b) / WARP];
}

typedef struct Touch {
    uint32_t epoch; /* 0: nobody's */
    uint32_t thread : 10, atomic : 1, line : 21;
} Touch;

/* Of an element. Two readers tell whether any but one thread has read, and another block. */
typedef struct Trace {
    Touch writer, readers[2];
} Trace;

typedef struct Clash {
    bool wrote; /* who was there before, rather than read */
    Touch before;
} Clash;

/* Notes a touch by a thread, now. False: another one, `clash`, is not ordered before it. first: the
 * epoch since when touches count, which is the launch's, or the block's where others have other
 * memory. */
bool trace_touch(Trace *trace, const Epochs *epochs, uint32_t first, FlowAccess access,
                 uint32_t thread, uint32_t line, Clash *clash);

/* Somebody wrote the element since then. */
static inline bool trace_is_written(const Trace *trace, uint32_t first) {
    return trace->writer.epoch >= first;
}

/* The traces of a stretch of memory, for elements of the smallest size that was asked for. */
typedef struct Shadow Shadow;
Shadow *shadow_new(size_t size); /* NULL: no memory */
void shadow_free(Shadow *shadow);
void shadow_clear(Shadow *shadow); /* nobody has touched anything */
/* The traces of bytes at an offset, up to the end of a page: from `*count`, at least one. NULL: no
 * memory. size: a power of two. */
Trace *shadow_at(Shadow *shadow, size_t offset, size_t size, size_t *count);

#endif
