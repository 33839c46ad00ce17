/* Resize: images of another size. */
#ifndef FLOW_RESIZE_H
#define FLOW_RESIZE_H

#include "runtime/flow.h"

/* From u8[h, w, c] to u8[h', w', c], bilinear, and antialiased when it gets smaller: the same pixels
 * as Pillow's BILINEAR. */
FlowStatus resize_image(const FlowType *from_type, const void *from, const FlowType *to_type,
                        void *to);

#endif
