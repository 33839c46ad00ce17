/* Profile state: what profile.c notes, and what it adds up to, for the files that show it. */
#ifndef FLOW_PROFILE_STATE_H
#define FLOW_PROFILE_STATE_H

#include "runtime/peaks.h"
#include "runtime/profile.h"

#include <stdio.h>

enum { SPENDING_LIMIT = 16 };

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
    Profile *profile;
    Member **members;    /* one a thread */
    int threads;         /* the most that called it so far */
    int64_t times;       /* that it was called */
    int64_t threads_sum; /* of all those times */
    int64_t time;        /* nanoseconds of the first thread, in all */
} Watched;

/* What the first thread does beside kernels, in nanoseconds. */
typedef struct Spending {
    const char *what;
    int64_t time, times;
} Spending;

struct Profile {
    Watched *functions;
    int threads;
    int64_t begun, ended, known; /* nanoseconds; known: of the first thread, what is noted */
    Spending spendings[SPENDING_LIMIT];
    int spending_count;
};

/* profile_rows.c. */

/* Calls of a function whose kernels say the same of themselves; times in microseconds. */
typedef struct Row {
    int first, calls; /* the first in FlowFunction.work; how many */
    int place;        /* among all rows, by time */
    double busy;      /* of the thread that takes longest in each call */
    double waiting;   /* mean of what threads wait before them */
    double floor;     /* that busy can't be below, by what bounds most of it */
    const char *floor_name;
    FlowWork work; /* of all of the calls */
} Row;

typedef struct Rows {
    Row *items; /* the longest first; free() it */
    int *of;    /* of each call: its place in items; free() it */
    int count;
    double time; /* of a whole call of the function, by the thread that takes longest */
    double busy; /* of all rows */
} Rows;

/* In the mean. */
double threads_of(const Watched *watched);

/* Without items: there was no memory. */
Rows rows_of(const Watched *watched, const Peaks *peaks);
void rows_free(Rows *rows);

/* Percent of what it could reach, at most 100. */
double row_percent(const Row *row);

/* The run's time in parts, in seconds, the longest first; returns how many of SHARE_LIMIT. */
enum { SHARE_LIMIT = SPENDING_LIMIT + 48 };
typedef struct TimeShare {
    char what[96];
    double seconds;
} TimeShare;
int time_shares(const Profile *profile, TimeShare *shares);

/* profile_table.c */
FlowStatus profile_print(const Profile *profile, const Peaks *peaks);

/* profile_picture.c */
FlowStatus profile_draw(const Profile *profile, const Peaks *peaks, FILE *file);

FlowStatus profile_no_memory(void);

#endif
