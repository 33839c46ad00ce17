/* Bell: one thread rings, others wait for it: for a while they spin, then they sleep. */
#ifndef FLOW_BELL_H
#define FLOW_BELL_H

#include <pthread.h>
#include <stdatomic.h>

typedef struct Bell {
    _Alignas(64) atomic_uint rings;
    _Alignas(64) atomic_int asleep;
    pthread_mutex_t mutex;
    pthread_cond_t rung;
} Bell;

void bell_init(Bell *bell);
void bell_free(Bell *bell);

void bell_ring(Bell *bell);

/* Waits until it has been rung once more than *heard times, and counts that. */
void bell_wait(Bell *bell, unsigned *heard);

#endif
