/* Image: the bytes of a file become a field's pixels. */
#ifndef FLOW_IMAGE_H
#define FLOW_IMAGE_H

#include "runtime/flow.h"

/* Makes the field's value, whose decoder is set. What is wrong is said without the place.
 * Thread-safe. */
FlowStatus image_make(const void *bytes, size_t size, const FlowField *field, void *value);

#endif
