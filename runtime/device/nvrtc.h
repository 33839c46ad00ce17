/* Nvrtc: the library that compiles CUDA for GPUs, which is there or not when this runs: the one
 * that $FLOWC_LIBNVRTC names, else the newest of the system's whose code the driver can take. */
#ifndef FLOW_NVRTC_H
#define FLOW_NVRTC_H

#include "runtime/device/device.h"
#include "runtime/flow.h"

/* How to get it, behind what is said to be missing. */
#define NVRTC_COMES                                             \
    "it comes with the CUDA toolkit (Debian: libnvrtc12, pip: " \
    "nvidia-cuda-nvrtc-cu12); FLOWC_LIBNVRTC names it when it is elsewhere"

/* What cuModuleLoadData takes. */
typedef struct GpuImage {
    char *bytes;
    size_t size;
} GpuImage;

/* The name of the library, of DEVICE_TEXT; "": there is none. Returns its version, as
 * driver_version, which the argument is; 0: not known. */
int nvrtc_name(int version, char *name);

/* It compiles in processes of their own, each with limits of the text, of memory and of time, which
 * $FLOWC_NVRTC_SECONDS may change. What was compiled before is taken from the user's cache. The
 * caller frees the bytes.
 *
 * For a GPU of that compute capability (90: 9.0): its own code, or where the library does not know
 * it, the code of the last one before it that drivers compile further. */
FlowStatus nvrtc_compile(const char *text, int capability, int version, GpuImage *image);

/* What is wanted ahead of any GPU. */
typedef struct NvrtcWish {
    int capability;
    bool is_ptx;   /* the code that drivers compile further, rather than that GPU's own */
    bool is_alone; /* with what later GPUs don't have: sm_90a */
    GpuImage image;
} NvrtcWish;

/* Compiles for all of them, so many at a time. Fails when one fails, with no image left; an unknown
 * kind of GPU is the user's mistake: FLOW_EXIT_usage. */
FlowStatus nvrtc_compile_all(const char *text, NvrtcWish *wishes, int count, int at_once);

#endif
