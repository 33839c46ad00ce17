#include "runtime/device/replay.h"

#include "runtime/device/gpus_state.h"

#include <stdlib.h>
#include <string.h>

enum { RELAXED = 2 }; /* capture: other streams may be asked for anything meanwhile */
enum { OUT_OF_MEMORY = 2 };
enum { NONE = -1 }; /* function: nothing is known of the call */

int replay_most = FLOW_REPLAY_KERNELS, replay_room = 1 << 14;

static ReplayPart *part_of(const Gpu *gpu) {
    return &gpus_state.replays.parts[gpu->number];
}

/* Those that are known. */

static Replay **row_of(const ReplayKey *key) {
    const int64_t *words = (const int64_t *)key;
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof *key / sizeof *words; i++)
        hash = (hash ^ (uint64_t)words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &gpus_state.replays.rows[hash >> 32 & (REPLAY_ROWS - 1)];
}

/* Out of the order of use. */
static void leave_order(Replay *replay) {
    Replays *all = &gpus_state.replays;
    *(replay->older ? &replay->older->newer : &all->oldest) = replay->newer;
    *(replay->newer ? &replay->newer->older : &all->newest) = replay->older;
}

static void become_newest(Replay *replay) {
    Replays *all = &gpus_state.replays;
    replay->older = all->newest;
    replay->newer = NULL;
    *(all->newest ? &all->newest->newer : &all->oldest) = replay;
    all->newest = replay;
}

static void end_replay(Replay *replay) {
    const Gpu *gpu = &gpus_state.gpus[replay->key.gpu];
    Replay **link = row_of(&replay->key);
    while (*link != replay) link = &(*link)->next;
    *link = replay->next;
    leave_order(replay);
    gpus_state.replays.count--;
    if (replay->executable && !gpu->driver->use(gpu->context))
        gpu->driver->end_ready(replay->executable);
    free(replay);
}

/* There is room for one more. */
static bool give_up_oldest(void) {
    const int room = gpus_state.guest ? (replay_room + 15) / 16 : replay_room;
    Replay *oldest = gpus_state.replays.oldest;
    if (gpus_state.replays.count < room || !oldest) return true;
    Gpu *gpu = &gpus_state.gpus[oldest->key.gpu];
    if (part_of(gpu)->current == oldest) return false;
    if (oldest->executable && !gpu_finish(gpu)) return false;
    gpu->counts->refused++;
    end_replay(oldest);
    return true;
}

static void add(const ReplayKey *key) {
    Replay *replay = give_up_oldest() ? calloc(1, sizeof *replay) : NULL;
    Replay **row = row_of(key);
    if (!replay) return;
    *replay = (Replay){.key = *key, .next = *row};
    *row = replay;
    become_newest(replay);
    gpus_state.replays.count++;
}

/* NULL: it is made for the first time. */
static Replay *find(const ReplayKey *key) {
    Replay *replay = *row_of(key);
    while (replay && memcmp(&replay->key, key, sizeof *key)) replay = replay->next;
    if (replay) {
        leave_order(replay);
        become_newest(replay);
    } else add(key);
    return replay;
}

/* Recording. */

/* The part's kernels are launched one by one, now and from now on. */
static void refuse(Gpu *gpu, Replay *replay) {
    replay->refused = true;
    gpu->counts->refused++;
}

/* No memory for a graph. */
static bool refuses(Gpu *gpu, Replay *replay, int error) {
    if (error == OUT_OF_MEMORY) refuse(gpu, replay);
    return error == OUT_OF_MEMORY;
}

static bool start_recording(Gpu *gpu, ReplayPart *part) {
    if (!gpu_use(gpu)) return false;
    int error = gpu->driver->begin_capture(gpu->streams[GPU_RECORDER], RELAXED);
    if (refuses(gpu, part->current, error)) return true;
    gpu->records = part->recording = !error;
    part->asked = 0;
    return gpu_succeeded(gpu, error, "record kernels", NULL);
}

static int end_recording(Gpu *gpu, void **graph) {
    gpu->records = part_of(gpu)->recording = false;
    return gpu->driver->end_capture(gpu->streams[GPU_RECORDER], graph);
}

/* What was asked for so far is no graph. */
static void stop_recording(Gpu *gpu) {
    void *graph = NULL;
    if (!part_of(gpu)->recording) return;
    if (!gpu->driver->use(gpu->context) && !end_recording(gpu, &graph) && graph)
        gpu->driver->end_graph(graph);
    gpu->records = part_of(gpu)->recording = false;
}

bool replay_add(Gpu *gpu) {
    ReplayPart *part = part_of(gpu);
    if (part->asked++ < replay_most) return true;
    refuse(gpu, part->current);
    stop_recording(gpu);
    return false;
}

static bool begin_part(Gpu *gpu) {
    ReplayPart *part = part_of(gpu);
    Replay *known = find(&part->call);
    if (!known || known->refused) return true;
    part->current = known;
    gpu->replays = known->executable || known->empty;
    return gpu->replays || start_recording(gpu, part);
}

bool replay_begin(Gpu *gpu, const FlowFrame *frame, int64_t function, int64_t turn) {
    const int bounds = gpus_state.program->bound_count;
    ReplayPart *part = part_of(gpu);
    *part = (ReplayPart){.call = {.function = NONE}};
    gpu->replays = false;
    if (frame->observer || bounds > FLOW_LAUNCH_SIZES) return true;
    part->call =
        (ReplayKey){.function = function, .gpu = gpu->number, .turn = turn, .batch = frame->batch};
    if (bounds) memcpy(part->call.sizes, frame->sizes, (size_t)bounds * sizeof *frame->sizes);
    return begin_part(gpu);
}

bool replay_go_on(Gpu *gpu) {
    ReplayPart *part = part_of(gpu);
    if (part->call.function == NONE) return true;
    part->call.part++;
    return begin_part(gpu);
}

bool replay_has_it(const Gpu *gpu) {
    if (gpu->replays) part_of(gpu)->skipped = true;
    return gpu->replays;
}

static bool keep(Gpu *gpu, ReplayPart *part) {
    const Driver *driver = gpu->driver;
    Replay *replay = part->current;
    void *graph = NULL;
    int error = end_recording(gpu, &graph);
    replay->empty = !error && !part->asked;
    if (!error && !replay->empty) error = driver->make_ready(&replay->executable, graph, 0);
    if (error) replay->executable = NULL;
    if (graph) driver->end_graph(graph);
    if (refuses(gpu, replay, error)) return true;
    gpu->counts->graphs += !replay->empty;
    return gpu_succeeded(gpu, error, "make a graph of kernels", NULL);
}

bool replay_end(Gpu *gpu) {
    ReplayPart *part = part_of(gpu);
    const Replay *replay = gpu->replays ? part->current : NULL;
    gpu->replays = false;
    if (part->recording && !(gpu_use(gpu) && keep(gpu, part))) return false;
    part->current = NULL;
    part->skipped = false;
    if (!replay || replay->empty) return true;
    gpu->counts->replays++;
    return gpu_use(gpu) &&
           gpu_succeeded(gpu, gpu->driver->replay(replay->executable, gpu->streams[GPU_KERNELS]),
                         "replay kernels", NULL);
}

/* Of the GPU, what it makes. */
static void forget(Gpu *gpu) {
    ReplayPart *part = part_of(gpu);
    stop_recording(gpu);
    if (gpu->replays && part->skipped)
        gpus_fail(FLOW_EXIT_internal, "an input grew behind kernels that are replayed");
    gpu->replays = false;
    part->current = NULL;
}

void replay_forget(void) {
    for (int i = 0; i < gpus_state.count; i++) forget(&gpus_state.gpus[i]);
    while (gpus_state.replays.oldest) end_replay(gpus_state.replays.oldest);
}
