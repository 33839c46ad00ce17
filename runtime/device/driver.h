/* Driver: the library of CUDA's driver, which is there or not when this runs: the one that
 * $FLOWC_LIBCUDA names, else the system's. */
#ifndef FLOW_DRIVER_H
#define FLOW_DRIVER_H

#include "runtime/device/device.h"

#include <stddef.h>

/* Functions return 0, or an error that error_text knows. */
typedef struct Driver {
    void *library;
    const char *maker; /* "NVIDIA" or "simulated" */
    bool simulated;    /* a stand-in's */
#define CUDA(name, symbol, parameters) int(*name) parameters;
#define CUDA_LATER CUDA
#include "runtime/device/cuda.def"
#undef CUDA_LATER
#undef CUDA
} Driver;

/* The library stays loaded: it keeps threads that would be torn out of it. False: *missing says
 * what is not there, of DEVICE_TEXT. */
bool driver_load(Driver *driver, char *missing);

/* "out of memory (2)" */
typedef struct DriverError {
    char text[DEVICE_TEXT];
} DriverError;
DriverError driver_error(const Driver *driver, int error);

/* What to do about it, as "; restart the machine"; "": nobody knows. */
const char *driver_advice(int error);

/* *capability: of the device, 90 for sm_90; unchanged after an error. */
int driver_capability(const Driver *driver, int device, int *capability);

/* The version of CUDA that it can do: 13000 is 13.0; 0: not known. */
int driver_version(const Driver *driver);

#endif
