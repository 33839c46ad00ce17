/* Gpus state: what gpus.c and launch.c share. FlowFrame says nothing of GPUs, so there is one state
 * for the process, and for each instance of a deployed library one while a thread runs it. Inside
 * device/. */
#ifndef FLOW_GPUS_STATE_H
#define FLOW_GPUS_STATE_H

#include "runtime/bounds.h"
#include "runtime/device/gpu.h"
#include "runtime/device/gpus.h"
#include "runtime/device/replay.h"
#include "runtime/device/turn.h"

#include <stdatomic.h>

enum { GPU_CPU = -1 };
_Static_assert((int)FLOW_EVERY_GPU == (int)GPU_LIMIT, "replicas are behind the last GPU");

/* What a replica has of the batch of a call. */
typedef struct Share {
    int replica;               /* -1: not one of them alone */
    int64_t first, batch, all; /* records: before its own, its own, those of all */
} Share;

/* A kernel on a GPU. */
typedef struct FoundKernel {
    const FlowDeviceKernel *kernel; /* NULL: none */
    int gpu;
    void *function;
    bool is_ring; /* it is of the ring's name */
} FoundKernel;

typedef struct GpusState {
    const FlowProgram *program; /* NULL: not open */
    bool guest;   /* the process is somebody else's: nothing is printed, compiled or set for all */
    char *memory; /* the program's */
    Driver driver;
    int there;       /* GPUs that the driver has */
    Gpu *gpus;       /* program->gpu_count of them */
    int count;       /* that are open */
    uint64_t *fresh; /* of each storage: bit 1 + device: it is up to date there */
    FoundKernel
        *kernels; /* found so far, each at a place that follows from its address or behind */
    size_t kernel_room, kernel_count; /* a power of two, at least twice as many */
    int64_t calls_begun, calls_taken; /* that nobody waits for; their turns go round */
    int64_t turn;                     /* of the call that is made */
    bool ahead;                       /* nobody waits for it */
    GpuCounts counts;
    Replays replays;
    struct Wholes *wholes; /* whole.c; NULL: nothing was made whole so far */
    int replicas;          /* GPUs 0 … that have shares in the function that is run; 0: none */
    Share share;           /* of the one that is launched for */
    const FlowLoop *loop;  /* the innermost one that has begun, or NULL */
    int marked;            /* 1 + the GPU of the last launch since gpus_mark; 0: there was none */
    FlowStatus status;
    atomic_bool failed;       /* the status says how */
    struct FlowStation *idle; /* of functions of records: together.c; */
    int stations;             /* so many were begun */
} GpusState;

/* The thread's: the process's, if guest.c says no other. */
extern _Thread_local GpusState *gpus_now;
#define gpus_state (*gpus_now)

/* Of a call that nobody waits for, which is the only one of a guest. */
static inline int64_t gpus_turn_number(int64_t call) {
    return gpus_state.guest ? 0 : call % GPUS_AHEAD;
}

/* Are there GPUs, and has nothing gone wrong? */
static inline bool gpus_work(void) {
    return gpus_state.count && !gpus_state.failed;
}

/* An operand that is a size: ~i is what FlowProgram.sizes[i] tells of this call. */
static inline int64_t gpus_size(const FlowFrame *frame, int64_t size) {
    return size < 0 ? gpus_state.program->sizes[~size](frame->batch, frame->sizes) : size;
}

/* The storage is up to date on the device; memory: the program's, or a copy of it. */
bool gpus_freshen(char *memory, int64_t begin, int64_t size, int device);

/* That part of storage has just been written on the device. */
bool gpus_written(char *memory, int64_t begin, int64_t size, int device);

/* replicas.c, for FLOW_EVERY_GPU: what the functions of launch.h say. */
void replicas_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                     const int64_t *operands);
void replicas_copy(const FlowFrame *frame, const int64_t *operands);
/* What was copied as an input of that turn. */
bool replicas_input_again(int i, const TurnInput *input, int64_t turn, void *to);
bool replicas_show(char *memory, int64_t place, int64_t size, int64_t record);

/* loop.c: what a kernel of its body left at a place of the frame's is on the CPU. */
void loop_show(const FlowLoop *loop, int64_t place, size_t size);

/* launch.c: is it one of the program's devices, and has nothing gone wrong? */
bool gpus_have(int device);

/* launch.c: on that GPU. NULL after noting why. */
void *gpus_kernel(const FlowDeviceKernel *kernel, int gpu);

/* ring.c: looks for the kernel that has a ring: none, or it may be launched so. False after noting
 * why it can't. */
bool ring_find(Gpu *gpu, const FlowDeviceKernel *kernel, const FlowRing *ring, void **function);
/* Fills in the maps of its tensors: of what the memory and the inputs of the arguments say. */
bool ring_fill(Gpu *gpu, const FlowDeviceKernel *kernel, const FlowRing *ring,
               FlowArguments *arguments);

/* launch.c: what each kernel is given, but for its inputs. memory: an address of the GPU. */
void gpus_fill(FlowArguments *arguments, const FlowFrame *frame, const FlowDeviceKernel *kernel,
               const int64_t *operands, uint64_t memory);

/* launch.c: the GPU's turn for the call. */
Turn *gpus_turn_of(Gpu *gpu, const FlowFrame *frame);

/* So many bytes at the same place of both, from a device to another one. To the CPU: they are there
 * when it returns. */
bool gpus_copy(char *memory, int64_t place, int64_t size, int from, int to);

/* together.c: gives back what functions of records had. */
void together_close(void);

#endif
