/* Vocabulary: texts that stand for 0, 1, … */
#ifndef FLOW_VOCABULARY_H
#define FLOW_VOCABULARY_H

#include "runtime/flow.h"

typedef struct Vocabulary Vocabulary;

/* What a field shows its texts while its vocabulary is found. Thread-safe. */
typedef struct TextSeer {
    int (*see)(struct TextSeer *seer, const char *text,
               size_t size);                          /* its number; -1: it can be none */
    void (*count)(struct TextSeer *seer, int number); /* in a record that was made */
} TextSeer;

/* The texts have to live as long; NULL among them: none stands for that number. NULL: no memory. */
Vocabulary *vocabulary_new(const char *const *texts, int count);

/* Gives the field its texts: its categories, or what its seer makes of them; *own is NULL when it
 * has none, else the caller's to free. False: no memory. */
bool vocabulary_bind(FlowField *field, Vocabulary **own);
void vocabulary_free(Vocabulary *vocabulary);

/* The first place of the text, or -1. Thread-safe. */
int vocabulary_find(const Vocabulary *vocabulary, const char *text, size_t size);

/* Why a text is none of the field's: "none of its 3 categories". */
typedef struct VocabularyFault {
    char text[96];
} VocabularyFault;
VocabularyFault vocabulary_fault(const FlowField *field);

#endif
