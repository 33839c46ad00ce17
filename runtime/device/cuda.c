/* Cuda: GPUs, as the driver's library tells them. */
#include "runtime/device/driver.h"
#include "runtime/device/nvrtc.h"

#include <stdio.h>

static bool succeeded(const Driver *driver, int error, const char *what, Gpus *gpus) {
    if (error)
        snprintf(gpus->missing, sizeof gpus->missing, "the %s driver can't %s: %.110s",
                 driver->maker, what, driver_error(driver, error).text);
    return !error;
}

static bool describe(const Driver *driver, int ordinal, Gpus *gpus) {
    Device *device = &gpus->items[ordinal];
    size_t bytes = 0;
    int handle;
    if (!succeeded(driver, driver->get(&handle, ordinal), "open a GPU", gpus) ||
        !succeeded(driver, driver->get_name(device->name, sizeof device->name, handle),
                   "name a GPU", gpus) ||
        !succeeded(driver, driver->get_memory(&bytes, handle), "tell a GPU's memory", gpus))
        return false;
    device->ordinal = ordinal;
    device->memory = bytes;
    driver_capability(driver, handle, &device->capability);
    return true;
}

/* A driver that can't say has none that do. */
static void find_reached(const Driver *driver, Gpus *gpus) {
    for (int i = 0; i < gpus->count; i++)
        for (int k = 0; k < gpus->count; k++) {
            int own, other, can = 0;
            if (i == k || driver->get(&own, i) || driver->get(&other, k) ||
                driver->can_reach(&can, own, other))
                continue;
            gpus->items[i].reaches |= (uint64_t)(can != 0) << k;
        }
}

static void list(const Driver *driver, Gpus *gpus) {
    int count = 0;
    if (!succeeded(driver, driver->initialise(0), "start", gpus) ||
        !succeeded(driver, driver->count(&count), "count the GPUs", gpus))
        return;
    if (!count)
        snprintf(gpus->missing, sizeof gpus->missing, "the %s driver sees no GPU", driver->maker);
    for (int i = 0; i < count && i < GPU_LIMIT && describe(driver, i, gpus); i++)
        gpus->count = i + 1;
    find_reached(driver, gpus);
}

void gpus_ask(Gpus *gpus) {
    Driver driver;
    *gpus = (Gpus){0};
    bool loaded = driver_load(&driver, gpus->missing);
    gpus->simulated = driver.simulated;
    if (loaded) list(&driver, gpus);
    gpus->driver = loaded ? driver_version(&driver) : 0;
    gpus->compiles = nvrtc_name(gpus->driver, gpus->compiler);
}

static uint64_t free_memory(const Driver *driver, int handle, int *error) {
    void *context = NULL;
    size_t available = 0, total = 0;
    *error = driver->retain(&context, handle);
    if (*error) return 0;
    *error = driver->use(context);
    if (!*error) *error = driver->free_memory(&available, &total);
    driver->use(NULL);
    driver->release(handle);
    return available;
}

uint64_t gpu_start(int ordinal, char *why) {
    Driver driver;
    int handle, error;
    if (!driver_load(&driver, why)) return 0;
    error = driver.initialise(0);
    if (!error) error = driver.get(&handle, ordinal);
    uint64_t available = error ? 0 : free_memory(&driver, handle, &error);
    if (error || !available)
        snprintf(why, DEVICE_TEXT, "%.150s",
                 error ? driver_error(&driver, error).text : "no memory");
    return error ? 0 : available;
}

bool gpus_are_likely(void) {
    Driver driver;
    char missing[DEVICE_TEXT];
    return driver_load(&driver, missing);
}
