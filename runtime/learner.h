/* Learner: finds the texts of a vocabulary in the records of a pipeline. */
#ifndef FLOW_LEARNER_H
#define FLOW_LEARNER_H

#include "runtime/vocabulary.h"

typedef struct Learner Learner;

/* NULL: no memory. */
Learner *learner_new(void);
void learner_free(Learner *learner);

/* What fields show their texts: each stands for 0 at first. */
TextSeer *learner_seer(Learner *learner);

/* From now on each stands for a number of its own, which can be counted. */
void learner_number(Learner *learner);

/* The texts in the order of their bytes, as long as the learner lives; when there are more than
 * `most`, those that were counted most often. *count: how many there are in all. NULL: there are
 * too many to remember. */
const char *const *learner_texts(Learner *learner, int64_t most, int64_t *count);

#endif
