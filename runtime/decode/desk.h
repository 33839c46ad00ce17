/* Desk: what a thread that decodes images keeps from one to the next: memory, a decoder's state,
 * weights. */
#ifndef FLOW_DESK_H
#define FLOW_DESK_H

#include "runtime/decode/taps.h"
#include "runtime/flow.h"
#include "runtime/thread_own.h"

enum { DESK_TAPS = 4 };

typedef struct Desk {
    void *jpeg; /* decode_jpeg.c's */
    void (*drop_jpeg)(void *jpeg);
    Room row, image;         /* a decoder's */
    Room ring, line;         /* resize.c's */
    Room coefficients;       /* only counted: a decoder keeps them itself */
    Taps taps[2][DESK_TAPS]; /* the last ones, down and across */
    int next_taps[2];        /* the one to be replaced next */
} Desk;

/* This thread's; NULL when there is no memory. It goes when the thread ends. */
Desk *desk_of_thread(void);

/* What is said of an image for which there is none. */
FlowStatus desk_no_memory(void);

#endif
