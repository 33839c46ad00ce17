/* narrow.h: a row of 5 to 15 floats as one vector of 8 or 16 lanes. Those past the row have its
 * first element once more, so that no operation sees what the row does not have: a host may have
 * exceptions of floating point trapped. FLOW_NARROW_LANES: the most lanes for which that is worth
 * it: where the processor reads the first of a vector alone, in one instruction. Arrays have all
 * lanes, and stay in registers. */
#ifndef FLOW_NARROW_H
#define FLOW_NARROW_H

#if defined __AVX2__ && !defined __clang__
typedef float FlowLanes_8 __attribute__((vector_size(32), may_alias));
typedef float FlowLanes_16 __attribute__((vector_size(64), may_alias));
#endif

#define FLOW_NARROW_CALL static inline __attribute__((always_inline))

/* flow_get_narrow_LANES(lanes, row, count): the row's elements, so many.
 * flow_put_narrow_LANES(row, lanes, count): stores them. */
#if defined __AVX512VL__ && !defined __clang__
#define FLOW_NARROW_LANES 16
#define FLOW_NARROW_CALLS(lanes, size)                                                        \
    FLOW_NARROW_CALL void flow_get_narrow_##lanes(float *to, const float *row, int count) {   \
        *(FlowLanes_##lanes *)to = (FlowLanes_##lanes)__builtin_ia32_loadups##size##_mask(    \
            (const void *)row, *row - (FlowLanes_##lanes){0}, (1 << count) - 1);              \
    }                                                                                         \
    FLOW_NARROW_CALL void flow_put_narrow_##lanes(float *row, const float *from, int count) { \
        __builtin_ia32_storeups##size##_mask((void *)row, *(const FlowLanes_##lanes *)from,   \
                                             (1 << count) - 1);                               \
    }
FLOW_NARROW_CALLS(8, 256)
FLOW_NARROW_CALLS(16, 512)
#elif defined __AVX2__ && !defined __clang__
#define FLOW_NARROW_LANES 8
typedef int FlowChoice_8 __attribute__((vector_size(32)));
FLOW_NARROW_CALL void flow_get_narrow_8(float *to, const float *row, int count) {
    const FlowChoice_8 numbers = {0, 1, 2, 3, 4, 5, 6, 7}, chosen = numbers < count;
    const FlowLanes_8 got = (FlowLanes_8)__builtin_ia32_maskloadps256((const void *)row, chosen);
    *(FlowLanes_8 *)to =
        (FlowLanes_8)__builtin_ia32_blendvps256(*row - (FlowLanes_8){0}, got, (FlowLanes_8)chosen);
}

/* A store with a mask takes far longer on some processors than two of the row's parts. */
FLOW_NARROW_CALL void flow_put_narrow_8(float *row, const float *from, int count) {
    __builtin_memcpy(row, from, (size_t)count * sizeof *row);
}
#else
#define FLOW_NARROW_LANES 0
#endif

#endif
