/* Gpus, by a driver and an NVRTC that only pretend (lib/gpu_stub.c): what is missing is said,
 * values are where they are needed. */
#include "runtime/device/gpus.h"
#include "tests/runtime/test.h"

#include <dlfcn.h>

enum { WEIGHT = 0, STATE = 64, SCRATCH = 128, SIZE = 256, CPU = -1 };

static const FlowStorage storage[] = {
    {.name = "weight", .type = {FLOW_i32, 1, {4}}, .offset = WEIGHT},
    {.name = "state", .type = {FLOW_i32, 1, {2}}, .offset = STATE},
};

static const FlowProgram program = {.name = "test",
                                    .storage = storage,
                                    .storage_count = 2,
                                    .memory_size = SIZE,
                                    .device_text = "add take hold flow_whole_sum_i32",
                                    .gpu_count = 2};

static char stub[512];
static _Alignas(64) char memory[SIZE];

static void set_libraries(const char *cuda, const char *nvrtc) {
    setenv("FLOWC_LIBCUDA", cuda, 1);
    setenv("FLOWC_LIBNVRTC", nvrtc, 1);
}

static int *at(int64_t place) {
    return (int *)(memory + place);
}

/* Calls, as a function makes them. */

static const FlowDeviceKernel add = {"add", 256, 3, 0, 0, NULL},
                              take = {"take", 256, 3, 2, 1, NULL},
                              hold = {"hold", 256, 2, 0, 0, NULL},
                              unknown = {"unknown", 256, 1, 0, 0, NULL};

static void call(FlowKernel *kernel, const FlowFrame *frame, const int64_t *operands) {
    for (int thread = 0; thread < 2; thread++) kernel(frame, operands, thread, 2);
}
#define CALL(kernel, ...) call(kernel, &frame, (const int64_t[]){__VA_ARGS__})
#define LAUNCH(kernel, ...) flow_launch(&frame, &kernel, (const int64_t[]){__VA_ARGS__}, 1)

static void begin(void) {
    set_libraries(stub, stub);
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < 4; i++) at(WEIGHT)[i] = 10 * (i + 1);
    FlowStatus status = gpus_open(&program, memory, program.memory_size);
    CHECK(!status.exit, "%s", status.text);
}

static void end(void) {
    CHECK(!gpus_status().exit, "%s", gpus_status().text);
    gpus_close();
}

/* Weights go where they are needed and come home when they are asked for. */
static void test_storage(void) {
    begin();
    FlowFrame frame = {.memory = memory, .batch = 1};
    CALL(flow_gpu_begin, 0, CPU, 0);
    CALL(flow_gpu_need, WEIGHT, 16, 0);
    LAUNCH(add, WEIGHT, 4, 0);
    CALL(flow_gpu_owns, WEIGHT, 16, 0);
    CHECK(at(WEIGHT)[0] == 10, "%d came home by itself", at(WEIGHT)[0]);
    CALL(flow_gpu_need, WEIGHT, 16, 1);
    LAUNCH(add, WEIGHT, 4, 1);
    CALL(flow_gpu_owns, WEIGHT, 16, 1);
    CALL(flow_gpu_end, 0);
    gpus_bring_home();
    CHECK(at(WEIGHT)[0] == 12 && at(WEIGHT)[3] == 42, "%d %d", at(WEIGHT)[0], at(WEIGHT)[3]);
    at(WEIGHT)[0] = 70;
    gpus_leave();
    CALL(flow_gpu_need, WEIGHT, 16, 1);
    LAUNCH(add, WEIGHT, 4, 1);
    CALL(flow_gpu_owns, WEIGHT, 16, 1);
    gpus_bring_home();
    CHECK(at(WEIGHT)[0] == 71 && at(WEIGHT)[3] == 43, "%d %d", at(WEIGHT)[0], at(WEIGHT)[3]);
    end();
}

/* Of what is written in part, the rest stays what it was. */
static void test_parts(void) {
    begin();
    FlowFrame frame = {.memory = memory, .batch = 1};
    const int number = 5;
    const void *const inputs[] = {&number, &number};
    const int64_t sizes[] = {0};
    frame.inputs = inputs;
    frame.sizes = sizes;
    CALL(flow_gpu_copy, ~INT64_C(0), 4, 0, CPU, 0);
    LAUNCH(take, WEIGHT + 4, 0, 0);
    CALL(flow_gpu_owns, WEIGHT + 4, 4, 0);
    CALL(flow_gpu_need, WEIGHT, 16, 1);
    gpus_bring_home();
    CHECK(at(WEIGHT)[0] == 10 && at(WEIGHT)[1] == 6 && at(WEIGHT)[2] == 30, "%d %d %d",
          at(WEIGHT)[0], at(WEIGHT)[1], at(WEIGHT)[2]);
    *at(STATE) = 3;
    CALL(flow_gpu_owns, STATE, 8, CPU);
    CALL(flow_gpu_need, STATE, 8, 0);
    CALL(flow_gpu_move, SCRATCH, STATE, 4, 0);
    CALL(flow_gpu_copy, SCRATCH, 4, 0, 0, CPU);
    CHECK(*at(SCRATCH) == 3, "%d", *at(SCRATCH));
    end();
}

/* Inputs, numbers of the call, and values that go from one device to another. */
static void test_values(void) {
    begin();
    int records[] = {1000, 2, 3, 4};
    const void *const inputs[] = {NULL, records};
    const int64_t sizes[] = {20};
    FlowFrame frame = {.memory = memory, .inputs = inputs, .batch = 4, .sizes = sizes};
    CALL(flow_gpu_begin, 0, CPU, 0);
    CALL(flow_gpu_copy, ~INT64_C(1), 1, 0, CPU, 1);
    CALL(flow_gpu_copy, ~INT64_C(1), 4, 1, CPU, 1);
    LAUNCH(take, SCRATCH, 1, 1);
    CALL(flow_gpu_copy, SCRATCH, 4, 0, 1, 0);
    LAUNCH(add, SCRATCH, 1, 0);
    CALL(flow_gpu_copy, SCRATCH, 1, 1, 0, CPU);
    CALL(flow_gpu_end, 0);
    CHECK(*at(SCRATCH) == 1025, "%d", *at(SCRATCH));
    CALL(flow_gpu_copy, ~INT64_C(1), 4, 1, CPU, 0);
    LAUNCH(take, SCRATCH, 1, 0);
    CALL(flow_gpu_copy, SCRATCH, 4, 0, 0, CPU);
    CHECK(*at(SCRATCH) == 1024, "%d", *at(SCRATCH));
    CALL(flow_gpu_move, SCRATCH + 8, SCRATCH, 4, CPU);
    CHECK(*at(SCRATCH + 8) == 1024, "%d", *at(SCRATCH + 8));
    flow_launch(&frame, &add, (const int64_t[]){SCRATCH, 1, 0}, 0);
    gpus_mark();
    gpus_show(&frame, SCRATCH + 8, 4, 0);
    LAUNCH(add, SCRATCH, 1, 0);
    gpus_show(&frame, SCRATCH, 4, 0);
    CHECK(*at(SCRATCH) == 1025 && *at(SCRATCH + 8) == 1024, "%d %d", *at(SCRATCH),
          *at(SCRATCH + 8));
    end();
}

/* Inputs and records go from GPU to GPU by way of the CPU: nothing would order them otherwise. */
static void test_across(void) {
    FlowFrame frame = {.memory = memory, .batch = 4};
    begin();
    CALL(flow_gpu_begin, 0, CPU, 0);
    CALL(flow_gpu_copy, ~INT64_C(1), 4, 1, 1, 0);
    CHECK_SAYS(gpus_status().text, "input 1 can't be copied from device 1 to 0");
    gpus_close();
    begin();
    FlowTogether together = {.rows = NULL};
    CHECK(flow_together_begin(&together), "%s", gpus_status().text);
    CHECK(!flow_together_copy(&together, 0, 4, 16, 1, 0), "there is such a copy");
    CHECK_SAYS(gpus_status().text, "records can't be copied from gpu(1) to gpu(0)");
    flow_together_end(&together);
    gpus_close();
}

/* Kernels that replicas run: they are launched once for each. */
static FlowKernel add_each, take_each;
static const FlowDeviceKernel adds = {"add", 256, 3, 0, 0, add_each},
                              takes = {"take", 256, 3, 2, 1, take_each};

static void add_each(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread == 0) flow_launch(frame, &adds, operands, 1);
}

static void take_each(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)threads;
    if (thread == 0) flow_launch(frame, &takes, operands, 1);
}

/* Each replica has its share of the records; what all have becomes whole on each. */
static void test_replicas(void) {
    enum { EVERY = FLOW_EVERY_GPU };
    begin();
    int records[] = {1000, 2, 3};
    const void *const inputs[] = {NULL, records};
    const int64_t sizes[] = {20};
    FlowFrame frame = {.memory = memory, .inputs = inputs, .batch = 3, .sizes = sizes};
    CALL(flow_gpu_begin, 0, CPU, 2);
    CALL(flow_gpu_copy, ~INT64_C(1), 4, 1, CPU, EVERY);
    CALL(take_each, SCRATCH, 1, EVERY);
    CALL(flow_gpu_reduce, SCRATCH + 8, SCRATCH, 1, FLOW_whole_sum, FLOW_i32);
    for (int gpu = 0; gpu < 2; gpu++) {
        CALL(flow_gpu_copy, SCRATCH, 4, 0, gpu, CPU);
        CHECK(*at(SCRATCH) == (gpu ? 2 + 2 : 1000 + 1) + 20, "gpu %d: %d", gpu, *at(SCRATCH));
        CALL(flow_gpu_copy, SCRATCH + 8, 4, 0, gpu, CPU);
        CHECK(*at(SCRATCH + 8) == 1021 + 24, "gpu %d: %d", gpu, *at(SCRATCH + 8));
    }
    CALL(flow_gpu_need, WEIGHT, 16, EVERY);
    CALL(add_each, WEIGHT, 4, EVERY);
    CALL(flow_gpu_owns, WEIGHT, 16, EVERY);
    CALL(flow_gpu_reduce, SCRATCH, WEIGHT, 4, FLOW_whole_sum, FLOW_i32);
    CALL(flow_gpu_end, 0);
    for (int gpu = 0; gpu < 2; gpu++) {
        CALL(flow_gpu_copy, SCRATCH, 16, 0, gpu, CPU);
        CHECK(at(SCRATCH)[0] == 22 && at(SCRATCH)[3] == 82, "gpu %d: %d %d", gpu, at(SCRATCH)[0],
              at(SCRATCH)[3]);
    }
    gpus_bring_home();
    CHECK(at(WEIGHT)[0] == 11 && at(WEIGHT)[3] == 41, "%d %d", at(WEIGHT)[0], at(WEIGHT)[3]);
    end();
}

/* Two numbers of each of three records, which lie apart. */
static void test_shares(void) {
    enum { EVERY = FLOW_EVERY_GPU };
    begin();
    FlowFrame frame = {.memory = memory, .batch = 3};
    CALL(flow_gpu_begin, 0, CPU, 2);
    for (int i = 0; i < 6; i++) at(SCRATCH)[i] = i;
    CALL(flow_gpu_copy, SCRATCH, 4, 2, CPU, EVERY);
    CALL(add_each, SCRATCH, 2, EVERY);
    CALL(flow_gpu_copy, SCRATCH, 4, 2, EVERY, CPU);
    const int expected[] = {1, 2, 3, 4, 4, 5}; /* of 0, 3 and of 1, 2, 4, 5 the first two */
    for (int i = 0; i < 6; i++) CHECK(at(SCRATCH)[i] == expected[i], "%d: %d", i, at(SCRATCH)[i]);
    frame.batch = 1; /* nothing is left for the first */
    at(SCRATCH)[0] = 7;
    CALL(flow_gpu_copy, SCRATCH, 4, 1, CPU, EVERY);
    at(SCRATCH)[0] = 0;
    CALL(flow_gpu_copy, SCRATCH, 4, 1, EVERY, CPU);
    CHECK(at(SCRATCH)[0] == 7, "%d", at(SCRATCH)[0]);
    CALL(flow_gpu_copy, SCRATCH, 4, 1, 1, CPU);
    CHECK(at(SCRATCH)[0] == 7, "%d", at(SCRATCH)[0]);
    end();
}

static void test_guard(void) {
    begin();
    FlowGuard guard = {.place = 99};
    FlowFrame frame = {.memory = memory, .batch = 1, .guard = &guard};
    CALL(flow_gpu_begin, 0, CPU, 0);
    LAUNCH(hold, 64, 0);
    LAUNCH(hold, 32, 1);
    CALL(flow_gpu_end, 0);
    CHECK(guard.place == 32, "%lld", (long long)guard.place);
    guard = (FlowGuard){.place = FLOW_NOWHERE};
    CALL(flow_gpu_begin, 0, CPU, 0);
    LAUNCH(hold, 64, 0);
    CALL(flow_gpu_end, 0);
    CHECK(guard.place == 64, "%lld", (long long)guard.place);
    guard = (FlowGuard){.open = true, .place = FLOW_NOWHERE};
    CALL(flow_gpu_begin, 0, CPU, 0);
    LAUNCH(hold, 64, 0);
    CALL(flow_gpu_end, 0);
    CHECK(guard.place == FLOW_NOWHERE, "%lld", (long long)guard.place);
    end();
}

/* Faults. */

/* What the stub has counted. */
static int counted(const char *name) {
    void *library = dlopen(stub, RTLD_NOW | RTLD_NOLOAD);
    int (*count)(void);
    if (!library || !(*(void **)&count = dlsym(library, name))) return 0;
    return count();
}

static int left(void) {
    return counted("gpu_stub_left");
}

/* Before contexts were there. */
static void test_waiters(void) {
    begin();
    CHECK(!counted("gpu_stub_spinning"), "who waits for a GPU burns a processor");
    end();
}

static void check_refused(const FlowProgram *wanted, FlowExit exit, const char *text) {
    FlowStatus status = gpus_open(wanted, memory, wanted->memory_size);
    CHECK(status.exit == exit, "%d, not %d: %s", status.exit, exit, status.text);
    CHECK_SAYS(status.text, text);
    if (!status.exit) gpus_close();
    CHECK(!left(), "%d things are left open", left());
}

static void check_fault(const char *fault, const char *text) {
    setenv("GPU_STUB", fault, 1);
    check_refused(&program, FLOW_EXIT_resource, text);
    unsetenv("GPU_STUB");
}

static void test_refusals(void) {
    FlowProgram none = program, large = program, broken = program;
    none.device_text = NULL;
    large.memory_size = 5 << 20;
    broken.device_text = "broken";
    set_libraries("/nowhere/libcuda.so", stub);
    CHECK(!gpus_open(&none, memory, sizeof memory).exit,
          "a program without kernels needs no driver");
    check_refused(&program, FLOW_EXIT_resource, "no NVIDIA driver: /nowhere/libcuda.so is not");
    set_libraries("libm.so.6", stub);
    check_refused(&program, FLOW_EXIT_resource, "driver is too old: it has no cuInit");
    set_libraries(stub, "/nowhere/libnvrtc.so");
    check_refused(&program, FLOW_EXIT_resource, "not found (/nowhere/libnvrtc.so)");
    set_libraries(stub, "libm.so.6");
    check_refused(&program, FLOW_EXIT_resource, "libm.so.6 is too old: it has no nvrtcVersion");
    set_libraries(stub, stub);
    check_fault("init", "the NVIDIA driver can't start: a fault (100)");
    check_fault("none", "computes on gpu(1), and there is none");
    check_fault("one", "computes on gpu(1), and there is only gpu(0)");
    check_fault("retain", "gpu(0), Stub 0, can't be started: a fault (101)");
    check_fault("stream", "can't be started: out of memory (2)");
    check_fault("old", "no longer compiles for GPUs of compute capability 5.0");
    check_fault("load", "can't load the program's kernels: a fault (209)");
    check_refused(&broken, FLOW_EXIT_internal,
                  "the kernels: program.cu(7): error: identifier \"broken\" is undefined");
    setenv("GPU_STUB", "memory", 1);
    check_refused(&large, FLOW_EXIT_resource,
                  "no memory for the program: 5.0 MiB are wanted, 3.0 of its 1024.0 MiB are free");
    CHECK(!gpus_open(&large, NULL, 0).exit, "functions of records need no memory of the program");
    gpus_close();
    setenv("GPU_STUB", "new", 1); /* compiled to what drivers compile further */
    check_refused(&program, FLOW_EXIT_ok, "");
    unsetenv("GPU_STUB");
    begin();
    FlowStatus second = gpus_open(&program, memory, program.memory_size);
    CHECK_SAYS(second.text, "one program of a process computes on GPUs");
    end();
}

/* GPUs copy from each other by their link, once it is opened; without one they do as well. */
static void test_links(void) {
    static const char *const links[] = {"apart", "far", "again", "no fault"};
    for (int i = 0; i < 4; i++) {
        setenv("GPU_STUB", links[i], 1);
        begin();
        CHECK(counted("gpu_stub_reached") == (i < 2 ? 0 : 2), "%s: %d", links[i],
              counted("gpu_stub_reached"));
        end();
    }
    check_fault("lost", "gpu(0), Stub 0, can't reach another GPU: a fault (700)");
}

static void check_late(const char *fault, const char *text) {
    int number = 1;
    const void *const inputs[] = {&number};
    FlowFrame frame = {.memory = memory, .inputs = inputs, .batch = 1};
    begin();
    setenv("GPU_STUB", fault, 1);
    CALL(flow_gpu_begin, 0, CPU, 0);
    CALL(flow_gpu_copy, ~INT64_C(0), 4, 1, CPU, 0);
    LAUNCH(add, SCRATCH, 1, 0);
    if (!*fault) LAUNCH(unknown, 0);
    CALL(flow_gpu_end, 0);
    unsetenv("GPU_STUB");
    LAUNCH(add, SCRATCH, 1, 0); /* nothing happens any more */
    CHECK(gpus_status().exit, "`%s` was not noticed", fault);
    CHECK_SAYS(gpus_status().text, text);
    gpus_close();
    CHECK(!left(), "%d things are left open", left());
}

static void test_faults(void) {
    check_late("input", "no memory for the data of a batch");
    check_late("copy", "gpu(0), Stub 0, can't take a copy: a fault (700)");
    check_late("launch", "can't launch the kernel `add`: a fault (701)");
    check_late("finish", "can't do its kernels: a fault (719)");
    check_late("", "can't find the kernel `unknown`: named symbol not found (500)");
}

/* Which GPU is which. */
static void test_visible(void) {
    setenv("FLOWC_VISIBLE_DEVICES", "7,1,0", 1);
    check_fault("retain", "gpu(0), Stub 1, can't be started");
    setenv("FLOWC_VISIBLE_DEVICES", "1,7", 1);
    check_fault("", "computes on gpu(1), and there is only gpu(0)");
    setenv("FLOWC_VISIBLE_DEVICES", "none", 1);
    check_fault("", "computes on gpu(1), and there is none");
    unsetenv("FLOWC_VISIBLE_DEVICES");
}

/* The cache of images. */

static int compiled_by(const FlowProgram *wanted) {
    set_libraries(stub, stub);
    int before = counted("gpu_stub_compiled");
    FlowStatus status = gpus_open(wanted, memory, wanted->memory_size);
    CHECK(!status.exit, "%s", status.text);
    gpus_close();
    return counted("gpu_stub_compiled") - before;
}

static void damage(const char *how) {
    CHECK(!system(how), "%s", how);
}

static void test_cache(void) {
    FlowProgram other = program;
    other.device_text = "add take hold, too";
    damage("rm -rf flowc");
    CHECK(compiled_by(&program) == 1, "once for both GPUs");
    CHECK(!compiled_by(&program), "it was compiled before");
    CHECK(compiled_by(&other) == 1, "another text");
    CHECK(!compiled_by(&program) && !compiled_by(&other), "both are kept");
    damage("for file in flowc/gpu/*; do printf x | dd of=$file bs=1 seek=140 conv=notrunc; done "
           "2>/dev/null");
    CHECK(compiled_by(&program) == 1, "a damaged file");
    CHECK(!compiled_by(&program), "a renewed file");
    damage("for file in flowc/gpu/*; do truncate -s 100 $file; done");
    CHECK(compiled_by(&program) == 1, "a short file");
    damage("for file in flowc/gpu/*; do truncate -s 10 $file; done");
    CHECK(compiled_by(&program) == 1, "a shorter file");
    damage("chmod 777 flowc/gpu");
    CHECK(compiled_by(&program) == 1 && compiled_by(&program) == 1, "anybody's folder");
    damage("rm -rf flowc; touch flowc");
    CHECK(compiled_by(&program) == 1 && compiled_by(&program) == 1, "no folder");
    damage("rm flowc");
}

/* What was built in. */

static void check_loaded(const FlowDeviceImage *images, const char *text, int compiled) {
    FlowProgram wanted = program;
    const char *(*loaded)(void);
    wanted.device_images = images;
    int by_nvrtc = compiled_by(&wanted);
    void *library = dlopen(stub, RTLD_NOW | RTLD_NOLOAD);
    *(void **)&loaded = dlsym(library, "gpu_stub_loaded");
    CHECK_SAYS(loaded(), text);
    CHECK(by_nvrtc == compiled, "`%s`: NVRTC compiled %d times", text, by_nvrtc);
}

static void test_images(void) {
    static const FlowDeviceImage all[] = {{80, false, "own 80"},
                                          {89, false, "own 89"},
                                          {90, false, "own 90"},
                                          {100, false, "own 100"},
                                          {75, true, "later 75"},
                                          {80, true, "later 80"},
                                          {0}};
    damage("rm -rf flowc");
    check_loaded(all, "own 90", 0);
    check_loaded(&all[3], "later 80", 0);
    check_loaded((const FlowDeviceImage[]){all[1], all[3], {0}}, "=sm_90", 1);
    check_loaded((const FlowDeviceImage[]){{100, true, "later 100"}, {0}}, "=sm_90", 0);
    setenv("GPU_STUB_REFUSES", "own", 1);
    check_loaded(all, "later 80", 0);
    setenv("GPU_STUB_REFUSES", "later", 1);
    check_loaded(&all[3], "=sm_90", 0);
    unsetenv("GPU_STUB_REFUSES");
    setenv("GPU_STUB", "new", 1); /* 12.0 */
    check_loaded(all, "later 80", 0);
    unsetenv("GPU_STUB");
    set_libraries(stub, "/nowhere/libnvrtc.so");
    FlowProgram wanted = program;
    wanted.device_images = all;
    check_refused(&wanted, FLOW_EXIT_ok, "");
}

int main(int count, char **arguments) {
    (void)count;
    char *full = realpath(arguments[0], NULL), cache[256];
    *strrchr(full, '/') = 0;
    snprintf(stub, sizeof stub, "%.480s/../libgpustub.so", full);
    free(full);
    test_folder();
    setenv("XDG_CACHE_HOME", getcwd(cache, sizeof cache), 1);
    setenv("FLOWC_ALL_REDUCE", "peer", 1); /* NCCL needs a driver */
    test_storage();
    test_parts();
    test_values();
    test_across();
    test_replicas();
    test_shares();
    test_guard();
    test_refusals();
    test_waiters();
    test_links();
    test_faults();
    test_visible();
    test_cache();
    test_images();
    test_folder_remove();
    return test_result();
}
