/* Ring: kernels whose operands the GPU brings by itself, from tensors that the driver has mapped.
 * Which tensors may be: CUDA's driver API, cuTensorMapEncodeTiled. */
#include "runtime/device/gpus_state.h"

#include <stdio.h>

enum { DYNAMIC_SHARED = 8 };                 /* of CUfunction_attribute */
enum { SHARED_OF_BLOCK = 97 };               /* of CUdevice_attribute: if it is asked for */
enum { INVALID_VALUE = 1, NOT_FOUND = 500 }; /* errors */
enum { HALVES = 1 /* as u16 */, AS_IT_IS = 0, SWIZZLE_128 = 3, BY_256_BYTES = 3, ZEROS = 0 };

/* It has less shared memory than its kind has. */
static bool lacks_shared(const Gpu *gpu, const FlowDeviceKernel *kernel, int wanted) {
    int most = 0;
    gpu->driver->get_attribute(&most, SHARED_OF_BLOCK, gpu->handle);
    return gpus_fail(FLOW_EXIT_resource,
                     "gpu(%d), %.100s, gives a block %d bytes of shared memory, and the kernel "
                     "`%.100s` needs %d; `flowc build --target=all` makes code that needs less",
                     gpu->number, gpu->device.name, most, kernel->name, wanted);
}

bool ring_find(Gpu *gpu, const FlowDeviceKernel *kernel, const FlowRing *ring, void **function) {
    char name[256];
    snprintf(name, sizeof name, "%.200s_ring", kernel->name);
    *function = NULL;
    if (!gpu_use(gpu)) return false;
    int error = gpu->driver->find(function, gpu->module, name);
    if (error == NOT_FOUND) return true;
    if (!error) error = gpu->driver->allow(*function, DYNAMIC_SHARED, ring->shared);
    if (error == INVALID_VALUE) return lacks_shared(gpu, kernel, ring->shared);
    return gpu_succeeded(gpu, error, "find the kernel", name);
}

static int map_tensor(const Driver *driver, const FlowTensor *tensor, const char *address,
                      FlowTensorMap *map) {
    const unsigned steps[FLOW_TENSOR_RANK] = {1, 1, 1, 1, 1};
    unsigned box[FLOW_TENSOR_RANK];
    uint64_t sizes[FLOW_TENSOR_RANK], strides[FLOW_TENSOR_RANK];
    for (int i = 0; i < tensor->rank; i++) /* a share of no records; there may be no size of none */
        sizes[i] = tensor->sizes[i] ? (uint64_t)tensor->sizes[i] : 1;
    for (int i = 0; i < tensor->rank; i++) box[i] = (unsigned)tensor->box[i];
    for (int i = 1; i < tensor->rank; i++) strides[i - 1] = (uint64_t)tensor->strides[i] * 2;
    return driver->map_tensor(map, HALVES, (unsigned)tensor->rank, (void *)(uintptr_t)address,
                              sizes, strides, box, steps, AS_IT_IS, SWIZZLE_128, BY_256_BYTES,
                              ZEROS);
}

bool ring_fill(Gpu *gpu, const FlowDeviceKernel *kernel, const FlowRing *ring,
               FlowArguments *arguments) {
    if (!gpu->driver->map_tensor)
        return gpus_fail(FLOW_EXIT_resource,
                         "gpu(%d): the NVIDIA driver is too old: it has no "
                         "cuTensorMapEncodeTiled; one for CUDA 12 or later does",
                         gpu->number);
    for (int i = 0; i < FLOW_LAUNCH_MAPS; i++) {
        const FlowTensor *tensor = &ring->tensors[i];
        const int64_t place = tensor->place;
        const char *base = place < 0 ? arguments->inputs[~place] : arguments->memory + place;
        int error = map_tensor(gpu->driver, tensor, base + tensor->offset, &arguments->maps[i]);
        if (error) return gpu_succeeded(gpu, error, "map an operand of the kernel", kernel->name);
    }
    return true;
}
