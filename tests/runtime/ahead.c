/* Ahead: calls that nobody waits for, on the stand-in, whose streams are threads that come late
 * (runtime/device/standin/). Results are those of calls one after the other; what is asked of the
 * driver is the same for each of them; and each event that orders streams is needed: without it
 * results are wrong. */
#include "runtime/device/gpus.h"
#include "runtime/device/pinned.h"
#include "runtime/device/replay.h"
#include "tests/runtime/standin.h"

#include <sys/wait.h>

enum {
    COUNT = 64,
    WEIGHT = 0, /* i32[COUNT] */
    LOSS = 512, /* i32 */
    SIZE = 16384,
    BYTES = COUNT * 4,
    STEPS = 24,
    MANY = 1500, /* functions */
    SETTLED = 9, /* of them: three turns, each launched, recorded and replayed once */
    CPU = -1,
    HELD = 17, /* the step that holds something back */
};

/* w = 3 w + x + step; the loss is the last of x and the first of w. */
static const char text[] =
    "#include \"cuda.h\"\n"
    "FLOW_GLOBAL(update, 64) {\n"
    "    int32_t *w = (int32_t *)(arguments.memory + arguments.operands[0]);\n"
    "    const int32_t *x = (const int32_t *)arguments.inputs[0];\n"
    "    const int64_t *step = (const int64_t *)arguments.inputs[1];\n"
    "    int64_t i = FLOW_THREAD;\n"
    "    int32_t more = FLOW_LOAD(x, i) + (int32_t)FLOW_LOAD(step, 0);\n"
    "    FLOW_STORE(w, i, FLOW_LOAD(w, i) * 3 + more);\n"
    "}\n"
    "FLOW_GLOBAL(measure, 64) {\n"
    "    int32_t *w = (int32_t *)(arguments.memory + arguments.operands[0]);\n"
    "    int32_t *y = (int32_t *)(arguments.memory + arguments.operands[1]);\n"
    "    const int32_t *x = (const int32_t *)arguments.inputs[0];\n"
    "    const int64_t *step = (const int64_t *)arguments.inputs[1];\n"
    "    if (FLOW_THREAD == 0) {\n"
    "        FLOW_STORE(y, 0, FLOW_LOAD(w, 0) + FLOW_LOAD(x, 63));\n"
    "        if (FLOW_LOAD(step, 0) == arguments.operands[2])\n"
    "            FLOW_ATOMIC_LEAST(&arguments.guard->place, 77);\n"
    "    }\n"
    "}\n";

static const FlowStorage storage[] = {
    {.name = "weight", .type = {FLOW_i32, 1, {COUNT}}, .offset = WEIGHT}};
static const FlowProgram program = {.name = "test",
                                    .storage = storage,
                                    .storage_count = 1,
                                    .memory_size = SIZE,
                                    .device_text = text,
                                    .gpu_count = 1};
static const FlowDeviceKernel update = {"update", 64, 2, 2, 0, NULL},
                              measure = {"measure", 64, 4, 2, 0, NULL};

static _Alignas(64) char memory[SIZE];
static int *batch; /* pinned */
static int64_t function, records = 1, batch_size = BYTES;

static int *at(int64_t place) {
    return (int *)(memory + place);
}

/* A step, as functions are made. */

#define CALL(kernel, ...) kernel(frame, (const int64_t[]){__VA_ARGS__}, 0, 1)

static void step(const FlowFrame *frame) {
    CALL(flow_gpu_begin, function, 0, 0);
    CALL(flow_gpu_copy, ~INT64_C(0), batch_size / records, 1, CPU, 0);
    CALL(flow_gpu_copy, ~INT64_C(1), 8, 0, CPU, 0);
    CALL(flow_gpu_need, WEIGHT, BYTES, 0);
    flow_launch(frame, &update, (const int64_t[]){WEIGHT, 0}, 1);
    CALL(flow_gpu_owns, WEIGHT, BYTES, 0);
    flow_launch(frame, &measure, (const int64_t[]){WEIGHT, LOSS, HELD, 0}, 1);
    CALL(flow_gpu_result, LOSS, 4, 0);
    CALL(flow_gpu_end, 0);
}

static void make_batch(int64_t number) {
    for (int i = 0; i < COUNT; i++) batch[i] = (int)(number * 7 + i);
}

/* What it should give. */
static int expected[STEPS], expected_weight[COUNT];

static void expect(void) {
    for (int i = 0; i < COUNT; i++) expected_weight[i] = i;
    for (int n = 0; n < STEPS; n++) {
        for (int i = 0; i < COUNT; i++)
            expected_weight[i] =
                (int)((unsigned)expected_weight[i] * 3u + (unsigned)(n * 7 + i + n));
        expected[n] = (int)((unsigned)expected_weight[0] + (unsigned)(n * 7 + 63));
    }
}

static bool open_gpus(void) {
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < COUNT; i++) at(WEIGHT)[i] = i;
    batch = test_open_gpus(&program, memory, BYTES);
    return batch;
}

/* Steps that are looked at as late as may be. */

static int looked_at, wrong;

static void look(void) {
    FlowGuard guard = {.place = FLOW_NOWHERE};
    gpus_take_call(memory, &guard);
    wrong +=
        *at(LOSS) != expected[looked_at] || guard.place != (looked_at == HELD ? 77 : FLOW_NOWHERE);
    looked_at++;
}

static void make_step(int64_t number, bool ahead) {
    FlowGuard guard = {.place = FLOW_NOWHERE};
    const void *const inputs[] = {batch, &number};
    FlowFrame frame = {
        .memory = memory, .inputs = inputs, .batch = records, .guard = &guard, .ahead = ahead};
    make_batch(number);
    step(&frame);
    number = -1; /* it was read */
    if (ahead) {
        gpus_wait_for_inputs();
        memset(batch, 0xee, BYTES);
        return;
    }
    wrong +=
        *at(LOSS) != expected[looked_at] || guard.place != (looked_at == HELD ? 77 : FLOW_NOWHERE);
    looked_at++;
}

static GpuCounts since(GpuCounts before) {
    GpuCounts now = gpus_counts();
    return (GpuCounts){now.allocations - before.allocations,
                       now.synchronisations - before.synchronisations,
                       now.waits - before.waits,
                       now.launches - before.launches,
                       now.graphs - before.graphs,
                       now.replays - before.replays,
                       now.copies_in - before.copies_in,
                       now.copies_out - before.copies_out,
                       now.bytes_in - before.bytes_in,
                       now.bytes_out - before.bytes_out,
                       now.refused - before.refused};
}

static GpuCounts make_steps(bool ahead) {
    GpuCounts settled = {0};
    looked_at = wrong = 0;
    for (int n = 0; n < STEPS; n++) {
        if (n == SETTLED) settled = gpus_counts();
        if (gpus_calls_ahead() == GPUS_AHEAD) look();
        make_step(n, ahead);
    }
    settled = since(settled);
    while (gpus_calls_ahead()) look();
    gpus_bring_home();
    wrong += memcmp(at(WEIGHT), expected_weight, BYTES) != 0;
    return settled;
}

static void test_ahead(void) {
    const int64_t steps = STEPS - SETTLED;
    if (!open_gpus()) return;
    GpuCounts counts = make_steps(true);
    CHECK(!wrong, "%d are wrong", wrong);
    CHECK(!counts.allocations, "%lld allocations", (long long)counts.allocations);
    CHECK(!counts.synchronisations, "waits %lld times", (long long)counts.synchronisations);
    CHECK(!counts.launches && !counts.graphs, "%lld launches", (long long)counts.launches);
    CHECK(counts.replays == steps, "%lld replays", (long long)counts.replays);
    CHECK(counts.copies_in == 2 * steps, "%lld copies", (long long)counts.copies_in);
    CHECK(counts.copies_out == steps, "%lld copies back", (long long)counts.copies_out);
    test_close_gpus(batch);
}

/* The same, one after the other: kernels are launched, the end is waited for. */
static void test_alone(void) {
    if (!open_gpus()) return;
    GpuCounts counts = make_steps(false);
    CHECK(!wrong, "%d are wrong", wrong);
    CHECK(counts.launches == 2 * (STEPS - SETTLED), "%lld", (long long)counts.launches);
    CHECK(!counts.replays && !counts.allocations, "%lld", (long long)counts.replays);
    test_close_gpus(batch);
}

/* A call that is waited for has its own turn, between others. */
static void test_mixed(void) {
    if (!open_gpus()) return;
    looked_at = wrong = 0;
    for (int n = 0; n < STEPS; n++) {
        while (gpus_calls_ahead() && n % 5 == 4) look();
        if (gpus_calls_ahead() == GPUS_AHEAD) look();
        make_step(n, n % 5 != 4);
    }
    while (gpus_calls_ahead()) look();
    CHECK(!wrong, "%d are wrong", wrong);
    test_close_gpus(batch);
}

/* The inputs of a call that was taken are still there; numbers are the host's. */
static void test_again(void) {
    int again[COUNT];
    if (!open_gpus()) return;
    looked_at = wrong = 0;
    for (int n = 0; n < GPUS_AHEAD; n++) make_step(n, true);
    look();
    CHECK(gpus_input_again(0, again, BYTES), "%s", gpus_status().text);
    CHECK(again[0] == 0 && again[COUNT - 1] == COUNT - 1, "%d", again[0]);
    look();
    CHECK(gpus_input_again(0, again, BYTES) && again[0] == 7, "%d", again[0]);
    CHECK(!gpus_input_again(1, again, 8) && !gpus_input_again(2, again, 4), "there is none");
    gpus_take_call(NULL, NULL);
    CHECK(!wrong, "%d are wrong", wrong);
    test_close_gpus(batch);
}

/* A batch of another size is another graph; when one needs more room, others are not replayed with
 * the place it was in. */
static void test_sizes(void) {
    if (!open_gpus()) return;
    int *small = batch, *large = pinned_new(2 * BYTES);
    looked_at = wrong = 0;
    for (int n = 0; n < STEPS; n++) {
        batch = n < 15 ? small : large;
        records = n < 12 ? 1 : 2;
        batch_size = n < 15 ? BYTES : 2 * BYTES;
        if (gpus_calls_ahead() == GPUS_AHEAD) look();
        make_step(n, true);
    }
    while (gpus_calls_ahead()) look();
    CHECK(!wrong, "%d are wrong", wrong);
    GpuCounts counts = gpus_counts();
    CHECK(counts.replays == 6, "%lld replays", (long long)counts.replays); /* steps 6 to 11 */
    CHECK(counts.graphs == 6, "%lld graphs", (long long)counts.graphs);
    batch = small, records = 1, batch_size = BYTES;
    pinned_free(large);
    test_close_gpus(batch);
}

/* What has no room in the block would overtake the calls before. */
static void test_results(void) {
    int64_t number = 0;
    FlowGuard guard = {.place = FLOW_NOWHERE};
    const void *const inputs[] = {batch, &number};
    const FlowFrame call = {
        .memory = memory, .inputs = inputs, .batch = 1, .guard = &guard, .ahead = true};
    const FlowFrame *frame = &call;
    if (!open_gpus()) return;
    CALL(flow_gpu_begin, 0, 0, 0);
    CALL(flow_gpu_result, LOSS, FLOW_LAUNCH_RESULT_ROOM + 1, 0);
    CHECK(gpus_status().exit == FLOW_EXIT_internal, "%s", gpus_status().text);
    pinned_free(batch);
    gpus_close();
}

/* Without memory for one of three graphs its turn is launched one by one. */
static void test_refused(void) {
    if (!open_gpus()) return;
    setenv("FLOWC_SIMULATE_FAULT", "cuGraphInstantiateWithFlags:1:OUT_OF_MEMORY", 1);
    GpuCounts counts = make_steps(true);
    unsetenv("FLOWC_SIMULATE_FAULT");
    CHECK(!wrong, "%d are wrong", wrong);
    CHECK(counts.launches == 2 * (STEPS - SETTLED) / 3, "%lld", (long long)counts.launches);
    counts = gpus_counts();
    CHECK(counts.refused == 1, "%lld are refused", (long long)counts.refused);
    CHECK(counts.graphs == 2, "%lld graphs", (long long)counts.graphs);
    test_close_gpus(batch);
}

/* Nor are graphs made of too many kernels. */
static void test_large(void) {
    if (!open_gpus()) return;
    replay_most = 1;
    GpuCounts counts = make_steps(true);
    replay_most = FLOW_REPLAY_KERNELS;
    CHECK(!wrong, "%d are wrong", wrong);
    CHECK(counts.launches == 2 * (STEPS - SETTLED), "%lld", (long long)counts.launches);
    counts = gpus_counts();
    CHECK(counts.refused == GPUS_AHEAD, "%lld are refused", (long long)counts.refused);
    CHECK(!counts.graphs, "%lld graphs", (long long)counts.graphs);
    test_close_gpus(batch);
}

/* Where there is room for one function's calls, that of the one before is given up and counted. */
static void test_given_up(void) {
    if (!open_gpus()) return;
    replay_room = GPUS_AHEAD;
    make_steps(true);
    function = 1;
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < COUNT; i++) at(WEIGHT)[i] = i;
    gpus_leave();
    const GpuCounts counts = make_steps(true);
    function = 0;
    replay_room = 1 << 14;
    CHECK(!wrong, "%d are wrong", wrong);
    CHECK(!counts.launches, "%lld are launched", (long long)counts.launches);
    CHECK(gpus_counts().refused == GPUS_AHEAD, "%lld", (long long)gpus_counts().refused);
    CHECK(gpus_counts().graphs == 2 * GPUS_AHEAD, "%lld", (long long)gpus_counts().graphs);
    test_close_gpus(batch);
}

/* Many functions have each a graph. */
static void test_many(void) {
    setenv("FLOWC_SIMULATE_DELAY", "0", 1);
    if (!open_gpus()) return;
    for (int i = 0; i < 2 * MANY; i++) {
        function = i % MANY;
        make_step(0, true);
        gpus_take_call(memory, NULL);
    }
    function = 0;
    unsetenv("FLOWC_SIMULATE_DELAY");
    CHECK(gpus_counts().graphs == MANY, "%lld graphs", (long long)gpus_counts().graphs);
    CHECK(!gpus_counts().refused, "%lld are refused", (long long)gpus_counts().refused);
    test_close_gpus(batch);
}

/* The GPUs are closed in the middle of a call that is recorded, and opened again. */
static void test_broken_off(void) {
    if (!open_gpus()) return;
    looked_at = wrong = 0;
    for (int n = 0; n < GPUS_AHEAD; n++) make_step(n, true);
    look();
    FlowFrame of_step = {.memory = memory, .batch = records, .ahead = true}, *frame = &of_step;
    FlowGuard guard = {.place = FLOW_NOWHERE};
    frame->guard = &guard;
    CALL(flow_gpu_begin, 0, 0, 0);
    test_close_gpus(batch);
    if (!open_gpus()) return;
    make_steps(true);
    CHECK(!wrong, "%d are wrong", wrong);
    test_close_gpus(batch);
}

/* Each wait is needed: without it a run goes wrong, sooner or later. */

static bool goes_wrong(const char *lost, int seed) {
    int status;
    char text_of_seed[16];
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        snprintf(text_of_seed, sizeof text_of_seed, "%d", seed);
        setenv("FLOWC_SIMULATE_LOSE", lost, 1);
        setenv("FLOWC_SIMULATE_SEED", text_of_seed, 1);
        setenv("FLOWC_SIMULATE_DELAY", "3000", 1);
        if (!freopen("stderr", "w", stderr)) _exit(2);
        if (!open_gpus()) _exit(2);
        make_steps(true);
        _exit(wrong || gpus_status().exit ? 1 : 0);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2, "a lost wait ends with %d", status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void test_lost(void) {
    static const char *const waits[] = {"cuStreamWaitEvent:1:2", "cuStreamWaitEvent:2:2",
                                        "cuEventSynchronize:1:1"};
    CHECK(!goes_wrong("nothing:1:1", 1), "it goes wrong with all of them");
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        bool wrong_once = false;
        for (int seed = 1; seed < 6 && !wrong_once; seed++) wrong_once = goes_wrong(waits[i], seed);
        CHECK(wrong_once, "nobody needs %s", waits[i]);
    }
}

int main(void) {
    char cache[256];
    test_standin("gpu:1");
    test_folder();
    setenv("XDG_CACHE_HOME", getcwd(cache, sizeof cache), 1);
    expect();
    test_lost(); /* first: processes are made before there are threads */
    test_ahead();
    test_alone();
    test_mixed();
    test_again();
    test_sizes();
    test_results();
    test_refused();
    test_large();
    test_given_up();
    test_many();
    test_broken_off();
    test_folder_remove();
    return test_result();
}
