/* Memory: large aligned blocks, backed by huge pages where the system has them. */
#ifndef FLOW_MEMORY_H
#define FLOW_MEMORY_H

#include <stddef.h>

/* At the start of a process that will need some megabytes for a moment or for long, before it
 * takes any: blocks of less than two of them then come from one huge page, as long as it has room,
 * and freeing them asks the system for nothing. */
void memory_begin(void);

/* Aligned to FLOW_ALIGNMENT, uninitialised; NULL when there is no memory. Released by free.
 */
void *memory_new(size_t size);

/* The same, all zero. */
void *memory_zeroed(size_t size);

#endif
