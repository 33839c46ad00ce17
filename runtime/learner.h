/* Learner: finds the texts of a vocabulary in the records of a pipeline. */
#ifndef FLOW_LEARNER_H
#define FLOW_LEARNER_H

#include "runtime/vocabulary.h"

enum { CATEGORY_SIZE = 1024 /* bytes of a text at most */ };

typedef struct TextLearner TextLearner;

/* NULL: no memory. */
TextLearner *learner_new(void);
void learner_free(TextLearner *learner);

/* What fields see. */
Learner *learner_of(TextLearner *learner);

/* The texts in the order of their bytes, as long as the learner lives; when there are more than `most`,
 * those that were seen most often. *count: how many there are in all. NULL: there are too many to
 * remember. */
const char *const *learner_texts(TextLearner *learner, int64_t most, int64_t *count);

#endif
