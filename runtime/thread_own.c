#include "runtime/thread_own.h"

#include "runtime/holdings.h"
#include "runtime/memory.h"

#include <stdlib.h>

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;

static bool begin(ThreadOwn *kind) {
    pthread_mutex_lock(&beginning);
    if (!kind->begun) kind->begun = !pthread_key_create(&kind->key, kind->end);
    pthread_mutex_unlock(&beginning);
    return kind->begun;
}

void *thread_own(ThreadOwn *kind) {
    if (!kind->begun && !begin(kind)) return NULL;
    void *own = pthread_getspecific(kind->key);
    if (own) return own;
    own = calloc(1, kind->size);
    if (!own || !pthread_setspecific(kind->key, own)) return own;
    free(own);
    return NULL;
}

void *own_resize(void *bytes, size_t before, size_t after) {
    if (!holding_take(NULL, HOLDING_decoders, after - before)) return NULL;
    void *larger = realloc(bytes, after);
    if (!larger) holding_give(NULL, HOLDING_decoders, after - before);
    return larger;
}

void own_free(void *bytes, size_t size) {
    free(bytes);
    holding_give(NULL, HOLDING_decoders, size);
}

void room_free(Room *room) {
    own_free(room->bytes, room->size);
    *room = (Room){0};
}

bool room_counted(Room *room, size_t size) {
    if (size <= room->size) return true;
    if (!holding_take(NULL, HOLDING_decoders, size - room->size)) return false;
    room->size = size;
    return true;
}

void *room_for(Room *room, size_t size) {
    if (room->bytes && size <= room->size) return room->bytes;
    room_free(room);
    if (room_counted(room, size)) room->bytes = memory_new(size);
    if (!room->bytes) room_free(room);
    return room->bytes;
}
