/* Number: tensors as text. */
#ifndef FLOW_SINK_NUMBER_H
#define FLOW_SINK_NUMBER_H

#include "runtime/output.h"

typedef struct NumberStyle {
    const char *comma;   /* between numbers */
    const char *special; /* what stands for a number that is not finite; NULL: nan, inf, -inf */
} NumberStyle;

int64_t element_count(const FlowType *type);

/* The numbers that lie one behind the other, each with the fewest digits that give it back. */
void write_numbers(Output *output, FlowElement element, const char *values, int64_t count,
                   NumberStyle style);

/* [[1, 2], [3, 4]] */
void write_tensor(Output *output, const FlowType *type, const char *values, NumberStyle style);

#endif
