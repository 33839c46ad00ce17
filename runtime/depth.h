/* Depth: how many finished batches may lie ready, found while a run goes on. Where batches come
 * unevenly the step waits for one at times, and workers for room at others; a deeper queue evens
 * that out, as long as it does. One that never runs low becomes shallower: batches that lie there
 * long leave the caches. */
#ifndef FLOW_DEPTH_H
#define FLOW_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/* So far, in nanoseconds: the step waited for batches; all workers together waited for room. */
typedef struct DepthPace {
    int64_t waited, idle, batches;
} DepthPace;

typedef struct Depth {
    int now, before; /* before: what a trial is compared with */
    int least, most; /* the same: it is fixed */
    bool trying, tuned;
    int calm;                  /* times in a row that half of it would have done */
    int64_t start, next_trial; /* times, in nanoseconds: of what is measured; of the next trial */
    int64_t pause;             /* until then: longer each time nothing was gained */
    DepthPace begun;           /* at `start` */
    double waited;             /* part of the time, with `before` */
} Depth;

/* Between these bounds, which change with the number of workers; it begins with the least, or with
 * `tuned` where that is not 0. */
Depth depth_new(int least, int most, int tuned, int64_t now);
void depth_bound(Depth *depth, int least, int most);

/* What was measured until now does not count. */
void depth_begin(Depth *depth, int64_t now, const DepthPace *pace);

/* Is it too early to look? */
bool depth_waits(const Depth *depth, int64_t now);

/* After each batch: the depth from now on. ready: the fewest batches that lay there since the last
 * look that was not too early. */
int depth_look(Depth *depth, int64_t now, const DepthPace *pace, int workers, int ready);

/* The best that is known: not one that is only tried. */
int depth_best(const Depth *depth);

#endif
