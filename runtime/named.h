/* Named: a file whose name is data: a line that was read, a cell of a table. */
#ifndef FLOW_NAMED_H
#define FLOW_NAMED_H

#include "runtime/whole_file.h"

enum { NAMED_SHOWN = 200 /* bytes of a name in a message */ };

/* As whole_file_read; failures say what the name is, without where it stands. Thread-safe. */
FlowStatus named_read(const char *name, size_t size, WholeFile *file);

/* How much of a name a message shows. */
static inline int named_shown(size_t size) {
    return size < NAMED_SHOWN ? (int)size : NAMED_SHOWN;
}

#endif
