/* Launch: what generated functions call. */
#include "runtime/device/gpus_state.h"
#include "runtime/device/whole.h"

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

/* ring: or NULL. Its function is NULL after a failure. */
static FoundKernel find(const FlowDeviceKernel *kernel, int number, const FlowRing *ring) {
    Gpu *gpu = &gpus_state.gpus[number];
    void *function = NULL;
    if (!grow()) return (FoundKernel){0};
    FoundKernel *found = place_of(kernel, number);
    if (found->kernel) return *found;
    if (ring && !ring_find(gpu, kernel, ring, &function)) return (FoundKernel){0};
    const bool is_ring = function;
    if (!function) function = gpu_find(gpu, kernel->name);
    if (!function) return (FoundKernel){0};
    gpus_state.kernel_count++;
    return *found = (FoundKernel){kernel, number, function, is_ring};
}

void *gpus_kernel(const FlowDeviceKernel *kernel, int gpu) {
    return find(kernel, gpu, NULL).function;
}

bool gpus_have(int device) {
    if (!gpus_state.count)
        return gpus_fail(FLOW_EXIT_internal, "kernels for GPUs, and none is open");
    const int last = device == FLOW_EVERY_GPU ? gpus_state.replicas - 1 : device;
    const bool some = device != FLOW_EVERY_GPU || last > 0;
    if (some && last >= GPU_CPU && last < gpus_state.count) return gpus_work();
    return gpus_fail(FLOW_EXIT_internal, "there is no gpu(%d) in this program", device);
}

Turn *gpus_turn_of(Gpu *gpu, const FlowFrame *frame) {
    if (!gpu->turn) turn_begin(gpu, (int)gpus_state.turn, frame->guard);
    return gpu->turn;
}

void gpus_fill(FlowArguments *arguments, const FlowFrame *frame, const FlowDeviceKernel *kernel,
               const int64_t *operands, uint64_t memory) {
    arguments->memory = (char *)memory;
    arguments->guard = NULL;
    arguments->batch = arguments->all = frame->batch;
    arguments->records = arguments->first = 0;
    if (kernel->sizes)
        memcpy(arguments->sizes, frame->sizes, (size_t)kernel->sizes * sizeof *frame->sizes);
    memcpy(arguments->operands, operands, (size_t)kernel->operands * sizeof *operands);
}

static void fill(FlowArguments *arguments, const FlowFrame *frame, const Gpu *gpu,
                 const FlowDeviceKernel *kernel, const int64_t *operands) {
    gpus_fill(arguments, frame, kernel, operands, gpu->memory);
    if (gpu->turn->guarded)
        arguments->guard = (FlowGuard *)(gpu->turn->block + offsetof(TurnBlock, guard));
    arguments->first = gpus_state.share.first;
    arguments->all = gpus_state.share.all;
    for (int i = 0; i < kernel->inputs; i++)
        arguments->inputs[i] = (char *)turn_input(gpu->turn, i);
}

void flow_launch_ring(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                      const int64_t *operands, int64_t blocks, const FlowRing *ring) {
    int device = (int)operands[kernel->operands - 1];
    FlowArguments arguments; /* what the kernel does not look at is not set */
    if (!gpus_have(device)) return;
    if (device == FLOW_EVERY_GPU && gpus_state.share.replica < 0) {
        replicas_launch(frame, kernel, operands);
        return;
    }
    if (device == FLOW_EVERY_GPU) device = gpus_state.share.replica;
    Gpu *gpu = &gpus_state.gpus[device];
    if (replay_has_it(gpu)) return;
    const FoundKernel found = find(kernel, device, ring);
    GpuShape shape = {blocks, kernel->threads, 0};
    if (found.is_ring) shape = (GpuShape){ring->blocks, ring->threads, ring->shared};
    gpus_turn_of(gpu, frame);
    if (!found.function || !turn_send(gpu)) return;
    fill(&arguments, frame, gpu, kernel, operands);
    if (found.is_ring && shape.blocks > 0 && !ring_fill(gpu, kernel, ring, &arguments)) return;
    gpus_state.marked = 1 + device;
    bool launched = gpu_launch(gpu, found.function, kernel->name, &arguments, shape);
    if (launched && frame->observer && !frame->observer->goes_on) gpu_finish(gpu);
}

void flow_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel, const int64_t *operands,
                 int64_t blocks) {
    flow_launch_ring(frame, kernel, operands, blocks, NULL);
}

/* Calls. */

static void begin(const FlowFrame *frame, int64_t function, int gpu) {
    GpusState *state = &gpus_state;
    for (int i = 0; i < state->count; i++) state->gpus[i].turn = NULL;
    state->ahead = frame->ahead && gpu != GPU_CPU;
    state->turn = state->ahead ? gpus_turn_number(state->calls_begun) : TURN_ALONE;
    if (!state->ahead || !gpus_have(gpu)) return;
    if (gpus_calls_ahead() == GPUS_AHEAD) {
        gpus_fail(FLOW_EXIT_internal, "too many calls are on their way");
        return;
    }
    state->calls_begun++;
    const bool every = gpu == FLOW_EVERY_GPU;
    for (int i = every ? 0 : gpu; i < (every ? state->replicas : gpu + 1); i++) {
        gpus_turn_of(&state->gpus[i], frame);
        replay_begin(&state->gpus[i], frame, function, state->turn);
    }
}

void flow_gpu_begin(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread) return;
    gpus_state.replicas = (int)operands[2];
    gpus_state.share = (Share){.replica = -1, .batch = frame->batch, .all = frame->batch};
    begin(frame, operands[0], (int)operands[1]);
}

/* Results that are not there yet are put into memory. */
static bool wait_for_all(const FlowFrame *frame) {
    bool good = true;
    for (int i = 0; good && i < gpus_state.count; i++)
        good = turn_wait(&gpus_state.gpus[i], &gpus_state.gpus[i].turns[TURN_ALONE], frame->memory,
                         frame->guard);
    return good && whole_goes_on();
}

static bool end(const FlowFrame *frame) {
    bool good = whole_await();
    for (int i = 0; good && i < gpus_state.count; i++) {
        Gpu *gpu = &gpus_state.gpus[i];
        if (gpu->turn)
            good = turn_send(gpu) && (!gpus_state.ahead || replay_end(gpu)) && turn_end(gpu);
    }
    return good && (gpus_state.ahead || wait_for_all(frame));
}

void flow_gpu_end(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)operands, (void)threads;
    if (thread == 0 && gpus_work()) end(frame);
}

/* An input: always from the CPU, where it is. */
static void copy_input(const FlowFrame *frame, int i, int64_t size, bool is_number, int from,
                       int to) {
    if (i >= FLOW_LAUNCH_INPUTS || from != GPU_CPU || to == GPU_CPU) {
        gpus_fail(FLOW_EXIT_internal, "input %d can't be copied from device %d to %d", i, from, to);
        return;
    }
    Gpu *gpu = &gpus_state.gpus[to];
    gpus_turn_of(gpu, frame);
    turn_copy_in(gpu, i, frame->inputs[i], (size_t)size, is_number);
}

void flow_gpu_copy(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int64_t place = operands[0], count = operands[2] ? frame->batch : 1;
    const int from = (int)operands[3], to = (int)operands[4];
    if (thread || !gpus_have(from) || !gpus_have(to) || from == to || !whole_await()) return;
    const int64_t size = gpus_size(frame, operands[1]) * count;
    if (from == FLOW_EVERY_GPU || to == FLOW_EVERY_GPU) replicas_copy(frame, operands);
    else if (place < 0) copy_input(frame, (int)~place, size, !operands[2], from, to);
    else gpus_copy(frame->memory, place, size, from, to);
}

/* What has no room in the turn's block goes by itself, and is there at once; where nobody waits for
 * the call there is room (plan/transfers.c). */
void flow_gpu_result(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int64_t place = operands[0], size = operands[1];
    const int device = (int)operands[2];
    if (thread || !gpus_have(device) || !whole_await()) return;
    Gpu *gpu = &gpus_state.gpus[device];
    if (turn_has_room(gpus_turn_of(gpu, frame), (size_t)size))
        turn_put_result(gpu, place, (size_t)size);
    else if (gpus_state.ahead)
        gpus_fail(FLOW_EXIT_internal, "results of a call that goes ahead have no room");
    else gpus_copy(frame->memory, place, size, device, GPU_CPU);
}

static void move_on(int device, const int64_t *operands) {
    Gpu *gpu = &gpus_state.gpus[device];
    gpu_copy_within(gpu, gpu->memory + (uint64_t)operands[0], gpu->memory + (uint64_t)operands[1],
                    (size_t)operands[2]);
}

void flow_gpu_move(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int device = (int)operands[3];
    if (thread || !gpus_have(device) || !whole_await()) return;
    if (device == GPU_CPU)
        memcpy(frame->memory + operands[0], frame->memory + operands[1], (size_t)operands[2]);
    else if (device == FLOW_EVERY_GPU)
        for (int i = 0; i < gpus_state.replicas; i++) move_on(i, operands);
    else move_on(device, operands);
}

void flow_gpu_need(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int device = (int)operands[2];
    if (thread == 0 && gpus_have(device))
        gpus_freshen(frame->memory, operands[0], operands[1], device);
}

void flow_gpu_owns(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    const int device = (int)operands[2];
    if (thread == 0 && gpus_have(device))
        gpus_written(frame->memory, operands[0], operands[1], device);
}
