/* A driver of CUDA with two GPUs, and an NVRTC whose code for them is the text itself. A GPU's
 * memory is the host's; what is asked for is done at once. $GPU_STUB names a function that fails,
 * or what is wrong; "late": the 41st launch fails. Kernels are these:
 *
 * add      count at operands[1], of i32 at place operands[0], each: + 1
 * flow_whole_sum_i32  as templates/cuda_replicas.h has it
 * take     i32 at place operands[0]: the first one of input operands[1] + batch + sizes[0]
 * hold     place operands[0] is held back, unless the guard is open */
#include "runtime/device/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool fails_at(const char *what) {
    const char *fault = getenv("GPU_STUB");
    return fault && !strcmp(fault, what);
}

#define FAIL(name, error) \
    if (fails_at(name)) return error

static int retained, allocated, streams, events, modules; /* all 0 when all is closed */

int gpu_stub_left(void);
int gpu_stub_left(void) {
    return retained + allocated + streams + events + modules;
}

int cuInit(unsigned flags) {
    FAIL("init", 100);
    return (int)flags;
}

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = fails_at("none") ? 0 : fails_at("one") ? 1 : 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "Stub %d", device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? (fails_at("old") ? 5 : fails_at("new") ? 12 : 9) : 0;
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    *text = error == 2 ? "out of memory" : error == 500 ? "named symbol not found" : "a fault";
    return 0;
}

static int reached;    /* pairs, in both directions, while contexts are there */
static bool sleeps[2]; /* who waits for the GPU */
static int spinning;   /* GPUs that were retained without */

int gpu_stub_spinning(void);
int gpu_stub_spinning(void) {
    return spinning;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    sleeps[device] = flags == 4;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    FAIL("retain", 101);
    retained++;
    spinning += !sleeps[device];
    *context = (void *)(intptr_t)(1 + device);
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    sleeps[device] = false;
    if (!--retained) reached = 0;
    return 0;
}

int cuCtxSetCurrent(void *context) {
    (void)context;
    return 0;
}

int cuCtxGetCurrent(void **context) {
    *context = NULL;
    return 0;
}

int gpu_stub_reached(void);
int gpu_stub_reached(void) {
    return reached;
}

/* "apart": no GPU has a link to another; "far": there are too many others; "again": it was opened
 * before; "lost": it is broken. */
int cuDeviceCanAccessPeer(int *can, int device, int other) {
    *can = device != other && !fails_at("apart");
    return 0;
}

int cuCtxEnablePeerAccess(void *other, unsigned flags) {
    (void)flags;
    FAIL("far", 711);
    FAIL("lost", 700);
    reached += other != NULL;
    FAIL("again", 704);
    return 0;
}

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    *available = 3 << 20;
    *total = (size_t)1 << 30;
    return 0;
}

/* "memory": a program of more than 1 MiB has none; "input": nothing has once the program runs. */
int cuMemAlloc_v2(uint64_t *address, size_t size) {
    if (fails_at("memory") && size > 1 << 20) return 2;
    FAIL("input", 2);
    allocated++;
    *address = (uint64_t)(uintptr_t)malloc(size);
    memset((void *)(uintptr_t)*address, 0xab, size);
    return 0;
}

int cuMemHostAlloc(void **place, size_t size, unsigned flags) {
    (void)flags;
    FAIL("pinned", 2);
    allocated++;
    *place = aligned_alloc(64, (size + 63) / 64 * 64);
    return 0;
}

int cuMemFreeHost(void *place) {
    allocated--;
    free(place);
    return 0;
}

int cuMemFree_v2(uint64_t address) {
    allocated--;
    free((void *)(uintptr_t)address);
    return 0;
}

static int copy(void *to, const void *from, size_t size) {
    FAIL("copy", 700);
    memcpy(to, from, size);
    return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
    (void)stream;
    return copy((void *)(uintptr_t)to, from, size);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
    (void)stream;
    return copy(to, (void *)(uintptr_t)from, size);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
    (void)stream;
    return copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size,
                      void *stream) {
    (void)stream;
    return to_context == from_context ? 1
                                      : copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
}

int cuStreamCreate(void **stream, unsigned flags) {
    (void)flags;
    FAIL("stream", 2);
    streams++;
    *stream = stream;
    return 0;
}

int cuStreamDestroy_v2(void *stream) {
    (void)stream;
    streams--;
    return 0;
}

int cuStreamSynchronize(void *stream) {
    (void)stream;
    FAIL("finish", 719);
    return 0;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)stream, (void)event, (void)flags;
    return 0;
}

int cuEventCreate(void **event, unsigned flags) {
    (void)flags;
    events++;
    *event = event;
    return 0;
}

int cuEventRecord(void *event, void *stream) {
    (void)event, (void)stream;
    return 0;
}

int cuEventDestroy_v2(void *event) {
    (void)event;
    events--;
    return 0;
}

int cuEventQuery(void *event) {
    (void)event;
    return fails_at("finish") ? 600 : 0;
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    (void)start, (void)end;
    *milliseconds = 0;
    return 0;
}

int cuEventSynchronize(void *event) {
    (void)event;
    FAIL("finish", 719);
    return 0;
}

/* Graphs: there are none, and nothing of this test asks for one. */

int cuStreamBeginCapture_v2(void *stream, int mode) {
    (void)stream;
    return mode < 0 ? 0 : 801;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
    (void)mode;
    return 0;
}

int cuStreamEndCapture(void *stream, void **graph) {
    (void)stream, (void)graph;
    return 801;
}

int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
    (void)executable, (void)graph;
    return flags ? 1 : 801;
}

int cuGraphLaunch(void *executable, void *stream) {
    (void)executable, (void)stream;
    return 801;
}

int cuGraphDestroy(void *graph) {
    (void)graph;
    return 801;
}

int cuGraphExecDestroy(void *executable) {
    (void)executable;
    return 801;
}

static char loaded[64]; /* how the last image begins */

const char *gpu_stub_loaded(void);
const char *gpu_stub_loaded(void) {
    return loaded;
}

/* $GPU_STUB_REFUSES: how an image begins that is not taken. */
int cuModuleLoadData(void **module, const void *image) {
    const char *refused = getenv("GPU_STUB_REFUSES");
    FAIL("load", 209);
    if (refused && !strncmp(image, refused, strlen(refused))) return 209;
    snprintf(loaded, sizeof loaded, "%s", (const char *)image);
    modules++;
    *module = strdup(image);
    return 0;
}

int cuModuleUnload(void *module) {
    modules--;
    free(module);
    return 0;
}

typedef void Kernel(const FlowArguments *arguments);

static void add(const FlowArguments *arguments) {
    int *values = (int *)(arguments->memory + arguments->operands[0]);
    for (int64_t i = 0; i < arguments->operands[1]; i++) values[i]++;
}

static void take(const FlowArguments *arguments) {
    int *to = (int *)(arguments->memory + arguments->operands[0]);
    *to = *(int *)arguments->inputs[arguments->operands[1]] + (int)arguments->batch +
          (int)arguments->sizes[0];
}

static void join(const FlowArguments *arguments) {
    const int64_t count = arguments->operands[0];
    int *to = (int *)arguments->inputs[0];
    const int *from = (const int *)arguments->inputs[1];
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i];
        for (int64_t j = 1; j < arguments->operands[1]; j++) to[i] += from[j * count + i];
    }
}

static void hold(const FlowArguments *arguments) {
    FlowGuard *guard = arguments->guard;
    if (guard && !guard->open && arguments->operands[0] < guard->place)
        guard->place = arguments->operands[0];
}

static const struct Named {
    const char *name;
    Kernel *kernel;
} kernels[] = {{"add", add}, {"take", take}, {"hold", hold}, {"flow_whole_sum_i32", join}};

int cuModuleGetFunction(void **function, void *module, const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, name) && strstr(module, name)) {
            *function = (void *)&kernels[i];
            return 0;
        }
    return 500;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
    (void)function, (void)attribute, (void)value;
    return 0;
}

int cuLaunchKernel(void *function, unsigned across, unsigned down, unsigned deep, unsigned threads,
                   unsigned threads_down, unsigned threads_deep, unsigned shared, void *stream,
                   void **parameters, void **extra) {
    static int launches;
    (void)stream, (void)extra;
    FAIL("launch", 701);
    if (++launches > 40) FAIL("late", 700);
    if (!across || down != 1 || deep != 1 || !threads || threads_down != 1 || threads_deep != 1 ||
        shared)
        return 1;
    ((const struct Named *)function)->kernel(parameters[0]);
    return 0;
}

/* NVRTC. */

typedef struct Source {
    char *text;
    char target[64];
    int failed;
} Source;

int nvrtcVersion(int *major, int *minor) {
    *major = 13, *minor = 0;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
    *count = 3;
    return 0;
}

int nvrtcGetSupportedArchs(int *numbers) {
    numbers[0] = 75, numbers[1] = 80, numbers[2] = 90;
    return 0;
}

int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                       const char *const *texts, const char *const *names) {
    (void)name, (void)texts, (void)names;
    Source *source = calloc(1, sizeof *source);
    source->text = strdup(text);
    *program = source;
    return headers;
}

static int *compiled; /* programs so far, by children, too */

__attribute__((constructor)) static void share_compiled(void) {
    compiled =
        mmap(NULL, sizeof *compiled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (compiled == MAP_FAILED) abort();
}

int gpu_stub_compiled(void);
int gpu_stub_compiled(void) {
    return *compiled;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    Source *source = program;
    snprintf(source->target, sizeof source->target, "%s", options[0]);
    ++*compiled;
    source->failed = strstr(source->text, "broken") != NULL;
    return source->failed ? 6 : count - 2;
}

int nvrtcDestroyProgram(void **program) {
    Source *source = *program;
    free(source->text);
    free(source);
    *program = NULL;
    return 0;
}

static const char fault[] = "program.cu(2): warning #177-D: never used\n"
                            "program.cu(7): error: identifier \"broken\" is undefined\n"
                            "program.cu(9): error: another one\n";

int nvrtcGetProgramLogSize(void *program, size_t *size) {
    *size = ((Source *)program)->failed ? sizeof fault : 1;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *log) {
    strcpy(log, ((Source *)program)->failed ? fault : "");
    return 0;
}

static int image_size(void *program, const char *kind, size_t *size) {
    Source *source = program;
    *size = strlen(source->text) + strlen(source->target) + 2;
    return strstr(source->target, kind) ? 0 : 5;
}

static int image(void *program, char *to) {
    Source *source = program;
    sprintf(to, "%s\n%s", source->target, source->text);
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *size) {
    return image_size(program, "=sm_90", size);
}

int nvrtcGetCUBIN(void *program, char *to) {
    return image(program, to);
}

int nvrtcGetPTXSize(void *program, size_t *size) {
    return image_size(program, "=compute_90", size);
}

int nvrtcGetPTX(void *program, char *to) {
    return image(program, to);
}
