/* Category: a field whose texts are listed, as it is where a pipeline is open; as long as the
 * process lives. */
#ifndef FLOW_TEST_CATEGORY_H
#define FLOW_TEST_CATEGORY_H

#include "runtime/vocabulary.h"

#include <stdlib.h>

static inline FlowField with_categories(FlowField field, const char *const *texts, int count) {
    Vocabulary *own;
    field.categories = texts;
    field.category_count = count;
    if (!vocabulary_bind(&field, &own)) abort();
    return field;
}

#endif
