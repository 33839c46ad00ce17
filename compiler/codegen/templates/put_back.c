/* put_back.c: what program.h says of values that were stored first, for all units of a program. */
#include "program.h"

#define FLOW_PUT_BACK(suffix, type, integer)                                                 \
    integer flow_put_back_##suffix(type *values, const type *log, int64_t count, int step,   \
                                   int good) {                                               \
        integer lost = 0;                                                                    \
        for (int64_t j = 0; j < count; j++) {                                                \
            lost |= good & flow_is_lost(values[j], log[j]);                                  \
            values[j] = keep(step, values[j], log[j]);                                       \
        }                                                                                    \
        return lost;                                                                         \
    }                                                                                        \
    integer flow_put_kept_##suffix(type *values, const type *given, int64_t count, int step, \
                                   int good) {                                               \
        integer lost = 0;                                                                    \
        for (int64_t j = 0; j < count; j++) {                                                \
            lost |= good & flow_is_lost(given[j], values[j]);                                \
            values[j] = keep(step, given[j], values[j]);                                     \
        }                                                                                    \
        return lost;                                                                         \
    }
