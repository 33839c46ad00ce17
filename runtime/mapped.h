/* Mapped: a whole file to be read: mapped if it is plain, unpacked if it is compressed. */
#ifndef FLOW_MAPPED_H
#define FLOW_MAPPED_H

#include "runtime/content.h"

typedef struct Mapped {
    const char *bytes; /* `size` of them, and CONTENT_PADDING zeros */
    size_t size;
    bool plain; /* mapped; else unpacked: */
    Content content;
} Mapped;

/* On failure there is nothing to close. */
FlowStatus mapped_open(const char *path, Mapped *mapped);
void mapped_close(Mapped *mapped);

#endif
