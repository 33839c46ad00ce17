#include "runtime/decode/desk.h"

#include <stdlib.h>

static void desk_free(void *pointer) {
    Desk *desk = pointer;
    Room *rooms[] = {&desk->row, &desk->image, &desk->ring, &desk->line, &desk->coefficients};
    if (desk->jpeg) desk->drop_jpeg(desk->jpeg);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) room_free(rooms[i]);
    for (int i = 0; i < 2 * DESK_TAPS; i++) taps_free(&desk->taps[i / DESK_TAPS][i % DESK_TAPS]);
    free(desk);
}

Desk *desk_of_thread(void) {
    static ThreadOwn desks = {.size = sizeof(Desk), .end = desk_free};
    return thread_own(&desks);
}

FlowStatus desk_no_memory(void) {
    return flow_failure(FLOW_EXIT_resource, "can't be decoded: no memory");
}
