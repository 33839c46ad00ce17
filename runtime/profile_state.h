/* Profile state: what profile.c notes, for the files that show it. */
#ifndef FLOW_PROFILE_STATE_H
#define FLOW_PROFILE_STATE_H

#include "runtime/profile.h"

#include <stdio.h>

/* Of all calls of a kernel by a thread, in nanoseconds. */
typedef struct Span {
    int64_t waiting, busy;
} Span;

typedef struct Member {
    _Alignas(64) bool inside; /* a kernel, whose own calls are part of it */
    Span spans[]; /* one for each of FlowFunction.work, and one for copies behind them */
} Member;

typedef struct Watched {
    FlowObserver observer; /* first: the calls are made through a pointer to it */
    const FlowFunction *function;
    struct Watched *next;
    Member **members; /* one a thread */
    int threads;      /* the most that called it so far */
    int64_t times;    /* that it was called */
} Watched;

struct Profile {
    Watched *functions;
    int threads;
};

/* A kernel's mean time, in microseconds: of the thread that takes longest, and the mean of what
 * threads wait before it. */
typedef struct Share {
    int number; /* in FlowFunction.work */
    double busy, waiting;
} Share;

Share share_of(const Watched *watched, int number);

/* Microseconds of a whole call, by the thread that takes longest. */
double mean_time(const Watched *watched);

/* "contraction [B, 784, 128]: digits.flow:24 matmul" */
const char *work_text(const Watched *watched, int number);

/* profile_picture.c: of so many threads' peak, in operations a second. */
void profile_draw(const Profile *profile, double peak, FILE *file);

#endif
