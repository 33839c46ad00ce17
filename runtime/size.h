/* Size: a number as an operand of a kernel's call, or how many there are of each record. */
#ifndef FLOW_SIZE_H
#define FLOW_SIZE_H

#include <stdint.h>

/* Below half of this an operand says above it how many there are of each record. */
#define FLOW_OF_RECORDS (-(INT64_C(1) << 60))

static inline int64_t flow_size(int64_t operand, int64_t batch) {
    return operand < FLOW_OF_RECORDS / 2 ? (operand - FLOW_OF_RECORDS) * batch : operand;
}

#endif
