/* Tune: shares the processors between a pipeline's workers and the team of the step while a run
 * goes on, by what it measures. What is computed does not depend on it. */
#ifndef FLOW_TUNE_H
#define FLOW_TUNE_H

#include "runtime/pace.h"

/* Who makes batches and who runs the step; without workers the team does both. */
typedef struct Split {
    int workers, threads;
} Split;

/* As text, and back; false when it is damaged. */
typedef struct SplitText {
    char text[64];
} SplitText;
SplitText split_text(Split split);
bool split_parse(const char *text, Split *split);

typedef struct Tuner {
    bool fixed, tuned;         /* tuned: another split was found to be better */
    Split now, before;         /* before: what a trial is compared with */
    int threads, most_workers; /* of a split */
    bool trying, warm;         /* warm: the first batches with this split are over */
    int64_t start, next_trial; /* times, in nanoseconds: of what is measured; of the next trial */
    int64_t pause;             /* until then, nanoseconds: longer each time nothing was gained */
    Pace begun;                /* at `start` */
    double rate;               /* batches a second with `before` */
} Tuner;

/* threads: the most; workers: the same, 0: the split is fixed. */
Tuner tuner_new(Split split, int threads, int workers, int64_t now);

/* Is it too early to look? */
bool tuner_waits(const Tuner *tuner, int64_t now);

/* After each batch: the split from now on. sleeps: batches are waited for, not computed. */
Split tuner_look(Tuner *tuner, int64_t now, const Pace *pace, bool sleeps);

/* The best that is known: not one that is only tried. */
Split tuner_best(const Tuner *tuner);

#endif
