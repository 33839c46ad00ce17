/* Simulated: one block after the other; of a block, each thread until it waits. Threads begin in
 * one fiber, one after the other; where one waits, it keeps the fiber and the next ones begin in
 * another, so a kernel that never waits needs one fiber and no switch. When none can go on, what
 * they wait for is looked at: all for the same barrier, or a warp's all for a shuffle. The order of
 * threads is another one each time, by the seed. */
#include "runtime/device/simulated_launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 64 << 10, WAIT_SIZE = 128 };

/* The launch that is made now: there is one at a time. */
static struct {
    Launch launch;
    Fiber *fibers[THREAD_LIMIT], *idle[THREAD_LIMIT]; /* kept from launch to launch */
    int fiber_count, idle_count;
    uint32_t epoch; /* that was reached */
    FlowSimulation settings;
    bool set;
} simulator;

/* Settings. */

static uint64_t number_of(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static FlowSimulation settings(void) {
    if (simulator.set) return simulator.settings;
    return (FlowSimulation){
        .seed = number_of("FLOWC_SIMULATE_SEED", 1),
        .checks = (int)number_of("FLOWC_SIMULATE_CHECKS", FLOW_CHECKS_all),
    };
}

void flow_simulation_set(FlowSimulation simulation) {
    memory_lock();
    simulator.settings = simulation;
    simulator.set = true;
    memory_unlock();
}

/* Chance. */

uint64_t launch_draw(Launch *launch, uint64_t below) {
    launch->random ^= launch->random << 13;
    launch->random ^= launch->random >> 7;
    launch->random ^= launch->random << 17;
    return (launch->random >> 32) * below >> 32;
}

static void shuffle_threads(Launch *launch) {
    for (int i = launch->seen.threads - 1; i > 0; i--) {
        int j = (int)launch_draw(launch, (uint64_t)i + 1), thread = launch->order[i];
        launch->order[i] = launch->order[j];
        launch->order[j] = thread;
    }
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

static void shuffle_blocks(Launch *launch) {
    int64_t blocks = launch->all_blocks;
    launch->block_start = (int64_t)launch_draw(launch, (uint64_t)blocks);
    launch->block_stride = 1 + (int64_t)launch_draw(launch, (uint64_t)blocks);
    while (common_divisor(launch->block_stride, blocks) != 1) launch->block_stride++;
}

static int64_t block_number(const Launch *launch, int64_t turn) {
    __extension__ typedef __int128 Wide;
    return (int64_t)((launch->block_start + (Wide)turn * launch->block_stride) %
                     launch->all_blocks);
}

int64_t launch_block_at(const Launch *launch, uint32_t epoch) {
    int64_t turn = 0;
    while (turn + 1 < launch->blocks_begun && launch->block_epochs[turn + 1] <= epoch) turn++;
    return block_number(launch, turn);
}

/* Faults. */

__attribute__((format(printf, 3, 0))) static void
note_fault(Launch *launch, bool in_block, const char *format, va_list arguments) {
    char text[FAULT_SIZE], where[64] = "";
    if (launch->failed) return;
    vsnprintf(text, sizeof text, format, arguments);
    const long long block = launch->seen.block, record = launch->seen.record;
    bool several = launch->all_blocks > launch->seen.blocks;
    if (in_block && several)
        snprintf(where, sizeof where, ", record %lld, block %lld", record, block);
    else if (in_block) snprintf(where, sizeof where, ", block %lld", block);
    snprintf(launch->fault, sizeof launch->fault, "kernel %.100s%s: %.320s", launch->name, where,
             text);
    launch->failed = true;
}

__attribute__((format(printf, 3, 4))) static bool fault(Launch *launch, bool in_block,
                                                        const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    note_fault(launch, in_block, format, arguments);
    va_end(arguments);
    return false;
}

bool launch_fault(Launch *launch, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    note_fault(launch, true, format, arguments);
    va_end(arguments);
    return false;
}

void launch_fail(Launch *launch, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    note_fault(launch, true, format, arguments);
    va_end(arguments);
    for (;;) fiber_pause(launch->running);
}

/* Fibers. */

static Fiber *take_fiber(void) {
    if (simulator.idle_count) return simulator.idle[--simulator.idle_count];
    Fiber *fiber = simulator.fiber_count < THREAD_LIMIT ? fiber_new(STACK) : NULL;
    if (fiber) simulator.fibers[simulator.fiber_count++] = fiber;
    return fiber;
}

static void run_fiber(Launch *launch, Fiber *fiber) {
    launch->running = fiber;
    fiber_run(fiber);
}

/* What a thread does until all have begun: the next one. */
static void run_threads(void *context) {
    Launch *launch = context;
    while (launch->begun < launch->seen.threads) {
        int thread = launch->order[launch->begun++];
        launch->lanes[thread] = (Lane){.state = LANE_ready};
        launch_forget_copies(thread);
        launch_forget_products(thread);
        launch->seen.thread = thread;
        launch->kernel(NULL, &launch->seen);
        launch->lanes[launch->seen.thread].state = LANE_done;
    }
    launch->running = NULL;
}

static bool begin_threads(Launch *launch) {
    while (launch->begun < launch->seen.threads && !launch->failed) {
        Fiber *fiber = take_fiber();
        if (!fiber) return fault(launch, true, "there is no memory for its threads");
        fiber_begin(fiber, run_threads, launch);
        run_fiber(launch, fiber);
        if (!launch->running) simulator.idle[simulator.idle_count++] = fiber;
    }
    return !launch->failed;
}

static void resume(Launch *launch, int thread) {
    Fiber *fiber = launch->lanes[thread].fiber;
    launch->seen.thread = thread;
    run_fiber(launch, fiber);
    if (!launch->running) simulator.idle[simulator.idle_count++] = fiber;
}

static bool resume_threads(Launch *launch) {
    for (int i = 0; i < launch->seen.threads && !launch->failed; i++)
        if (launch->lanes[launch->order[i]].state == LANE_ready) resume(launch, launch->order[i]);
    return !launch->failed;
}

/* Waiting. */

static void wait_as(Launch *launch, LaneState state, int line) {
    Lane *lane = &launch->lanes[launch->seen.thread];
    lane->state = state;
    lane->line = line;
    lane->fiber = launch->running;
    fiber_pause(launch->running);
}

static void barrier_of(int threads, int line) {
    Launch *launch = &simulator.launch;
    if (threads % WARP || launch->seen.thread >= threads)
        launch_fail(launch, "thread %lld comes to the barrier of the first %d at line %d",
                    (long long)launch->seen.thread, threads, line);
    launch->lanes[launch->seen.thread].mask = threads;
    wait_as(launch, LANE_barrier, line);
}

static void barrier(int line) {
    barrier_of(simulator.launch.seen.threads, line);
}

void launch_wait(Launch *launch, const Wait *wait, int line) {
    Lane *lane = &launch->lanes[launch->seen.thread];
    lane->wait = wait;
    if (!wait->is_over(launch, (int)launch->seen.thread)) wait_as(launch, LANE_waits, line);
}

void launch_let_go_first(Launch *launch, int line) {
    launch->arrived++;
    wait_as(launch, LANE_arrived, line);
}

static uint64_t shuffle(uint64_t bits, int mask, int line) {
    Launch *launch = &simulator.launch;
    Lane *lane = &launch->lanes[launch->seen.thread];
    lane->bits = bits;
    lane->mask = mask;
    wait_as(launch, LANE_shuffle, line);
    return lane->bits;
}

static const char *meet(const void *brought, size_t size, int line) {
    Launch *launch = &simulator.launch;
    int thread = (int)launch->seen.thread;
    memcpy(launch->lanes[thread].brought, brought, size);
    shuffle(0, 0, line);
    return launch->met[thread / WARP * WARP];
}

static const char *doing(const Launch *launch, const Lane *lane, char *text, size_t size) {
    switch (lane->state) {
    case LANE_done: return "has ended";
    case LANE_waits: lane->wait->tell(launch, (int)(lane - launch->lanes), text, size); break;
    case LANE_barrier: snprintf(text, size, "waits at the barrier of line %d", lane->line); break;
    default: snprintf(text, size, "waits at the shuffle of line %d", lane->line);
    }
    return text;
}

/* Of threads first … first + count, one that does not wait where `wanted` does; or none, -1. */
static int find_stranger(const Launch *launch, int first, int count, const Lane *wanted) {
    for (int i = first; i < first + count; i++)
        if (launch->lanes[i].state != wanted->state || launch->lanes[i].line != wanted->line)
            return i;
    return -1;
}

static int count_like(const Launch *launch, int first, int count, const Lane *wanted) {
    int found = 0;
    for (int i = first; i < first + count; i++)
        found += launch->lanes[i].state == wanted->state && launch->lanes[i].line == wanted->line;
    return found;
}

static bool exchange(Launch *launch, int first) {
    uint64_t bits[WARP];
    Lane *lanes = launch->lanes + first;
    for (int i = 0; i < WARP; i++) {
        bits[i] = lanes[i].bits;
        memcpy(launch->met[first + i], lanes[i].brought, FLOW_MEETING);
    }
    for (int i = 0; i < WARP; i++) {
        int mask = lanes[i].mask;
        if (mask < 0 || mask >= WARP)
            return fault(launch, true, "thread %d shuffles by mask %d at line %d", first + i, mask,
                         lanes[i].line);
        lanes[i].bits = bits[i ^ mask];
        lanes[i].state = LANE_ready;
    }
    return true;
}

static int first_shuffling(const Launch *launch, int first) {
    for (int i = first; i < first + WARP; i++)
        if (launch->lanes[i].state == LANE_shuffle) return i;
    return -1;
}

/* Warps go on after a shuffle. No thread is ready any more, so one that has not come never will. */
static bool settle_shuffles(Launch *launch, bool *any) {
    for (int first = 0; first < launch->seen.threads; first += WARP) {
        char text[WAIT_SIZE];
        int waiting = first_shuffling(launch, first);
        if (waiting < 0) continue;
        const Lane *lane = &launch->lanes[waiting];
        int stranger = find_stranger(launch, first, WARP, lane);
        if (stranger >= 0)
            return fault(launch, true,
                         "%d of the 32 lanes of warp %d wait at the shuffle of line %d, "
                         "while thread %d %s",
                         count_like(launch, first, WARP, lane), first / WARP, lane->line, stranger,
                         doing(launch, &launch->lanes[stranger], text, sizeof text));
        if (!exchange(launch, first)) return false;
        *any = true;
    }
    return true;
}

/* What one of them has seen of gates comes before what all do from now on. */
static void release_barrier(Launch *launch, int threads) {
    uint32_t most[GATE_LIMIT] = {0};
    for (int i = 0; i < threads; i++)
        for (int gate = 0; gate < GATE_LIMIT; gate++)
            if (launch->lanes[i].seen[gate] > most[gate]) most[gate] = launch->lanes[i].seen[gate];
    for (int i = 0; i < threads; i++) {
        launch->lanes[i].state = LANE_ready;
        memcpy(launch->lanes[i].seen, most, sizeof most);
    }
    launch->epochs.now++;
    for (int warp = 0; warp < threads / WARP; warp++) launch->since[warp] = launch->epochs.now;
}

static bool settle_barrier(Launch *launch, bool *any) {
    int threads = launch->seen.threads, waiting = 0;
    char text[WAIT_SIZE];
    while (waiting < threads && launch->lanes[waiting].state != LANE_barrier) waiting++;
    if (waiting == threads) return true;
    const Lane *lane = &launch->lanes[waiting];
    threads = lane->mask;
    int stranger = find_stranger(launch, 0, threads, lane);
    if (stranger >= 0)
        return fault(launch, true,
                     "%d of %d threads wait at the barrier of line %d, while thread %d %s",
                     count_like(launch, 0, threads, lane), threads, lane->line, stranger,
                     doing(launch, &launch->lanes[stranger], text, sizeof text));
    release_barrier(launch, threads);
    *any = true;
    return true;
}

static bool settle_waits(Launch *launch) {
    bool any = false;
    for (int i = 0; i < launch->seen.threads; i++) {
        Lane *lane = &launch->lanes[i];
        if (lane->state != LANE_waits || !lane->wait->is_over(launch, i)) continue;
        lane->state = LANE_ready;
        any = true;
    }
    return any;
}

/* After those who waited for the gates. */
static bool settle_arrived(Launch *launch) {
    if (!launch->arrived) return false;
    for (int i = 0; i < launch->seen.threads; i++)
        if (launch->lanes[i].state == LANE_arrived) launch->lanes[i].state = LANE_ready;
    launch->arrived = 0;
    return true;
}

/* Nobody can go on. */
static bool check_ended(Launch *launch) {
    char first[WAIT_SIZE], second[WAIT_SIZE];
    int waiting = 0, other = 0;
    while (waiting < launch->seen.threads && launch->lanes[waiting].state != LANE_waits) waiting++;
    if (waiting == launch->seen.threads) return true;
    const Lane *lane = &launch->lanes[waiting];
    while (other + 1 < launch->seen.threads && launch->lanes[other].state == lane->state &&
           launch->lanes[other].line == lane->line)
        other++;
    return fault(launch, true, "nobody can go on: thread %d %s, thread %d %s", waiting,
                 doing(launch, lane, first, sizeof first), other,
                 doing(launch, &launch->lanes[other], second, sizeof second));
}

/* Who waits goes on, where that is over. What goes on beside threads takes as long as they can go
 * on without it. any: is there such a one? */
static bool settle(Launch *launch, bool *any) {
    *any = settle_waits(launch) || settle_arrived(launch);
    if (!*any && !launch_land_box(launch, any)) return false;
    if (!*any && !settle_shuffles(launch, any)) return false;
    if (!*any && !settle_barrier(launch, any)) return false;
    return *any || check_ended(launch);
}

/* Blocks. */

static void begin_block(Launch *launch, int64_t turn) {
    launch->epochs.block = ++launch->epochs.now;
    for (int warp = 0; warp < THREAD_LIMIT / WARP; warp++)
        launch->since[warp] = launch->epochs.block;
    launch->block_epochs[turn] = launch->epochs.now;
    launch->blocks_begun = turn + 1;
    const int64_t block = block_number(launch, turn);
    launch->seen.block = block % launch->seen.blocks;
    launch->seen.record = block / launch->seen.blocks;
    launch->begun = 0;
    launch_clear_shared(launch);
    launch_clear_gates();
    shuffle_threads(launch);
}

static bool run_block(Launch *launch, int64_t turn) {
    bool any;
    begin_block(launch, turn);
    if (!begin_threads(launch) || !settle(launch, &any)) return false;
    while (any) {
        shuffle_threads(launch);
        if (!resume_threads(launch) || !settle(launch, &any)) return false;
    }
    return true;
}

/* Launches. */

static bool is_possible(Launch *launch, int made_for) {
    int threads = launch->seen.threads;
    if (threads <= 0 || threads > THREAD_LIMIT || threads % WARP)
        return fault(launch, false, "blocks of %d threads: a block has 32, 64 … up to 1024 of them",
                     threads);
    if (threads != made_for)
        return fault(launch, false, "blocks of %d threads, but it is made for %d", threads,
                     made_for);
    if (launch->seen.blocks <= 0 || launch->seen.blocks > INT32_MAX)
        return fault(launch, false, "%lld blocks: there may be 1 … 2147483647",
                     (long long)launch->seen.blocks);
    if (launch->all_blocks <= 0 || launch->all_blocks > launch->seen.blocks * UINT16_MAX)
        return fault(launch, false, "%lld records: there may be 1 … 65535",
                     (long long)(launch->all_blocks / launch->seen.blocks));
    return true;
}

static void begin_launch(Launch *launch) {
    FlowSimulation simulation = settings();
    if (simulator.epoch > UINT32_MAX / 2) memory_forget_touches(), simulator.epoch = 0;
    launch->epochs.now = simulator.epoch;
    launch->epochs.launch = simulator.epoch + 1;
    launch->epochs.since = launch->since;
    launch->random = (simulation.seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    launch->checks = simulation.checks;
    launch->seen.barrier = barrier;
    launch->seen.barrier_of = barrier_of;
    launch->seen.shuffle = shuffle;
    launch->seen.meet = meet;
    launch_set_access(launch);
    launch_set_copies(launch);
    launch_set_products(launch);
    launch_set_gates(launch);
    launch_set_boxes(launch);
    for (int i = 0; i < launch->seen.threads; i++) launch->order[i] = i;
    for (int i = 0; i < simulator.fiber_count; i++) simulator.idle[i] = simulator.fibers[i];
    simulator.idle_count = simulator.fiber_count;
    shuffle_blocks(launch);
}

static bool run_blocks(Launch *launch) {
    bool good = true;
    if (!trap_open(launch)) return fault(launch, false, "there is no memory to run it");
    for (int64_t turn = 0; turn < launch->all_blocks && good; turn++)
        good = run_block(launch, turn);
    trap_close();
    return good;
}

static bool run_launch(Launch *launch) {
    launch->block_epochs = malloc((size_t)launch->all_blocks * sizeof *launch->block_epochs);
    if (!launch->block_epochs) return fault(launch, false, "there is no memory to run it");
    begin_launch(launch);
    bool good = run_blocks(launch);
    simulator.epoch = launch->epochs.now;
    launch_free_shared(launch);
    launch_free_boxes();
    free(launch->block_epochs);
    return good;
}

bool flow_simulate_shape(FlowSimulatedKernel *kernel, const char *name,
                         const FlowArguments *arguments, FlowSimulatedShape shape, char *fault_text,
                         size_t fault_size) {
    memory_lock();
    Launch *launch = &simulator.launch;
    memset(launch, 0, offsetof(Launch, lanes));
    launch->begun = launch->array_count = 0;
    launch->shared_size = 0;
    launch->failed = false;
    launch->name = name;
    launch->kernel = kernel;
    launch->seen.blocks = shape.blocks;
    launch->all_blocks = shape.blocks * shape.records;
    launch->seen.threads = shape.threads;
    launch->more = (size_t)shape.shared;
    launch->more_used = 0;
    bool good = is_possible(launch, kernel(arguments, &launch->seen)) && run_launch(launch);
    if (!good) snprintf(fault_text, fault_size, "%s", launch->fault);
    memory_unlock();
    return good;
}

bool flow_simulate(FlowSimulatedKernel *kernel, const char *name, const FlowArguments *arguments,
                   int64_t blocks, int threads, char *fault_text, size_t fault_size) {
    return flow_simulate_shape(kernel, name, arguments, (FlowSimulatedShape){blocks, 1, threads, 0},
                               fault_text, fault_size);
}
