/* Memory: large aligned blocks, backed by huge pages where the system has them. */
#ifndef FLOW_MEMORY_H
#define FLOW_MEMORY_H

#include <stddef.h>

/* Aligned to FLOW_ALIGNMENT, uninitialised; NULL when there is no memory. Released by free.
 */
void *memory_new(size_t size);

/* The same, all zero. */
void *memory_zeroed(size_t size);

#endif
