/* Averages: of a function's scalar results over many batches, each weighted by its records.
 */
#ifndef FLOW_AVERAGES_H
#define FLOW_AVERAGES_H

#include "runtime/flow.h"

enum { RESULT_LIMIT = 16 };

typedef struct Averages {
    int64_t records;
    double sums[RESULT_LIMIT]; /* in the order of the function's results; of totals: the last */
} Averages;

/* Adds the results that a run on `records` records left in memory. */
void averages_add(Averages *averages, const FlowFunction *function, const char *memory,
                  int64_t records);

/* The mean of result `i`, or its last value when it is a total. */
double averages_value(const Averages *averages, const FlowFunction *function, int i);

/* " loss=0.0712 accuracy=0.9781". */
void averages_text(const Averages *averages, const FlowFunction *function, char *text, size_t size);

#endif
