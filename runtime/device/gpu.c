#define _GNU_SOURCE
#include "runtime/device/gpu.h"

#include "runtime/device/gpus_state.h"
#include "runtime/device/kernel_line.h"
#include "runtime/device/replay.h"
#include "runtime/device/times.h"
#include "runtime/device/turn.h"
#include "runtime/device/whole.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLEEPING = 1, NOT_TIMED = 2, NOT_BLOCKING = 1 }; /* of events; of streams */
enum { WAITERS_SLEEP = 4 };                             /* of contexts */
enum { FOR_ALL_GPUS = 1 };                              /* of memory of the host */
enum { OUT_OF_MEMORY = 2, NOT_READY = 600, REACHED_ALREADY = 704, TOO_MANY_REACHED = 711 };
enum { MOST_BLOCKS = INT32_MAX };
enum { WAIT_MICROSECONDS = 50, LOOK_EVERY = 200 };

/* What went wrong. */

bool gpu_succeeded(const Gpu *gpu, int error, const char *what, const char *kernel) {
    if (!error) return true;
    const KernelLine line = kernel_line(kernel ? gpu->text : NULL, kernel);
    return gpus_fail(FLOW_EXIT_resource, "gpu(%d), %.100s, can't %s%s%s%s%s: %s%s", gpu->number,
                     gpu->device.name[0] ? gpu->device.name : "a GPU", what, kernel ? " `" : "",
                     kernel ? kernel : "", kernel ? "`" : "", line.text,
                     driver_error(gpu->driver, error).text, driver_advice(error));
}

bool gpu_use(const Gpu *gpu) {
    return gpu_succeeded(gpu, gpu->driver->use(gpu->context), "be used", NULL);
}

static bool lacks_memory(const Gpu *gpu, size_t wanted, const char *what) {
    size_t available = 0, total = 0;
    gpu->driver->free_memory(&available, &total);
    return gpus_fail(FLOW_EXIT_resource,
                     "gpu(%d), %.100s, has no memory for %s: %.1f MiB are wanted, %.1f of its "
                     "%.1f MiB are free%s",
                     gpu->number, gpu->device.name, what, (double)wanted / 0x1p20,
                     (double)available / 0x1p20, (double)total / 0x1p20,
                     driver_advice(OUT_OF_MEMORY));
}

bool gpu_allocate(Gpu *gpu, uint64_t *address, size_t size, const char *what) {
    *address = 0;
    gpu->counts->allocations++;
    if (!gpu_use(gpu)) return false;
    int error = gpu->driver->allocate(address, size ? size : 1);
    if (!error) return true;
    *address = 0;
    if (error == OUT_OF_MEMORY) return lacks_memory(gpu, size, what);
    return gpu_succeeded(gpu, error, "allocate memory", NULL);
}

void *gpu_new_pinned(Gpu *gpu, size_t size) {
    void *memory = NULL;
    if (!size) size = 1;
    gpu->counts->allocations++;
    if (!gpu_use(gpu) || gpu->driver->new_pinned(&memory, size, FOR_ALL_GPUS)) return NULL;
    return memset(memory, 0, size);
}

void gpu_end_pinned(Gpu *gpu, void *memory) {
    if (memory && !gpu->driver->use(gpu->context)) gpu->driver->end_pinned(memory);
}

/* Opening. */

static bool describe(Gpu *gpu) {
    const Driver *driver = gpu->driver;
    size_t bytes = 0;
    if (!gpu_succeeded(gpu, driver->get(&gpu->handle, gpu->ordinal), "be opened", NULL))
        return false;
    int error = driver->get_name(gpu->device.name, sizeof gpu->device.name, gpu->handle);
    if (!error) error = driver->get_memory(&bytes, gpu->handle);
    if (!error) error = driver_capability(driver, gpu->handle, &gpu->capability);
    gpu->device.memory = bytes;
    return gpu_succeeded(gpu, error, "say what it is", NULL);
}

static bool start(Gpu *gpu) {
    const Driver *driver = gpu->driver;
    int error = gpus_state.guest ? 0 : driver->set_flags(gpu->handle, WAITERS_SLEEP);
    if (!error) error = driver->retain(&gpu->context, gpu->handle);
    if (error) gpu->context = NULL;
    if (!error) error = driver->use(gpu->context);
    for (int i = 0; i < GPU_SUMS && !error; i++)
        error = driver->new_stream(&gpu->streams[i], NOT_BLOCKING);
    return gpu_succeeded(gpu, error, "be started", NULL) && gpu_new_event(gpu, &gpu->event);
}

bool gpu_open_sums(Gpu *gpu) {
    return gpu->streams[GPU_SUMS] ||
           (gpu_use(gpu) &&
            gpu_succeeded(gpu, gpu->driver->new_stream(&gpu->streams[GPU_SUMS], NOT_BLOCKING),
                          "be started", NULL));
}

bool gpu_open(Gpu *gpu, const Driver *driver, GpuCounts *counts, int number, int ordinal,
              size_t memory) {
    *gpu = (Gpu){.driver = driver, .counts = counts, .number = number, .ordinal = ordinal};
    return describe(gpu) && start(gpu) &&
           (!memory || gpu_allocate(gpu, &gpu->memory, memory, "the program")) && turns_open(gpu) &&
           times_open(gpu);
}

bool gpu_not_loaded(const Gpu *gpu, int error) {
    return gpu_succeeded(gpu, error, "load the program's kernels", NULL);
}

int gpu_try(Gpu *gpu, const char *image) {
    const Driver *driver = gpu->driver;
    int error = driver->use(gpu->context);
    if (!error && gpu->module) error = driver->unload(gpu->module);
    gpu->module = NULL;
    if (!error) error = driver->load(&gpu->module, image);
    if (error) gpu->module = NULL;
    return error;
}

bool gpu_load(Gpu *gpu, const GpuImage *image) {
    return gpu_not_loaded(gpu, gpu_try(gpu, image->bytes));
}

/* Nothing is done about errors: the process is about to leave. */
void gpu_close(Gpu *gpu) {
    const Driver *driver = gpu->driver;
    if (!gpu->context) return;
    driver->use(gpu->context);
    for (int i = 0; i < GPU_STREAMS; i++)
        if (gpu->streams[i] && i != GPU_RECORDER) driver->finish(gpu->streams[i]);
    times_close(gpu);
    turns_close(gpu);
    if (gpu->memory) driver->deallocate(gpu->memory);
    if (gpu->numbers) driver->deallocate(gpu->numbers);
    if (gpu->joining) driver->deallocate(gpu->joining);
    if (gpu->module) driver->unload(gpu->module);
    if (gpu->event) driver->end_event(gpu->event);
    for (int i = 0; i < GPU_STREAMS; i++)
        if (gpu->streams[i]) driver->end_stream(gpu->streams[i]);
    driver->use(NULL);
    driver->release(gpu->handle);
    *gpu = (Gpu){0};
}

bool gpu_open_beside(Gpu *gpu, GpuCounts *counts, const Gpu *first, int station) {
    *gpu = (Gpu){.driver = first->driver,
                 .counts = counts,
                 .number = first->number,
                 .capability = first->capability,
                 .device = first->device,
                 .handle = first->handle,
                 .context = first->context,
                 .module = first->module,
                 .station = station};
    return gpu_use(gpu) &&
           gpu_succeeded(gpu, gpu->driver->new_stream(&gpu->streams[GPU_KERNELS], NOT_BLOCKING),
                         "be started", NULL) &&
           times_open(gpu);
}

void gpu_close_beside(Gpu *gpu) {
    void *stream = gpu->streams[GPU_KERNELS];
    times_close(gpu);
    if (stream && !gpu->driver->use(gpu->context)) gpu->driver->end_stream(stream);
    *gpu = (Gpu){0};
}

bool gpu_reach(Gpu *gpu, const Gpu *other) {
    int can = 0;
    int error = gpu->driver->can_reach(&can, gpu->handle, other->handle);
    if (!error && can && !gpu_use(gpu)) return false;
    if (!error && can) error = gpu->driver->reach(other->context, 0);
    const bool good = error == REACHED_ALREADY || error == TOO_MANY_REACHED;
    return good || gpu_succeeded(gpu, error, "reach another GPU", NULL);
}

/* Events. */

bool gpu_new_event(Gpu *gpu, void **event) {
    return gpu_succeeded(gpu, gpu->driver->new_event(event, SLEEPING | NOT_TIMED), "be started",
                         NULL);
}

bool gpu_record(Gpu *gpu, void *event, GpuStream stream) {
    return gpu_use(gpu) && gpu_succeeded(gpu, gpu->driver->record(event, gpu->streams[stream]),
                                         "be waited for", NULL);
}

static bool await(Gpu *gpu, GpuStream stream, void *event) {
    return gpu_use(gpu) &&
           gpu_succeeded(gpu, gpu->driver->wait_for(gpu->streams[stream], event, 0), "wait", NULL);
}

bool gpu_order(Gpu *gpu, GpuStream first, void *event, GpuStream later) {
    return gpu_record(gpu, event, first) && await(gpu, later, event);
}

/* What NCCL meets the driver does not know: a sum that never ends would be waited for. */
static int look_and_wait(const Gpu *gpu, void *event) {
    int error = gpu->driver->has_happened(event);
    for (int turn = 1; error == NOT_READY && (turn % LOOK_EVERY || whole_goes_on()); turn++) {
        usleep(WAIT_MICROSECONDS);
        error = gpu->driver->has_happened(event);
    }
    return error;
}

bool gpu_wait(Gpu *gpu, void *event, const char *what) {
    if (!gpu_use(gpu)) return false;
    int error = gpu->driver->has_happened(event);
    if (error == NOT_READY) {
        gpu->counts->waits++;
        error = whole_uses_nccl() ? look_and_wait(gpu, event) : gpu->driver->wait_until(event);
    }
    return gpu_succeeded(gpu, error, what, NULL);
}

/* May what the stream does wait for NCCL? Not of a GPU beside another. */
static bool follows_sums(const Gpu *gpu, GpuStream stream) {
    return !gpu->station && (stream == GPU_KERNELS || stream == GPU_SUMS) && whole_uses_nccl();
}

/* The current GPU's. */
static int finish(Gpu *gpu, GpuStream stream) {
    if (!follows_sums(gpu, stream)) return gpu->driver->finish(gpu->streams[stream]);
    const int error = gpu->driver->record(gpu->event, gpu->streams[stream]);
    return error ? error : look_and_wait(gpu, gpu->event);
}

bool gpu_finish(Gpu *gpu) {
    gpu->counts->synchronisations++;
    return gpu_use(gpu) && gpu_succeeded(gpu, finish(gpu, GPU_KERNELS), "do its kernels", NULL);
}

bool gpu_finish_sums(Gpu *gpu) {
    return !gpu->streams[GPU_SUMS] ||
           (gpu_use(gpu) && gpu_succeeded(gpu, finish(gpu, GPU_SUMS), "add up", NULL));
}

bool gpu_finish_copies(Gpu *gpu) {
    gpu->counts->synchronisations++;
    return gpu_use(gpu) &&
           gpu_succeeded(gpu, gpu->driver->finish(gpu->streams[GPU_IN]), "take copies", NULL);
}

/* Copies. */

/* The driver may wait in a copy of memory that is not pinned: for all before it. */
static bool may_copy(Gpu *gpu, GpuStream stream) {
    return gpu_use(gpu) && (!follows_sums(gpu, stream) ||
                            gpu_succeeded(gpu, finish(gpu, stream), "do its kernels", NULL));
}

bool gpu_copy_in(Gpu *gpu, GpuStream stream, uint64_t to, const void *from, size_t size) {
    if (!size) return true;
    gpu->counts->copies_in++;
    gpu->counts->bytes_in += (int64_t)size;
    if (!may_copy(gpu, stream)) return false;
    times_begin(gpu, stream, "copy in");
    int error = gpu->driver->copy_in(to, from, size, gpu->streams[stream]);
    times_end(gpu, stream);
    return gpu_succeeded(gpu, error, "take a copy", NULL);
}

bool gpu_copy_out(Gpu *gpu, GpuStream stream, void *to, uint64_t from, size_t size) {
    if (!size) return true;
    gpu->counts->copies_out++;
    gpu->counts->bytes_out += (int64_t)size;
    if (!may_copy(gpu, stream)) return false;
    times_begin(gpu, stream, "copy out");
    int error = gpu->driver->copy_out(to, from, size, gpu->streams[stream]);
    times_end(gpu, stream);
    return gpu_succeeded(gpu, error, "give a copy", NULL);
}

static bool copy_within(Gpu *gpu, GpuStream stream, uint64_t to, uint64_t from, size_t size) {
    times_begin(gpu, stream, "copy");
    int error = gpu->driver->copy_within(to, from, size, gpu->streams[stream]);
    times_end(gpu, stream);
    return gpu_succeeded(gpu, error, "copy", NULL);
}

bool gpu_copy_within(Gpu *gpu, uint64_t to, uint64_t from, size_t size) {
    if (!size || replay_has_it(gpu)) return true;
    return gpu_use(gpu) && copy_within(gpu, GPU_KERNELS, to, from, size) &&
           (!gpu->records || !replay_add(gpu) || copy_within(gpu, GPU_RECORDER, to, from, size));
}

/* What `later` is asked for from now on waits for what `first` was asked for. */
static bool wait_for(Gpu *later, Gpu *first) {
    return gpu_record(first, first->event, GPU_KERNELS) && await(later, GPU_KERNELS, first->event);
}

bool gpu_copy_across(Gpu *gpu, uint64_t to, Gpu *other, uint64_t from, size_t size) {
    if (!size) return true;
    if (!wait_for(gpu, other)) return false;
    times_begin(gpu, GPU_KERNELS, "copy from another GPU");
    int error = gpu->driver->copy_across(to, gpu->context, from, other->context, size,
                                         gpu->streams[GPU_KERNELS]);
    times_end(gpu, GPU_KERNELS);
    return gpu_succeeded(gpu, error, "take a copy from another GPU", NULL) && wait_for(other, gpu);
}

/* Kernels. */

void *gpu_find(Gpu *gpu, const char *name) {
    void *function = NULL;
    if (!gpu_use(gpu) || !gpu_succeeded(gpu, gpu->driver->find(&function, gpu->module, name),
                                        "find the kernel", name))
        return NULL;
    return function;
}

static int launch(Gpu *gpu, GpuStream stream, void *function, FlowArguments *arguments,
                  GpuShape shape) {
    void *parameters[] = {arguments};
    const unsigned records = arguments->records ? (unsigned)arguments->records : 1;
    times_begin(gpu, stream, "kernel");
    int error =
        gpu->driver->launch(function, (unsigned)shape.blocks, records, 1, (unsigned)shape.threads,
                            1, 1, (unsigned)shape.shared, gpu->streams[stream], parameters, NULL);
    times_end(gpu, stream);
    return error;
}

bool gpu_launch(Gpu *gpu, void *function, const char *name, FlowArguments *arguments,
                GpuShape shape) {
    if (shape.blocks < 1) return true;
    if (shape.blocks > MOST_BLOCKS)
        return gpus_fail(FLOW_EXIT_resource,
                         "gpu(%d): the kernel `%s` has %lld blocks, more than "
                         "GPUs take",
                         gpu->number, name, (long long)shape.blocks);
    gpu->counts->launches++;
    if (!gpu_use(gpu)) return false;
    int error = launch(gpu, GPU_KERNELS, function, arguments, shape);
    if (!error && gpu->records && replay_add(gpu))
        error = launch(gpu, GPU_RECORDER, function, arguments, shape);
    return gpu_succeeded(gpu, error, "launch the kernel", name);
}
