/* Whole. NCCL wants the calls for all GPUs that one thread has within a group, which then are one
 * launch on each; several sums in it share that (NCCL, "Group Calls"). Its operations are never
 * part of a graph: with several GPUs in a process graphs of them may wait for each other for ever
 * (NCCL 2.30, "Using NCCL with CUDA Graphs", "Requirements and Limitations"). Graphs have what is
 * between them; nor would copies between GPUs, which wait for each other, be part of one GPU's. */
#include "runtime/device/whole.h"

#include "runtime/device/gpus_state.h"
#include "runtime/device/nccl.h"

#include <stdlib.h>
#include <string.h>

enum { WHOLES = 256, ENOUGH = 4 << 20 /* bytes: what is put off begins */ };

typedef struct Wholes {
    Whole items[WHOLES]; /* that are put off */
    int count;
    int64_t bytes;
    bool begun; /* by NCCL, and kernels don't wait for it yet */
    bool chosen;
    AllReduce how;
    Nccl nccl;
    void *communicators[GPU_LIMIT + 1][GPU_LIMIT]; /* by the number of replicas; NULL: none yet */
} Wholes;

static Wholes *wholes(void) {
    return gpus_state.wholes;
}

/* NCCL. */

static bool succeeded(int error, const char *what) {
    if (!error) return true;
    return gpus_fail(FLOW_EXIT_resource,
                     "NCCL, by which %d replicas add up, can't %s: %.100s (%d); NCCL_DEBUG=WARN "
                     "says more; --all-reduce=peer (FLOWC_ALL_REDUCE=peer) goes without it",
                     gpus_state.replicas, what, wholes()->nccl.error_text(error), error);
}

static bool choose(void) {
    AllReduceText text;
    if (wholes()->chosen) return true;
    wholes()->how = nccl_choose(&wholes()->nccl, gpus_state.program->exact, &text);
    wholes()->chosen = true;
    if (wholes()->how != ALL_REDUCE_wrong) return true;
    return gpus_fail(FLOW_EXIT_resource, "%s%s%s", text.text, text.fix ? "; " : "",
                     text.fix ? text.fix : "");
}

static bool open_streams(void) {
    bool good = true;
    for (int i = 0; i < gpus_state.replicas && good; i++) good = gpu_open_sums(&gpus_state.gpus[i]);
    return good;
}

/* Those of the first so many GPUs. */
static void **communicators(int count) {
    void **all = wholes()->communicators[count];
    int devices[GPU_LIMIT];
    if (all[0]) return all;
    for (int i = 0; i < count; i++) devices[i] = gpus_state.gpus[i].ordinal;
    if (!open_streams()) return NULL;
    const int error = wholes()->nccl.start(all, count, devices);
    if (error) memset(all, 0, sizeof wholes()->communicators[count]);
    return succeeded(error, "connect them") ? all : NULL;
}

static int sum_on(const Whole *whole, const Gpu *gpu, void *communicator) {
    static const int operations[] = {
        [FLOW_whole_sum] = 0, [FLOW_whole_prod] = 1, [FLOW_whole_max] = 2, [FLOW_whole_min] = 3};
    return wholes()->nccl.all_reduce((const void *)(gpu->memory + (uint64_t)whole->from),
                                     (void *)(gpu->memory + (uint64_t)whole->to),
                                     (size_t)whole->count, nccl_type(whole->element),
                                     operations[whole->how], communicator, gpu->streams[GPU_SUMS]);
}

static int sum_all(const Whole *items, int count, void *const *all) {
    int error = wholes()->nccl.begin_group();
    if (error) return error;
    for (int i = 0; i < count && !error; i++)
        for (int k = 0; k < gpus_state.replicas && !error; k++)
            error = sum_on(&items[i], &gpus_state.gpus[k], all[k]);
    const int ended = wholes()->nccl.end_group(); /* a group that failed, too */
    return error ? error : ended;
}

static bool order(GpuStream first, GpuStream later) {
    bool good = true;
    for (int i = 0; i < gpus_state.replicas && good; i++)
        good = gpu_order(&gpus_state.gpus[i], first, gpus_state.gpus[i].event, later);
    return good;
}

static bool sum_by_nccl(const Whole *items, int count) {
    void *const *all = communicators(gpus_state.replicas);
    wholes()->begun = true;
    return all && order(GPU_KERNELS, GPU_SUMS) && succeeded(sum_all(items, count, all), "add up");
}

/* Putting off. */

/* What kernels were asked for so far is a part of the call, and what comes another one. */
static bool end_parts(void) {
    bool good = gpus_work();
    for (int i = 0; i < gpus_state.replicas && gpus_state.ahead && good; i++)
        good = turn_send(&gpus_state.gpus[i]) && replay_end(&gpus_state.gpus[i]);
    return good;
}

static bool begin_parts(void) {
    bool good = gpus_work();
    for (int i = 0; i < gpus_state.replicas && gpus_state.ahead && good; i++)
        good = replay_go_on(&gpus_state.gpus[i]);
    return good;
}

/* Largest and least of floats leave out with NCCL what is not a number (fmaxf), and keep it with
 * us. */
static bool is_for_nccl(const Whole *whole) {
    const bool is_float = whole->element == FLOW_f16 || whole->element == FLOW_bf16 ||
                          whole->element == FLOW_f32 || whole->element == FLOW_f64;
    return !is_float || (whole->how != FLOW_whole_max && whole->how != FLOW_whole_min);
}

static bool is_by_nccl(const Whole *whole) {
    return wholes()->how == ALL_REDUCE_nccl && is_for_nccl(whole);
}

/* Kernels have what NCCL was asked for. */
static bool await_sums(void) {
    const bool good = !wholes()->begun || order(GPU_SUMS, GPU_KERNELS);
    wholes()->begun = false;
    return good;
}

static bool touches(const Whole *a, int64_t at, const Whole *b, int64_t other) {
    return at < other + b->count * b->size && other < at + a->count * a->size;
}

/* Does the last of them lie where one before is or was? */
static bool is_behind(const Whole *items, int last) {
    const Whole *own = &items[last];
    bool behind = false;
    for (int i = 0; i < last && !behind; i++)
        behind = touches(own, own->to, &items[i], items[i].from) ||
                 touches(own, own->to, &items[i], items[i].to) ||
                 touches(own, own->from, &items[i], items[i].to);
    return behind;
}

/* So many of them may be done at once. */
static int length_of_run(const Whole *items, int count) {
    int length = 1;
    const bool by_nccl = is_by_nccl(items);
    while (length < count && is_by_nccl(&items[length]) == by_nccl && !is_behind(items, length))
        length++;
    return length;
}

/* In their order, as one may lie where another was; those of a group have none. */
static bool begin(void) {
    const Whole *items = wholes()->items;
    const int count = wholes()->count;
    bool good = !count || choose();
    wholes()->count = 0;
    wholes()->bytes = 0;
    for (int i = 0, length; i < count && good; i += length) {
        length = length_of_run(&items[i], count - i);
        good = is_by_nccl(&items[i]) ? sum_by_nccl(&items[i], length)
                                     : await_sums() && replicas_join(&items[i], length);
    }
    return good;
}

static bool open_wholes(void) {
    if (!gpus_state.wholes) gpus_state.wholes = calloc(1, sizeof *gpus_state.wholes);
    return gpus_state.wholes || gpus_fail(FLOW_EXIT_resource, "no memory for GPUs");
}

bool whole_add(const Whole *whole) {
    if (!open_wholes()) return false;
    wholes()->items[wholes()->count++] = *whole;
    wholes()->bytes += whole->count * whole->size;
    if (wholes()->count < WHOLES && wholes()->bytes < ENOUGH) return true;
    return end_parts() && begin() && begin_parts();
}

bool whole_await(void) {
    if (!wholes() || (!wholes()->count && !wholes()->begun)) return true;
    return end_parts() && begin() && await_sums() && begin_parts();
}

/* What goes wrong. */

static int noted_by(void *communicator) {
    int error = 0;
    const int returned = wholes()->nccl.async_error(communicator, &error);
    if (returned) error = returned;
    return error == NCCL_IN_PROGRESS ? 0 : error;
}

static int noted(void) {
    int error = 0;
    for (int n = 2; n <= GPU_LIMIT; n++)
        for (int i = 0; i < n && wholes()->communicators[n][i] && !error; i++)
            error = noted_by(wholes()->communicators[n][i]);
    return error;
}

static void end_all(int (*end)(void *communicator)) {
    for (int n = 2; n <= GPU_LIMIT; n++)
        for (int i = 0; i < n && wholes()->communicators[n][i]; i++)
            end(wholes()->communicators[n][i]);
    memset(wholes()->communicators, 0, sizeof wholes()->communicators);
}

bool whole_uses_nccl(void) {
    return wholes() && wholes()->chosen && wholes()->how == ALL_REDUCE_nccl;
}

bool whole_goes_on(void) {
    if (!whole_uses_nccl() || succeeded(noted(), "go on")) return true;
    end_all(wholes()->nccl.break_off);
    return false;
}

/* Its own end would wait for a sum that never ends. */
static bool all_done(void) {
    bool good = gpus_work();
    for (int i = 0; i < gpus_state.count && good; i++) good = gpu_finish_sums(&gpus_state.gpus[i]);
    return good && whole_goes_on();
}

void whole_close(void) {
    if (whole_uses_nccl()) end_all(all_done() ? wholes()->nccl.end : wholes()->nccl.break_off);
    free(gpus_state.wholes);
    gpus_state.wholes = NULL;
}
