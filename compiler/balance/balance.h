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
typedef struct Crossing {
    int from;
    const int *readers;
    int count;
    double seconds;
    bool in_step; /* the step waits for it */
} Crossing;

typedef struct Round {
    Vector(Item) items;
    Vector(Crossing) values;
} Round;

typedef enum Busy { BUSY_cpu, BUSY_gpu, BUSY_link, BUSY_step, BUSY_COUNT } Busy;

/* Seconds of a round. */
typedef struct Loads {
    double seconds[BUSY_COUNT];
} Loads;

typedef struct Split {
    bool *on_gpu; /* of each item */
    Loads loads;
    double seconds; /* the largest of them */
    double bound;   /* no split has a shorter round */
} Split;

/* The same items and values give the same split; its time grows about as they do. Where nothing is
 * gained, items stay on the CPU. */
Split balance(Arena *arena, const Round *round);

/* What a split of the caller's takes; fixed items are where it says. */
Loads balance_loads(const Round *round, const bool *on_gpu);
Busy balance_busiest(const Loads *loads);

#endif
