#include "runtime/device/replay.h"

#include "runtime/device/gpus_state.h"

#include <string.h>

enum { RELAXED = 2 }; /* capture: other streams may be asked for anything meanwhile */
enum { OUT_OF_MEMORY = 2 };

int replay_most = FLOW_REPLAY_KERNELS;

static struct Replays {
    Replay items[REPLAY_LIMIT];
    int count;
    Replay *current; /* of the call that is made, or NULL */
    Gpu *recording;  /* it, or NULL: a GPU's recorder is being captured */
    int kernels;     /* recorded so far */
    bool skipped;    /* something of it, which the graph has */
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

/* The call's kernels are launched one by one, now and from now on. */
static void refuse(Gpu *gpu, Replay *replay) {
    replay->refused = true;
    gpu->counts->refused++;
}

/* No memory for a graph. */
static bool refuses(Gpu *gpu, Replay *replay, int error) {
    if (error == OUT_OF_MEMORY) refuse(gpu, replay);
    return error == OUT_OF_MEMORY;
}

static bool start_recording(Gpu *gpu, Replay *replay) {
    if (!gpu_use(gpu)) return false;
    int error = gpu->driver->begin_capture(gpu->streams[GPU_RECORDER], RELAXED);
    if (refuses(gpu, replay, error)) return true;
    gpu->records = !error;
    replays.recording = error ? NULL : gpu;
    replays.kernels = 0;
    return gpu_succeeded(gpu, error, "record kernels", NULL);
}

static int end_recording(void **graph) {
    Gpu *gpu = replays.recording;
    gpu->records = false;
    replays.recording = NULL;
    return gpu->driver->end_capture(gpu->streams[GPU_RECORDER], graph);
}

/* What was asked for so far is no graph. */
static void stop_recording(void) {
    const Gpu *gpu = replays.recording;
    void *graph = NULL;
    if (gpu && !gpu->driver->use(gpu->context) && !end_recording(&graph) && graph)
        gpu->driver->end_graph(graph);
    replays.recording = NULL;
}

bool replay_add_kernel(void) {
    if (replays.kernels++ < replay_most) return true;
    replays.recording->records = false;
    refuse(replays.recording, replays.current);
    stop_recording();
    return false;
}

bool replay_begin(Gpu *gpu, const FlowFrame *frame, int64_t function, int64_t turn) {
    const int bounds = gpus_state.program->bound_count;
    Replay call = {function, gpu->number, turn, frame->batch, {0}, NULL, false};
    replays.current = NULL;
    replays.skipped = false;
    if (frame->observer || bounds > FLOW_LAUNCH_SIZES) return true;
    if (bounds) memcpy(call.sizes, frame->sizes, (size_t)bounds * sizeof *frame->sizes);
    Replay *known = find(&call);
    if (!known || known->refused) return true;
    replays.current = known;
    return known->executable || start_recording(gpu, known);
}

bool replay_has_it(void) {
    bool has = replays.current && replays.current->executable;
    replays.skipped |= has;
    return has;
}

static bool keep(Gpu *gpu, Replay *replay) {
    const Driver *driver = gpu->driver;
    void *graph = NULL;
    int error = end_recording(&graph);
    if (!error) error = driver->make_ready(&replay->executable, graph, 0);
    if (error) replay->executable = NULL;
    if (graph) driver->end_graph(graph);
    if (refuses(gpu, replay, error)) return true;
    gpu->counts->graphs++;
    return gpu_succeeded(gpu, error, "make a graph of kernels", NULL);
}

bool replay_end(Gpu *gpu) {
    Replay *replay = replays.current;
    replays.current = NULL;
    if (!gpu_use(gpu)) return false;
    if (replays.recording) return keep(gpu, replay);
    if (!replay || replay->refused) return true;
    gpu->counts->replays++;
    return gpu_succeeded(gpu, gpu->driver->replay(replay->executable, gpu->streams[GPU_KERNELS]),
                         "replay kernels", NULL);
}

void replay_forget(void) {
    stop_recording();
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
