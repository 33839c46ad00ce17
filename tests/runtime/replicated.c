/* Replicated: calls of replicas that nobody waits for, on the stand-in. What both GPUs add up is
 * right whether NCCL does it or copies do; what is asked of the driver is the same for each call,
 * without a launch; and each event that orders streams is needed. */
#include "runtime/device/gpus.h"
#include "tests/runtime/standin.h"

#include <sys/wait.h>

enum {
    COUNT = 64,
    WEIGHT = 0,  /* i32[COUNT] */
    PARTS = 256, /* i32[COUNT]: of the records of a GPU, then of all */
    LOSS = 512,  /* i32 */
    SIZE = 16384,
    REPLICAS = 2,
    RECORDS = 3, /* 1 and 2 of them */
    BYTES = RECORDS * COUNT * 4,
    STEPS = 21,
    SETTLED = 9, /* of them: three turns, each launched, recorded and replayed once */
    CPU = -1,
    EVERY = FLOW_EVERY_GPU,
};

/* The sum of a GPU's records; w = 3 w + the sum of all, below 2^16. */
static const char text[] =
    "#include \"cuda.h\"\n"
    "#undef max\n" /* as ops.def has it */
    "#define max(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))\n"
    "#include \"cuda_replicas.h\"\n"
    "FLOW_JOIN(whole_sum, i32, int32_t, int32_t, , )\n"
    "FLOW_JOIN(whole_max, f32, float, float, , )\n"
    "FLOW_GLOBAL(add, 64) {\n"
    "    int32_t *y = (int32_t *)(arguments.memory + arguments.operands[0]), sum = 0;\n"
    "    const int32_t *x = (const int32_t *)arguments.inputs[0];\n"
    "    for (int64_t i = 0; i < arguments.batch; i++) sum += FLOW_LOAD(x, i * 64 + FLOW_THREAD);\n"
    "    FLOW_STORE(y, FLOW_THREAD, sum);\n"
    "}\n"
    "FLOW_GLOBAL(update, 64) {\n"
    "    int32_t *w = (int32_t *)(arguments.memory + arguments.operands[0]);\n"
    "    int32_t *sum = (int32_t *)(arguments.memory + arguments.operands[1]);\n"
    "    int32_t *y = (int32_t *)(arguments.memory + arguments.operands[2]);\n"
    "    const int64_t i = FLOW_THREAD;\n"
    "    FLOW_STORE(w, i, (FLOW_LOAD(w, i) * 3 + FLOW_LOAD(sum, i)) & 0xffff);\n"
    "    if (i == 0) FLOW_STORE(y, 0, FLOW_LOAD(w, 0));\n"
    "}\n";

static const FlowStorage storage[] = {
    {.name = "weight", .type = {FLOW_i32, 1, {COUNT}}, .offset = WEIGHT}};
static const FlowProgram program = {.name = "test",
                                    .storage = storage,
                                    .storage_count = 1,
                                    .memory_size = SIZE,
                                    .device_text = text,
                                    .gpu_count = REPLICAS};

static FlowKernel call_add, call_update;
static const FlowDeviceKernel add = {"add", 64, 2, 1, 0, call_add},
                              update = {"update", 64, 4, 1, 0, call_update};

static void call_add(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)thread, (void)threads;
    flow_launch(frame, &add, operands, 1);
}

static void call_update(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)thread, (void)threads;
    flow_launch(frame, &update, operands, 1);
}

static _Alignas(64) char memory[SIZE];
static int *batch; /* pinned */
static int expected[STEPS];

static int *at(int64_t place) {
    return (int *)(memory + place);
}

/* A step, as functions are made. */

#define CALL(kernel, ...) kernel(frame, (const int64_t[]){__VA_ARGS__}, 0, 1)

static void step(const FlowFrame *frame) {
    CALL(flow_gpu_begin, 0, EVERY, REPLICAS);
    CALL(flow_gpu_copy, ~INT64_C(0), COUNT * 4, 1, CPU, EVERY);
    CALL(flow_gpu_need, WEIGHT, COUNT * 4, EVERY);
    CALL(call_add, PARTS, EVERY);
    CALL(flow_gpu_reduce, PARTS, PARTS, COUNT, FLOW_whole_sum, FLOW_i32);
    CALL(flow_gpu_await, 0);
    CALL(call_update, WEIGHT, PARTS, LOSS, EVERY);
    CALL(flow_gpu_owns, WEIGHT, COUNT * 4, EVERY);
    CALL(flow_gpu_result, LOSS, 4, 0);
    CALL(flow_gpu_end, 0);
}

static int value(int64_t number, int i) {
    return (int)(number * 7 + i);
}

static void expect(void) {
    for (int n = 0; n < STEPS; n++) {
        expected[n] = n ? 3 * expected[n - 1] : 0;
        for (int i = 0; i < RECORDS; i++) expected[n] += value(n, i * COUNT);
        expected[n] &= 0xffff;
    }
}

static bool open_gpus(const char *how) {
    setenv("FLOWC_ALL_REDUCE", how, 1);
    memset(memory, 0, sizeof memory);
    batch = test_open_gpus(&program, memory, BYTES);
    return batch;
}

/* Steps that are looked at as late as may be. */

static int looked_at, wrong;

static void look(void) {
    gpus_take_call(memory, NULL);
    wrong += *at(LOSS) != expected[looked_at++];
}

static void make_step(int64_t number) {
    const void *const inputs[] = {batch};
    FlowGuard guard = {.place = FLOW_NOWHERE};
    FlowFrame frame = {
        .memory = memory, .inputs = inputs, .batch = RECORDS, .guard = &guard, .ahead = true};
    for (int i = 0; i < RECORDS * COUNT; i++) batch[i] = value(number, i);
    step(&frame);
    gpus_wait_for_inputs();
    memset(batch, 0xee, BYTES);
}

static GpuCounts make_steps(void) {
    GpuCounts settled = {0};
    looked_at = wrong = 0;
    for (int n = 0; n < STEPS; n++) {
        if (n == SETTLED) settled = gpus_counts();
        if (gpus_calls_ahead() == GPUS_AHEAD) look();
        make_step(n);
    }
    const GpuCounts now = gpus_counts();
    while (gpus_calls_ahead()) look();
    return (GpuCounts){.launches = now.launches - settled.launches,
                       .replays = now.replays - settled.replays,
                       .allocations = now.allocations - settled.allocations,
                       .synchronisations = now.synchronisations - settled.synchronisations};
}

/* Two parts of a call on each GPU are graphs; copies join by a kernel on each that is none. */
static void test_ahead(const char *how, int64_t launches) {
    const int64_t steps = STEPS - SETTLED;
    if (!open_gpus(how)) return;
    const GpuCounts counts = make_steps();
    CHECK(!wrong, "%s: %d are wrong", how, wrong);
    CHECK(counts.launches == launches * steps, "%s: %lld", how, (long long)counts.launches);
    CHECK(counts.replays == 2 * REPLICAS * steps, "%s: %lld", how, (long long)counts.replays);
    CHECK(!counts.allocations && !counts.synchronisations, "%s: it waits", how);
    test_close_gpus(batch);
}

/* The records of a call that was taken are put together again. */
static void test_again(void) {
    int again[RECORDS * COUNT];
    if (!open_gpus("nccl")) return;
    looked_at = wrong = 0;
    for (int n = 0; n < GPUS_AHEAD; n++) make_step(n);
    look();
    look();
    CHECK(gpus_input_again(0, again, BYTES), "%s", gpus_status().text);
    for (int i = 0; i < RECORDS * COUNT; i++) wrong += again[i] != value(1, i);
    look();
    CHECK(!wrong, "%d are wrong", wrong);
    test_close_gpus(batch);
}

/* The largest of floats of which a GPU's is none is none, however the values come together. */
static void test_none(const char *how) {
    const int32_t nan = 0x7fc00000, one = 0x3f800000; /* bits of floats */
    int records[2 * COUNT];
    const void *const inputs[] = {records};
    FlowGuard guard = {.place = FLOW_NOWHERE};
    const FlowFrame of_call = {.memory = memory, .inputs = inputs, .batch = 2, .guard = &guard};
    const FlowFrame *const frame = &of_call;
    for (int none = 0; none < 2; none++) {
        if (!open_gpus(how)) return;
        for (int i = 0; i < 2 * COUNT; i++) records[i] = i / COUNT == none ? nan : one;
        CALL(flow_gpu_begin, 0, EVERY, REPLICAS);
        CALL(flow_gpu_copy, ~INT64_C(0), COUNT * 4, 1, CPU, EVERY);
        CALL(call_add, PARTS, EVERY);
        CALL(flow_gpu_reduce, PARTS, PARTS, COUNT, FLOW_whole_max, FLOW_f32);
        CALL(flow_gpu_await, 0);
        CALL(flow_gpu_result, PARTS, 4, 0);
        CALL(flow_gpu_end, 0);
        CHECK((*at(PARTS) & nan) == nan, "%s, %d: it is %x", how, none, *at(PARTS));
        test_close_gpus(batch);
    }
}

/* A lost sum ends what waits for it: weights that are brought home, GPUs that are closed. */
static void test_lost_sum(bool bring_home) {
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        alarm(20);
        setenv("FLOWC_SIMULATE_LOSE", "ncclAllReduce:2:1000", 1);
        if (!open_gpus("nccl")) _exit(2);
        make_step(0);
        if (bring_home) gpus_bring_home();
        const bool known = gpus_status().exit;
        gpus_close();
        _exit(known == bring_home ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK(!status, "%s a lost sum ends with %d", bring_home ? "a save behind" : "GPUs with",
          status);
}

static bool goes_wrong(const char *how, const char *lost, int seed) {
    int status;
    char text_of_seed[16];
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        snprintf(text_of_seed, sizeof text_of_seed, "%d", seed);
        setenv("FLOWC_SIMULATE_LOSE", lost, 1);
        setenv("FLOWC_SIMULATE_SEED", text_of_seed, 1);
        setenv("FLOWC_SIMULATE_DELAY", "2000", 1);
        if (!freopen("stderr", "w", stderr) || !open_gpus(how)) _exit(2);
        make_steps();
        _exit(wrong || gpus_status().exit ? 1 : 0);
    }
    waitpid(child, &status, 0);
    enum { RACE = 66 /* ThreadSanitizer's, which sees that nobody waited */ };
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    CHECK(code == 0 || code == 1 || code == RACE, "a lost wait ends with %d", status);
    return code == 1 || code == RACE;
}

/* Of a step's waits by NCCL, eight: the first kernels of each GPU wait for its records, sums for
 * kernels, kernels for sums, and what is brought back for kernels; the second GPU gives nothing. */
static void test_lost(void) {
    char lost[64];
    CHECK(!goes_wrong("nccl", "nothing:1:1", 1), "it goes wrong with all of them");
    for (int first = 1; first < 8; first++) {
        bool wrong_once = false;
        snprintf(lost, sizeof lost, "cuStreamWaitEvent:%d:8", first);
        for (int seed = 1; seed < 6 && !wrong_once; seed++)
            wrong_once = goes_wrong("nccl", lost, seed);
        CHECK(wrong_once, "nobody needs %s", lost);
    }
}

int main(void) {
    char cache[256];
    test_standin("gpu:2");
    test_folder();
    setenv("XDG_CACHE_HOME", getcwd(cache, sizeof cache), 1);
    expect();
    test_lost(); /* first: processes are made before there are threads */
    test_lost_sum(true);
    test_lost_sum(false);
    test_none("nccl");
    test_none("peer");
    test_ahead("nccl", 0);
    test_ahead("peer", REPLICAS);
    test_again();
    test_folder_remove();
    return test_result();
}
