/* Cuda: GPUs, as the driver's library tells them. */
#include "runtime/device/driver.h"
#include "runtime/device/nvrtc.h"

#include <stdio.h>

static bool succeeded(const Driver *driver, int error, const char *what, Gpus *gpus) {
    if (error)
        snprintf(gpus->missing, sizeof gpus->missing, "the NVIDIA driver can't %s: %.110s", what,
                 driver_error(driver, error).text);
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
    device->memory = bytes;
    return true;
}

static void list(const Driver *driver, Gpus *gpus) {
    int count = 0;
    if (!succeeded(driver, driver->initialise(0), "start", gpus) ||
        !succeeded(driver, driver->count(&count), "count the GPUs", gpus))
        return;
    if (!count) snprintf(gpus->missing, sizeof gpus->missing, "the NVIDIA driver sees no GPU");
    for (int i = 0; i < count && i < DEVICE_LIMIT && describe(driver, i, gpus); i++)
        gpus->count = i + 1;
}

void gpus_ask(Gpus *gpus) {
    Driver driver;
    *gpus = (Gpus){0};
    bool loaded = driver_load(&driver, gpus->missing);
    if (loaded) list(&driver, gpus);
    nvrtc_name(loaded ? driver_version(&driver) : 0, gpus->compiler);
}

bool gpus_are_likely(void) {
    Driver driver;
    char missing[DEVICE_TEXT];
    return driver_load(&driver, missing);
}
