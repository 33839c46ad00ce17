/* widen.h: elements of one byte as numbers of four, FLOW_LANES at a time. */
#ifndef FLOW_WIDEN_H
#define FLOW_WIDEN_H

#include "loops.h"

typedef char FlowBytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef long long FlowEight __attribute__((vector_size(16)));
typedef long long FlowEightBytes __attribute__((aligned(1), may_alias));

/* FLOW_WIDE_u8(wide, from) declares `wide`, which has the elements: a copy where that is one or two
 * instructions, else what they are. */
#if defined __AVX512F__ && !defined __clang__
typedef int FlowInts __attribute__((vector_size(64), aligned(4), may_alias));
#define FLOW_WIDENED(wide, from, extend)                                 \
    int32_t wide[FLOW_LANES];                                            \
    *(FlowInts *)wide = (FlowInts)__builtin_ia32_pmov##extend##512_mask( \
        *(const FlowBytes *)(from), (FlowInts){0}, -1)
#define FLOW_WIDE_u8(wide, from) FLOW_WIDENED(wide, from, zxbd)
#define FLOW_WIDE_i8(wide, from) FLOW_WIDENED(wide, from, sxbd)
#elif defined __AVX2__ && !defined __clang__
typedef int FlowInts __attribute__((vector_size(32), aligned(4), may_alias));
#define FLOW_EIGHT_BYTES(from) ((FlowBytes)(FlowEight){*(const FlowEightBytes *)(from)})
#define FLOW_WIDENED(wide, from, extend)                                                    \
    int32_t wide[FLOW_LANES];                                                               \
    *(FlowInts *)wide = (FlowInts)__builtin_ia32_pmov##extend##256(FLOW_EIGHT_BYTES(from)); \
    *(FlowInts *)(wide + 8) =                                                               \
        (FlowInts)__builtin_ia32_pmov##extend##256(FLOW_EIGHT_BYTES((from) + 8))
#define FLOW_WIDE_u8(wide, from) FLOW_WIDENED(wide, from, zxbd)
#define FLOW_WIDE_i8(wide, from) FLOW_WIDENED(wide, from, sxbd)
#else
#define FLOW_WIDE_u8(wide, from) const uint8_t *const wide = from
#define FLOW_WIDE_i8(wide, from) const int8_t *const wide = from
#endif

#endif
