/* Loop: kernels of a loop's body, turn after turn. Values lie on a GPU as they do in the program's
 * memory, so each turn works out twice where its parts are: there, and on the CPU for those who
 * want to see them. */
#include "runtime/device/gpus_state.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of turns lie on the GPU, 0, 1, …, as many as any loop had so far. */
static bool make_numbers(Gpu *gpu, int64_t count) {
    const size_t size = (size_t)(count + 1) * sizeof(int32_t);
    if (size <= gpu->numbers_room) return true;
    if (!gpu_finish(gpu)) return false;
    replay_forget();
    if (gpu->numbers) gpu->driver->deallocate(gpu->numbers);
    gpu->numbers_room = 0;
    int32_t *numbers = malloc(size);
    if (!numbers) return gpus_fail(FLOW_EXIT_resource, "no memory for GPUs");
    for (int64_t i = 0; i <= count; i++) numbers[i] = (int32_t)i;
    bool good = gpu_allocate(gpu, &gpu->numbers, size, "the numbers of turns") &&
                gpu_copy_in(gpu, GPU_KERNELS, gpu->numbers, numbers, size) && gpu_finish(gpu);
    free(numbers);
    if (good) gpu->numbers_room = size;
    return good;
}

static char *on_gpu(const FlowLoop *loop, int64_t place) {
    const FlowLoop *around = (const FlowLoop *)loop->around;
    const Gpu *gpu = &gpus_state.gpus[loop->device];
    if (loop->inner) return place < 0 ? around->inputs[~place] : around->memory + place;
    const uint64_t address =
        place < 0 ? turn_input(gpu->turn, (int)~place) : gpu->memory + (uint64_t)place;
    return (char *)(uintptr_t)address;
}

static char *on_cpu(const FlowLoop *loop, int64_t place) {
    const FlowFrame *around = loop->around;
    return place < 0 ? (char *)around->inputs[~place] : around->memory + place;
}

bool flow_loop_begin(FlowLoop *loop, const FlowFrame *around, bool inner, int64_t memory,
                     int64_t device, int64_t most) {
    if (!gpus_have((int)device)) return false;
    Gpu *gpu = &gpus_state.gpus[device];
    if (replay_has_it(gpu)) return false;
    if (!inner) gpus_turn_of(gpu, around);
    if (!inner && !make_numbers(gpu, most)) return false;
    loop->frame = *around;
    loop->frame.guard = NULL;
    loop->frame.inputs = loop->places;
    loop->around = around;
    loop->inner = inner;
    loop->device = (int)device;
    loop->frame.memory = on_cpu(loop, memory);
    loop->memory = on_gpu(loop, memory);
    gpus_state.loop = loop;
    return true;
}

void flow_loop_turn(FlowLoop *loop, int64_t turn, const FlowPart *parts, int count) {
    const uint64_t numbers = gpus_state.gpus[loop->device].numbers;
    loop->turn = (int32_t)turn;
    loop->places[0] = &loop->turn;
    loop->inputs[0] = (char *)(uintptr_t)(numbers + (uint64_t)turn * sizeof loop->turn);
    for (int i = 0; i < count; i++) {
        loop->places[1 + i] = on_cpu(loop, parts[i].place) + parts[i].offset;
        loop->inputs[1 + i] = on_gpu(loop, parts[i].place) + parts[i].offset;
    }
}

void flow_loop_end(const FlowLoop *loop) {
    gpus_state.loop = loop->inner ? (const FlowLoop *)loop->around : NULL;
}

void flow_loop_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                      const int64_t *operands, int64_t blocks) {
    const FlowLoop *loop = (const FlowLoop *)frame;
    FlowArguments arguments; /* what the kernel does not look at is not set */
    if (!gpus_have(loop->device) || replay_has_it(&gpus_state.gpus[loop->device])) return;
    Gpu *gpu = &gpus_state.gpus[loop->device];
    void *function = gpus_kernel(kernel, loop->device);
    if (!function || !turn_send(gpu)) return;
    gpus_fill(&arguments, frame, kernel, operands, (uint64_t)(uintptr_t)loop->memory);
    memcpy(arguments.inputs, loop->inputs, (size_t)kernel->inputs * sizeof *loop->inputs);
    gpus_state.marked = 1 + loop->device;
    bool launched =
        gpu_launch(gpu, function, kernel->name, &arguments, (GpuShape){blocks, kernel->threads, 0});
    if (launched && frame->observer && !frame->observer->goes_on) gpu_finish(gpu);
}

void loop_show(const FlowLoop *loop, int64_t place, size_t size) {
    Gpu *gpu = &gpus_state.gpus[loop->device];
    const char *from = place < 0 ? loop->inputs[~place] : loop->memory + place;
    void *to = place < 0 ? (void *)loop->places[~place] : loop->frame.memory + place;
    if (gpu_copy_out(gpu, GPU_KERNELS, to, (uint64_t)(uintptr_t)from, size)) gpu_finish(gpu);
}
