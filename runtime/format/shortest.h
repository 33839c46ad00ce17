/* Shortest: numbers as text: of floating point the shortest that gives the number back, and of
 * those the closest; whole numbers below 2^53 with all their digits, as 1500 and not 1.5e3.
 * Thread-safe. */
#ifndef FLOW_SHORTEST_H
#define FLOW_SHORTEST_H

#include "runtime/flow.h"

enum { SHORTEST_SIZE = 32 }; /* more than any number takes */

/* Writes the number of that element, without a NUL behind it, and returns its end. Not a number is
 * `nan`, infinity `inf`. */
char *shortest_write(FlowElement element, const void *value, char *text);

char *shortest_whole(int64_t number, char *text);

/* Neither infinite nor no number. */
bool shortest_is_finite(FlowElement element, const void *value);

#endif
