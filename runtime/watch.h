/* Watch: has a measure become better, and when did it last? */
#ifndef FLOW_WATCH_H
#define FLOW_WATCH_H

#include "runtime/averages.h"

enum { WATCH_LIMIT = 32 }; /* actions of a train block that can watch */

typedef struct Watcher {
    double best;
    int64_t seen, waited; /* values that were numbers; all values since the best one */
    bool improved;        /* the last value is the best so far */
} Watcher;

/* Looks at a value; NaN is never better. */
void watch_look(Watcher *watcher, bool highest, double value);

/* All watchers as one line of text, and back; false when the text is damaged. The text holds no
 * more than WATCH_TEXT_SIZE bytes. */
enum { WATCH_TEXT_SIZE = 64 * WATCH_LIMIT };
void watch_text(const Watcher *watchers, int count, char *text, size_t size);
bool watch_parse(const char *text, Watcher *watchers, int count);

#endif
