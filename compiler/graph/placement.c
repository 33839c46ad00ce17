/* Placement: comparing and printing. */
#include "compiler/graph/placement.h"

bool devices_differ(const Placement *a, const Placement *b) {
    if (!is_placed(a) || !is_placed(b)) return false;
    return a->device != b->device || a->index != b->index;
}

void device_print(const Placement *placement, Text *text) {
    if (placement->device == DEVICE_gpu && placement->index == EVERY_GPU) text_add(text, "gpus");
    else if (placement->device == DEVICE_gpu) text_format(text, "gpu(%d)", placement->index);
    else text_add(text, "cpu");
}

void placement_print(const Placement *placement, Text *text) {
    text_add(text, placement->soft ? "@prefer(" : "@");
    device_print(placement, text);
    if (placement->soft) text_add(text, ")");
}
