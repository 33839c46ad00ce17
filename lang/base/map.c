/* Map: open addressing with linear probing over a 64-bit hash (words by multiply-xorshift, the
 * last bytes by FNV-1a). The hash is seeded once per process, so that no input can be built to
 * collide. */
#include "lang/base/map.h"

#include <string.h>
#include <sys/random.h>

typedef struct MapEntry {
    uint64_t hash;
    const char *key; /* NULL: free */
    size_t size;
    void *value;
} MapEntry;

static uint64_t hash_seed(void) {
    static uint64_t seed;
    if (!seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) seed = 1;
    return seed;
}

static uint64_t hash_bytes(const void *key, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u ^ hash_seed() ^ size;
    const unsigned char *bytes = key;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

Map map_new(Arena *arena) {
    return (Map){.arena = arena};
}

static MapEntry *find(const Map *map, uint64_t hash, const void *key, size_t size) {
    for (size_t at = hash & (map->capacity - 1);; at = (at + 1) & (map->capacity - 1)) {
        MapEntry *entry = &map->entries[at];
        if (!entry->key) return entry;
        if (entry->hash == hash && entry->size == size && !memcmp(entry->key, key, size))
            return entry;
    }
}

void *map_get_bytes(const Map *map, const void *key, size_t size) {
    if (!map->capacity) return NULL;
    return find(map, hash_bytes(key, size), key, size)->value;
}

static void grow(Map *map) {
    Map old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : 4;
    map->entries = arena_new_array(map->arena, MapEntry, map->capacity);
    for (size_t i = 0; i < old.capacity; i++) {
        const MapEntry *entry = &old.entries[i];
        if (entry->key) *find(map, entry->hash, entry->key, entry->size) = *entry;
    }
}

void map_put_bytes(Map *map, const void *key, size_t size, void *value) {
    if (4 * (map->count + 1) > 3 * map->capacity) grow(map);
    uint64_t hash = hash_bytes(key, size);
    MapEntry *entry = find(map, hash, key, size);
    if (!entry->key) {
        *entry = (MapEntry){hash, arena_copy(map->arena, key, size), size, NULL};
        map->count++;
    }
    entry->value = value;
}

void *map_get(const Map *map, const char *key) {
    return map_get_bytes(map, key, strlen(key));
}

void map_put(Map *map, const char *key, void *value) {
    map_put_bytes(map, key, strlen(key), value);
}
