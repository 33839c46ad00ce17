#include "runtime/device/gpu.h"

#include "runtime/device/kernel_line.h"

#include <stdio.h>

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* of CUdevice_attribute */
enum { NOT_TIMED = 2, NOT_BLOCKING = 1 };              /* of events, of streams */
enum { OUT_OF_MEMORY = 2 };
enum { MOST_BLOCKS = INT32_MAX };

/* What went wrong. */

static bool succeeded(const Gpu *gpu, int error, const char *what, const char *kernel) {
    if (!error) return true;
    const KernelLine line = kernel_line(kernel ? gpu->text : NULL, kernel);
    return gpus_fail(FLOW_EXIT_resource, "gpu(%d), %.100s, can't %s%s%s%s%s: %s%s", gpu->number,
                     gpu->device.name[0] ? gpu->device.name : "a GPU", what, kernel ? " `" : "",
                     kernel ? kernel : "", kernel ? "`" : "", line.text,
                     driver_error(gpu->driver, error).text, driver_advice(error));
}

static bool use(const Gpu *gpu) {
    return succeeded(gpu, gpu->driver->use(gpu->context), "be used", NULL);
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

static bool allocate(Gpu *gpu, uint64_t *address, size_t size, const char *what) {
    int error = gpu->driver->allocate(address, size ? size : 1);
    if (!error) return true;
    *address = 0;
    if (error == OUT_OF_MEMORY) return lacks_memory(gpu, size, what);
    return succeeded(gpu, error, "allocate memory", NULL);
}

/* Opening. */

static bool describe(Gpu *gpu, int ordinal) {
    const Driver *driver = gpu->driver;
    size_t bytes = 0;
    int major = 0, minor = 0;
    if (!succeeded(gpu, driver->get(&gpu->handle, ordinal), "be opened", NULL)) return false;
    int error = driver->get_name(gpu->device.name, sizeof gpu->device.name, gpu->handle);
    if (!error) error = driver->get_memory(&bytes, gpu->handle);
    if (!error) error = driver->get_attribute(&major, CAPABILITY_MAJOR, gpu->handle);
    if (!error) error = driver->get_attribute(&minor, CAPABILITY_MINOR, gpu->handle);
    gpu->device.memory = bytes;
    gpu->capability = major * 10 + minor;
    return succeeded(gpu, error, "say what it is", NULL);
}

static bool start(Gpu *gpu) {
    const Driver *driver = gpu->driver;
    int error = driver->retain(&gpu->context, gpu->handle);
    if (error) gpu->context = NULL;
    if (!error) error = driver->use(gpu->context);
    if (!error) error = driver->new_stream(&gpu->stream, NOT_BLOCKING);
    if (!error) error = driver->new_event(&gpu->event, NOT_TIMED);
    return succeeded(gpu, error, "be started", NULL);
}

bool gpu_open(Gpu *gpu, const Driver *driver, int number, int ordinal, size_t memory) {
    *gpu = (Gpu){.driver = driver, .number = number};
    return describe(gpu, ordinal) && start(gpu) &&
           allocate(gpu, &gpu->guard, sizeof(FlowGuard), "its guard") &&
           allocate(gpu, &gpu->memory, memory, "the program");
}

bool gpu_not_loaded(const Gpu *gpu, int error) {
    return succeeded(gpu, error, "load the program's kernels", NULL);
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

static void free_memory(Gpu *gpu) {
    for (int i = 0; i < FLOW_LAUNCH_INPUTS; i++)
        if (gpu->inputs[i].address) gpu->driver->deallocate(gpu->inputs[i].address);
    if (gpu->memory) gpu->driver->deallocate(gpu->memory);
    if (gpu->guard) gpu->driver->deallocate(gpu->guard);
}

/* Nothing is done about errors: the process is about to leave. */
void gpu_close(Gpu *gpu) {
    const Driver *driver = gpu->driver;
    if (!gpu->context) return;
    driver->use(gpu->context);
    if (gpu->stream) driver->finish(gpu->stream);
    free_memory(gpu);
    if (gpu->module) driver->unload(gpu->module);
    if (gpu->event) driver->end_event(gpu->event);
    if (gpu->stream) driver->end_stream(gpu->stream);
    driver->use(NULL);
    driver->release(gpu->handle);
    *gpu = (Gpu){0};
}

/* Copies. */

bool gpu_copy_in(Gpu *gpu, uint64_t to, const void *from, size_t size) {
    return !size || (use(gpu) && succeeded(gpu, gpu->driver->copy_in(to, from, size, gpu->stream),
                                           "take a copy", NULL));
}

bool gpu_copy_out(Gpu *gpu, void *to, uint64_t from, size_t size) {
    return !size || (use(gpu) && succeeded(gpu, gpu->driver->copy_out(to, from, size, gpu->stream),
                                           "give a copy", NULL));
}

bool gpu_copy_within(Gpu *gpu, uint64_t to, uint64_t from, size_t size) {
    return !size ||
           (use(gpu) &&
            succeeded(gpu, gpu->driver->copy_within(to, from, size, gpu->stream), "copy", NULL));
}

/* What `later` is asked for from now on waits for what `first` was asked for. */
static bool wait_for(Gpu *later, Gpu *first) {
    const Driver *driver = first->driver;
    return use(first) &&
           succeeded(first, driver->record(first->event, first->stream), "be waited for", NULL) &&
           use(later) &&
           succeeded(later, driver->wait_for(later->stream, first->event, 0), "wait", NULL);
}

bool gpu_copy_across(Gpu *gpu, uint64_t to, Gpu *other, uint64_t from, size_t size) {
    return !size || (wait_for(gpu, other) &&
                     succeeded(gpu,
                               gpu->driver->copy_across(to, gpu->context, from, other->context,
                                                        size, gpu->stream),
                               "take a copy from another GPU", NULL) &&
                     wait_for(other, gpu));
}

bool gpu_finish(Gpu *gpu) {
    return use(gpu) && succeeded(gpu, gpu->driver->finish(gpu->stream), "do its kernels", NULL);
}

/* What was asked for may still read the memory that is given back. */
bool gpu_make_room(Gpu *gpu, int i, size_t size) {
    GpuInput *input = &gpu->inputs[i];
    if (input->address && size <= input->room) return true;
    if (!gpu_finish(gpu)) return false;
    if (input->address) gpu->driver->deallocate(input->address);
    *input = (GpuInput){0};
    if (!allocate(gpu, &input->address, size, "the data of a batch")) return false;
    input->room = size;
    return true;
}

/* Kernels. */

void *gpu_find(Gpu *gpu, const char *name) {
    void *function = NULL;
    if (!use(gpu) ||
        !succeeded(gpu, gpu->driver->find(&function, gpu->module, name), "find the kernel", name))
        return NULL;
    return function;
}

bool gpu_launch(Gpu *gpu, void *function, const char *name, FlowArguments *arguments,
                int64_t blocks, int threads) {
    void *parameters[] = {arguments};
    if (blocks < 1) return true;
    if (blocks > MOST_BLOCKS)
        return gpus_fail(FLOW_EXIT_resource,
                         "gpu(%d): the kernel `%s` has %lld blocks, more than "
                         "GPUs take",
                         gpu->number, name, (long long)blocks);
    return use(gpu) &&
           succeeded(gpu,
                     gpu->driver->launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                                         0, gpu->stream, parameters, NULL),
                     "launch the kernel", name);
}
