/* Content: a whole file in memory, unpacked when it is compressed. */
#ifndef FLOW_CONTENT_H
#define FLOW_CONTENT_H

#include "runtime/flow.h"

enum { CONTENT_PADDING = 64 };

typedef struct Content {
    char *bytes; /* `size` of them, and CONTENT_PADDING zeros */
    size_t size, room;
} Content;

/* On failure there is nothing to free. */
FlowStatus content_read(const char *path, Content *content);
void content_free(Content *content);

#endif
