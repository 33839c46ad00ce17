/* Plural: what a word ends in behind a count, as in "1 record" and "2 records". */
#ifndef FLOW_PLURAL_H
#define FLOW_PLURAL_H

#include <stdint.h>

static inline const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

#endif
