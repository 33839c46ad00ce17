/* Listed: a vocabulary in a file: {"text": number, …}, each text and each number once. */
#ifndef FLOW_TEXT_LISTED_H
#define FLOW_TEXT_LISTED_H

#include "runtime/content.h"
#include "runtime/vocabulary.h"

typedef struct Listed {
    const char *path;
    Content content; /* where the texts lie */
    const char **texts;
    int32_t *numbers;
    int count, capacity;
    int32_t limit; /* every number is smaller */
    Vocabulary *places;
} Listed;

/* The path has to live as long. Whatever it returns, listed_close has to follow. */
FlowStatus listed_open(const char *path, Listed *listed);
void listed_close(Listed *listed);

/* The number of the text, or -1. */
int32_t listed_find(const Listed *listed, const char *text, size_t size);

#endif
