/* Gpu: one GPU at work, in the primary context that CUDA has of it. Inside device/.
 *
 * It has four streams: what kernels do, in that order; copies of what a call is given; copies of
 * what it gives; and one that only records; replicas have a fifth. Other copies stand among the
 * kernels. What waits for what is said by events, on the GPU: the host waits, asleep, in
 * gpu_finish, gpu_wait and copies of memory that is not pinned.
 *
 * Functions return false once something has gone wrong, which gpus_fail was told. Copies to the
 * program's memory may return before they are done; gpu_finish waits. Those from it have read it by
 * then, as the driver does with memory that is not pinned. */
#ifndef FLOW_GPU_H
#define FLOW_GPU_H

#include "runtime/device/driver.h"
#include "runtime/device/gpus.h"
#include "runtime/device/nvrtc.h"

typedef enum GpuStream {
    GPU_KERNELS,
    GPU_IN,
    GPU_OUT,
    GPU_RECORDER, /* does nothing: what it is asked for becomes a graph */
    GPU_SUMS,     /* what replicas add up; opened when they do */
    GPU_STREAMS
} GpuStream;

typedef struct Turn Turn;
typedef struct Times Times;

typedef struct Gpu {
    const Driver *driver;
    const char *text; /* of the program's kernels */
    GpuCounts *counts;
    int number, capability;
    Device device;
    int ordinal, handle; /* the driver's number, and what it calls that GPU */
    void *context, *streams[GPU_STREAMS], *event, *module;
    uint64_t memory;     /* address: of the layout of the program's memory */
    uint64_t numbers;    /* address: of turns, for loops (loop.c), */
    size_t numbers_room; /* so many bytes */
    uint64_t joining;    /* address: room for what comes from other replicas, */
    size_t joining_room; /* of so many bytes */
    Turn *turns;         /* turn.h */
    Turn *turn;          /* of the call that is made; NULL: it has not used this GPU */
    Times *times;        /* times.h; NULL: nobody wants to know */
    int station;         /* 0; of a GPU beside another: its number, for those who show times */
    bool records;        /* what is asked of the kernels' stream goes to the recorder, too */
    bool replays;        /* it is in a graph, and not asked for */
} Gpu;

/* number: of the program; ordinal: the driver's. A failed one may be closed, too, and one that was
 * never opened. */
bool gpu_open(Gpu *gpu, const Driver *driver, GpuCounts *counts, int number, int ordinal,
              size_t memory);
bool gpu_load(Gpu *gpu, const GpuImage *image);
int gpu_try(Gpu *gpu, const char *image); /* the same, with the driver's error; again if need be */
bool gpu_not_loaded(const Gpu *gpu, int error);
void gpu_close(Gpu *gpu);

/* The same GPU with a stream of its own for kernels, and no memory; closed before the first, when
 * all that it was asked for is done. A failed one may be closed, too. station: from 1 on. */
bool gpu_open_beside(Gpu *gpu, GpuCounts *counts, const Gpu *first, int station);
void gpu_close_beside(Gpu *gpu);

/* Opens GPU_SUMS, unless it is open. */
bool gpu_open_sums(Gpu *gpu);

/* It copies from the other one by the link between them, if there is one that has room for both;
 * otherwise copies go by way of the host. */
bool gpu_reach(Gpu *gpu, const Gpu *other);

/* What the driver said of the GPU: true for 0; else gpus_fail is told what can't be done. name: of
 * a kernel, or NULL. */
bool gpu_succeeded(const Gpu *gpu, int error, const char *what, const char *name);

/* The driver's calls of this thread are for that GPU. */
bool gpu_use(const Gpu *gpu);

/* what: for. *address is 0 after a failure. */
bool gpu_allocate(Gpu *gpu, uint64_t *address, size_t size, const char *what);

/* Of the host, all zero, which is copied from and to while the host goes on; or NULL. */
void *gpu_new_pinned(Gpu *gpu, size_t size);
void gpu_end_pinned(Gpu *gpu, void *memory);

bool gpu_copy_in(Gpu *gpu, GpuStream stream, uint64_t to, const void *from, size_t size);
bool gpu_copy_out(Gpu *gpu, GpuStream stream, void *to, uint64_t from, size_t size);
bool gpu_copy_within(Gpu *gpu, uint64_t to, uint64_t from, size_t size);
/* Behind all that the kernels' streams of both were asked for, before all that both will be. */
bool gpu_copy_across(Gpu *gpu, uint64_t to, Gpu *other, uint64_t from, size_t size);
/* All kernels, and what they wait for; all that replicas add up. */
bool gpu_finish(Gpu *gpu);
bool gpu_finish_sums(Gpu *gpu);
/* All copies of what calls are given. */
bool gpu_finish_copies(Gpu *gpu);

/* Events. `later` does what it is asked for from now on when the event has happened, which is when
 * `first` has done what it was asked for so far. */
bool gpu_new_event(Gpu *gpu, void **event);
bool gpu_order(Gpu *gpu, GpuStream first, void *event, GpuStream later);
bool gpu_record(Gpu *gpu, void *event, GpuStream stream);
/* The host does. */
bool gpu_wait(Gpu *gpu, void *event, const char *what);

/* NULL: it has none of that name. */
void *gpu_find(Gpu *gpu, const char *name);
typedef struct GpuShape {
    int64_t blocks;
    int threads, shared; /* of a block; bytes that the launch adds to what the kernel has */
} GpuShape;
bool gpu_launch(Gpu *gpu, void *function, const char *name, FlowArguments *arguments,
                GpuShape shape);

/* gpus.c: notes what went wrong, unless something has before. Returns false. */
bool gpus_fail(FlowExit exit, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
