/* Launch: what a kernel on a GPU is given, as it and who launches it both see it. C and CUDA. */
#ifndef FLOW_LAUNCH_H
#define FLOW_LAUNCH_H

#include "runtime/device/launch_limits.h"

#ifndef __CUDACC__
#include "runtime/flow.h"
#else
typedef struct FlowGuard {
    bool open;
    int64_t place;
} FlowGuard;
#endif

/* What the driver makes of a tensor, of which the GPU brings boxes to shared memory by itself:
 * CUtensorMap, which only it reads. */
typedef struct FlowTensorMap {
    __attribute__((aligned(64))) uint64_t words[16];
} FlowTensorMap;

/* A kernel's one parameter, of less than 4 KiB, as CUDA before 12.1 has it. All addresses are of
 * the device. */
typedef struct FlowArguments {
    FlowTensorMap maps[FLOW_LAUNCH_MAPS]; /* of flow_launch_ring */
    char *memory; /* operands that are places are offsets there, or ~i of input i */
    FlowGuard *guard;
    int64_t batch;
    int64_t records;    /* 0, or the launch is for so many, as FlowTogether has them */
    int64_t first, all; /* of a replica: the records before its own, and of all replicas */
    int64_t sizes[FLOW_LAUNCH_SIZES]; /* one for each of FlowProgram.bounds */
    char *inputs[FLOW_LAUNCH_INPUTS];
    int64_t operands[FLOW_LAUNCH_OPERANDS];
} FlowArguments;

#ifndef __CUDACC__
/* A kernel for GPUs, which a program names in its tables. */
typedef struct FlowDeviceKernel {
    const char *name;  /* in FlowProgram.device_text */
    int threads;       /* of a block */
    int operands;      /* the last one is the number of the GPU */
    int inputs, sizes; /* that it may look at: the first so many of the frame's */
    FlowKernel *call;  /* what launches it: the caller of flow_launch */
} FlowDeviceKernel;

/* An operand as a tensor of halves, the first dimension of which lies element by element, at a
 * multiple of 16 bytes, as all strides are; from the second one on, no stride is less than that
 * before it. */
typedef struct FlowTensor {
    int64_t place, offset; /* as an operand; bytes from there on */
    int rank;
    int64_t sizes[FLOW_TENSOR_RANK], strides[FLOW_TENSOR_RANK]; /* in elements */
    int box[FLOW_TENSOR_RANK];
} FlowTensor;

/* What is different of a kernel whose operands the GPU brings by itself, where its code was
 * compiled for that: it has the kernel's name with "_ring" behind it, and templates/cuda_box.h's
 * threads. */
typedef struct FlowRing {
    int64_t blocks;
    int threads, shared; /* bytes that the launch adds */
    FlowTensor tensors[FLOW_LAUNCH_MAPS];
} FlowRing;

/* How what replicas have is put together. */
typedef enum FlowWhole {
    FLOW_whole_sum,
    FLOW_whole_max,
    FLOW_whole_min,
    FLOW_whole_prod,
} FlowWhole;

/* One thread calls it. Kernels run in the order in which they are launched; what goes wrong is
 * known to gpus_status. */
void flow_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel, const int64_t *operands,
                 int64_t blocks);

/* The same of a kernel that may have a ring: see there. */
void flow_launch_ring(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                      const int64_t *operands, int64_t blocks, const FlowRing *ring);

/* Calls that stand between those of kernels; thread 0 does what they do. A device is -1, the CPU,
 * or a GPU's number, or FLOW_EVERY_GPU: GPUs 0 … replicas-1, each of which has a share of the
 * batch, its own in all that has records, the same in all else; kernels are launched for each.
 * Sizes are bytes; that of a copied input may be ~i, as those of FlowType. Memory is the frame's:
 * the program's, or a copy of it after gpus_leave. A call that leaves something on the CPU returns
 * when it is there.
 *
 * flow_gpu_begin, flow_gpu_end   around the calls of a function that uses GPUs: its number, the one
 *                                device that computes all of it, FLOW_EVERY_GPU too, or -1, the
 *                                number of replicas. At the end all that was launched is done, and
 *                                the frame's guard is up to date; not so where FlowFrame.ahead says
 *                                that nobody waits
 * flow_gpu_copy                  a value goes to another device: its place, its size (of a record,
 *                                if the next is 1), 1 or 0, from, to. Between the CPU and all
 *                                replicas: its place, its size, 0, from, to; or the size that lies
 *                                together of a record, and how many such parts a record has
 * flow_gpu_reduce                what replicas have becomes whole on each of them: to, from, the
 *                                elements, a FlowWhole, their FlowElement. Kernels may read it, or
 *                                write over either, behind the next flow_gpu_await
 * flow_gpu_await                 what flow_gpu_reduce was asked for is there for what comes next
 * flow_gpu_result                a value is on the CPU at the end: its place, its size, from
 * flow_gpu_move                  in one device's memory: to, from, size, device
 * flow_gpu_need                  a part of weights and states is up to date on a device: its
 *                                offset, its size, device; of each, all of it becomes so
 * flow_gpu_owns                  it has just been written there, so it is out of date elsewhere;
 *                                what was not written of a weight or state is kept */
FlowKernel flow_gpu_begin, flow_gpu_end, flow_gpu_copy, flow_gpu_result, flow_gpu_move,
    flow_gpu_need, flow_gpu_owns, flow_gpu_reduce, flow_gpu_await;

/* A function of records whose kernels run on GPUs makes several at a time: each launch is for all
 * of them. On the CPU every record has scratch of its own, one behind the other. On a GPU each
 * value lies as often as there are records, `step` bytes behind each other: in memory from so many
 * times its place on, or as an input. */
typedef struct FlowTogether {
    FlowFrame frame;             /* first; memory: the scratch of the first record */
    const FlowRows *rows;        /* all of its rows are made */
    int64_t scratch;             /* bytes of a record */
    int fields;                  /* inputs below are fields, the others outputs */
    struct FlowStation *station; /* what flow_together_begin took */
    const char *what; /* of what is asked for next: "x.flow:3 add", for those who trace */
} FlowTogether;

/* Any thread calls them. What is false has failed, which gpus_status says; so do all that follow.
 *
 * flow_together_begin, flow_together_end   around all others. What has begun is to be ended; that
 *                                          waits for nothing
 * flow_together_room                       for a value on a GPU that a kernel is going to write
 * flow_together_copy                       a value goes to another device; to the CPU: it is there
 *                                          on return. size: of its bytes on the CPU
 * flow_together_launch                     as flow_launch; frame: of a FlowTogether */
bool flow_together_begin(FlowTogether *together);
bool flow_together_end(FlowTogether *together);
bool flow_together_room(const FlowTogether *together, int64_t place, int64_t step, int device);
bool flow_together_copy(const FlowTogether *together, int64_t place, int64_t size, int64_t step,
                        int from, int to);
void flow_together_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                          const int64_t *operands, int64_t blocks);

/* A loop on a GPU: one thread goes through its turns, in each of which kernels are launched for the
 * calls of its body. They stay in the order in which they are launched, and nobody waits for them.
 * What the body is given lies in parts of what the loop's function has. */
typedef struct FlowPart {
    int64_t place, offset; /* as an operand; bytes from there on */
} FlowPart;

typedef struct FlowLoop {
    FlowFrame
        frame; /* first; of the body: what it points to is the CPU's, and may be out of date */
    const FlowFrame *around; /* of the function, or of the loop whose body it is in */
    bool inner;              /* that of a loop: around is of a FlowLoop */
    int device;
    int32_t turn;
    const void *places[FLOW_LAUNCH_INPUTS];    /* frame.inputs: the turn, then the parts */
    char *memory, *inputs[FLOW_LAUNCH_INPUTS]; /* what the frame says, on the GPU */
} FlowLoop;

/* flow_loop_begin    false: there is nothing to do, and nothing to end. memory: the place of the
 *                    body's scratch; most: turns of the loop, and of those in it
 * flow_loop_turn     the next one, of that number
 * flow_loop_launch   as flow_launch; frame: of a FlowLoop */
bool flow_loop_begin(FlowLoop *loop, const FlowFrame *around, bool inner, int64_t memory,
                     int64_t device, int64_t most);
void flow_loop_turn(FlowLoop *loop, int64_t turn, const FlowPart *parts, int count);
void flow_loop_end(const FlowLoop *loop);
void flow_loop_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                      const int64_t *operands, int64_t blocks);

/* FlowProgram.device_text of a program that has one, in a file of its own. */
extern const char flow_device_text[];
extern const FlowDeviceImage flow_device_images[]; /* and what it was compiled to */
#endif
#endif
