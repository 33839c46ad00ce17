/* Cost: what the parts of making a record take, measured now and then. */
#ifndef FLOW_COST_H
#define FLOW_COST_H

#include "runtime/bounds.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum CostPart {
    COST_source,
    COST_decode,
    COST_record, /* the function of section 0; of section i: COST_record + i */
    COST_PARTS = COST_record + SECTION_LIMIT,
} CostPart;

/* Of one thread. Others may read the sums at any time. */
typedef struct Costs {
    atomic_llong times[COST_PARTS]; /* nanoseconds, of the records that were measured: */
    atomic_llong records, waits;    /* in which the thread slept */
    int64_t left;                   /* records until some are measured again */
} Costs;

/* Brackets the making of so many records by the calling thread. */
void cost_begin(Costs *costs, int64_t records);
void cost_end(Costs *costs, int64_t records);

/* Nanoseconds of a record, those for measuring it included; 0: none was measured yet. */
int64_t cost_of_record(const Costs *costs);

/* The part that follows is that of; returns the one before, to be entered again behind it. */
extern _Thread_local Costs *cost_measured; /* or NULL: this record is not */
CostPart cost_switch(CostPart part);

static inline CostPart cost_enter(CostPart part) {
    return cost_measured ? cost_switch(part) : part;
}

#endif
