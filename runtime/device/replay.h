/* Replay: the kernels of a call as graphs of CUDA, which the driver launches at once: one for each
 * GPU, or where replicas make values whole in between, one for each part before, between and behind
 * (whole.c). A call is
 * known by its function, the numbers of its kernels' parameters that may differ, and its turn. The
 * second time it is made what it asks of the kernels' stream is recorded beside; from then on it is
 * replayed, and its launches do nothing. Where there is no memory for its graph, or its kernels are
 * more than FLOW_REPLAY_KERNELS, it is launched one by one; the graph that was not used for longest
 * is given up where there are too many. GpuCounts.refused counts both. Inside device/. */
#ifndef FLOW_REPLAY_H
#define FLOW_REPLAY_H

#include "runtime/device/gpu.h"

extern int replay_most; /* kernels of a graph: FLOW_REPLAY_KERNELS, but for tests */
extern int replay_room; /* parts of calls that are known; of a guest a sixteenth */

/* A part of a call. */
typedef struct ReplayKey {
    int64_t function, gpu, turn, part, batch;
    int64_t sizes[FLOW_LAUNCH_SIZES];
} ReplayKey;

typedef struct Replay {
    ReplayKey key;
    void *executable;             /* NULL: it was made once, or */
    bool refused;                 /* its graph, or */
    bool empty;                   /* it has nothing that a GPU does */
    struct Replay *next;          /* in the same row of the table */
    struct Replay *older, *newer; /* used before it, and after */
} Replay;

/* What is made on a GPU now. */
typedef struct ReplayPart {
    ReplayKey call;
    Replay *current; /* the same, among all; NULL: it is neither recorded nor replayed */
    bool recording;  /* the GPU's recorder is being captured */
    bool skipped;    /* something of it, which the graph has */
    int asked;       /* kernels and copies that are recorded */
} ReplayPart;

enum { REPLAY_ROWS = 1 << 12 };
typedef struct Replays {
    Replay *rows[REPLAY_ROWS]; /* by what they are known by */
    Replay *oldest, *newest;
    int count;
    ReplayPart parts[GPU_LIMIT];
} Replays;

/* The call is going to be made on the GPU, for that turn: its first part; the next one. */
bool replay_begin(Gpu *gpu, const FlowFrame *frame, int64_t function, int64_t turn);

bool replay_go_on(Gpu *gpu);

/* Counts a kernel of the call that is recorded, or a copy. False: it was one too many, and the
 * recording has ended. */
bool replay_add(Gpu *gpu);

/* What is asked of the GPU's kernels' stream now is in a graph, and not to be asked for. */
bool replay_has_it(const Gpu *gpu);

/* All kernels of the part have been asked for: those that are replayed are. */
bool replay_end(Gpu *gpu);

/* Frees the graphs, and the one that is recorded: what they know of addresses is no longer so. */
void replay_forget(void);

#endif
