/* Device: what this machine can compute with, as names, memory and counts. Asking needs neither
 * CUDA nor a GPU, now or when this is built. */
#ifndef FLOW_DEVICE_H
#define FLOW_DEVICE_H

#include "runtime/bounds.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEVICE_TEXT = 160 };

typedef struct Device {
    char name[DEVICE_TEXT];
    uint64_t memory;  /* bytes; 0: not known */
    int capability;   /* of a GPU: 90 is 9.0; 0: not known */
    int ordinal;      /* of a GPU: the driver's number of it */
    uint64_t reaches; /* of a GPU: bit i: it copies from the one of number i by their link */
} Device;

typedef struct Processor {
    Device device;
    int cores;         /* that affinity and control groups leave */
    const char *level; /* "x86-64-v3", or "" */
} Processor;

typedef struct Gpus {
    int count;
    bool simulated; /* a stand-in's */
    Device items[GPU_LIMIT];
    char missing[DEVICE_TEXT];  /* why there are none, or "" */
    char compiler[DEVICE_TEXT]; /* the NVRTC library that was found and fits the driver, or "" */
    int driver, compiles;       /* versions of CUDA of both: 13000 is 13.0; 0: not known */
} Gpus;

Processor processor_ask(void);
void gpus_ask(Gpus *gpus);
bool gpus_are_likely(void); /* a driver is installed */

/* How to get NVIDIA's driver, behind what is said to be missing. */
#define DRIVER_COMES                                                                        \
    "it comes with the system's packages (Debian: nvidia-driver) or from nvidia.com, in a " \
    "container from the host (`--gpus all`)"

/* Starts that GPU, as a program would. Bytes of its memory that are free; 0: it can't be used, and
 * *why, of DEVICE_TEXT, says why. */
uint64_t gpu_start(int ordinal, char *why);

#endif
