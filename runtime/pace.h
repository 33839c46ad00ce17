/* Pace: what a run waits for, in plain words and from measured times. */
#ifndef FLOW_PACE_H
#define FLOW_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So far. */
typedef struct Pace {
    int64_t input, step, sink; /* nanoseconds: waited for batches or made them; computed; wrote */
    int64_t busy;              /* of all threads of the step: made batches */
    int64_t batches;
} Pace;

/* What of making a batch takes longest. */
typedef struct Bottleneck {
    const char *name; /* as the program calls it; NULL: nothing was measured */
    double time;      /* nanoseconds a batch, on so many threads together */
    int threads;
    bool team;  /* those of the step */
    bool waits; /* it sleeps more often than not */
} Bottleneck;

/* Between two times. */
Pace pace_since(const Pace *now, const Pace *before);

/* "input-bound 38 %"; "" when there is nothing to say yet. */
void pace_short(const Pace *pace, const char *sink, char *text, size_t size);

/* "input-bound 38 %: decode_jpeg 14.2 ms/batch on 1 thread, step 9.1 ms". sink: or NULL. */
void pace_text(const Pace *pace, const Bottleneck *bottleneck, const char *sink, char *text,
               size_t size);

#endif
