/* Values: random numbers for the inputs and weights of a graph. */
#ifndef FLOW_TESTS_VALUES_H
#define FLOW_TESTS_VALUES_H

#include "compiler/graph/graph.h"

enum { BATCH = 4 };

/* Where operands lie: an entry of ops.def's `domain`, or "special": NaN, infinities, zeros and the
 * largest and smallest numbers, so that two or three operands meet in all ways. Leaves named
 * "index" lie below `places`. */
typedef struct Domain {
    const char *name;
    int64_t places;
} Domain;

/* Elements of a value in a batch of BATCH. */
int64_t element_count(const Type *type);

/* One array for each input and weight; the same ones for the same seed. */
double **random_values(Arena *arena, const Graph *graph, Domain domain, uint64_t seed);

/* The given values by name, for another graph with the same leaves. */
const double *const *values_for(const Graph *graph, const Graph *from, double *const *values);

#endif
