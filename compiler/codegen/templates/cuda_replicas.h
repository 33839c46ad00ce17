/* cuda_replicas.h: what replicas have of a value becomes whole: element by element, in the order of
 * their numbers. Operand 0 is the number of elements, 1 that of replicas; input 0 where the result
 * goes, input 1 what each replica has, one behind the other. load, store: of halves. */
#ifndef FLOW_CUDA_REPLICAS_H
#define FLOW_CUDA_REPLICAS_H

#include "cuda.h"

#define FLOW_JOINED_whole_sum(y, a) ((y) + (a))
#define FLOW_JOINED_whole_max(y, a) max(y, a)
#define FLOW_JOINED_whole_min(y, a) min(y, a)
#define FLOW_JOINED_whole_prod(y, a) ((y) * (a))

#define FLOW_JOIN(op, element, type, computed, load, store)                            \
    FLOW_GLOBAL(flow_##op##_##element, 256) {                                          \
        const int64_t count = arguments.operands[0], replicas = arguments.operands[1]; \
        type *const to = (type *)arguments.inputs[0];                                  \
        const type *const from = (const type *)arguments.inputs[1];                    \
        const int64_t i = FLOW_BLOCK * 256 + FLOW_THREAD;                              \
        if (i >= count) return;                                                        \
        computed y = load(FLOW_LOAD(from, i));                                         \
        for (int64_t replica = 1; replica < replicas; replica++) {                     \
            const computed a = load(FLOW_LOAD(from, replica * count + i));             \
            y = (computed)FLOW_JOINED_##op(y, a);                                      \
        }                                                                              \
        FLOW_STORE(to, i, store(y));                                                   \
    }

#endif
