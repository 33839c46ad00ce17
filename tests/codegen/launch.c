/* Launch: kernels of GPUs by the stand-in for one, inside the library of a test. */
#define _GNU_SOURCE
#include "runtime/device/launch.h"

#include "runtime/device/simulated.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel lies in the same library as this function. */
static FlowSimulatedKernel *find(const char *name) {
    Dl_info info;
    if (!dladdr((void *)flow_launch, &info)) return NULL;
    void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return library ? (FlowSimulatedKernel *)dlsym(library, name) : NULL;
}

void flow_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel, const int64_t *operands,
                 int64_t blocks) {
    FlowArguments arguments = {
        .memory = frame->memory, .guard = frame->guard, .batch = frame->batch};
    FlowSimulatedKernel *function = find(kernel->name);
    char fault[512] = "there is no such kernel";
    if (frame->sizes)
        memcpy(arguments.sizes, frame->sizes, (size_t)kernel->sizes * sizeof *frame->sizes);
    memcpy(arguments.inputs, frame->inputs, (size_t)kernel->inputs * sizeof *frame->inputs);
    memcpy(arguments.operands, operands, (size_t)kernel->operands * sizeof *operands);
    if (function && flow_simulate(function, kernel->name, &arguments, blocks, kernel->threads,
                                  fault, sizeof fault))
        return;
    printf("%s: %s\n", kernel->name, fault);
    abort();
}
