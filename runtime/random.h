/* Random: what random numbers of kernel.h are made of, on x86-64. Any thread may call these. */
#ifndef FLOW_RANDOM_H
#define FLOW_RANDOM_H

#include <stdint.h>

/* The first word of Philox4x32-10, which kernel.h has; and the first two, the second one above the
 * first.
 *
 * Both are also there for several places, under the names and with the registers by which gcc finds
 * such functions (the x86-64 ABI's "Vector Function ABI"): a loop that calls them becomes vector
 * code. */
uint32_t flow_random_word(int64_t seed, int64_t stream, int64_t index);
uint64_t flow_random_words(int64_t seed, int64_t stream, int64_t index);

#endif
