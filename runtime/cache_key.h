/* Cache key: what the records of a pipeline follow from. */
#ifndef FLOW_CACHE_KEY_H
#define FLOW_CACHE_KEY_H

#include "runtime/cache.h"
#include "runtime/places.h"
#include "runtime/type.h"

/* Of the join's input: the code's fingerprint, the sizes, the seed if it matters; and the names,
 * sizes and times of change of its files. */
FlowStatus cache_key(const FlowJoin *join, const Places *places, Sizes sizes, int64_t seed,
                     CacheKey *key);

/* Can the pipeline's records come one after the other, which only opening it tells? */
bool cache_may_be_fed(const FlowPipeline *pipeline);

#endif
