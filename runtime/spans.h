/* Spans: records of several files, numbered one behind the other. Which file has one is looked up
 * in a table of stretches, each as long as files are on average. */
#ifndef FLOW_SPANS_H
#define FLOW_SPANS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Spans {
    int64_t *firsts; /* the first record of each file, and of one behind the last */
    int *near; /* of each stretch the file that has its first record, and one behind the last */
    int shift; /* of a record to its stretch */
} Spans;

/* Room for so many files. False: no memory. spans_close has to follow. */
bool spans_new(int count, Spans *spans);
void spans_close(Spans *spans);

/* When all firsts are known of `count` files. False: no memory. */
bool spans_index(Spans *spans, int count);

/* The last file that begins at the record or before it: one without records begins where the next
 * one does. */
static inline int spans_find(const Spans *spans, int64_t record) {
    const int *near = &spans->near[record >> spans->shift];
    int low = near[0], high = near[1] + 1;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (spans->firsts[middle] <= record) low = middle;
        else high = middle;
    }
    return low;
}

#endif
