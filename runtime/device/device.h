/* Device: what this machine can compute with, as names, memory and counts. Asking needs neither
 * CUDA nor a GPU, now or when this is built. */
#ifndef FLOW_DEVICE_H
#define FLOW_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

enum { DEVICE_LIMIT = 64, DEVICE_TEXT = 160 };

typedef struct Device {
    char name[DEVICE_TEXT];
    uint64_t memory; /* bytes; 0: not known */
} Device;

typedef struct Processor {
    Device device;
    int cores;         /* that affinity and control groups leave */
    const char *level; /* "x86-64-v3", or "" */
} Processor;

typedef struct Gpus {
    int count;
    Device items[DEVICE_LIMIT];
    char missing[DEVICE_TEXT];  /* why there are none, or "" */
    char compiler[DEVICE_TEXT]; /* the NVRTC library that was found, or "" */
} Gpus;

Processor processor_ask(void);
void gpus_ask(Gpus *gpus);
bool gpus_are_likely(void); /* a driver is installed */

#endif
