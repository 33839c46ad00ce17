#include "runtime/device/replay.h"

#include "runtime/device/gpus_state.h"

#include <string.h>

enum {
    RELAXED = 2
}; /* of CUstreamCaptureMode: other streams may be asked for anything meanwhile */

static struct Replays {
    Replay items[REPLAY_LIMIT];
    int count;
    Replay *current; /* of the call that is made, or NULL */
    bool recording;
    bool skipped; /* something of it, which the graph has */
} replays;

static bool is_same(const Replay *a, const Replay *b) {
    return a->function == b->function && a->gpu == b->gpu && a->turn == b->turn &&
           a->batch == b->batch && !memcmp(a->sizes, b->sizes, sizeof a->sizes);
}

/* NULL: it is made for the first time, or there is no room. */
static Replay *find(const Replay *call) {
    for (int i = 0; i < replays.count; i++)
        if (is_same(&replays.items[i], call)) return &replays.items[i];
    if (replays.count < REPLAY_LIMIT) replays.items[replays.count++] = *call;
    return NULL;
}

static bool record(Gpu *gpu) {
    gpu->records = replays.recording =
        gpu_use(gpu) &&
        gpu_succeeded(gpu, gpu->driver->begin_capture(gpu->streams[GPU_RECORDER], RELAXED),
                      "record kernels", NULL);
    return gpu->records;
}

bool replay_begin(Gpu *gpu, const FlowFrame *frame, int64_t function, int64_t turn) {
    const int bounds = gpus_state.program->bound_count;
    Replay call = {function, gpu->number, turn, frame->batch, {0}, NULL};
    replays.current = NULL;
    replays.skipped = false;
    if (frame->observer || bounds > FLOW_LAUNCH_SIZES) return true;
    if (bounds) memcpy(call.sizes, frame->sizes, (size_t)bounds * sizeof *frame->sizes);
    replays.current = find(&call);
    return !replays.current || replays.current->executable || record(gpu);
}

bool replay_has_it(void) {
    bool has = replays.current && replays.current->executable;
    replays.skipped |= has;
    return has;
}

static bool keep(Gpu *gpu, Replay *replay) {
    const Driver *driver = gpu->driver;
    void *graph = NULL;
    int error = driver->end_capture(gpu->streams[GPU_RECORDER], &graph);
    gpu->records = replays.recording = false;
    if (!error && replay) error = driver->make_ready(&replay->executable, graph, 0);
    if (error && replay) replay->executable = NULL;
    if (graph) driver->end_graph(graph);
    gpu->counts->graphs++;
    return gpu_succeeded(gpu, error, "make a graph of kernels", NULL);
}

bool replay_end(Gpu *gpu) {
    Replay *replay = replays.current;
    replays.current = NULL;
    if (!gpu_use(gpu)) return false;
    if (replays.recording) return keep(gpu, replay);
    if (!replay) return true;
    gpu->counts->replays++;
    return gpu_succeeded(gpu, gpu->driver->replay(replay->executable, gpu->streams[GPU_KERNELS]),
                         "replay kernels", NULL);
}

void replay_forget(void) {
    for (int i = 0; i < replays.count; i++) {
        const Gpu *gpu = &gpus_state.gpus[replays.items[i].gpu];
        if (replays.items[i].executable && !gpu->driver->use(gpu->context))
            gpu->driver->end_ready(replays.items[i].executable);
    }
    if (replays.current && replays.skipped)
        gpus_fail(FLOW_EXIT_internal, "an input grew behind kernels that are replayed");
    replays.count = 0;
    replays.current = NULL;
}
