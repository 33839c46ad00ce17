/* Averages: sums in double, added in the order of the batches, so they are the same in
 * every run. */
#include "runtime/averages.h"

#include "runtime/type.h"

#include <stdio.h>

static bool is_metric(const FlowFunction *function, int i) {
    return i < RESULT_LIMIT && function->results[i].type.rank == 0;
}

void averages_add(Averages *averages, const FlowFunction *function, const char *memory,
                  int64_t records) {
    averages->records += records;
    for (int i = 0; i < function->result_count; i++) {
        const FlowResult *result = &function->results[i];
        if (!is_metric(function, i)) continue;
        double value = number_read(result->type.element, memory + result->offset);
        averages->sums[i] = result->total ? value : averages->sums[i] + value * (double)records;
    }
}

double averages_value(const Averages *averages, const FlowFunction *function, int i) {
    return function->results[i].total ? averages->sums[i]
                                      : averages->sums[i] / (double)averages->records;
}

void averages_text(const Averages *averages, const FlowFunction *function, char *text,
                   size_t size) {
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < function->result_count && used < size; i++)
        if (is_metric(function, i) && averages->records)
            used +=
                (size_t)snprintf(text + used, size - used, " %s=%.4f", function->results[i].name,
                                 averages_value(averages, function, i));
}
