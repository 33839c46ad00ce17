/* Gates: mbarriers of shared memory, as the PTX ISA says under "mbarrier". A gate opens when as
 * many threads have arrived as it was made for and all bytes have landed that they expect; then it
 * begins anew. Who waits says whether it has opened an odd or an even number of times. */
#include "runtime/device/simulated_launch.h"

#include <stdio.h>

typedef struct Gate {
    uint32_t address;
    int arrivals, missing; /* threads */
    int64_t bytes;         /* that are still expected */
    uint32_t opened;       /* so many times */
    uint32_t epoch;        /* in which it was made, by */
    int thread, line;
} Gate;

static Launch *launch_now;
static Gate gates[GATE_LIMIT];
static int gate_count;

/* Which one. */

static int find_gate(uint32_t address) {
    int i = 0;
    while (i < gate_count && gates[i].address != address) i++;
    return i;
}

int launch_gate_at(const void *place, bool by_copies, int line) {
    const int i = find_gate(launch_shared_address(launch_now, place, line));
    const int thread = (int)launch_now->seen.thread;
    const Gate *gate = &gates[i];
    if (i == gate_count) launch_fail(launch_now, "there is no gate at line %d", line);
    if (!epochs_order(&launch_now->epochs, gate->epoch, (uint32_t)gate->thread, (uint32_t)thread))
        launch_fail(launch_now,
                    "thread %d uses at line %d the gate that thread %d made at line %d, with no "
                    "barrier between",
                    thread, line, gate->thread, gate->line);
    if (by_copies && launch_now->lanes[gate->thread].shown < gate->epoch)
        launch_fail(launch_now,
                    "a box at line %d tells a gate that thread %d made at line %d and has not "
                    "shown",
                    line, gate->thread, gate->line);
    return i;
}

Mark launch_next_mark(int gate) {
    return (Mark){.gate = (unsigned)gate + 1, .opened = gates[gate].opened & 0xffffff};
}

bool launch_has_opened(Mark mark) {
    return gates[mark.gate - 1].opened > mark.opened;
}

/* Opening. */

static void open_if_due(Gate *gate) {
    if (gate->missing || gate->bytes) return;
    gate->opened++;
    gate->missing = gate->arrivals;
}

bool launch_landed(Launch *launch, int i, int64_t bytes) {
    Gate *gate = &gates[i];
    gate->bytes -= bytes;
    if (gate->bytes < 0)
        return launch_fault(launch,
                            "%lld bytes land at the gate of line %d, of which %lld are expected",
                            (long long)bytes, gate->line, (long long)(gate->bytes + bytes));
    open_if_due(gate);
    return true;
}

/* What kernels call. */

static void make_gate(const void *place, int arrivals, int line) {
    const uint32_t address = launch_shared_address(launch_now, place, line);
    const int i = find_gate(address), thread = (int)launch_now->seen.thread;
    Lane *lane = &launch_now->lanes[thread];
    if (i == GATE_LIMIT || arrivals < 1 || address % 8)
        launch_fail(launch_now, "a gate of %d at line %d can't be made there", arrivals, line);
    if (lane->shown == launch_now->epochs.now) lane->shown--;
    gates[i] = (Gate){.address = address,
                      .arrivals = arrivals,
                      .missing = arrivals,
                      .epoch = launch_now->epochs.now,
                      .thread = thread,
                      .line = line};
    gate_count += i == gate_count;
}

static void arrive(const void *place, int bytes, int line) {
    Gate *gate = &gates[launch_gate_at(place, false, line)];
    if (bytes < 0 || bytes >= 1 << 20)
        launch_fail(launch_now, "%d bytes are expected at line %d; a gate counts up to 1048575",
                    bytes, line);
    if (!gate->missing)
        launch_fail(launch_now, "thread %lld arrives at line %d, where all have arrived",
                    (long long)launch_now->seen.thread, line);
    gate->missing--;
    gate->bytes += bytes;
    open_if_due(gate);
    launch_let_go_first(launch_now, line); /* what it does now with what it gave back is too late */
}

static bool is_open(Launch *launch, int thread) {
    const Lane *lane = &launch->lanes[thread];
    return (gates[lane->gate].opened & 1) != (unsigned)lane->odd;
}

static void tell(const Launch *launch, int thread, char *text, size_t size) {
    const Lane *lane = &launch->lanes[thread];
    const Gate *gate = &gates[lane->gate];
    snprintf(
        text, size,
        "waits at line %d for a gate (opened %u times; %d arrivals and %lld bytes are to come)",
        lane->line, gate->opened, gate->missing, (long long)gate->bytes);
}

static void await(const void *place, int odd, int line) {
    static const Wait wait = {is_open, tell};
    Lane *lane = &launch_now->lanes[launch_now->seen.thread];
    lane->gate = launch_gate_at(place, false, line);
    lane->odd = odd != 0;
    launch_wait(launch_now, &wait, line);
    lane->seen[lane->gate] = gates[lane->gate].opened;
}

void launch_clear_gates(void) {
    gate_count = 0;
}

void launch_set_gates(Launch *launch) {
    launch_now = launch;
    launch->seen.gate = make_gate;
    launch->seen.arrive = arrive;
    launch->seen.await = await;
}
