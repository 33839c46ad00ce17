#define _GNU_SOURCE
#include "runtime/device/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char *library_name(void) {
    const char *given = getenv("FLOWC_LIBCUDA");
    return given && *given ? given : "libcuda.so.1";
}

/* The symbol that it does not have, or NULL. */
static const char *find_symbols(Driver *driver) {
#define CUDA(name, symbol, parameters) \
    if (!(*(void **)&driver->name = dlsym(driver->library, #symbol))) return #symbol;
#define CUDA_LATER(name, symbol, parameters) \
    *(void **)&driver->name = dlsym(driver->library, #symbol);
#include "runtime/device/cuda.def"
#undef CUDA_LATER
#undef CUDA
    return NULL;
}

bool driver_load(Driver *driver, char *missing) {
    const char *name = library_name();
    *driver = (Driver){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    const char *symbol = driver->library ? find_symbols(driver) : NULL;
    driver->simulated = driver->library && dlsym(driver->library, "cuSimulated");
    driver->maker = driver->simulated ? "simulated" : "NVIDIA";
    if (!driver->library)
        snprintf(missing, DEVICE_TEXT, "no NVIDIA driver: %.100s is not found", name);
    else if (symbol)
        snprintf(missing, DEVICE_TEXT, "the NVIDIA driver is too old: it has no %s", symbol);
    return driver->library && !symbol;
}

DriverError driver_error(const Driver *driver, int error) {
    DriverError result;
    const char *text = NULL;
    if (driver->error_text(error, &text) || !text) text = "an unknown error";
    snprintf(result.text, sizeof result.text, "%.100s (%d)", text, error);
    return result;
}

const char *driver_advice(int error) {
    switch (error) {
#define ADVICE(number, text) \
    case number:             \
        return "; " text;
#include "runtime/device/advice.def"
#undef ADVICE
    }
    return "";
}

int driver_capability(const Driver *driver, int device, int *capability) {
    enum { MAJOR = 75, MINOR = 76 }; /* of CUdevice_attribute */
    int major = 0, minor = 0;
    int error = driver->get_attribute(&major, MAJOR, device);
    if (!error) error = driver->get_attribute(&minor, MINOR, device);
    if (!error) *capability = major * 10 + minor;
    return error;
}

int driver_version(const Driver *driver) {
    int version;
    return driver->version(&version) ? 0 : version;
}
