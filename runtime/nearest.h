/* Nearest: how far apart two names are, for "did you mean". */
#ifndef FLOW_NEAREST_H
#define FLOW_NEAREST_H

#include <stddef.h>

enum { NAME_SIZE = 64 };

/* The edits between two names (Levenshtein); NAME_SIZE when b is too long to be compared. */
int name_distance(const char *a, const char *b, size_t b_length);

/* With so many edits it is another name. */
int name_distance_limit(size_t length);

#endif
