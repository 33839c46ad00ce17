/* Cuda: GPUs by the driver's library, which is there or not when this runs. */
#define _GNU_SOURCE
#include "runtime/device/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct Cuda {
    void *library;
#define CUDA(name, symbol, parameters) int(*name) parameters;
#include "runtime/device/cuda.def"
#undef CUDA
} Cuda;

/* NULL, or what is missing. */
static const char *load(Cuda *cuda) {
    cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->library) return "libcuda.so.1";
#define CUDA(name, symbol, parameters) \
    if (!(*(void **)&cuda->name = dlsym(cuda->library, #symbol))) return #symbol;
#include "runtime/device/cuda.def"
#undef CUDA
    return NULL;
}

static bool succeeded(const Cuda *cuda, int error, const char *what, Gpus *gpus) {
    const char *text = NULL;
    if (!error) return true;
    if (cuda->error_text(error, &text) || !text) text = "an unknown error";
    snprintf(gpus->missing, sizeof gpus->missing, "the NVIDIA driver can't %s: %s (%d)", what, text,
             error);
    return false;
}

static bool describe(const Cuda *cuda, int ordinal, Gpus *gpus) {
    Device *device = &gpus->items[ordinal];
    size_t bytes = 0;
    int handle;
    if (!succeeded(cuda, cuda->get(&handle, ordinal), "open a GPU", gpus) ||
        !succeeded(cuda, cuda->get_name(device->name, sizeof device->name, handle), "name a GPU",
                   gpus) ||
        !succeeded(cuda, cuda->get_memory(&bytes, handle), "tell a GPU's memory", gpus))
        return false;
    device->memory = bytes;
    return true;
}

static void list(const Cuda *cuda, Gpus *gpus) {
    int count = 0;
    if (!succeeded(cuda, cuda->initialise(0), "start", gpus) ||
        !succeeded(cuda, cuda->count(&count), "count the GPUs", gpus))
        return;
    if (!count) snprintf(gpus->missing, sizeof gpus->missing, "the NVIDIA driver sees no GPU");
    for (int i = 0; i < count && i < DEVICE_LIMIT && describe(cuda, i, gpus); i++)
        gpus->count = i + 1;
}

static void find_compiler(Gpus *gpus) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !gpus->compiler[0]; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (library) snprintf(gpus->compiler, sizeof gpus->compiler, "%s", names[i]);
        if (library) dlclose(library);
    }
}

/* The driver stays loaded: it keeps threads that would be torn out of it. */
void gpus_ask(Gpus *gpus) {
    Cuda cuda = {0};
    *gpus = (Gpus){0};
    find_compiler(gpus);
    const char *missing = load(&cuda);
    if (!missing) list(&cuda, gpus);
    else
        snprintf(gpus->missing, sizeof gpus->missing,
                 cuda.library ? "the NVIDIA driver is too old: it has no %s"
                              : "no NVIDIA driver: %s is not found",
                 missing);
}
