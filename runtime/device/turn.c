#include "runtime/device/turn.h"

#include "runtime/device/replay.h"
#include "runtime/device/times.h"

#include <stdlib.h>
#include <string.h>

/* Opening. */

static bool open_one(Gpu *gpu, Turn *turn) {
    turn->in = gpu_new_pinned(gpu, 2 * sizeof *turn->in);
    if (!turn->in) return gpus_fail(FLOW_EXIT_resource, "no pinned memory for GPUs");
    turn->out = turn->in + 1;
    return gpu_allocate(gpu, &turn->block, sizeof(TurnBlock), "its calls") &&
           gpu_new_event(gpu, &turn->arrived) && gpu_new_event(gpu, &turn->computed) &&
           gpu_new_event(gpu, &turn->done);
}

bool turns_open(Gpu *gpu) {
    bool good = true;
    gpu->turns = calloc(TURN_COUNT, sizeof *gpu->turns);
    if (!gpu->turns) return gpus_fail(FLOW_EXIT_resource, "no memory for GPUs");
    for (int i = 0; i < TURN_COUNT && good; i++) good = open_one(gpu, &gpu->turns[i]);
    return good;
}

static void close_one(Gpu *gpu, Turn *turn) {
    const Driver *driver = gpu->driver;
    void *const events[] = {turn->arrived, turn->computed, turn->done};
    for (int i = 0; i < FLOW_LAUNCH_INPUTS; i++)
        if (turn->inputs[i].address) driver->deallocate(turn->inputs[i].address);
    if (turn->block) driver->deallocate(turn->block);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i]) driver->end_event(events[i]);
    gpu_end_pinned(gpu, turn->in);
}

void turns_close(Gpu *gpu) {
    for (int i = 0; gpu->turns && i < TURN_COUNT; i++) close_one(gpu, &gpu->turns[i]);
    free(gpu->turns);
}

/* A call. */

void turn_begin(Gpu *gpu, int number, const FlowGuard *guard) {
    Turn *turn = gpu->turn = &gpu->turns[number];
    if (turn->used) gpu_finish_copies(gpu); /* a call that was begun, and not ended */
    turn->result_count = 0;
    turn->result_size = 0;
    turn->guarded = guard != NULL;
    turn->sent = turn->copied = false;
    turn->used = true;
    for (int i = 0; i < FLOW_LAUNCH_INPUTS; i++) turn->inputs[i].size = 0;
    turn->in->guard = (FlowGuard){guard && guard->open, FLOW_NOWHERE};
}

/* What was asked for may still read the memory that is given back, and graphs know where it was. */
static bool give_back(Gpu *gpu, TurnInput *input) {
    if (!input->address) return true;
    if (!gpu_finish(gpu)) return false;
    replay_forget();
    gpu->driver->deallocate(input->address);
    *input = (TurnInput){0};
    return true;
}

/* By half at least from the second time on: all graphs are made again. */
static bool grow(Gpu *gpu, TurnInput *input, size_t size) {
    const size_t more = input->room + input->room / 2;
    if (size < more) size = more;
    if (!give_back(gpu, input)) return false;
    if (!gpu_allocate(gpu, &input->address, size, "the data of a batch")) return false;
    input->room = size;
    return true;
}

bool turn_make_room(Gpu *gpu, int i, size_t size) {
    TurnInput *input = &gpu->turn->inputs[i];
    if ((!input->address || input->room < size) && !grow(gpu, input, size)) return false;
    input->size = size;
    input->is_number = false;
    input->outer = 0;
    return true;
}

static uint64_t number_of(const Turn *turn, int i) {
    return turn->block + offsetof(TurnBlock, numbers) + (uint64_t)i * sizeof(int64_t);
}

static bool copy_number(Gpu *gpu, int i, const void *from, size_t size) {
    Turn *turn = gpu->turn;
    turn->inputs[i].size = size;
    turn->inputs[i].is_number = true;
    memcpy(&turn->in->numbers[i], from, size);
    if (!turn->sent) return true;
    turn->copied = true;
    return gpu_copy_in(gpu, GPU_IN, number_of(turn, i), &turn->in->numbers[i], size);
}

bool turn_copy_in(Gpu *gpu, int i, const void *from, size_t size, bool number) {
    if (number && size <= sizeof(int64_t)) return copy_number(gpu, i, from, size);
    if (!turn_make_room(gpu, i, size)) return false;
    gpu->turn->copied = true;
    return gpu_copy_in(gpu, GPU_IN, gpu->turn->inputs[i].address, from, size);
}

uint64_t turn_input(const Turn *turn, int i) {
    return turn->inputs[i].is_number ? number_of(turn, i) : turn->inputs[i].address;
}

static bool send_block(Gpu *gpu) {
    Turn *turn = gpu->turn;
    const GpuName before = times_name((GpuName){"numbers of the call", NULL});
    turn->sent = turn->copied = true;
    bool good = gpu_copy_in(gpu, GPU_IN, turn->block, turn->in, offsetof(TurnBlock, results));
    times_name(before);
    return good;
}

bool turn_send(Gpu *gpu) {
    Turn *turn = gpu->turn;
    if (!turn->sent && !send_block(gpu)) return false;
    if (!turn->copied) return true;
    turn->copied = false;
    return gpu_order(gpu, GPU_IN, turn->arrived, GPU_KERNELS);
}

bool turn_has_room(const Turn *turn, size_t size) {
    return turn->result_count < FLOW_LAUNCH_RESULTS &&
           size <= FLOW_LAUNCH_RESULT_ROOM - turn->result_size;
}

bool turn_put_result(Gpu *gpu, int64_t place, size_t size) {
    Turn *turn = gpu->turn;
    const size_t offset = turn->result_size;
    turn->results[turn->result_count++] = (TurnResult){place, offset, size};
    const size_t unit = FLOW_LAUNCH_RESULT_UNIT;
    turn->result_size += (size + unit - 1) / unit * unit;
    return gpu_copy_within(gpu, turn->block + offsetof(TurnBlock, results) + offset,
                           gpu->memory + (uint64_t)place, size);
}

/* From the guard to the end of the last result. */
static size_t size_back(const Turn *turn) {
    const size_t from = offsetof(TurnBlock, guard), to = offsetof(TurnBlock, results);
    if (!turn->result_count) return sizeof(FlowGuard);
    const TurnResult *last = &turn->results[turn->result_count - 1];
    return to - from + last->offset + last->size;
}

bool turn_end(Gpu *gpu) {
    Turn *turn = gpu->turn;
    const uint64_t from = turn->block + offsetof(TurnBlock, guard);
    const GpuName before = times_name((GpuName){"results of the call", NULL});
    bool good = turn_send(gpu) && gpu_order(gpu, GPU_KERNELS, turn->computed, GPU_OUT) &&
                gpu_copy_out(gpu, GPU_OUT, &turn->out->guard, from, size_back(turn)) &&
                gpu_record(gpu, turn->done, GPU_OUT);
    gpu->turn = NULL;
    times_name(before);
    return good;
}

bool turn_wait_for_inputs(Gpu *gpu, Turn *turn) {
    return !turn->used || gpu_wait(gpu, turn->arrived, "take copies");
}

bool turn_wait(Gpu *gpu, Turn *turn, char *memory, FlowGuard *guard) {
    if (!turn->used) return true;
    turn->used = false;
    if (!gpu_wait(gpu, turn->done, "do its kernels")) return false;
    times_look(gpu, false);
    for (int i = 0; memory && i < turn->result_count; i++) {
        const TurnResult *result = &turn->results[i];
        memcpy(memory + result->place, turn->out->results + result->offset, result->size);
    }
    if (guard && turn->guarded && turn->out->guard.place < guard->place)
        guard->place = turn->out->guard.place;
    return true;
}
