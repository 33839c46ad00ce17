/* Number: one number of a tensor as text, and where its brackets are. */
#ifndef FLOW_SINK_NUMBER_H
#define FLOW_SINK_NUMBER_H

#include "runtime/output.h"

/* The shortest text that gives the number back. */
void write_number(Output *output, FlowElement element, const char *value);

/* [[1, 2], [3, 4]], with `comma` between the numbers. */
void write_tensor(Output *output, const FlowType *type, const char *value, const char *comma);

int64_t element_count(const FlowType *type);

#endif
