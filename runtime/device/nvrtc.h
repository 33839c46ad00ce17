/* Nvrtc: the library that compiles CUDA for GPUs, which is there or not when this runs: the one
 * that $FLOWC_LIBNVRTC names, else the newest of the system's whose code the driver can take. */
#ifndef FLOW_NVRTC_H
#define FLOW_NVRTC_H

#include "runtime/device/device.h"
#include "runtime/flow.h"

/* What cuModuleLoadData takes. */
typedef struct GpuImage {
    char *bytes;
    size_t size;
} GpuImage;

/* The name of the library; "": there is none. version: as driver_version. name: of DEVICE_TEXT. */
void nvrtc_name(int version, char *name);

/* Compiles for a GPU of that compute capability (90: 9.0): to its own code, or where the library
 * does not know it, to the code of the last one before it that drivers compile further. What was
 * compiled before is taken from the user's cache. The caller frees the bytes. */
FlowStatus nvrtc_compile(const char *text, int capability, int version, GpuImage *image);

#endif
