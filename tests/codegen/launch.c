/* Launch: one GPU, which the CPU stands in for, inside the library of a test. Its memory is its
 * own: what nobody brings there it has not, and what nobody wrote is found. */
#define _GNU_SOURCE
#include "runtime/device/launch.h"

#include "runtime/device/simulated.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU = -1, STORAGE_LIMIT = 4096 /* weights and states of all graphs of a test */ };

extern const FlowProgram flow_program;
const char flow_device_text[] = "";
const FlowDeviceImage flow_device_images[] = {{0}};

static char *device_memory;
static char *device_inputs[FLOW_LAUNCH_INPUTS];

/* Is a weight or state up to date on the CPU, on the GPU? */
static struct Storage {
    int64_t offset;
    size_t size;
    bool here, there;
} storage[STORAGE_LIMIT];
static int storage_count;

static void fail(const char *name, const char *fault) {
    printf("%s: %s\n", name, fault);
    fflush(stdout);
    abort();
}

/* The kernel lies in the same library as this function. */
static FlowSimulatedKernel *find(const char *name) {
    Dl_info info;
    if (!dladdr((void *)flow_launch, &info)) return NULL;
    void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return library ? (FlowSimulatedKernel *)dlsym(library, name) : NULL;
}

static void map_tensor(const FlowTensor *tensor, char *memory, char *const *inputs,
                       FlowTensorMap *map) {
    const char *base = tensor->place < 0 ? inputs[~tensor->place] : memory + tensor->place;
    FlowSimulatedTensor made = {
        .address = (uintptr_t)(base + tensor->offset), .rank = tensor->rank, .element = 2};
    for (int i = 0; i < tensor->rank; i++) made.sizes[i] = (uint64_t)tensor->sizes[i];
    for (int i = 0; i < tensor->rank; i++) made.box[i] = tensor->box[i];
    for (int i = 1; i < tensor->rank; i++) made.strides[i - 1] = (uint64_t)tensor->strides[i] * 2;
    if (!flow_simulated_map(map, &made)) fail("a tensor", "can't be mapped");
}

/* ring: or NULL. */
static void launch(const FlowFrame *frame, const FlowDeviceKernel *kernel, const int64_t *operands,
                   int64_t blocks, char *memory, char *const *inputs, const FlowRing *ring) {
    FlowArguments arguments = {.memory = memory, .batch = frame->batch};
    FlowSimulatedShape shape = {blocks, 1, kernel->threads, 0};
    char fault[512] = "there is no such kernel", name[256];
    snprintf(name, sizeof name, "%s_ring", kernel->name);
    FlowSimulatedKernel *function = ring ? find(name) : NULL;
    for (int i = 0; function && i < FLOW_LAUNCH_MAPS; i++)
        map_tensor(&ring->tensors[i], memory, inputs, &arguments.maps[i]);
    if (function) shape = (FlowSimulatedShape){ring->blocks, 1, ring->threads, ring->shared};
    else function = find(kernel->name);
    if (ring && (shape.shared > 0) != FLOW_WARPGROUPS) fail(name, "is not what this GPU has");
    if (kernel->operands > FLOW_LAUNCH_OPERANDS || kernel->inputs > FLOW_LAUNCH_INPUTS ||
        kernel->sizes > FLOW_LAUNCH_SIZES)
        fail(kernel->name, "its arguments are too many");
    if (kernel->sizes)
        memcpy(arguments.sizes, frame->sizes, (size_t)kernel->sizes * sizeof *frame->sizes);
    memcpy(arguments.inputs, inputs, (size_t)kernel->inputs * sizeof *inputs);
    memcpy(arguments.operands, operands, (size_t)kernel->operands * sizeof *operands);
    if (!function ||
        !flow_simulate_shape(function, kernel->name, &arguments, shape, fault, sizeof fault))
        fail(kernel->name, fault);
}

void flow_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel, const int64_t *operands,
                 int64_t blocks) {
    launch(frame, kernel, operands, blocks, device_memory, device_inputs, NULL);
}

void flow_launch_ring(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                      const int64_t *operands, int64_t blocks, const FlowRing *ring) {
    launch(frame, kernel, operands, blocks, device_memory, device_inputs, ring);
}

static void to_device(void *device, const void *from, size_t size) {
    memcpy(flow_simulated_host(device, size), from, size);
    flow_simulated_mark(device, size, true);
}

static void from_device(void *to, const void *device, size_t size) {
    memcpy(to, flow_simulated_host(device, size), size);
}

/* Loops. */

static char *device_part(const FlowLoop *loop, int64_t place) {
    const FlowLoop *around = (const FlowLoop *)loop->around;
    char *const *inputs = loop->inner ? around->inputs : device_inputs;
    return place < 0 ? inputs[~place] : (loop->inner ? around->memory : device_memory) + place;
}

bool flow_loop_begin(FlowLoop *loop, const FlowFrame *around, bool inner, int64_t memory,
                     int64_t device, int64_t most) {
    (void)most;
    *loop = (FlowLoop){.frame = *around, .around = around, .inner = inner, .device = (int)device};
    loop->memory = device_part(loop, memory);
    loop->inputs[0] = flow_simulated_allocate(sizeof loop->turn + 64);
    if (!loop->inputs[0]) fail("turns", "no memory");
    return true;
}

void flow_loop_turn(FlowLoop *loop, int64_t turn, const FlowPart *parts, int count) {
    loop->turn = (int32_t)turn;
    to_device(loop->inputs[0], &loop->turn, sizeof loop->turn);
    for (int i = 0; i < count; i++)
        loop->inputs[1 + i] = device_part(loop, parts[i].place) + parts[i].offset;
}

void flow_loop_end(const FlowLoop *loop) {
    flow_simulated_free(loop->inputs[0]);
}

void flow_loop_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                      const int64_t *operands, int64_t blocks) {
    const FlowLoop *loop = (const FlowLoop *)frame;
    launch(frame, kernel, operands, blocks, loop->memory, loop->inputs, NULL);
}

static struct Storage *storage_at(int64_t offset, int64_t size) {
    for (int i = 0; i < storage_count; i++)
        if (storage[i].offset == offset) return &storage[i];
    if (storage_count == STORAGE_LIMIT) fail("weights", "they are too many");
    storage[storage_count] = (struct Storage){offset, (size_t)size, true, false};
    return &storage[storage_count++];
}

static void bring(const FlowFrame *frame, struct Storage *part, bool there) {
    char *device = device_memory + part->offset, *here = frame->memory + part->offset;
    if (there && !part->there) to_device(device, here, part->size);
    if (!there && !part->here) from_device(here, device, part->size);
    part->there |= there, part->here |= !there;
}

void flow_gpu_need(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread == 0) bring(frame, storage_at(operands[0], operands[1]), operands[2] != CPU);
}

void flow_gpu_owns(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)threads;
    if (thread) return;
    struct Storage *part = storage_at(operands[0], operands[1]);
    part->there = operands[2] != CPU, part->here = !part->there;
}

void flow_gpu_begin(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)operands, (void)threads;
    if (thread) return;
    const size_t size = flow_program.memory_size + 64;
    if (!device_memory) device_memory = flow_simulated_allocate(size);
    if (!device_memory) fail("memory", "there is none");
    flow_simulated_mark(device_memory, size, false);
    storage_count = 0;
}

/* The test looks at all weights. */
void flow_gpu_end(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)operands, (void)threads;
    if (thread) return;
    for (int i = 0; i < storage_count; i++) bring(frame, &storage[i], false);
    for (int i = 0; i < FLOW_LAUNCH_INPUTS; i++) {
        flow_simulated_free(device_inputs[i]);
        device_inputs[i] = NULL;
    }
}

void flow_gpu_copy(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread) return;
    const int64_t place = operands[0];
    const int64_t each = operands[1] < 0
                             ? flow_program.sizes[~operands[1]](frame->batch, frame->sizes)
                             : operands[1];
    const size_t size = (size_t)(each * (operands[2] ? frame->batch : 1));
    if (place < 0) {
        if (!(device_inputs[~place] = flow_simulated_allocate(size + 64)))
            fail("inputs", "no memory");
        to_device(device_inputs[~place], frame->inputs[~place], size);
    } else if (operands[4] != CPU) {
        to_device(device_memory + place, frame->memory + place, size);
    } else {
        from_device(frame->memory + place, device_memory + place, size);
    }
}

void flow_gpu_move(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread) return;
    char *to = operands[0] + (operands[3] == CPU ? frame->memory : device_memory);
    const char *from = operands[1] + (operands[3] == CPU ? frame->memory : device_memory);
    if (operands[3] == CPU) memcpy(to, from, (size_t)operands[2]);
    else to_device(to, flow_simulated_host(from, (size_t)operands[2]), (size_t)operands[2]);
}

void flow_gpu_result(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread) return;
    from_device(frame->memory + operands[0], device_memory + operands[0], (size_t)operands[1]);
}

void flow_gpu_await(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)operands, (void)thread, (void)threads;
}

/* Of the only replica: what it has is whole. */
void flow_gpu_reduce(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    static const size_t sizes[] = {
        [FLOW_bool] = 1, [FLOW_u8] = 1,   [FLOW_i8] = 1,  [FLOW_i32] = 4, [FLOW_i64] = 8,
        [FLOW_f16] = 2,  [FLOW_bf16] = 2, [FLOW_f32] = 4, [FLOW_f64] = 8};
    const size_t size = (size_t)operands[2] * sizes[operands[4]];
    (void)frame, (void)threads;
    if (thread) return;
    to_device(device_memory + operands[0], flow_simulated_host(device_memory + operands[1], size),
              size);
}
