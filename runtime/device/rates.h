/* Rates: what a GPU does in a second, measured with a few kernels of a second in all. */
#ifndef FLOW_RATES_H
#define FLOW_RATES_H

#include "runtime/device/device.h"

typedef struct GpuRates {
    double single_precision, double_precision; /* operations a second, without tensor cores */
    double memory;                             /* bytes a second, read and written */
    double start;                              /* seconds from one launch to the next */
    double fill;          /* threads that it has room for, which is not measured */
    double link, latency; /* to its memory: bytes a second; seconds of a copy */
} GpuRates;

/* ordinal: the driver's number. text: templates/rates.cu with all it includes. False: *why, of
 * DEVICE_TEXT, says what could not be done. */
bool gpu_rates(int ordinal, const char *text, GpuRates *rates, char *why);

#endif
