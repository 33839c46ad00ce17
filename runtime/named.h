/* Named: a file whose name is data: a line that was read, a cell of a table. It is read whole, if it is a
 * regular file that is not too large. */
#ifndef FLOW_NAMED_H
#define FLOW_NAMED_H

#include "runtime/flow.h"

enum {
    NAMED_LIMIT = 64 << 20, /* bytes of a file */
    NAMED_SHOWN = 200,      /* of a name in a message */
};

typedef struct Named {
    char *bytes;
    size_t size;
} Named;

/* Failures say what is wrong with the name, without where it stands. Whatever it returns, named_free has to
 * follow. Thread-safe. */
FlowStatus named_read(const char *name, size_t size, Named *file);
void named_free(Named *file);

/* How much of a name a message shows. */
static inline int named_shown(size_t size) {
    return size < NAMED_SHOWN ? (int)size : NAMED_SHOWN;
}

#endif
