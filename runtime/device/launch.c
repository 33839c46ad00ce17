/* Launch: what generated functions call. */
#include "runtime/device/gpus_state.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(FlowArguments) < 4096, "as CUDA before 12.1 has it");

enum { FIRST_ROOM = 256 };

/* Kernels. */

static FoundKernel *place_of(const FlowDeviceKernel *kernel, int gpu) {
    GpusState *state = &gpus_state;
    size_t at = ((uintptr_t)kernel >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (at += (size_t)gpu;; at++) {
        FoundKernel *found = &state->kernels[at & (state->kernel_room - 1)];
        if (!found->kernel || (found->kernel == kernel && found->gpu == gpu)) return found;
    }
}

static bool grow(void) {
    GpusState *state = &gpus_state;
    FoundKernel *old = state->kernels;
    size_t room = state->kernel_room;
    if (state->kernel_count * 2 < room) return true;
    size_t more = room ? room * 2 : FIRST_ROOM;
    FoundKernel *kernels = calloc(more, sizeof *kernels);
    if (!kernels) return gpus_fail(FLOW_EXIT_resource, "no memory for GPUs");
    state->kernels = kernels;
    state->kernel_room = more;
    for (size_t i = 0; i < room; i++)
        if (old[i].kernel) *place_of(old[i].kernel, old[i].gpu) = old[i];
    free(old);
    return true;
}

/* NULL after noting why. */
static void *find(const FlowDeviceKernel *kernel, int gpu) {
    if (!grow()) return NULL;
    FoundKernel *found = place_of(kernel, gpu);
    if (found->kernel) return found->function;
    void *function = gpu_find(&gpus_state.gpus[gpu], kernel->name);
    if (!function) return NULL;
    *found = (FoundKernel){kernel, gpu, function};
    gpus_state.kernel_count++;
    return function;
}

static bool is_there(int device) {
    if (!gpus_state.count)
        return gpus_fail(FLOW_EXIT_internal, "kernels for GPUs, and none is open");
    if (device >= GPU_CPU && device < gpus_state.count) return gpus_work();
    return gpus_fail(FLOW_EXIT_internal, "there is no gpu(%d) in this program", device);
}

/* The guard of the call, on a GPU that is going to use it. */
static bool guard(const FlowFrame *frame, Gpu *gpu) {
    static const FlowGuard fresh = {.place = FLOW_NOWHERE}, open = {true, FLOW_NOWHERE};
    if (gpu->guarded || !frame->guard) return true;
    gpu->guarded = true;
    return gpu_copy_in(gpu, gpu->guard, frame->guard->open ? &open : &fresh, sizeof fresh);
}

static void fill(FlowArguments *arguments, const FlowFrame *frame, const Gpu *gpu,
                 const FlowDeviceKernel *kernel, const int64_t *operands) {
    arguments->memory = (char *)gpu->memory;
    arguments->guard = frame->guard ? (FlowGuard *)gpu->guard : NULL;
    arguments->batch = frame->batch;
    if (kernel->sizes)
        memcpy(arguments->sizes, frame->sizes, (size_t)kernel->sizes * sizeof *frame->sizes);
    for (int i = 0; i < kernel->inputs; i++) arguments->inputs[i] = (char *)gpu->inputs[i].address;
    memcpy(arguments->operands, operands, (size_t)kernel->operands * sizeof *operands);
}

void flow_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel, const int64_t *operands,
                 int64_t blocks) {
    const int device = (int)operands[kernel->operands - 1];
    FlowArguments arguments; /* what the kernel does not look at is not set */
    if (!is_there(device)) return;
    Gpu *gpu = &gpus_state.gpus[device];
    void *function = find(kernel, device);
    if (!function || !guard(frame, gpu)) return;
    fill(&arguments, frame, gpu, kernel, operands);
    gpus_state.marked = 1 + device;
    bool launched = gpu_launch(gpu, function, kernel->name, &arguments, blocks, kernel->threads);
    if (launched && frame->observer) gpu_finish(gpu); /* who looks at calls wants their time */
}

/* Calls. */

void flow_gpu_begin(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)operands, (void)threads;
    for (int i = 0; thread == 0 && i < gpus_state.count; i++) gpus_state.gpus[i].guarded = false;
}

/* What GPUs held back is added to what the CPU did. */
static bool take_guards(FlowGuard *guard) {
    FlowGuard guards[GPU_LIMIT];
    bool good = true;
    for (int i = 0; good && i < gpus_state.count; i++)
        if (gpus_state.gpus[i].guarded)
            good = gpu_copy_out(&gpus_state.gpus[i], &guards[i], gpus_state.gpus[i].guard,
                                sizeof guards[i]);
    for (int i = 0; good && i < gpus_state.count; i++) good = gpu_finish(&gpus_state.gpus[i]);
    for (int i = 0; good && i < gpus_state.count; i++)
        if (gpus_state.gpus[i].guarded && guards[i].place < guard->place)
            guard->place = guards[i].place;
    return good;
}

void flow_gpu_end(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)operands, (void)threads;
    if (thread == 0 && gpus_work()) take_guards(frame->guard);
}

/* An input, from the CPU or another GPU. */
static void copy_input(const FlowFrame *frame, int i, int64_t size, int from, int to) {
    Gpu *gpus = gpus_state.gpus;
    if (i >= FLOW_LAUNCH_INPUTS || to == GPU_CPU) {
        gpus_fail(FLOW_EXIT_internal, "input %d can't be copied to device %d", i, to);
        return;
    }
    if (!gpu_make_room(&gpus[to], i, (size_t)size)) return;
    uint64_t address = gpus[to].inputs[i].address;
    if (from == GPU_CPU) gpu_copy_in(&gpus[to], address, frame->inputs[i], (size_t)size);
    else
        gpu_copy_across(&gpus[to], address, &gpus[from], gpus[from].inputs[i].address,
                        (size_t)size);
}

void flow_gpu_copy(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int64_t place = operands[0], size = operands[1] * (operands[2] ? frame->batch : 1);
    const int from = (int)operands[3], to = (int)operands[4];
    if (thread || !is_there(from) || !is_there(to) || from == to) return;
    if (place < 0) copy_input(frame, (int)~place, size, from, to);
    else gpus_copy(frame->memory, place, size, from, to);
}

void flow_gpu_move(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int device = (int)operands[3];
    if (thread || !is_there(device)) return;
    if (device == GPU_CPU) {
        memcpy(frame->memory + operands[0], frame->memory + operands[1], (size_t)operands[2]);
        return;
    }
    Gpu *gpu = &gpus_state.gpus[device];
    gpu_copy_within(gpu, gpu->memory + (uint64_t)operands[0], gpu->memory + (uint64_t)operands[1],
                    (size_t)operands[2]);
}

void flow_gpu_need(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int device = (int)operands[2];
    if (thread == 0 && is_there(device))
        gpus_freshen(frame->memory, operands[0], operands[1], device);
}

void flow_gpu_owns(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int device = (int)operands[2];
    if (thread == 0 && is_there(device))
        gpus_written(frame->memory, operands[0], operands[1], device);
}
