/* Vocabulary: texts that stand for 0, 1, … */
#ifndef FLOW_VOCABULARY_H
#define FLOW_VOCABULARY_H

#include <stddef.h>

typedef struct Vocabulary Vocabulary;

/* The texts have to live as long. NULL: no memory. */
Vocabulary *vocabulary_new(const char *const *texts, int count);
void vocabulary_free(Vocabulary *vocabulary);

/* The first place of the text, or -1. Thread-safe. */
int vocabulary_find(const Vocabulary *vocabulary, const char *text, size_t size);

#endif
