/* Gpus: the GPUs that a program's functions use, by CUDA's driver and NVRTC, which are found when
 * it runs. Each has memory of the same layout as the program's, and room for the inputs of a call.
 *
 * Weights and states (FlowProgram.storage) are up to date on one or several devices at a time;
 * which ones is noted whenever they are written. All functions are called by one thread at a time,
 * which may be any; gpus_status by several. $FLOWC_VISIBLE_DEVICES are the driver's numbers of
 * gpu(0), gpu(1) …, as 1,0; those that no GPU has are left out. FlowFrame says nothing of GPUs: one
 * program of a process uses them, beside instances of deployed libraries (guest.h). */
#ifndef FLOW_GPUS_H
#define FLOW_GPUS_H

#include "runtime/device/launch.h"

/* Calls that may be on their way at a time: their results are looked at so many calls later, at
 * most. */
enum { GPUS_AHEAD = 3 };

/* What was asked of the drivers so far, but for stages of pipelines (together.c). */
typedef struct GpuCounts {
    int64_t allocations;      /* of their memory, and of pinned memory */
    int64_t synchronisations; /* waits for all kernels of a GPU */
    int64_t waits;            /* for an event that had not happened yet */
    int64_t launches, graphs, replays;
    int64_t copies_in, copies_out; /* between the host and GPUs, */
    int64_t bytes_in, bytes_out;   /* and what they move */
    int64_t refused;               /* graphs that are too large, or that there was no memory for */
} GpuCounts;

/* Starts the GPUs and compiles FlowProgram.device_text for them; does nothing where there is none.
 * memory: the functions' one allocation, all of it up to date; it outlives gpus_close. size: of it;
 * 0: only functions of records are run. Fails with what is missing and how to get it; then nothing
 * is open. */
FlowStatus gpus_open(const FlowProgram *program, char *memory, size_t size);
void gpus_close(void);

/* The first thing that went wrong in launches and copies, with the GPU's name, and the kernel's
 * where one is to blame. From then on GPUs do nothing, and what they had is lost. */
FlowStatus gpus_status(void);

/* Calls that nobody has waited for (FlowFrame.ahead): each has its turn. */

/* How many there are. */
int gpus_calls_ahead(void);

/* Waits until the GPUs have read the inputs of the last one: the host may write them again. */
void gpus_wait_for_inputs(void);

/* Waits for the first of them; its results are in memory then, and the guard is what it would be
 * if it had been waited for. memory, guard: both may be NULL: nobody wants to know. */
void gpus_take_call(char *memory, FlowGuard *guard);

/* Of the one that was taken last, until another one is begun: copies what was input i; false: GPUs
 * were not given it, or something went wrong. size: bytes. */
bool gpus_input_again(int i, void *to, size_t size);

GpuCounts gpus_counts(void);

/* Waits for what is measured (times.h) of steps, and tells it. */
void gpus_tell_times(void);

/* Weights and states are up to date in the program's memory, and may be read there. */
void gpus_bring_home(void);

/* They have been written there, all or that part: what GPUs have of it is out of date. What is
 * written in part was brought home before. */
void gpus_leave(void);
void gpus_leave_part(size_t offset, size_t size);

/* For those who make a function's calls one by one: gpus_mark before a call; behind it, gpus_show
 * has what the call stored at that place of the frame, if a GPU did it; record: the part of size
 * that each record has, or 0. */
void gpus_mark(void);
void gpus_show(const FlowFrame *frame, int64_t place, size_t size, size_t record);

#endif
