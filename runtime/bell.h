/* Bell: one thread rings, others wait for it: for a while they spin, then they sleep. */
#ifndef FLOW_BELL_H
#define FLOW_BELL_H

#include <stdatomic.h>

/* All zero: not rung yet. */
typedef struct Bell {
    _Alignas(64) atomic_uint rings;
    _Alignas(64) atomic_int asleep;
} Bell;

void bell_ring(Bell *bell);

/* Waits until it has been rung once more than *heard times, and counts that. */
void bell_wait(Bell *bell, unsigned *heard);

#endif
