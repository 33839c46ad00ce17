/* Numbers: rows of numbers become elements of a field's type, where no value is lost. */
#ifndef FLOW_NUMBERS_H
#define FLOW_NUMBERS_H

#include "runtime/flow.h"

/* Stores `count` of them as that element, rounded when it is a floating-point one. Returns how many
 * were stored before one that an integer element cannot hold. */
size_t store_integers(const int64_t *numbers, size_t count, FlowElement element, void *values);
size_t store_floats(const float *numbers, size_t count, FlowElement element, void *values);

/* What the field takes for what is missing, as often as its type has elements. */
FlowStatus store_filling(const FlowField *field, void *values);

#endif
