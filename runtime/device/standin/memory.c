/* Memory: of the device, pinned and pageable; copies between them. Those from and to pinned memory
 * touch it when their turn comes, and what is copied to has nonsense until then. Pageable memory
 * is read before the call returns, and the call waits until it is written. */
#define _GNU_SOURCE
#include "runtime/device/standin/standin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Piece {
    Address address;
    size_t size;
    Device *device;  /* NULL: pinned memory of the host */
    bool registered; /* pinned, but not made here */
    struct Piece *next;
} Piece;

enum { NONSENSE = 0xff };

static Piece *pieces;

/* The link to the piece that has all the bytes; it is NULL if none has. Lock held. */
static Piece **find(Address address, size_t size) {
    Piece **link = &pieces;
    while (*link &&
           (address < (*link)->address || address - (*link)->address + size > (*link)->size))
        link = &(*link)->next;
    return link;
}

static bool add(Piece given) {
    Piece *piece = malloc(sizeof *piece);
    if (!piece) return false;
    *piece = given;
    pthread_mutex_lock(&standin_lock);
    piece->next = pieces;
    pieces = piece;
    if (piece->device) piece->device->used += piece->size;
    pthread_mutex_unlock(&standin_lock);
    return true;
}

/* The piece that begins there is none any more. */
static bool take(Address address, bool of_device, bool registered) {
    pthread_mutex_lock(&standin_lock);
    Piece **link = find(address, 0), *piece = *link;
    bool good = piece && piece->address == address && !piece->device == !of_device &&
                piece->registered == registered;
    if (good) *link = piece->next;
    if (good && piece->device) piece->device->used -= piece->size;
    pthread_mutex_unlock(&standin_lock);
    if (good) free(piece);
    return good;
}

bool memory_is_on(const Device *device, Address address, size_t size) {
    pthread_mutex_lock(&standin_lock);
    const Piece *piece = *find(address, size);
    bool found = piece && piece->device == device;
    pthread_mutex_unlock(&standin_lock);
    return found;
}

/* Another device's are not here. */
static bool is_here(Address address, size_t size) {
    return memory_is_on(standin_device(), address, size);
}

bool memory_is_pinned(const void *place, size_t size) {
    pthread_mutex_lock(&standin_lock);
    const Piece *piece = *find((uintptr_t)place, size);
    bool pinned = piece && !piece->device;
    pthread_mutex_unlock(&standin_lock);
    return pinned;
}

/* Does it begin in pinned memory and end outside? */
static bool leaves_pinned(const void *place, size_t size) {
    return memory_is_pinned(place, 1) && !memory_is_pinned(place, size);
}

/* Of the device. */

API int cuMemAlloc_v2(Address *address, size_t size) {
    ENTER(cuMemAlloc_v2);
    if (stream_forbids_allocation()) return ERROR_STREAM_CAPTURE_UNSUPPORTED;
    Device *device = standin_device();
    if (!size) return ERROR_INVALID_VALUE;
    if (size > device->memory - device->used) return ERROR_OUT_OF_MEMORY;
    flow_simulated_use(device->number);
    void *place = flow_simulated_allocate(size);
    *address = (uintptr_t)place;
    if (place && add((Piece){.address = *address, .size = size, .device = device}))
        return ERROR_SUCCESS;
    flow_simulated_free(place);
    return ERROR_OUT_OF_MEMORY;
}

API int cuMemFree_v2(Address address) {
    ENTER(cuMemFree_v2);
    if (!address) return ERROR_SUCCESS;
    device_wait(standin_device());
    if (!take(address, true, false)) return ERROR_INVALID_VALUE;
    flow_simulated_free((void *)(uintptr_t)address);
    return ERROR_SUCCESS;
}

API int cuMemGetInfo_v2(size_t *available, size_t *total) {
    ENTER(cuMemGetInfo_v2);
    *total = standin_device()->memory;
    *available = *total - standin_device()->used;
    return ERROR_SUCCESS;
}

/* Pinned. */

API int cuMemHostAlloc(void **place, size_t size, unsigned flags) {
    ENTER(cuMemHostAlloc);
    if (stream_forbids_allocation()) return ERROR_STREAM_CAPTURE_UNSUPPORTED;
    (void)flags;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!size) return ERROR_INVALID_VALUE;
    *place = aligned_alloc(page, (size + page - 1) / page * page);
    if (!*place) return ERROR_OUT_OF_MEMORY;
    memset(*place, NONSENSE, size);
    if (add((Piece){.address = (uintptr_t)*place, .size = size})) return ERROR_SUCCESS;
    free(*place);
    return ERROR_OUT_OF_MEMORY;
}

API int cuMemAllocHost_v2(void **place, size_t size) {
    return cuMemHostAlloc(place, size, 0);
}

API int cuMemFreeHost(void *place) {
    ENTER(cuMemFreeHost);
    device_wait(standin_device());
    if (!take((uintptr_t)place, false, false)) return ERROR_INVALID_VALUE;
    free(place);
    return ERROR_SUCCESS;
}

API int cuMemHostRegister_v2(void *place, size_t size, unsigned flags) {
    ENTER(cuMemHostRegister_v2);
    (void)flags;
    if (!place || !size) return ERROR_INVALID_VALUE;
    return add((Piece){.address = (uintptr_t)place, .size = size, .registered = true})
               ? ERROR_SUCCESS
               : ERROR_OUT_OF_MEMORY;
}

API int cuMemHostUnregister(void *place) {
    ENTER(cuMemHostUnregister);
    device_wait(standin_device());
    return take((uintptr_t)place, false, true) ? ERROR_SUCCESS : ERROR_INVALID_VALUE;
}

/* Copies, when their turn comes. */

static void to_device(const Operation *operation, char *target) {
    const char *source = operation->bytes ? operation->bytes : (char *)(uintptr_t)operation->source;
    memcpy(target, source, operation->size);
}

static void from_device(const Operation *operation) {
    void *address = (void *)(uintptr_t)operation->source;
    char *source = flow_simulated_host(address, operation->size);
    if (source) memcpy((void *)(uintptr_t)operation->target, source, operation->size);
}

static void change_device(const Operation *operation) {
    void *address = (void *)(uintptr_t)operation->target, *source;
    char *target = flow_simulated_host(address, operation->size);
    if (!target) return;
    flow_simulated_mark(address, operation->size, true);
    if (operation->kind == OPERATION_fill) memset(target, (int)operation->value, operation->size);
    if (operation->kind == OPERATION_to_device) to_device(operation, target);
    if (operation->kind != OPERATION_within) return;
    source = flow_simulated_host((void *)(uintptr_t)operation->source, operation->size);
    if (source) memmove(target, source, operation->size);
}

void operation_begin(const Operation *operation) {
    if (operation->kind == OPERATION_from_device)
        memset((void *)(uintptr_t)operation->target, NONSENSE, operation->size);
}

int operation_run(const Operation *operation) {
    if (operation->kind == OPERATION_launch) return operation_launch(operation);
    if (operation->kind == OPERATION_from_device) from_device(operation);
    else change_device(operation);
    return ERROR_SUCCESS;
}

/* Copies, when they are asked for. */

static int put_to_device(Address target, const void *source, size_t size, Stream *stream) {
    Operation operation = {
        .kind = OPERATION_to_device, .target = target, .source = (uintptr_t)source, .size = size};
    if (!is_here(target, size) || leaves_pinned(source, size)) return ERROR_INVALID_VALUE;
    if (!memory_is_pinned(source, size)) {
        operation.bytes = malloc(size + 1);
        if (!operation.bytes) return ERROR_OUT_OF_MEMORY;
        memcpy(operation.bytes, source, size);
    }
    return stream_put(stream, operation);
}

static int put_from_device(void *target, Address source, size_t size, Stream *stream) {
    bool pinned = memory_is_pinned(target, size);
    if (!is_here(source, size) || leaves_pinned(target, size)) return ERROR_INVALID_VALUE;
    int error = stream_put(stream, (Operation){.kind = OPERATION_from_device,
                                               .target = (uintptr_t)target,
                                               .source = source,
                                               .size = size});
    return error || pinned ? error : stream_wait(stream);
}

API int cuMemcpyHtoDAsync_v2(Address target, const void *source, size_t size, Stream *stream) {
    ENTER(cuMemcpyHtoDAsync_v2);
    return put_to_device(target, source, size, stream);
}

API int cuMemcpyHtoD_v2(Address target, const void *source, size_t size) {
    ENTER(cuMemcpyHtoD_v2);
    return put_to_device(target, source, size, NULL);
}

API int cuMemcpyDtoHAsync_v2(void *target, Address source, size_t size, Stream *stream) {
    ENTER(cuMemcpyDtoHAsync_v2);
    return put_from_device(target, source, size, stream);
}

API int cuMemcpyDtoH_v2(void *target, Address source, size_t size) {
    ENTER(cuMemcpyDtoH_v2);
    return put_from_device(target, source, size, NULL);
}

API int cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, Stream *stream) {
    ENTER(cuMemcpyDtoDAsync_v2);
    if (!is_here(target, size) || !is_here(source, size)) return ERROR_INVALID_VALUE;
    return stream_put(
        stream,
        (Operation){.kind = OPERATION_within, .target = target, .source = source, .size = size});
}

/* Between devices; in the order of the stream of either. */
API int cuMemcpyPeerAsync(Address target, Device *target_device, Address source,
                          Device *source_device, size_t size, Stream *stream) {
    ENTER(cuMemcpyPeerAsync);
    if (!target_device || !source_device) return ERROR_INVALID_CONTEXT;
    if (!memory_is_on(target_device, target, size) || !memory_is_on(source_device, source, size))
        return ERROR_INVALID_VALUE;
    return stream_put(
        stream,
        (Operation){.kind = OPERATION_within, .target = target, .source = source, .size = size});
}

API int cuMemsetD8Async(Address target, unsigned char value, size_t size, Stream *stream) {
    ENTER(cuMemsetD8Async);
    if (!is_here(target, size)) return ERROR_INVALID_VALUE;
    return stream_put(
        stream,
        (Operation){.kind = OPERATION_fill, .target = target, .size = size, .value = value});
}

API int cuMemsetD8_v2(Address target, unsigned char value, size_t size) {
    return cuMemsetD8Async(target, value, size, NULL);
}

/* Tensor maps: only of halves as u16, in boxes of which 128 bytes are swizzled, with zeros
 * around. */
API int cuTensorMapEncodeTiled(FlowTensorMap *map, int type, unsigned rank, void *address,
                               const uint64_t *sizes, const uint64_t *strides, const unsigned *box,
                               const unsigned *steps, int interleave, int swizzle, int promotion,
                               int fill) {
    enum { U16 = 1, SWIZZLE_128 = 3 };
    FlowSimulatedTensor tensor = {.address = (uintptr_t)address, .element = 2};
    ENTER_ANYWHERE(cuTensorMapEncodeTiled);
    if (type != U16 || !rank || rank > 5 || interleave || swizzle != SWIZZLE_128 || promotion < 0 ||
        promotion > 3 || fill)
        return ERROR_INVALID_VALUE;
    tensor.rank = (int32_t)rank;
    for (unsigned i = 0; i < rank; i++) {
        if (steps[i] != 1) return ERROR_INVALID_VALUE;
        tensor.sizes[i] = sizes[i];
        tensor.box[i] = (int32_t)box[i];
        if (i) tensor.strides[i - 1] = strides[i - 1];
    }
    return flow_simulated_map(map, &tensor) ? ERROR_SUCCESS : ERROR_INVALID_VALUE;
}
