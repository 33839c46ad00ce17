#include "runtime/decode/desk.h"

#include "runtime/holdings.h"
#include "runtime/memory.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void desk_free(void *pointer) {
    Desk *desk = pointer;
    Room *rooms[] = {&desk->row, &desk->image, &desk->ring, &desk->line};
    if (desk->jpeg) desk->drop_jpeg(desk->jpeg);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]->bytes);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        holding_give(NULL, HOLDING_decoders, rooms[i]->size);
    holding_give(NULL, HOLDING_decoders, desk->coefficients.size);
    for (int i = 0; i < 2 * DESK_TAPS; i++) taps_free(&desk->taps[i / DESK_TAPS][i % DESK_TAPS]);
    free(desk);
}

static void make_key(void) {
    has_key = !pthread_key_create(&key, desk_free);
}

Desk *desk_of_thread(void) {
    if (pthread_once(&once, make_key) || !has_key) return NULL;
    Desk *desk = pthread_getspecific(key);
    if (desk) return desk;
    desk = calloc(1, sizeof *desk);
    if (!desk || !pthread_setspecific(key, desk)) return desk;
    free(desk);
    return NULL;
}

bool room_counted(Room *room, size_t size) {
    if (size <= room->size) return true;
    if (!holding_take(NULL, HOLDING_decoders, size - room->size)) return false;
    room->size = size;
    return true;
}

void *room_for(Room *room, size_t size) {
    if (size <= room->size && room->bytes) return room->bytes;
    free(room->bytes);
    room->bytes = room_counted(room, size) ? memory_new(size) : NULL;
    return room->bytes;
}

FlowStatus desk_no_memory(void) {
    return flow_failure(FLOW_EXIT_resource, "no memory to decode it");
}
