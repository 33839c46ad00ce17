/* Devices: how many there are, what they say of themselves, which one a thread works with; and what
 * every call begins with. */
#define _GNU_SOURCE
#include "runtime/device/standin/standin.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t standin_changed = PTHREAD_COND_INITIALIZER;

static Device devices[DEVICE_MOST];
static int device_count = -1; /* before cuInit */
static _Thread_local Device *current;

static const struct Result {
    int number;
    const char *name, *text;
} results[] = {
#define ERROR(name, number, text) {number, "CUDA_ERROR_" #name, text},
#include "runtime/device/standin/errors.def"
#undef ERROR
};

enum { RESULTS = sizeof results / sizeof *results };

/* Settings. */

uint64_t standin_setting(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int standin_result_of(const char *name) {
    for (int i = 0; i < RESULTS; i++)
        if (!strcmp(results[i].name + strlen("CUDA_ERROR_"), name)) return results[i].number;
    return -1;
}

static int wanted_devices(void) {
    const char *text = getenv("FLOWC_SIMULATE");
    int count = text && !strncmp(text, "gpu:", 4) ? atoi(text + 4) : 1;
    return count < 0 ? 0 : count > DEVICE_MOST ? DEVICE_MOST : count;
}

/* Errors on demand. */

static int usual_fault(const char *call) {
    bool takes_memory = strstr(call, "Alloc") || strstr(call, "Create");
    return takes_memory ? ERROR_OUT_OF_MEMORY : ERROR_ILLEGAL_ADDRESS;
}

/* For who wants to know how many there are. */
static void count_call(const char *call) {
    const char *path = getenv("FLOWC_SIMULATE_CALLS");
    FILE *list = path ? fopen(path, "ae") : NULL;
    if (!list) return;
    fprintf(list, "%s\n", call);
    fclose(list);
}

static bool is_demanded(const char *call, char *error) {
    static _Atomic int calls;
    char name[64] = "";
    int number = 0;
    const char *text = getenv("FLOWC_SIMULATE_FAULT");
    *error = 0;
    if (!text || sscanf(text, "%63[^:]:%d:%63s", name, &number, error) < 2) return false;
    if (strcmp(name, call) && strcmp(name, "*")) return false;
    return ++calls == number;
}

bool standin_fails(const char *call, char *error) {
    count_call(call);
    return is_demanded(call, error);
}

static int demanded_fault(const char *call) {
    char error[64];
    if (!standin_fails(call, error)) return ERROR_SUCCESS;
    int found = *error ? standin_result_of(error) : usual_fault(call);
    return found < 0 ? ERROR_UNKNOWN : found;
}

bool standin_loses(const char *call) {
    static _Atomic int calls;
    char name[64] = "";
    int first = 0, step = 0;
    const char *text = getenv("FLOWC_SIMULATE_LOSE");
    if (!text || sscanf(text, "%63[^:]:%d:%d", name, &first, &step) < 3 || strcmp(name, call))
        return false;
    int number = ++calls;
    return number >= first && step > 0 && (number - first) % step == 0;
}

static bool stays(int error) {
    return error >= ERROR_ILLEGAL_ADDRESS && error <= ERROR_LAUNCH_FAILED &&
           error != ERROR_LAUNCH_OUT_OF_RESOURCES && error != ERROR_PEER_ACCESS_ALREADY_ENABLED &&
           error != ERROR_TOO_MANY_PEERS;
}

int standin_enter(const char *call, bool with_context) {
    int fault = demanded_fault(call);
    if (device_count < 0 && strcmp(call, "cuInit")) return ERROR_NOT_INITIALIZED;
    if (fault && stays(fault) && current) current->error = fault;
    if (fault || !with_context) return fault;
    return current ? current->error : ERROR_INVALID_CONTEXT;
}

Device *standin_device(void) {
    return current;
}

Device *standin_device_by_number(int number) {
    return number >= 0 && number < device_count ? &devices[number] : NULL;
}

/* The driver's functions. */

API int cuInit(unsigned flags) {
    ENTER_ANYWHERE(cuInit);
    if (flags) return ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    for (int i = 0; device_count < 0 && i < DEVICE_MOST; i++)
        devices[i] = (Device){
            .number = i, .memory = standin_setting("FLOWC_SIMULATE_MEMORY", UINT64_C(4) << 30)};
    device_count = wanted_devices();
    pthread_mutex_unlock(&standin_lock);
    return device_count ? ERROR_SUCCESS : ERROR_NO_DEVICE;
}

/* Tells it from NVIDIA's. */
API int cuSimulated(void) {
    return ERROR_SUCCESS;
}

API int cuDriverGetVersion(int *version) {
    *version = 12040;
    return ERROR_SUCCESS;
}

API int cuDeviceGetCount(int *count) {
    ENTER_ANYWHERE(cuDeviceGetCount);
    *count = device_count;
    return ERROR_SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal) {
    ENTER_ANYWHERE(cuDeviceGet);
    *device = ordinal;
    return standin_device_by_number(ordinal) ? ERROR_SUCCESS : ERROR_INVALID_DEVICE;
}

API int cuDeviceGetName(char *name, int size, int number) {
    ENTER_ANYWHERE(cuDeviceGetName);
    if (!standin_device_by_number(number)) return ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)size, "simulated GPU %d", number);
    return ERROR_SUCCESS;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int number) {
    ENTER_ANYWHERE(cuDeviceTotalMem_v2);
    const Device *device = standin_device_by_number(number);
    if (device) *bytes = device->memory;
    return device ? ERROR_SUCCESS : ERROR_INVALID_DEVICE;
}

int standin_shared(void) {
    return (int)standin_setting("FLOWC_SIMULATE_SHARED", SHARED_OF_BLOCK);
}

/* By the numbers of CUdevice_attribute. */
API int cuDeviceGetAttribute(int *value, int attribute, int number) {
    const struct {
        int attribute, value;
    } known[] = {{1, 1024},
                 {2, 1024},
                 {5, INT32_MAX},
                 {8, 48 << 10},
                 {10, 32},
                 {13, 1000000},
                 {16, 4},
                 {36, 1000000},
                 {37, 64},
                 {38, 1 << 20},
                 {39, 2048},
                 {40, 2},
                 {41, 1},
                 {75, MAJOR},
                 {76, MINOR},
                 {81, 228 << 10},
                 {97, standin_shared()}};
    ENTER_ANYWHERE(cuDeviceGetAttribute);
    if (!standin_device_by_number(number)) return ERROR_INVALID_DEVICE;
    *value = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].attribute == attribute) *value = known[i].value;
    return ERROR_SUCCESS;
}

API int cuDevicePrimaryCtxSetFlags_v2(int number, unsigned flags) {
    ENTER_ANYWHERE(cuDevicePrimaryCtxSetFlags_v2);
    if (flags > 31) return ERROR_INVALID_VALUE;
    return standin_device_by_number(number) ? ERROR_SUCCESS : ERROR_INVALID_DEVICE;
}

API int cuDevicePrimaryCtxRetain(Device **context, int number) {
    ENTER_ANYWHERE(cuDevicePrimaryCtxRetain);
    Device *device = standin_device_by_number(number);
    if (!device) return ERROR_INVALID_DEVICE;
    device->holders++;
    *context = device;
    return device->error;
}

API int cuDevicePrimaryCtxRelease_v2(int number) {
    ENTER_ANYWHERE(cuDevicePrimaryCtxRelease_v2);
    Device *device = standin_device_by_number(number);
    if (!device || device->holders <= 0) return ERROR_INVALID_CONTEXT;
    if (!--device->holders) {
        device->error = ERROR_SUCCESS;
        device->reached = 0;
    }
    return ERROR_SUCCESS;
}

API int cuDevicePrimaryCtxRelease(int number) {
    return cuDevicePrimaryCtxRelease_v2(number);
}

API int cuCtxSetCurrent(Device *context) {
    ENTER_ANYWHERE(cuCtxSetCurrent);
    if (context && !context->holders) return ERROR_INVALID_CONTEXT;
    current = context;
    return ERROR_SUCCESS;
}

API int cuDeviceCanAccessPeer(int *can, int number, int other) {
    ENTER_ANYWHERE(cuDeviceCanAccessPeer);
    if (!standin_device_by_number(number) || !standin_device_by_number(other))
        return ERROR_INVALID_DEVICE;
    *can = number != other;
    return ERROR_SUCCESS;
}

API int cuCtxEnablePeerAccess(Device *other, unsigned flags) {
    ENTER(cuCtxEnablePeerAccess);
    if (!other || flags) return ERROR_INVALID_VALUE;
    if (other == current || !other->holders) return ERROR_INVALID_DEVICE;
    const unsigned bit = 1u << other->number;
    unsigned before = atomic_fetch_or(&current->reached, bit);
    return before & bit ? ERROR_PEER_ACCESS_ALREADY_ENABLED : ERROR_SUCCESS;
}

API int cuCtxGetCurrent(Device **context) {
    ENTER_ANYWHERE(cuCtxGetCurrent);
    *context = current;
    return ERROR_SUCCESS;
}

API int cuCtxGetDevice(int *number) {
    ENTER(cuCtxGetDevice);
    *number = current->number;
    return ERROR_SUCCESS;
}

API int cuCtxSynchronize(void) {
    ENTER(cuCtxSynchronize);
    device_wait(current);
    return current->error;
}

API int cuGetErrorString(int error, const char **text) {
    *text = NULL;
    for (int i = 0; i < RESULTS; i++)
        if (results[i].number == error) *text = results[i].text;
    return *text ? ERROR_SUCCESS : ERROR_INVALID_VALUE;
}

API int cuGetErrorName(int error, const char **name) {
    *name = NULL;
    for (int i = 0; i < RESULTS; i++)
        if (results[i].number == error) *name = error ? results[i].name : "CUDA_SUCCESS";
    return *name ? ERROR_SUCCESS : ERROR_INVALID_VALUE;
}
