/* Vocabulary: texts that stand for 0, 1, … */
#ifndef FLOW_VOCABULARY_H
#define FLOW_VOCABULARY_H

#include "runtime/flow.h"

typedef struct Vocabulary Vocabulary;

/* Sees the texts of a field while its vocabulary is found. Thread-safe. False: this can be none. */
typedef struct Learner {
    bool (*see)(struct Learner *learner, const char *text, size_t size);
} Learner;

/* The texts have to live as long; NULL among them: none stands for that number. NULL: no memory. */
Vocabulary *vocabulary_new(const char *const *texts, int count);

/* Of a field: its categories, or those of its learner, of whom each is 0. NULL: no memory. */
Vocabulary *vocabulary_of(const FlowField *field);
void vocabulary_free(Vocabulary *vocabulary);

/* The first place of the text, or -1. Thread-safe. */
int vocabulary_find(const Vocabulary *vocabulary, const char *text, size_t size);

/* Why a text is none of the field's: "none of its 3 categories". */
typedef struct VocabularyFault {
    char text[96];
} VocabularyFault;
VocabularyFault vocabulary_fault(const FlowField *field);

/* Is it a text of a category, found in the program or in data? */
static inline bool is_category(const FlowField *field) {
    return field->categories || field->learner;
}

#endif
