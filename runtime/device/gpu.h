/* Gpu: one GPU at work, in the primary context that CUDA has of it, with one stream: what is asked
 * of it is done in that order. Inside device/.
 *
 * Functions return false once something has gone wrong, which gpus_fail was told. Copies to the
 * program's memory may return before they are done; gpu_finish waits. Those from it have read it by
 * then, as the driver does with memory that is not pinned. */
#ifndef FLOW_GPU_H
#define FLOW_GPU_H

#include "runtime/device/driver.h"
#include "runtime/device/launch.h"
#include "runtime/device/nvrtc.h"

/* The GPU's memory for an input of a call. */
typedef struct GpuInput {
    uint64_t address;
    size_t room;
} GpuInput;

typedef struct Gpu {
    const Driver *driver;
    const char *text; /* of the program's kernels */
    int number, capability;
    Device device;
    int handle;
    void *context, *stream, *event, *module;
    uint64_t memory, guard; /* addresses: of the layout of the program's memory; of a FlowGuard */
    GpuInput inputs[FLOW_LAUNCH_INPUTS];
    bool guarded; /* its guard holds that of the call that is made */
} Gpu;

/* number: of the program; ordinal: the driver's. A failed one may be closed, too, and one that was
 * never opened. */
bool gpu_open(Gpu *gpu, const Driver *driver, int number, int ordinal, size_t memory);
bool gpu_load(Gpu *gpu, const GpuImage *image);
int gpu_try(Gpu *gpu, const char *image); /* the same, with the driver's error; again if need be */
bool gpu_not_loaded(const Gpu *gpu, int error);
void gpu_close(Gpu *gpu);

bool gpu_copy_in(Gpu *gpu, uint64_t to, const void *from, size_t size);
bool gpu_copy_out(Gpu *gpu, void *to, uint64_t from, size_t size);
bool gpu_copy_within(Gpu *gpu, uint64_t to, uint64_t from, size_t size);
/* Behind all that both were asked for, before all that both will be. */
bool gpu_copy_across(Gpu *gpu, uint64_t to, Gpu *other, uint64_t from, size_t size);
bool gpu_finish(Gpu *gpu);

/* Room for so many bytes of input i; what lay there is lost when it has to grow. */
bool gpu_make_room(Gpu *gpu, int i, size_t size);

/* NULL: it has none of that name. */
void *gpu_find(Gpu *gpu, const char *name);
bool gpu_launch(Gpu *gpu, void *function, const char *name, FlowArguments *arguments,
                int64_t blocks, int threads);

/* gpus.c: notes what went wrong, unless something has before. Returns false. */
bool gpus_fail(FlowExit exit, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
