/* Cost: to measure takes about a microsecond; the more records come, the fewer are measured, so
 * that it is less than a percent of the time. */
#define _GNU_SOURCE
#include "runtime/cost.h"

#include "runtime/clock.h"

#include <stddef.h>
#include <sys/resource.h>

enum { INTERVAL = 200000 /* nanoseconds from one measuring to the next, at least */, MOST = 4096 };

_Thread_local Costs *cost_measured;

static _Thread_local struct Measurement {
    CostPart part;
    int64_t begin, since;
    long sleeps;
} measurement;

static void add(atomic_llong *sum, int64_t more) {
    atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

static long sleeps(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

int64_t cost_of_record(const Costs *costs) {
    int64_t records = costs->records, time = 0;
    for (int i = 0; i < COST_PARTS; i++) time += costs->times[i];
    return records ? time / records : 0;
}

void cost_begin(Costs *costs, int64_t records) {
    costs->left -= records;
    if (costs->left >= 0) return;
    cost_measured = costs;
    measurement.sleeps = sleeps();
    measurement.part = COST_source;
    measurement.begin = measurement.since = clock_nanoseconds();
}

CostPart cost_switch(CostPart part) {
    CostPart before = measurement.part;
    int64_t now = clock_nanoseconds();
    add(&cost_measured->times[before], now - measurement.since);
    measurement.since = now;
    measurement.part = part;
    return before;
}

void cost_end(Costs *costs, int64_t records) {
    if (cost_measured != costs) return;
    cost_switch(COST_source);
    int64_t time = (measurement.since - measurement.begin) / records;
    costs->left = INTERVAL / (time + 1);
    if (costs->left > MOST) costs->left = MOST;
    add(&costs->waits, sleeps() > measurement.sleeps ? records : 0);
    add(&costs->records, records);
    cost_measured = NULL;
}
