/* Replay: the kernels of a call as a graph of CUDA, which the driver launches at once. A call is
 * known by its function, the numbers of its kernels' parameters that may differ, and its turn. The
 * second time it is made what it asks of the kernels' stream is recorded beside; from then on it is
 * replayed, and its launches do nothing. Where there is no memory for its graph, or its kernels are
 * more than FLOW_REPLAY_KERNELS, it is launched one by one, which GpuCounts.refused counts. Inside
 * device/. */
#ifndef FLOW_REPLAY_H
#define FLOW_REPLAY_H

#include "runtime/device/gpu.h"

enum { REPLAY_LIMIT = 128 }; /* graphs; calls beyond that are launched one by one */
extern int replay_most;      /* kernels of a graph: FLOW_REPLAY_KERNELS, but for tests */

typedef struct Replay {
    int64_t function, gpu, turn, batch;
    int64_t sizes[FLOW_LAUNCH_SIZES];
    void *executable; /* NULL: it was made once, or */
    bool refused;     /* its graph */
} Replay;

/* The call is going to be made on its one GPU, for that turn. */
bool replay_begin(Gpu *gpu, const FlowFrame *frame, int64_t function, int64_t turn);

/* Counts a kernel of the call that is recorded. False: it was one too many, and the recording has
 * ended. */
bool replay_add_kernel(void);

/* What is asked of the kernels' stream now is in its graph, and not to be asked for. */
bool replay_has_it(void);

/* All kernels have been asked for: those that are replayed are. */
bool replay_end(Gpu *gpu);

/* Frees the graphs, and the one that is recorded: what they know of addresses is no longer so. */
void replay_forget(void);

#endif
