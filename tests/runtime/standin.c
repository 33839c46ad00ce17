/* Stand-in: a driver and an NVRTC that need no GPU, found with dlopen as the real ones are, and
 * nothing else of them. Right programs get right results, wrong ones don't. */
#include "tests/runtime/test.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

typedef uint64_t Address;

/* FUNCTION(name, parameters) */
#define FUNCTIONS                                                                                  \
    FUNCTION(cuInit, (unsigned))                                                                   \
    FUNCTION(cuDeviceGetCount, (int *))                                                            \
    FUNCTION(cuDeviceGet, (int *, int))                                                            \
    FUNCTION(cuDeviceGetName, (char *, int, int))                                                  \
    FUNCTION(cuDeviceGetAttribute, (int *, int, int))                                              \
    FUNCTION(cuDevicePrimaryCtxRetain, (void **, int))                                             \
    FUNCTION(cuDevicePrimaryCtxRelease_v2, (int))                                                  \
    FUNCTION(cuCtxSetCurrent, (void *))                                                            \
    FUNCTION(cuGetErrorString, (int, const char **))                                               \
    FUNCTION(cuGetErrorName, (int, const char **))                                                 \
    FUNCTION(cuMemAlloc_v2, (Address *, size_t))                                                   \
    FUNCTION(cuMemFree_v2, (Address))                                                              \
    FUNCTION(cuMemHostAlloc, (void **, size_t, unsigned))                                          \
    FUNCTION(cuMemFreeHost, (void *))                                                              \
    FUNCTION(cuMemcpyHtoDAsync_v2, (Address, const void *, size_t, void *))                        \
    FUNCTION(cuMemcpyDtoHAsync_v2, (void *, Address, size_t, void *))                              \
    FUNCTION(cuMemcpyDtoDAsync_v2, (Address, Address, size_t, void *))                             \
    FUNCTION(cuMemcpyPeerAsync, (Address, void *, Address, void *, size_t, void *))                \
    FUNCTION(cuMemsetD8Async, (Address, unsigned char, size_t, void *))                            \
    FUNCTION(cuStreamCreate, (void **, unsigned))                                                  \
    FUNCTION(cuStreamDestroy_v2, (void *))                                                         \
    FUNCTION(cuStreamSynchronize, (void *))                                                        \
    FUNCTION(cuStreamQuery, (void *))                                                              \
    FUNCTION(cuStreamWaitEvent, (void *, void *, unsigned))                                        \
    FUNCTION(cuStreamBeginCapture_v2, (void *, int))                                               \
    FUNCTION(cuStreamEndCapture, (void *, void **))                                                \
    FUNCTION(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                   \
    FUNCTION(cuGraphLaunch, (void *, void *))                                                      \
    FUNCTION(cuGraphDestroy, (void *))                                                             \
    FUNCTION(cuGraphExecDestroy, (void *))                                                         \
    FUNCTION(cuEventCreate, (void **, unsigned))                                                   \
    FUNCTION(cuEventDestroy_v2, (void *))                                                          \
    FUNCTION(cuEventRecord, (void *, void *))                                                      \
    FUNCTION(cuEventSynchronize, (void *))                                                         \
    FUNCTION(cuEventQuery, (void *))                                                               \
    FUNCTION(cuEventElapsedTime, (float *, void *, void *))                                        \
    FUNCTION(cuModuleLoadData, (void **, const void *))                                            \
    FUNCTION(cuModuleUnload, (void *))                                                             \
    FUNCTION(cuModuleGetFunction, (void **, void *, const char *))                                 \
    FUNCTION(cuFuncGetAttribute, (int *, int, void *))                                             \
    FUNCTION(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                              unsigned, void *, void **, void **))                                 \
    FUNCTION(nvrtcVersion, (int *, int *))                                                         \
    FUNCTION(nvrtcCreateProgram,                                                                   \
             (void **, const char *, const char *, int, const char *const *, const char *const *)) \
    FUNCTION(nvrtcCompileProgram, (void *, int, const char *const *))                              \
    FUNCTION(nvrtcGetProgramLogSize, (void *, size_t *))                                           \
    FUNCTION(nvrtcGetProgramLog, (void *, char *))                                                 \
    FUNCTION(nvrtcGetCUBINSize, (void *, size_t *))                                                \
    FUNCTION(nvrtcGetCUBIN, (void *, char *))                                                      \
    FUNCTION(nvrtcGetPTXSize, (void *, size_t *))                                                  \
    FUNCTION(nvrtcGetPTX, (void *, char *))                                                        \
    FUNCTION(nvrtcDestroyProgram, (void **))

#define FUNCTION(name, parameters) static int(*name) parameters;
FUNCTIONS
#undef FUNCTION

enum {
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    NVRTC_COMPILATION = 6,
    COUNT = 1024,
    BYTES = COUNT * 4,
};

#define GOOD(call)                                 \
    do {                                           \
        int error_of = call;                       \
        CHECK(!error_of, "it gives %d", error_of); \
    } while (0)
#define GIVES(call, wanted)                                                   \
    do {                                                                      \
        int error_of = call;                                                  \
        CHECK(error_of == (wanted), "it gives %d, not %d", error_of, wanted); \
    } while (0)

/* y = 2 a + 1; reads as many elements too many as its third operand says. */
static const char text[] =
    "#include \"cuda.h\"\n"
    "#include \"double.h\"\n"
    "FLOW_GLOBAL(twice, 64) {\n"
    "    const float *a = (const float *)arguments.operands[0];\n"
    "    float *y = (float *)arguments.operands[1];\n"
    "    int64_t i = FLOW_BLOCK * 64 + FLOW_THREAD;\n"
    "    FLOW_STORE(y, i, DOUBLE(FLOW_LOAD(a, i + arguments.operands[2])));\n"
    "}\n"
    "extern const int64_t places[];\n"
    "const int64_t places[] = {offsetof(FlowArguments, operands)};\n";

static int64_t operands_place; /* in the arguments, as cuda.h has them */

static bool find_functions(void *library) {
    bool all = true;
#define FUNCTION(name, parameters)           \
    *(void **)&name = dlsym(library, #name); \
    CHECK(name, "there is no " #name);       \
    all &= name != NULL;
    FUNCTIONS
#undef FUNCTION
    return all;
}

/* Compiling. */

static int compile(void **program, const char *source, const char *architecture) {
    static const char *const headers[] = {"#define DOUBLE(a) (2 * (a) + 1)\n"};
    static const char *const names[] = {"double.h"};
    char option[64];
    snprintf(option, sizeof option, "--gpu-architecture=%s", architecture);
    const char *const options[] = {option, "--std=c++17", "-default-device"};
    GOOD(nvrtcCreateProgram(program, source, "kernels.cu", 1, headers, names));
    return nvrtcCompileProgram(*program, 3, options);
}

static char *image_of(const char *architecture) {
    void *program;
    size_t size;
    GOOD(compile(&program, text, architecture));
    GOOD(nvrtcGetCUBINSize(program, &size));
    bool binary = size > 0;
    if (!binary) GOOD(nvrtcGetPTXSize(program, &size));
    CHECK(binary == !strncmp(architecture, "sm_", 3), "only real ones have a binary");
    char *image = malloc(size);
    GOOD(binary ? nvrtcGetCUBIN(program, image) : nvrtcGetPTX(program, image));
    GOOD(nvrtcDestroyProgram(&program));
    return image;
}

static void broken_text(void) {
    void *program;
    size_t size;
    char log[4096];
    GIVES(compile(&program, "#include \"cuda.h\"\nFLOW_GLOBAL(a, 32) { b(; }\n", "sm_90"),
          NVRTC_COMPILATION);
    GOOD(nvrtcGetProgramLogSize(program, &size));
    CHECK(size < sizeof log, "%zu", size);
    GOOD(nvrtcGetProgramLog(program, log));
    CHECK_SAYS(log, ":2:");
    GOOD(nvrtcDestroyProgram(&program));
}

/* Running. */

typedef struct Work {
    void *context, *stream, *module, *kernel;
    Address a, y;
    float *in, *out; /* pinned */
} Work;

static void begin(Work *work) {
    char *image = image_of("sm_90");
    GOOD(cuDevicePrimaryCtxRetain(&work->context, 0));
    GOOD(cuCtxSetCurrent(work->context));
    GOOD(cuStreamCreate(&work->stream, 1));
    GOOD(cuModuleLoadData(&work->module, image));
    GOOD(cuModuleGetFunction(&work->kernel, work->module, "twice"));
    GOOD(cuMemAlloc_v2(&work->a, BYTES));
    GOOD(cuMemAlloc_v2(&work->y, BYTES));
    GOOD(cuMemHostAlloc((void **)&work->in, BYTES, 0));
    GOOD(cuMemHostAlloc((void **)&work->out, BYTES, 0));
    for (int i = 0; i < COUNT; i++) work->in[i] = (float)i;
    free(image);
}

static void end(Work *work) {
    cuStreamDestroy_v2(work->stream);
    cuMemFreeHost(work->in);
    cuMemFreeHost(work->out);
    cuMemFree_v2(work->a);
    cuMemFree_v2(work->y);
    cuModuleUnload(work->module);
    GOOD(cuDevicePrimaryCtxRelease_v2(0));
    GOOD(cuCtxSetCurrent(NULL));
}

static int launch(const Work *work, Address a, Address y, int64_t beyond, void *stream) {
    int64_t arguments[1024] = {0}, operands[] = {(int64_t)a, (int64_t)y, beyond};
    memcpy((char *)arguments + operands_place, operands, sizeof operands);
    void *parameters[] = {arguments};
    return cuLaunchKernel(work->kernel, COUNT / 64, 1, 1, 64, 1, 1, 0, stream, parameters, NULL);
}

static int count_right(const float *values, float factor, float more) {
    int right = 0;
    for (int i = 0; i < COUNT; i++) right += values[i] == factor * (float)i + more;
    return right;
}

static void there_and_back(void) {
    Work work;
    int threads, early = 0;
    begin(&work);
    GOOD(cuFuncGetAttribute(&threads, 0, work.kernel));
    CHECK(threads == 64, "%d", threads);
    for (int turn = 0; turn < 20; turn++) {
        GOOD(cuMemcpyHtoDAsync_v2(work.a, work.in, BYTES, work.stream));
        GOOD(launch(&work, work.a, work.y, 0, work.stream));
        GOOD(cuMemcpyDtoHAsync_v2(work.out, work.y, BYTES, work.stream));
        early += count_right(work.out, 2, 1) < COUNT; /* nobody waited */
        GOOD(cuStreamSynchronize(work.stream));
        CHECK(count_right(work.out, 2, 1) == COUNT, "%d", count_right(work.out, 2, 1));
        memset(work.out, 0, BYTES);
    }
    CHECK(early > 0, "results are there before they are waited for");
    end(&work);
}

/* Pageable memory is read before the call returns; pinned memory is not. */
static void pageable(void) {
    Work work;
    int changed = 0;
    begin(&work);
    float *values = calloc(COUNT, sizeof *values);
    for (int turn = 0; turn < 50; turn++) {
        bool pinned = turn % 2;
        float *source = pinned ? work.in : values;
        for (int i = 0; i < COUNT; i++) source[i] = (float)i;
        GOOD(cuMemcpyHtoDAsync_v2(work.a, source, BYTES, work.stream));
        memset(source, 0, BYTES);
        GOOD(cuMemcpyDtoHAsync_v2(work.out, work.a, BYTES, work.stream));
        GOOD(cuStreamSynchronize(work.stream));
        if (pinned) changed += count_right(work.out, 1, 0) < COUNT;
        else CHECK(count_right(work.out, 1, 0) == COUNT, "pageable memory was read too late");
    }
    CHECK(changed > 0, "pinned memory is always read at once");
    GOOD(cuMemcpyDtoHAsync_v2(values, work.a, BYTES, work.stream)); /* waits */
    CHECK(!memcmp(values, work.out, BYTES), "pageable memory is written too late");
    free(values);
    end(&work);
}

/* What begins in pinned memory ends there. */
static void beyond_pinned(void) {
    Work work;
    begin(&work);
    float *middle = work.in + COUNT / 2;
    CHECK(cuMemcpyHtoDAsync_v2(work.a, middle, BYTES, work.stream) == 1,
          "it is read beyond its end");
    CHECK(cuMemcpyDtoHAsync_v2(middle, work.a, BYTES, work.stream) == 1,
          "it is written beyond its end");
    GOOD(cuMemcpyHtoDAsync_v2(work.a, middle, BYTES / 2, work.stream));
    GOOD(cuStreamSynchronize(work.stream));
    end(&work);
}

/* Two streams, ordered by an event or not. */
static int wrong_turns(Work *work, bool ordered) {
    void *second, *event;
    int wrong = 0;
    GOOD(cuStreamCreate(&second, 1));
    GOOD(cuEventCreate(&event, 2));
    for (int turn = 0; turn < 40; turn++) {
        GOOD(cuMemsetD8Async(work->y, 0, BYTES, work->stream));
        GOOD(cuStreamSynchronize(work->stream));
        GOOD(cuMemcpyHtoDAsync_v2(work->a, work->in, BYTES, work->stream));
        GOOD(launch(work, work->a, work->y, 0, work->stream));
        GOOD(cuEventRecord(event, work->stream));
        if (ordered) GOOD(cuStreamWaitEvent(second, event, 0));
        GOOD(cuMemcpyDtoHAsync_v2(work->out, work->y, BYTES, second));
        GOOD(cuStreamSynchronize(second));
        wrong += count_right(work->out, 2, 1) < COUNT;
        GOOD(cuStreamSynchronize(work->stream));
    }
    GOOD(cuEventDestroy_v2(event));
    GOOD(cuStreamDestroy_v2(second));
    return wrong;
}

static void two_streams(void) {
    Work work;
    begin(&work);
    CHECK(wrong_turns(&work, true) == 0, "an event orders streams");
    CHECK(wrong_turns(&work, false) > 0, "nothing orders streams but events");
    end(&work);
}

/* Are they seen to be underway? A slow host may come too late. */
static bool is_underway(const Work *work, void *start, void *finish) {
    float milliseconds = -1;
    GOOD(cuEventRecord(start, work->stream));
    GOOD(cuMemcpyHtoDAsync_v2(work->a, work->in, BYTES, work->stream));
    for (int i = 0; i < 20; i++) GOOD(launch(work, work->a, work->y, 0, work->stream));
    GOOD(cuEventRecord(finish, work->stream));
    bool underway = cuEventElapsedTime(&milliseconds, start, finish) == NOT_READY &&
                    cuEventQuery(finish) == NOT_READY && cuStreamQuery(work->stream) == NOT_READY;
    GOOD(cuEventSynchronize(finish));
    GOOD(cuEventQuery(finish));
    GOOD(cuEventElapsedTime(&milliseconds, start, finish));
    CHECK(milliseconds > 0, "%f", milliseconds);
    return underway;
}

static void events(void) {
    Work work;
    void *start, *finish;
    bool underway = false;
    begin(&work);
    GOOD(cuEventCreate(&start, 0));
    GOOD(cuEventCreate(&finish, 0));
    for (int turn = 0; turn < 20 && !underway; turn++) underway = is_underway(&work, start, finish);
    CHECK(underway, "launches return when they are done");
    GOOD(cuEventDestroy_v2(start));
    GOOD(cuEventDestroy_v2(finish));
    end(&work);
}

/* A graph of two streams, launched again with other inputs. */
static void graphs(void) {
    Work work;
    void *second, *event, *graph, *executable;
    begin(&work);
    GOOD(cuStreamCreate(&second, 1));
    GOOD(cuEventCreate(&event, 2));
    GOOD(cuStreamBeginCapture_v2(work.stream, 0));
    GOOD(cuMemcpyHtoDAsync_v2(work.a, work.in, BYTES, work.stream));
    GOOD(cuEventRecord(event, work.stream));
    GOOD(cuStreamWaitEvent(second, event, 0));
    GOOD(launch(&work, work.a, work.y, 0, second));
    GOOD(cuEventRecord(event, second));
    GOOD(cuStreamWaitEvent(work.stream, event, 0));
    GOOD(cuMemcpyDtoHAsync_v2(work.out, work.y, BYTES, work.stream));
    GIVES(cuStreamSynchronize(work.stream), 900);
    GOOD(cuStreamEndCapture(work.stream, &graph));
    GOOD(cuStreamSynchronize(work.stream));
    CHECK(count_right(work.out, 2, 1) == 0, "nothing was done so far");
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    GOOD(cuGraphDestroy(graph));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < COUNT; i++) work.in[i] = (float)(turn * i);
        GOOD(cuGraphLaunch(executable, work.stream));
        GOOD(cuStreamSynchronize(work.stream));
        CHECK(count_right(work.out, 2 * (float)turn, 1) == COUNT, "turn %d", turn);
    }
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuEventDestroy_v2(event));
    GOOD(cuStreamDestroy_v2(second));
    end(&work);
}

/* Faults. */

static void errors_stay(void) {
    Work work;
    begin(&work);
    GOOD(cuMemcpyHtoDAsync_v2(work.a, work.in, BYTES, work.stream));
    GOOD(launch(&work, work.a, work.y, 1, work.stream)); /* one element too many */
    GIVES(cuStreamSynchronize(work.stream), ILLEGAL_ADDRESS);
    GIVES(cuMemcpyHtoDAsync_v2(work.a, work.in, BYTES, work.stream), ILLEGAL_ADDRESS);
    GIVES(cuMemAlloc_v2(&work.a, 4), ILLEGAL_ADDRESS);
    GOOD(cuDevicePrimaryCtxRelease_v2(0)); /* the next context is whole */
    GOOD(cuDevicePrimaryCtxRetain(&work.context, 0));
    GOOD(cuMemcpyHtoDAsync_v2(work.a, work.in, BYTES, work.stream));
    GOOD(cuStreamSynchronize(work.stream));
    end(&work);
}

static void errors_on_demand(void) {
    Work work;
    Address address;
    begin(&work);
    setenv("FLOWC_SIMULATE_FAULT", "cuMemAlloc_v2:2", 1);
    GOOD(cuMemAlloc_v2(&address, 64));
    GOOD(cuMemFree_v2(address));
    GIVES(cuMemAlloc_v2(&address, 64), OUT_OF_MEMORY);
    GOOD(cuMemAlloc_v2(&address, 64));
    GOOD(cuMemFree_v2(address));
    setenv("FLOWC_SIMULATE_FAULT", "cuStreamSynchronize:4:NOT_READY", 1);
    GIVES(cuStreamSynchronize(work.stream), NOT_READY);
    GOOD(cuStreamSynchronize(work.stream));
    unsetenv("FLOWC_SIMULATE_FAULT");
    end(&work);
}

static void wrong_images(void) {
    Work work;
    void *module, *kernel;
    begin(&work);
    char *older = image_of("compute_80"), *binary = image_of("sm_80"), *newer = image_of("sm_120");
    GOOD(cuModuleLoadData(&module, older));
    GIVES(cuModuleGetFunction(&kernel, module, "thrice"), NOT_FOUND);
    GOOD(cuModuleUnload(module));
    GIVES(cuModuleLoadData(&module, binary), NO_BINARY);
    GIVES(cuModuleLoadData(&module, newer), NO_BINARY);
    memset(binary, 7, 64);
    GIVES(cuModuleLoadData(&module, binary), INVALID_IMAGE);
    free(older);
    free(binary);
    free(newer);
    end(&work);
}

static void memory(void) {
    Work work;
    void *other;
    Address address;
    begin(&work);
    GIVES(cuMemAlloc_v2(&address, (size_t)5 << 30), OUT_OF_MEMORY);
    GIVES(cuMemcpyHtoDAsync_v2(work.a + 4, work.in, BYTES, work.stream), 1);
    GIVES(cuMemFree_v2(work.a + 4), 1);
    GOOD(cuMemcpyHtoDAsync_v2(work.a, work.in, BYTES, work.stream));
    GOOD(cuMemcpyDtoDAsync_v2(work.y, work.a, BYTES, work.stream));
    GOOD(cuMemcpyDtoHAsync_v2(work.out, work.y, BYTES, work.stream));
    GOOD(cuStreamSynchronize(work.stream));
    CHECK(count_right(work.out, 1, 0) == COUNT, "copied within the device");
    GOOD(cuDevicePrimaryCtxRetain(&other, 1));
    GOOD(cuCtxSetCurrent(other));
    GIVES(cuMemcpyDtoHAsync_v2(work.out, work.y, BYTES, NULL), 1); /* it is another device's */
    GOOD(cuMemAlloc_v2(&address, BYTES));
    GIVES(cuMemcpyPeerAsync(address, work.context, work.y, work.context, BYTES, NULL), 1);
    GOOD(cuMemcpyPeerAsync(address, other, work.y, work.context, BYTES, NULL));
    memset(work.out, 0, BYTES);
    GOOD(cuMemcpyDtoHAsync_v2(work.out, address, BYTES, NULL));
    CHECK(count_right(work.out, 1, 0) == COUNT, "copied from one device to the other");
    GOOD(cuMemFree_v2(address));
    GOOD(cuDevicePrimaryCtxRelease_v2(1));
    GOOD(cuCtxSetCurrent(work.context));
    end(&work);
}

/* A kernel works with the memory of its own device, in a stream of it. */
static void other_device(void) {
    Work work;
    void *other, *stream, *event;
    Address address;
    begin(&work);
    GOOD(cuDevicePrimaryCtxRetain(&other, 1));
    GOOD(cuCtxSetCurrent(other));
    GOOD(cuMemAlloc_v2(&address, BYTES));
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuEventCreate(&event, 2));
    GIVES(launch(&work, work.a, work.y, 0, stream), INVALID_HANDLE);
    GIVES(cuEventRecord(event, work.stream), INVALID_HANDLE);
    GOOD(cuEventRecord(event, stream));
    GOOD(cuCtxSetCurrent(work.context));
    GOOD(cuStreamWaitEvent(work.stream, event, 0));
    GOOD(cuMemsetD8Async(work.a, 0, BYTES, work.stream));
    GOOD(launch(&work, work.a, work.y, 0, work.stream));
    GOOD(cuStreamSynchronize(work.stream));
    GOOD(launch(&work, work.a, address, 0, work.stream));
    GIVES(cuStreamSynchronize(work.stream), ILLEGAL_ADDRESS);
    GOOD(cuCtxSetCurrent(other));
    GOOD(cuMemFree_v2(address));
    GOOD(cuEventDestroy_v2(event));
    GOOD(cuStreamDestroy_v2(stream));
    GOOD(cuDevicePrimaryCtxRelease_v2(1));
    GOOD(cuCtxSetCurrent(work.context));
    end(&work);
}

/* The host cannot read what lies on the device. */
static void host_reads_device(void) {
    Work work;
    int status = 0;
    begin(&work);
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile char *)(uintptr_t)work.a == 7);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "%d", status);
    end(&work);
}

static void devices(void) {
    int count, major;
    char name[64];
    Address address;
    const char *said;
    GIVES(cuDeviceGetCount(&count), NOT_INITIALIZED);
    setenv("FLOWC_SIMULATE", "gpu:0", 1);
    GIVES(cuInit(0), NO_DEVICE);
    setenv("FLOWC_SIMULATE", "gpu:2", 1);
    GOOD(cuInit(0));
    GOOD(cuDeviceGetCount(&count));
    CHECK(count == 2, "%d", count);
    GOOD(cuDeviceGetName(name, sizeof name, 1));
    CHECK_SAYS(name, "simulated GPU 1");
    GOOD(cuDeviceGetAttribute(&major, 75, 0));
    CHECK(major == 9, "%d", major);
    GIVES(cuDeviceGet(&count, 2), 101);
    GIVES(cuMemAlloc_v2(&address, 4), INVALID_CONTEXT);
    GOOD(cuGetErrorString(OUT_OF_MEMORY, &said));
    CHECK_SAYS(said, "out of memory");
    GOOD(cuGetErrorName(OUT_OF_MEMORY, &said));
    CHECK_SAYS(said, "CUDA_ERROR_OUT_OF_MEMORY");
}

/* Where the operands lie is said by the kernels' own library, which the driver hides: it is asked
 * for by a copy of it. */
static bool find_operands(void) {
    enum { SIZE_AT = 24, LIBRARY_AT = 32 }; /* of an ImageHead */
    char path[] = "/tmp/flow-test-XXXXXX";
    char *image = image_of("sm_90");
    uint64_t size;
    memcpy(&size, image + SIZE_AT, sizeof size);
    int file = mkstemp(path);
    bool written =
        file >= 0 && write(file, image + LIBRARY_AT, size) == (ssize_t)size && !close(file);
    void *library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const int64_t *places = library ? dlsym(library, "places") : NULL;
    if (places) operands_place = *places;
    if (library) dlclose(library);
    unlink(path);
    free(image);
    return places;
}

int main(void) {
    char path[300];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/lib/flowc/simulated/libcuda.so.1", build ? build : "build");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library, "%s", dlerror());
    if (!library || !find_functions(library)) return test_result();
    devices();
    broken_text();
    CHECK(find_operands(), "the compiler gives no library");
    there_and_back();
    pageable();
    beyond_pinned();
    two_streams();
    events();
    graphs();
    errors_stay();
    errors_on_demand();
    wrong_images();
    memory();
    other_device();
    host_reads_device();
    return test_result();
}
