/* Launch by the driver: the kernels of a test run as a program's do, by CUDA's driver and NVRTC, on
 * whatever GPU they find. Linked with --wrap: the GPU is opened for the memory of each run, and
 * what it leaves on the GPU is brought home, where the test looks. */
#include "runtime/device/gpus.h"

#include <stdio.h>
#include <stdlib.h>

extern const FlowProgram flow_program;
const FlowDeviceImage flow_device_images[] = {{0}};

/* The kernels with all that they include: DEVICE_TEXT is a file's name. */
__asm__(".section .rodata\n"
        ".global flow_device_text\n"
        "flow_device_text: .incbin " DEVICE_TEXT "\n"
        ".byte 0\n"
        ".previous\n");

FlowKernel __real_flow_gpu_begin, __real_flow_gpu_end, __wrap_flow_gpu_begin, __wrap_flow_gpu_end;

static void *opened; /* the memory that the GPU was opened for */

static void check(FlowStatus status) {
    if (!status.exit) return;
    printf("%s\n", status.text);
    fflush(stdout);
    abort();
}

void __wrap_flow_gpu_begin(const FlowFrame *frame, const int64_t *operands, int thread,
                           int threads) {
    if (!thread && opened != frame->memory) {
        gpus_close();
        check(gpus_open(&flow_program, opened = frame->memory, flow_program.memory_size));
    }
    __real_flow_gpu_begin(frame, operands, thread, threads);
}

void __wrap_flow_gpu_end(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    __real_flow_gpu_end(frame, operands, thread, threads);
    if (thread) return;
    gpus_bring_home();
    check(gpus_status());
    gpus_close();
    opened = NULL;
}
