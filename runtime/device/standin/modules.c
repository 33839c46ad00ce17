/* Modules: an image is a shared library, loaded from a file that has no name any more. What a
 * kernel does wrong is said on standard error; the error that stays is that of a GPU. */
#define _GNU_SOURCE
#include "runtime/device/standin/standin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Module {
    void *library;
    const Device *device;
    Function *functions;
} Module;

/* Images. */

static bool write_all(int file, const char *bytes, size_t size) {
    while (size) {
        ssize_t written = write(file, bytes, size);
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static void *load(const char *bytes, size_t size) {
    char path[] = "/tmp/flowc-module-XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return NULL;
    bool written = write_all(file, bytes, size);
    void *library = !close(file) && written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(path);
    return library;
}

static int image_error(const ImageHead *head) {
    int own = 10 * MAJOR + MINOR;
    if (memcmp(head->mark, IMAGE_MARK, sizeof head->mark)) return ERROR_INVALID_IMAGE;
    bool same = head->architecture / 10 == MAJOR && head->architecture <= own;
    bool fits = head->is_virtual ? head->architecture <= own : same;
    if (head->is_alone && head->architecture != own) fits = false;
    return fits ? ERROR_SUCCESS : ERROR_NO_BINARY_FOR_GPU;
}

API int cuModuleLoadData(Module **module, const void *image) {
    ENTER(cuModuleLoadData);
    ImageHead head;
    memcpy(&head, image, sizeof head);
    int error = image_error(&head);
    if (error) return error;
    *module = calloc(1, sizeof **module);
    if (!*module) return ERROR_OUT_OF_MEMORY;
    (*module)->device = standin_device();
    (*module)->library = load((const char *)image + sizeof head, head.size);
    if ((*module)->library) return ERROR_SUCCESS;
    free(*module);
    return ERROR_INVALID_IMAGE;
}

API int cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options,
                           void **values) {
    (void)count, (void)options, (void)values;
    return cuModuleLoadData(module, image);
}

API int cuModuleUnload(Module *module) {
    ENTER(cuModuleUnload);
    device_wait(standin_device());
    for (Function *function = module->functions, *next; function; function = next) {
        next = function->next;
        free(function);
    }
    dlclose(module->library);
    free(module);
    return ERROR_SUCCESS;
}

API int cuModuleGetFunction(Function **found, Module *module, const char *name) {
    ENTER(cuModuleGetFunction);
    char about_name[220];
    snprintf(about_name, sizeof about_name, "%s_about", name);
    void *kernel = dlsym(module->library, name);
    const int64_t *about = dlsym(module->library, about_name);
    if (!kernel || !about) return ERROR_NOT_FOUND;
    Function *function = calloc(1, sizeof *function);
    if (!function) return ERROR_OUT_OF_MEMORY;
    *function = (Function){.kernel = (FlowSimulatedKernel *)kernel,
                           .arguments = about[0],
                           .threads = about[1],
                           .shared = SHARED_UNASKED,
                           .device = module->device,
                           .next = module->functions};
    snprintf(function->name, sizeof function->name, "%s", name);
    *found = module->functions = function;
    return ERROR_SUCCESS;
}

/* By the numbers of CUfunction_attribute: threads, then bytes of kinds of memory, registers. */
API int cuFuncGetAttribute(int *value, int attribute, const Function *function) {
    ENTER(cuFuncGetAttribute);
    *value = attribute == 0 ? (int)function->threads : attribute == 4 ? 32 : 0;
    return ERROR_SUCCESS;
}

/* 8: bytes of shared memory that a launch may add. */
API int cuFuncSetAttribute(Function *function, int attribute, int value) {
    ENTER(cuFuncSetAttribute);
    if (!function || attribute != 8 || value < 0 || value > standin_shared())
        return ERROR_INVALID_VALUE;
    function->shared = value;
    return ERROR_SUCCESS;
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const Function *function,
                                                    int threads, size_t shared) {
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    (void)function, (void)shared;
    *blocks = threads > 0 ? 2048 / threads : 0;
    return ERROR_SUCCESS;
}

/* Launches. */

int operation_launch(const Operation *operation) {
    char fault[512];
    const Function *function = operation->function;
    const FlowSimulatedShape shape = {operation->blocks, operation->records, operation->threads,
                                      operation->shared};
    if (flow_simulate_shape(function->kernel, function->name,
                            (const FlowArguments *)operation->bytes, shape, fault, sizeof fault))
        return ERROR_SUCCESS;
    fprintf(stderr, "simulated GPU: %s\n", fault);
    bool address = strstr(fault, ": byte ") || strstr(fault, "which is in no memory") ||
                   strstr(fault, "which was freed") || strstr(fault, "which device ");
    return address ? ERROR_ILLEGAL_ADDRESS : ERROR_LAUNCH_FAILED;
}

API int cuLaunchKernel(const Function *function, unsigned blocks, unsigned blocks_y,
                       unsigned blocks_z, unsigned threads, unsigned threads_y, unsigned threads_z,
                       unsigned shared, Stream *stream, void **parameters, void **extra) {
    ENTER(cuLaunchKernel);
    if (!function || function->device != stream_device(stream)) return ERROR_INVALID_HANDLE;
    if (!blocks || blocks > INT32_MAX || !threads || !blocks_y || blocks_y > UINT16_MAX ||
        blocks_z != 1 || threads_y != 1 || threads_z != 1 || extra || !parameters ||
        shared > (unsigned)function->shared)
        return ERROR_INVALID_VALUE;
    if (threads > function->threads) return ERROR_LAUNCH_OUT_OF_RESOURCES;
    Operation operation = {.kind = OPERATION_launch,
                           .function = function,
                           .blocks = blocks,
                           .records = blocks_y,
                           .threads = (int)threads,
                           .shared = (int)shared,
                           .bytes = aligned_alloc(64, (size_t)function->arguments)};
    if (!operation.bytes) return ERROR_OUT_OF_MEMORY;
    memcpy(operation.bytes, parameters[0], (size_t)function->arguments);
    return stream_put(stream, operation);
}
