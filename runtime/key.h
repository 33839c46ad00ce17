/* Key: what the random choices of a record follow from: the run's seed, the epoch and the record.
 * Each thread has that of the record which it makes now. */
#ifndef FLOW_KEY_H
#define FLOW_KEY_H

#include <stdint.h>

void key_set(uint64_t key);
uint64_t key_now(void);

#endif
