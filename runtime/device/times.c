/* Times: an event is some milliseconds behind another, which CUDA says in 32 bits; so the one that
 * others are behind is renewed. */
#include "runtime/device/times.h"

#include "runtime/clock.h"
#include "runtime/device/gpu.h"

#include <stdlib.h>

enum { MARK_ROOM = 4096, RENEWED = 500 /* milliseconds */, SLEEPING = 1 };

/* What was asked for, between two events. */
typedef struct Mark {
    void *begin, *end;
    const char *name, *detail;
    int stream;
} Mark;

struct Times {
    Mark marks[MARK_ROOM]; /* by turns */
    int64_t begun, told;
    void *base; /* that others are behind, which happened at base_time; */
    double base_time;
    int64_t last[GPU_STREAMS]; /* ends that were told */
};

static TellTime *_Atomic told;
static _Thread_local GpuName own;

void times_tell(TellTime *tell) {
    told = tell;
}

GpuName times_name(GpuName name) {
    GpuName before = own;
    own = name;
    return before;
}

/* Opening. */

static bool new_event(Gpu *gpu, void **event) {
    return *event ||
           gpu_succeeded(gpu, gpu->driver->new_event(event, SLEEPING), "measure time", NULL);
}

bool times_open(Gpu *gpu) {
    if (!told) return true;
    Times *times = gpu->times = calloc(1, sizeof *times);
    if (!times) return gpus_fail(FLOW_EXIT_resource, "--trace: no memory");
    if (!new_event(gpu, &times->base) || !gpu_record(gpu, times->base, GPU_KERNELS) ||
        !gpu_finish(gpu))
        return false;
    times->base_time = (double)clock_nanoseconds();
    return true;
}

void times_close(Gpu *gpu) {
    Times *times = gpu->times;
    if (!times) return;
    times_look(gpu, true);
    for (int i = 0; i < MARK_ROOM; i++) {
        if (times->marks[i].begin) gpu->driver->end_event(times->marks[i].begin);
        if (times->marks[i].end) gpu->driver->end_event(times->marks[i].end);
    }
    if (times->base) gpu->driver->end_event(times->base);
    free(times);
    gpu->times = NULL;
}

/* Telling. */

/* 0: the driver can't say. */
static double time_of(Gpu *gpu, void *event) {
    float behind = 0; /* milliseconds */
    if (gpu->driver->elapsed(&behind, gpu->times->base, event)) return 0;
    return gpu->times->base_time + (double)behind * 1e6;
}

/* The mark's end becomes what others are behind. */
static void renew(Times *times, Mark *mark, double end) {
    void *old = times->base;
    if (end - times->base_time < RENEWED * 1e6) return;
    times->base = mark->end;
    times->base_time = end;
    mark->end = old;
}

static int line_of(const Gpu *gpu, const Mark *mark) {
    return gpu->station ? TIMES_STATIONS + gpu->station - 1 : mark->stream;
}

static void tell(Gpu *gpu, Mark *mark) {
    Times *times = gpu->times;
    TellTime *const tell_time = told;
    double begin = time_of(gpu, mark->begin), end = time_of(gpu, mark->end);
    if (!begin || !end || !tell_time) return;
    int64_t *last = &times->last[mark->stream], from = (int64_t)begin, to = (int64_t)end;
    if (from < *last) from = *last;
    if (to < from) to = from;
    *last = to;
    tell_time(&(GpuTime){gpu->number, line_of(gpu, mark), mark->name, mark->detail, from, to});
    renew(times, mark, end);
}

void times_look(Gpu *gpu, bool all) {
    Times *times = gpu->times;
    if (!times || !gpu_use(gpu)) return;
    for (; times->told < times->begun; times->told++) {
        Mark *mark = &times->marks[times->told % MARK_ROOM];
        if (all && gpu->driver->wait_until(mark->end)) return;
        if (!all && gpu->driver->has_happened(mark->end)) return;
        tell(gpu, mark);
    }
}

/* Marks. */

void times_begin(Gpu *gpu, int stream, const char *name) {
    Times *times = gpu->times;
    if (!times || !told || stream >= GPU_RECORDER) return;
    if (times->begun - times->told == MARK_ROOM) times_look(gpu, true);
    Mark *mark = &times->marks[times->begun % MARK_ROOM];
    mark->name = own.name ? own.name : name;
    mark->detail = own.detail;
    mark->stream = stream;
    if (new_event(gpu, &mark->begin) && new_event(gpu, &mark->end))
        gpu_record(gpu, mark->begin, (GpuStream)stream);
}

void times_end(Gpu *gpu, int stream) {
    Times *times = gpu->times;
    if (!times || !told || stream >= GPU_RECORDER) return;
    gpu_record(gpu, times->marks[times->begun++ % MARK_ROOM].end, (GpuStream)stream);
}
