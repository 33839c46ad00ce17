/* Bell: one thread rings, others wait for it: for a while they spin, then they sleep. */
#ifndef FLOW_BELL_H
#define FLOW_BELL_H

#include <stdatomic.h>
#include <stdbool.h>

/* All zero: not rung yet. At the beginning of a line of the caches, it leaves room behind its rings
 * for what is said by ringing, which then comes along with them. */
typedef struct Bell {
    atomic_int asleep;
    char apart[60];
    atomic_uint rings;
} Bell;

void bell_ring(Bell *bell);

/* Is somebody asleep who waits for it? */
bool bell_has_sleepers(Bell *bell);

/* Wakes who is asleep without ringing: they wait awake again for a while. */
void bell_rouse(Bell *bell);

/* Waits until it has been rung once more than *heard times, and counts that. */
void bell_wait(Bell *bell, unsigned *heard);

#endif
