/* Resize: an image of another size, row by row as it is decoded. */
#ifndef FLOW_RESIZE_H
#define FLOW_RESIZE_H

#include "runtime/decode/decoder.h"

typedef struct ResizeRequest {
    Axis down, across;
    FlowMethod method;
    FlowLike like;
    bool antialias;
    int channels; /* of the result: 3 or 1; the source's pixels have 4 bytes or 1 */
} ResizeRequest;

/* What is being resized, in the desk's memory. */
typedef struct Resizing {
    const Taps *down, *across;
    int64_t pixel, channels;
    int64_t stride; /* numbers of a row in the ring */
    void *ring;     /* the last ring_size rows, as wide as the result */
    int64_t ring_size;
    void *wide, *sums; /* a row of the source; one of the result */
    uint8_t *bytes;    /* the same */
    int64_t next;      /* row of the result */
    uint8_t *to;
    bool real;
} Resizing;

/* Begins; `to` is u8[down.count, across.count, channels]. False: there is no memory. */
bool resize_begin(Desk *desk, const ResizeRequest *request, uint8_t *to, Resizing *resizing);

/* Which part of the source has to be taken. */
Region resize_region(const Resizing *resizing);

/* Takes row y of the region (RowTaker.take). The last one completes the result. */
void resize_take(void *resizing, int64_t y, const uint8_t *row);

#endif
