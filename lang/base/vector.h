/* Vector: a growing array in an arena, as a typed struct of its own.
 *
 *     typedef Vector(int) Integers;
 *     Integers list = {0};
 *     vector_push(arena, &list, 42);
 *     vector_each(int, value, list) total += *value;
 *
 * Items move when the vector grows: keep indexes, not pointers, into one that still grows. */
#ifndef FLOW_BASE_VECTOR_H
#define FLOW_BASE_VECTOR_H

#include "lang/base/arena.h"

#include <string.h>

#define Vector(type)            \
    struct {                    \
        type *items;            \
        size_t count, capacity; \
    }

#define vector_push(arena, vector, ...)                                                      \
    do {                                                                                     \
        if ((vector)->count == (vector)->capacity)                                           \
            (vector)->items = vector_grow((arena), (vector)->items, sizeof *(vector)->items, \
                                          (vector)->count, &(vector)->capacity);             \
        (vector)->items[(vector)->count++] = __VA_ARGS__;                                    \
    } while (0)

#define vector_each(type, item, vector) \
    for (type *item = (vector).items; item && item < (vector).items + (vector).count; item++)

/* Room for so many items in all, which then don't move until there are more. */
#define vector_reserve(arena, vector, room)                                                \
    ((vector)->items = vector_make_room((arena), (vector)->items, sizeof *(vector)->items, \
                                        (vector)->count, &(vector)->capacity, (room)))

static inline void *vector_move(Arena *arena, const void *items, size_t item_size, size_t count,
                                size_t capacity) {
    void *moved = arena_allocate(arena, capacity * item_size);
    if (count) memcpy(moved, items, count * item_size);
    return moved;
}

static inline void *vector_make_room(Arena *arena, void *items, size_t item_size, size_t count,
                                     size_t *capacity, size_t room) {
    if (*capacity >= room) return items;
    *capacity = room;
    return vector_move(arena, items, item_size, count, room);
}

/* Small items come by eights; most lists of large ones stay short. */
static inline void *vector_grow(Arena *arena, const void *items, size_t item_size, size_t count,
                                size_t *capacity) {
    size_t before = *capacity * item_size;
    *capacity = before ? 2 * *capacity : item_size <= 32 ? 8 : item_size <= 128 ? 2 : 1;
    if (before && arena_extend(arena, items, before, 2 * before)) return (void *)items;
    return vector_move(arena, items, item_size, count, *capacity);
}

#endif
