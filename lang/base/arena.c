/* Arena: a chain of growing blocks. */
#include "lang/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_BLOCK = 64 << 10, LARGEST_BLOCK = 16 << 20 };

typedef struct Block {
    struct Block *previous;
    size_t size, used; /* of bytes[] */
    _Alignas(ALIGNMENT) char bytes[];
} Block;

struct Arena {
    Block *block; /* the newest; never NULL */
};

static _Noreturn void out_of_memory(size_t size) {
    fprintf(stderr, "flowc: out of memory (%zu bytes more were needed)\n", size);
    exit(3);
}

static Block *new_block(size_t size, Block *previous) {
    Block *block = size > SIZE_MAX / 2 ? NULL : calloc(1, sizeof *block + size);
    if (!block) out_of_memory(size);
    block->previous = previous;
    block->size = size;
    return block;
}

Arena *arena_new(void) {
    Arena *arena = malloc(sizeof *arena);
    if (!arena) out_of_memory(sizeof *arena);
    arena->block = new_block(FIRST_BLOCK, NULL);
    return arena;
}

void arena_free(Arena *arena) {
    if (!arena) return;
    for (Block *block = arena->block, *previous; block; block = previous) {
        previous = block->previous;
        free(block);
    }
    free(arena);
}

void *arena_allocate(Arena *arena, size_t size) {
    if (size > SIZE_MAX / 4) out_of_memory(size);
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    Block *block = arena->block;
    if (block->size - block->used < rounded) {
        size_t grown = block->size < LARGEST_BLOCK ? 2 * block->size : LARGEST_BLOCK;
        block = arena->block = new_block(rounded > grown ? rounded : grown, block);
    }
    void *memory = block->bytes + block->used;
    block->used += rounded;
    return memory;
}

char *arena_copy(Arena *arena, const char *bytes, size_t size) {
    char *copy = arena_allocate(arena, size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

char *arena_format_list(Arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = arena_allocate(arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (length > 0) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_format(Arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_format_list(arena, format, arguments);
    va_end(arguments);
    return text;
}
