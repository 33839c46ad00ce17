/* Map: from byte strings to pointers. Iteration order is never needed, so none is offered. */
#ifndef FLOW_BASE_MAP_H
#define FLOW_BASE_MAP_H

#include "lang/base/arena.h"

#include <stdint.h>

typedef struct Map {
    Arena *arena;
    struct MapEntry *entries;
    size_t count, capacity; /* capacity: a power of two, or 0 */
} Map;

Map map_new(Arena *arena);

/* The value put under the key, or NULL. */
void *map_get(const Map *map, const char *key);
void *map_get_bytes(const Map *map, const void *key, size_t size);

/* Puts or replaces. The key's bytes are copied; value must not be NULL. */
void map_put(Map *map, const char *key, void *value);
void map_put_bytes(Map *map, const void *key, size_t size, void *value);

#endif
