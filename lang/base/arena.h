/* Arena: memory by lifetime. Everything a compilation allocates lives until the arena is freed.
 *
 * One arena belongs to one thread. When the system has no memory left, the process says so on
 * standard error and exits with code 3: the compiler holds nothing that could be lost. */
#ifndef FLOW_BASE_ARENA_H
#define FLOW_BASE_ARENA_H

#include <stddef.h>
#include <stdarg.h>
#include <stdbool.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena);

/* Forgets everything in it, and keeps room for as much again. */
void arena_clear(Arena *arena);

/* Zeroed memory of size bytes, aligned for any type. Never NULL. */
void *arena_allocate(Arena *arena, size_t size);

/* Makes memory larger where it lies, `size` bytes before and `grown` after, which are not zeroed:
 * the newest of the arena, or what is 1 MiB and more. False: there is no room behind it. */
bool arena_extend(Arena *arena, const void *memory, size_t size, size_t grown);

/* What nobody needs any more, and is 1 MiB or more, goes back to the system; less stays. */
void arena_give_back(Arena *arena, const void *memory);

/* A NUL-terminated copy of size bytes. */
char *arena_copy(Arena *arena, const char *bytes, size_t size);

/* A formatted string. */
char *arena_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_format_list(Arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#define arena_new_item(arena, type) ((type *)arena_allocate((arena), sizeof(type)))
#define arena_new_array(arena, type, count) \
    ((type *)arena_allocate((arena), sizeof(type) * (size_t)(count)))

#endif
