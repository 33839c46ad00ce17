/* Slices: what its files share: slices.c finds kernels that run slice by slice, again.c what of an
 * earlier band they make again, room.c where what they leave each other lies. */
#ifndef FLOW_PLAN_SLICES_H
#define FLOW_PLAN_SLICES_H

#include "compiler/plan/bands.h"

/* Of a large value. */
typedef struct SliceReader {
    int kernel;
    bool own_row, of_slice; /* its own row; of its slice alone */
} SliceReader;
typedef Vector(SliceReader) SliceReaders;

typedef Vector(int) Kernels;
typedef Vector(NodeId) Values;

/* A band of slices, and the earlier one whose values it makes again. */
typedef struct Finder {
    Bander *bander;
    SliceReaders *readers; /* of each large value */
    Dim outer, share;      /* of the products */
    int first, end;        /* the run of kernels that it begins with, by their places */
    Kernels kernels;       /* of the band: those, and what is moved behind them */
    int earlier, behind;   /* the run that it makes values of again */
    Kernels again;         /* kernels of it, in their order */
    Values values;         /* that are made again, in the order of these kernels */
    bool good;             /* what was asked of all reads */
} Finder;

static inline Planner *planner_of(const Finder *finder) {
    return finder->bander->planner;
}

static inline const KernelPlan *kernel_of(const Finder *finder, int k) {
    return &planner_of(finder)->plan->kernels[k];
}

static inline int writer_of(const Finder *finder, NodeId id) {
    return node_of(planner_of(finder), id)->kernel;
}

static inline int place_of(const Finder *finder, int k) {
    return finder->bander->positions[k];
}

static inline bool has_kernel(const Kernels *kernels, int k) {
    vector_each(int, known, *kernels)
        if (*known == k) return true;
    return false;
}

/* Is it a reduction? A kernel that is called again finds those of its rows in memory. */
static inline bool is_found_again(const Finder *finder, NodeId id) {
    return op_info[node_of(planner_of(finder), id)->op].class == LOOP_reduce;
}

/* May the kernel be in the band, as its products have the same slices, or it goes over as many
 * rows, split by neither records nor parts? */
bool is_alike(const Finder *finder, int kernel);

/* Is it read in the band, by the row or the slice? */
bool reads_within(const Finder *finder, const SliceReader *reader);

bool changes_weights(const Finder *finder, int kernel);

/* again.c: fills again, values and the earlier run: of the last kernel before the band that leaves
 * it what may be made again. */
void find_again(Finder *finder);

/* Is the kernel of the earlier run? */
bool is_earlier(const Finder *finder, int kernel);

/* room.c: what the band keeps in its buffer, and where. */
void add_values(const Finder *finder, Band *band);
void give_room(const Finder *finder, Band *band);

#endif
