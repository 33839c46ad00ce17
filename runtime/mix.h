/* Mix: neighbouring numbers become numbers that have nothing to do with each other: the finaliser
 * of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014), its variant 13 by Stafford. */
#ifndef FLOW_MIX_H
#define FLOW_MIX_H

#include <stdint.h>

static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

#endif
