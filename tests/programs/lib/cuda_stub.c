/* A driver of CUDA with two GPUs, or with a fault that CUDA_STUB names: for a machine without
 * one. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fails_at(const char *what) {
    const char *fault = getenv("CUDA_STUB");
    return fault && !strcmp(fault, what) ? 100 : 0;
}

int cuInit(unsigned flags) {
    (void)flags;
    return fails_at("init");
}

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = fails_at("empty") ? 0 : 2;
    return fails_at("count");
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return fails_at("get");
}

int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "Stub %d", device);
    return fails_at("name");
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)(8 + 8 * device) << 30;
    return fails_at("memory");
}

int cuGetErrorString(int error, const char **text) {
    *text = "no CUDA-capable device is detected";
    return error == 100 ? 0 : 1;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)value, (void)attribute, (void)device;
    return 801;
}

int cuDeviceCanAccessPeer(int *can, int device, int other) {
    (void)can, (void)device, (void)other;
    return 801;
}

/* What a driver has to have, too; nobody calls it here. */
#define UNUSED(symbol) \
    int symbol(void) { \
        return 801;    \
    }
UNUSED(cuCtxGetCurrent)
UNUSED(cuThreadExchangeStreamCaptureMode)
UNUSED(cuDevicePrimaryCtxSetFlags_v2)
UNUSED(cuDevicePrimaryCtxRetain)
UNUSED(cuDevicePrimaryCtxRelease_v2)
UNUSED(cuCtxSetCurrent)
UNUSED(cuCtxEnablePeerAccess)
UNUSED(cuMemGetInfo_v2)
UNUSED(cuMemAlloc_v2)
UNUSED(cuMemFree_v2)
UNUSED(cuMemcpyHtoDAsync_v2)
UNUSED(cuMemcpyDtoHAsync_v2)
UNUSED(cuMemcpyDtoDAsync_v2)
UNUSED(cuMemcpyPeerAsync)
UNUSED(cuStreamCreate)
UNUSED(cuStreamDestroy_v2)
UNUSED(cuStreamSynchronize)
UNUSED(cuStreamWaitEvent)
UNUSED(cuEventCreate)
UNUSED(cuEventRecord)
UNUSED(cuEventDestroy_v2)
UNUSED(cuModuleLoadData)
UNUSED(cuModuleUnload)
UNUSED(cuModuleGetFunction)
UNUSED(cuFuncSetAttribute)
UNUSED(cuLaunchKernel)
UNUSED(cuEventElapsedTime)
UNUSED(cuEventQuery)
UNUSED(cuEventSynchronize)
UNUSED(cuGraphDestroy)
UNUSED(cuGraphExecDestroy)
UNUSED(cuGraphInstantiateWithFlags)
UNUSED(cuGraphLaunch)
UNUSED(cuMemFreeHost)
UNUSED(cuMemHostAlloc)
UNUSED(cuStreamBeginCapture_v2)
UNUSED(cuStreamEndCapture)
