/* Bands: what its files share: bands.c finds kernels that run a few rows at a time, slices.c those
 * that run slice by slice. */
#ifndef FLOW_PLAN_BANDS_H
#define FLOW_PLAN_BANDS_H

#include "compiler/plan/planner.h"

enum { BAND_BYTES = 1 << 20 /* of what the kernels of a band leave in the nearest caches */ };

/* Who reads a value. */
typedef struct Reading {
    int last;   /* place in the order, or -1 */
    bool apart; /* read at other rows than the reader's own */
} Reading;

typedef struct Bander {
    Planner *planner;
    Reading *readings;  /* of each node */
    bool *kept;         /* of each node: is an output */
    int *positions;     /* of each kernel: its place in the order */
    const Band **given; /* of each place in the order: what slices.c found there, or NULL */
    int reader;         /* the place of the kernel whose reads are visited */
    int first, last;    /* the kernels that note_hand asks about, by their places */
    bool hands_on;
} Bander;

const KernelPlan *kernel_at(const Bander *bander, int position);

/* Asks all kernels what they read; once more, when some have been moved. */
void find_readings(Bander *bander);

/* Are they elements of the reader's own row? */
bool is_own_row(IndexKind index);

/* May a kernel be run a few rows at a time? */
bool has_bands(const KernelPlan *kernel);

/* The place behind the kernels from `first` on that are split alike and don't wait. */
int end_of_run(const Bander *bander, int first);

/* Is it stored, and too large to stay in the caches? */
bool is_large(const Bander *bander, NodeId id);

/* Is one of the values that the band keeps from memory large? */
bool has_large(const Bander *bander, const Band *band);

/* Bytes of the value in one row of the share, or one record; 0: it does not lie in such. */
int64_t row_size(const Bander *bander, NodeId id, Dim share);

/* Do only kernels of the band read the value, each its own rows? */
bool is_passing(const Bander *bander, const Band *band, int first, NodeId id);

/* How many rows at a time, of so many bytes: whole records, or a slice of the products, or equal
 * parts of one; 0: not even one. */
int64_t choose_rows(const Bander *bander, const Band *band, int first, int64_t size);

/* Sets bander->given, and moves kernels in the order. */
void find_slices(Bander *bander);

#endif
