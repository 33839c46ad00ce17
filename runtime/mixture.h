/* Mixture: which of several sets each record is of, by chance. The choice at a position is a
 * function of the seed and the position; how many of each set stand before it is kept for every so
 * many positions, and counted from there. */
#ifndef FLOW_MIXTURE_H
#define FLOW_MIXTURE_H

#include "runtime/flow.h"

enum { MIXTURE_LIMIT = 64 /* sets */ };

typedef struct Mixture Mixture;

/* One weight a set, each above 0; counts: records of each, at least 1. There are as many positions
 * as it takes until each set is through once. On failure *mixture is NULL; the text does not say
 * where. */
FlowStatus mixture_new(const double *weights, const int64_t *counts, int sets, uint64_t seed,
                       Mixture **mixture);
void mixture_free(Mixture *mixture); /* NULL: nothing */

int64_t mixture_size(const Mixture *mixture);
int64_t mixture_total(const Mixture *mixture, int set); /* positions that are of the set */

/* The set at the position; *rank: how many positions before it are of that set. Thread-safe. */
int mixture_at(const Mixture *mixture, int64_t position, int64_t *rank);

#endif
