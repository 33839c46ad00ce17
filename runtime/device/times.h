/* Times: when GPUs did what they were asked for, on the host's clock, by events around it; for
 * those who trace a run. The host does not wait: times are told once they are known. */
#ifndef FLOW_TIMES_H
#define FLOW_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum { TIMES_STATIONS = 3 };

/* Nanoseconds of clock.h. Those of a line don't overlap. */
typedef struct GpuTime {
    int gpu, line; /* 0: kernels; 1: copies in; 2: copies out; from TIMES_STATIONS on: all that one
                      station (together.c) asks for */
    const char *name, *detail;
    int64_t begin, end;
} GpuTime;

/* Before gpus_open: who is told, by any thread. NULL, at any time: nobody, and nothing is measured
 * from then on. */
typedef void TellTime(const GpuTime *time);
void times_tell(TellTime *tell);

/* What this thread asks for from now on, in words that outlive the GPUs; returns what was said
 * before. NULL: only what it is, as "copy in". */
typedef struct GpuName {
    const char *name, *detail;
} GpuName;
GpuName times_name(GpuName name);

/* Inside device/. */

struct Gpu;

/* They begin with the GPU; the host waits for it. False: gpus_fail was told. */
bool times_open(struct Gpu *gpu);
void times_close(struct Gpu *gpu);

/* Around what is asked of a stream (GpuStream); name: unless times_name said another. */
void times_begin(struct Gpu *gpu, int stream, const char *name);
void times_end(struct Gpu *gpu, int stream);

/* Tells what is known; all: waits until everything is. */
void times_look(struct Gpu *gpu, bool all);

#endif
