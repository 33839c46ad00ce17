/* Placement: where the program wants something to run. */
#ifndef FLOW_GRAPH_PLACEMENT_H
#define FLOW_GRAPH_PLACEMENT_H

#include "lang/base/text.h"
#include "lang/source.h"
#include "runtime/bounds.h"

#include <stdbool.h>

enum { EVERY_GPU = GPU_LIMIT /* the number of no GPU: those of all replicas */ };

typedef enum DeviceKind { DEVICE_any, DEVICE_cpu, DEVICE_gpu } DeviceKind;

typedef struct Placement {
    DeviceKind device; /* DEVICE_any: nobody said */
    int index;         /* of the GPU */
    bool soft;         /* a preference: another device will do */
    Range range;       /* of the annotation, or the head of the region; no part of equality */
} Placement;

static inline bool is_placed(const Placement *placement) {
    return placement->device != DEVICE_any;
}

/* Both are placed, and not on one device. */
bool devices_differ(const Placement *a, const Placement *b);

void device_print(const Placement *placement, Text *text);    /* "cpu", "gpu(0)" */
void placement_print(const Placement *placement, Text *text); /* "@cpu", "@prefer(gpu(0))" */

#endif
