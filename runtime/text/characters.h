/* Characters: each character of a text is a token of an alphabet. */
#ifndef FLOW_TEXT_CHARACTERS_H
#define FLOW_TEXT_CHARACTERS_H

#include "runtime/flow.h"
#include "runtime/text/workplace.h"

typedef struct Characters Characters;

/* alphabet: which stand for 0, 1, …; NULL: `path` is a file that lists them. unknown: what all
 * others are; -1: an error. On failure *characters is NULL. */
FlowStatus characters_open(const char *alphabet, const char *path, int64_t unknown,
                           Characters **characters);
void characters_close(Characters *characters);

int64_t characters_limit(const Characters *characters); /* every token is smaller */

/* Adds the text's tokens. What is wrong is said without the place. Thread-safe. */
FlowStatus characters_encode(const Characters *characters, const char *text, size_t size,
                             TokenList *tokens);

#endif
