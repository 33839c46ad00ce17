/* Gpus: which of them there are, and where weights and states are up to date. */
#include "runtime/device/gpus_state.h"
#include "runtime/device/times.h"
#include "runtime/device/images.h"
#include "runtime/device/whole.h"

#include "runtime/type.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static GpusState of_process;
_Thread_local GpusState *gpus_now = &of_process;

/* What went wrong. */

static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

bool gpus_fail(FlowExit exit, const char *format, ...) {
    va_list arguments;
    FlowStatus *status = &gpus_state.status;
    pthread_mutex_lock(&failing);
    if (!gpus_state.failed) {
        status->exit = exit;
        va_start(arguments, format);
        vsnprintf(status->text, sizeof status->text, format, arguments);
        va_end(arguments);
        gpus_state.failed = true;
    }
    pthread_mutex_unlock(&failing);
    return false;
}

FlowStatus gpus_status(void) {
    return gpus_state.failed ? gpus_state.status : flow_ok;
}

/* Opening. */

/* The driver's number of a program's GPU; -1: it has none. */
static int ordinal_of(int number, int count) {
    const char *list = getenv("FLOWC_VISIBLE_DEVICES");
    if (!list || !*list) return number < count ? number : -1;
    while (*list >= '0' && *list <= '9') {
        char *end;
        long ordinal = strtol(list, &end, 10);
        if (ordinal < count && number-- == 0) return (int)ordinal;
        list = end + (*end == ',');
    }
    return -1;
}

static bool lacks_gpus(const GpusState *state) {
    const char *visible = getenv("FLOWC_VISIBLE_DEVICES");
    const int wanted = state->program->gpu_count;
    if (!visible) visible = "";
    return gpus_fail(FLOW_EXIT_resource, "`%.100s` computes on gpu(%d), and %s%s%.40s",
                     state->program->name, wanted - 1,
                     ordinal_of(0, state->there) < 0 ? "there is none"
                     : wanted == 2                   ? "there is only gpu(0)"
                                                     : "there are fewer GPUs",
                     *visible ? ": FLOWC_VISIBLE_DEVICES=" : "", visible);
}

static bool lacks_driver(const FlowProgram *program, const char *missing) {
    if (!program->simulated)
        return gpus_fail(FLOW_EXIT_resource, "`%.100s` computes on a GPU: %s; " DRIVER_COMES,
                         program->name, missing);
    return gpus_fail(FLOW_EXIT_resource,
                     "`%.100s` was built with --simulate, and finds no GPU: %s; "
                     "FLOWC_SIMULATE=gpu:%d, with FLOWC_LIBCUDA, FLOWC_LIBNVRTC and FLOWC_NCCL "
                     "that name flowc's libflowsimcuda.so, gives it simulated ones",
                     program->name, missing, program->gpu_count);
}

static const char *advice_to_start(const GpusState *state, int error) {
    enum { NO_DEVICE = 100 };
    if (error != NO_DEVICE || !state->driver.simulated) return driver_advice(error);
    return "; FLOWC_SIMULATE=gpu:N says how many there are";
}

static bool is_driver_there(GpusState *state) {
    char missing[DEVICE_TEXT];
    if (!driver_load(&state->driver, missing)) return lacks_driver(state->program, missing);
    int error = state->driver.initialise(0);
    if (!error) error = state->driver.count(&state->there);
    if (error)
        return gpus_fail(FLOW_EXIT_resource,
                         "`%.100s` computes on a GPU: the %s driver can't start: %s%s",
                         state->program->name, state->driver.maker,
                         driver_error(&state->driver, error).text, advice_to_start(state, error));
    return ordinal_of(state->program->gpu_count - 1, state->there) >= 0 || lacks_gpus(state);
}

static bool allocate(GpusState *state) {
    const FlowProgram *program = state->program;
    if (program->gpu_count > GPU_LIMIT)
        return gpus_fail(FLOW_EXIT_resource, "a program uses at most %d GPUs", GPU_LIMIT);
    state->gpus = calloc((size_t)program->gpu_count + 1, sizeof *state->gpus);
    state->fresh = calloc((size_t)program->storage_count + 1, sizeof *state->fresh);
    if (state->gpus && state->fresh) return true;
    return gpus_fail(FLOW_EXIT_resource, "no memory for GPUs");
}

static bool open_all(GpusState *state, size_t size) {
    const FlowProgram *program = state->program;
    bool good = true;
    while (good && state->count < program->gpu_count) {
        Gpu *gpu = &state->gpus[state->count];
        int ordinal = ordinal_of(state->count, state->there);
        good = gpu_open(gpu, &state->driver, &state->counts, state->count++, ordinal, size);
        gpu->text = program->device_text;
    }
    return good;
}

static bool reach_all(GpusState *state) {
    bool good = true;
    for (int i = 0; i < state->count; i++)
        for (int k = 0; k < state->count && good; k++)
            good = i == k || gpu_reach(&state->gpus[i], &state->gpus[k]);
    return good;
}

/* GPUs of one kind are given the same code. */
static bool load_all(GpusState *state) {
    bool good = true;
    for (int i = 0; i < state->count && good; i++)
        if (!state->gpus[i].module) good = images_load(state, state->gpus[i].capability);
    return good;
}

/* Once: train blocks open GPUs one after the other. */
static void say_simulated(const GpusState *state) {
    static bool said;
    if (said || state->guest || !state->driver.simulated) return;
    fprintf(stderr, "%s: the GPUs are simulated: the CPU stands in for them\n",
            state->program->name);
    said = true;
}

FlowStatus gpus_open(const FlowProgram *program, char *memory, size_t size) {
    GpusState *state = &gpus_state;
    if (!program->device_text || !program->gpu_count) return flow_ok;
    if (state->program)
        return flow_failure(FLOW_EXIT_resource,
                            "one program of a process computes on GPUs: "
                            "`%.100s` does already",
                            state->program->name);
    *state = (GpusState){
        .program = program, .guest = state->guest, .memory = memory, .turn = TURN_ALONE};
    bool good = allocate(state) && is_driver_there(state);
    if (good) say_simulated(state);
    good = good && open_all(state, size) && reach_all(state) && load_all(state);
    FlowStatus status = gpus_status();
    gpus_leave();
    if (!good) gpus_close();
    return status;
}

void gpus_close(void) {
    GpusState *state = &gpus_state;
    if (state->gpus) replay_forget();
    together_close();
    whole_close();
    for (int i = 0; i < state->count; i++) gpu_close(&state->gpus[i]);
    free(state->gpus);
    free(state->fresh);
    free(state->kernels);
    *state = (GpusState){0};
}

void gpus_tell_times(void) {
    for (int i = 0; i < gpus_state.count; i++) times_look(&gpus_state.gpus[i], true);
}

GpuCounts gpus_counts(void) {
    return gpus_state.counts;
}

/* Calls that nobody has waited for. */

int gpus_calls_ahead(void) {
    return (int)(gpus_state.calls_begun - gpus_state.calls_taken);
}

void gpus_wait_for_inputs(void) {
    const int64_t last = gpus_state.calls_begun - 1;
    for (int i = 0; gpus_work() && gpus_calls_ahead() && i < gpus_state.count; i++)
        turn_wait_for_inputs(&gpus_state.gpus[i],
                             &gpus_state.gpus[i].turns[gpus_turn_number(last)]);
}

void gpus_take_call(char *memory, FlowGuard *guard) {
    const int64_t first = gpus_state.calls_taken++;
    for (int i = 0; gpus_work() && i < gpus_state.count; i++)
        turn_wait(&gpus_state.gpus[i], &gpus_state.gpus[i].turns[gpus_turn_number(first)], memory,
                  guard);
    if (gpus_work()) whole_goes_on();
}

bool gpus_input_again(int i, void *to, size_t size) {
    const int64_t turn = gpus_turn_number(gpus_state.calls_taken - 1);
    if (!gpus_state.calls_taken || i >= FLOW_LAUNCH_INPUTS) return false;
    for (int k = 0; gpus_work() && k < gpus_state.count; k++) {
        Gpu *gpu = &gpus_state.gpus[k];
        const TurnInput *input = &gpu->turns[turn].inputs[i];
        if (input->size && input->outer) return replicas_input_again(i, input, turn, to);
        if (input->size && input->size >= size && !input->is_number)
            return gpu_copy_out(gpu, GPU_KERNELS, to, input->address, size) && gpu_finish(gpu);
    }
    return false;
}

/* Where storage is up to date. */

static uint64_t bit(int device) {
    return UINT64_C(1) << (device + 1);
}

/* Of all that the device stands for. */
static uint64_t bits(int device) {
    return device == FLOW_EVERY_GPU ? bit(gpus_state.replicas) - bit(0) : bit(device);
}

bool gpus_copy(char *memory, int64_t place, int64_t size, int from, int to) {
    Gpu *gpus = gpus_state.gpus;
    const uint64_t at = (uint64_t)place;
    const size_t bytes = (size_t)size;
    if (from == to) return true;
    if (from == GPU_CPU)
        return gpu_copy_in(&gpus[to], GPU_KERNELS, gpus[to].memory + at, memory + place, bytes);
    if (to == GPU_CPU)
        return gpu_copy_out(&gpus[from], GPU_KERNELS, memory + place, gpus[from].memory + at,
                            bytes) &&
               gpu_finish(&gpus[from]);
    return gpu_copy_across(&gpus[to], gpus[to].memory + at, &gpus[from], gpus[from].memory + at,
                           bytes);
}

/* A device where it is up to date: the CPU, or the first GPU. */
static int source_of(uint64_t fresh) {
    return __builtin_ctzll(fresh) + GPU_CPU;
}

static bool freshen(char *memory, int index, int device) {
    const FlowStorage *storage = &gpus_state.program->storage[index];
    uint64_t *fresh = &gpus_state.fresh[index];
    if (*fresh & bit(device)) return true;
    if (!gpus_copy(memory, (int64_t)storage->offset, (int64_t)flow_type_size(&storage->type),
                   source_of(*fresh), device))
        return false;
    *fresh |= bit(device);
    return true;
}

/* The part of the storage that lies in that range. */
typedef struct Part {
    int64_t begin, end; /* in memory */
} Part;

static Part whole_of(int index) {
    const FlowStorage *storage = &gpus_state.program->storage[index];
    const int64_t begin = (int64_t)storage->offset;
    return (Part){begin, begin + (int64_t)flow_type_size(&storage->type)};
}

static bool touches(Part whole, int64_t begin, int64_t size) {
    return whole.begin < begin + size && begin < whole.end;
}

static bool freshen_all(char *memory, int index, int device) {
    const bool every = device == FLOW_EVERY_GPU;
    bool good = true;
    for (int i = 0; every && good && i < gpus_state.replicas; i++) good = freshen(memory, index, i);
    return every ? good : freshen(memory, index, device);
}

bool gpus_freshen(char *memory, int64_t begin, int64_t size, int device) {
    bool good = gpus_work();
    for (int i = 0; good && i < gpus_state.program->storage_count; i++)
        if (touches(whole_of(i), begin, size)) good = freshen_all(memory, i, device);
    return good;
}

/* What was not written becomes up to date beside it. */
static bool complete(char *memory, int index, int64_t begin, int64_t size, int device) {
    const Part whole = whole_of(index);
    const uint64_t fresh = gpus_state.fresh[index];
    const int64_t end = begin + size;
    bool good = true;
    if (fresh & bit(device)) return true;
    if (begin > whole.begin)
        good = gpus_copy(memory, whole.begin, begin - whole.begin, source_of(fresh), device);
    if (good && end < whole.end)
        good = gpus_copy(memory, end, whole.end - end, source_of(fresh), device);
    return good;
}

static bool complete_all(char *memory, int index, int64_t begin, int64_t size, int device) {
    const bool every = device == FLOW_EVERY_GPU;
    bool good = true;
    for (int i = 0; every && good && i < gpus_state.replicas; i++)
        good = complete(memory, index, begin, size, i);
    return every ? good : complete(memory, index, begin, size, device);
}

bool gpus_written(char *memory, int64_t begin, int64_t size, int device) {
    bool good = gpus_work();
    for (int i = 0; good && i < gpus_state.program->storage_count; i++) {
        if (!touches(whole_of(i), begin, size)) continue;
        good = complete_all(memory, i, begin, size, device);
        if (good) gpus_state.fresh[i] = bits(device);
    }
    return good;
}

void gpus_bring_home(void) {
    bool good = gpus_work();
    for (int i = 0; good && i < gpus_state.program->storage_count; i++)
        good = freshen(gpus_state.memory, i, GPU_CPU);
}

void gpus_leave_part(size_t offset, size_t size) {
    gpus_written(gpus_state.memory, (int64_t)offset, (int64_t)size, GPU_CPU);
}

void gpus_leave(void) {
    for (int i = 0; gpus_state.fresh && i < gpus_state.program->storage_count; i++)
        gpus_state.fresh[i] = bit(GPU_CPU);
}

/* Calls one by one. */

void gpus_mark(void) {
    gpus_state.marked = 0;
}

void gpus_show(const FlowFrame *frame, int64_t place, size_t size, size_t record) {
    const FlowLoop *loop = gpus_state.loop;
    if (!gpus_state.marked || !gpus_work() || !whole_await()) return;
    if (loop && frame == &loop->frame) {
        loop_show(loop, place, size);
        return;
    }
    char *memory = frame->memory;
    if (place < 0) return;
    if (gpus_state.marked == 1 + FLOW_EVERY_GPU)
        replicas_show(memory, place, (int64_t)size, (int64_t)record);
    else gpus_copy(memory, place, (int64_t)size, gpus_state.marked - 1, GPU_CPU);
}
