/* Balance: which parts of a loop run on a GPU, so that it goes round as often as it can.
 *
 * A round is one batch: it is prepared, then a step computes with it. While one step runs, batches
 * of later ones are prepared and copied, so what bounds the rate is the busiest of four: the CPU,
 * the GPU, the link between them, and the step, whose parts follow one another and wait for what
 * they copy to each other. Each is a sum over items and values; the largest of them is a round's
 * time, which is made as small as it gets.
 *
 * Of any weighted mean of the four the best split is a minimum cut of a graph (H. S. Stone,
 * "Multiprocessor scheduling with the aid of network flow algorithms", 1977), and is a lower bound
 * of the largest. Weights are looked for that raise this bound (Lagrangian relaxation; such cuts
 * are parametric: Gallo, Grigoriadis, Tarjan, 1989). The splits on the way, those between two of
 * them, and single and double moves from the best of these are compared. Where nothing is prepared,
 * the step is the largest always, and the first cut is the answer. */
#ifndef FLOW_BALANCE_H
#define FLOW_BALANCE_H

#include "lang/base/vector.h"

#include <stdbool.h>

typedef enum Side { SIDE_free, SIDE_cpu, SIDE_gpu } Side;

/* Something that is computed in each round. */
typedef struct Item {
    double cpu, gpu; /* seconds on each */
    bool in_step;
    Side fixed;
} Item;

/* A value that goes to the other side, once, if the item `from` is on one and any reader there. */
typedef struct Value {
    int from;
    const int *readers;
    int count;
    double seconds;
    bool in_step; /* the step waits for it */
} Value;

typedef struct Problem {
    Vector(Item) items;
    Vector(Value) values;
} Problem;

typedef enum Load { LOAD_cpu, LOAD_gpu, LOAD_link, LOAD_step, LOADS } Load;

/* Seconds of a round. */
typedef struct LoadSums {
    double seconds[LOADS];
} LoadSums;

typedef struct Split {
    bool *on_gpu; /* of each item */
    LoadSums loads;
    double round; /* the largest of them */
    double bound; /* no split has a shorter round */
} Split;

/* The same problem gives the same split; its time grows about as the problem does. Where nothing is
 * gained, items stay on the CPU. */
Split balance(Arena *arena, const Problem *problem);

/* What a split of the caller's takes; fixed items are where it says. */
LoadSums balance_loads(const Problem *problem, const bool *on_gpu);
Load balance_busiest(const LoadSums *loads);

#endif
