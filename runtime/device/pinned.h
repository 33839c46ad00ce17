/* Pinned: memory of the host that GPUs copy to and from while the host goes on. Thread-safe. */
#ifndef FLOW_PINNED_H
#define FLOW_PINNED_H

#include <stdbool.h>
#include <stddef.h>

/* All zero. NULL: no GPU is open, or there is none left. Freed before gpus_close. */
void *pinned_new(size_t size);

/* False, and nothing is done: it is other memory. */
bool pinned_free(void *memory);

#endif
