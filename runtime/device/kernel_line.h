/* Kernel line: where in the program a kernel for GPUs comes from. Inside device/. */
#ifndef FLOW_KERNEL_LINE_H
#define FLOW_KERNEL_LINE_H

#include <stddef.h>

typedef struct KernelLine {
    char text[160];
} KernelLine;

/* " (digits.flow:31, digits.flow:32)", by the comment that stands above the kernel in the text that
 * codegen wrote; "" where there is none. */
KernelLine kernel_line(const char *device_text, const char *name);

#endif
