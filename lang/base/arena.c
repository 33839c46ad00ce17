/* Arena: a chain of growing blocks. All but the first are whole huge pages, where the system has
 * them: a compilation touches some 20 MB, which in small pages takes a third of its time. What is
 * large has a block of its own, with addresses behind it to grow into: moving it would touch as
 * much again. */
#define _GNU_SOURCE
#include "lang/base/arena.h"

#include "lang/base/format.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ALIGNMENT = 16,
    FIRST_BLOCK = 64 << 10,
    HUGE_PAGE = 2 << 20,
    LARGEST_BLOCK = 16 << 20,
    LARGE = 1 << 20,
    GROWTH = 64, /* times its size: the addresses of what is large */
};

typedef struct Block {
    struct Block *previous;
    size_t size, used; /* of bytes[] */
    size_t mapped;     /* of the pages it lies in, itself included; 0: it was allocated */
    size_t reserved;   /* addresses behind them, which count for nothing until they are mapped */
    bool large;        /* it has one thing */
    _Alignas(ALIGNMENT) char bytes[];
} Block;

struct Arena {
    Block *block; /* the newest; never NULL */
};

static _Noreturn void out_of_memory(size_t size) {
    fprintf(stderr, "flowc: out of memory (%zu bytes more were needed)\n", size);
    exit(3);
}

/* Zeroed bytes, or NULL. */
static Block *allocate_block(size_t size) {
    return size > SIZE_MAX / 2 ? NULL : calloc(1, sizeof(Block) + size);
}

static size_t whole_pages(size_t size) {
    return (size + HUGE_PAGE - 1) & ~((size_t)HUGE_PAGE - 1);
}

static bool open_pages(void *pages, size_t size) {
    if (mprotect(pages, size, PROT_READ | PROT_WRITE)) return false;
    madvise(pages, size, MADV_HUGEPAGE); /* a wish: small pages do as well */
    return true;
}

/* The same in pages of its own, at the start of a huge one, with room behind them; what was mapped
 * before it is given back. */
static Block *map_block(size_t size, size_t room) {
    if (size > SIZE_MAX / 4 || room > SIZE_MAX / 4) return NULL;
    const size_t mapped = whole_pages(sizeof(Block) + size), all = mapped + whole_pages(room);
    char *start =
        mmap(NULL, all + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    size_t before = -(uintptr_t)start & (HUGE_PAGE - 1);
    if (before) munmap(start, before);
    if (before < HUGE_PAGE) munmap(start + before + all, HUGE_PAGE - before);
    Block *block = (Block *)(start + before);
    if (!open_pages(block, mapped)) {
        munmap(block, all);
        return NULL;
    }
    block->mapped = mapped;
    block->reserved = all - mapped;
    return block;
}

/* Has size be at least so much, of what lies behind a block. At least doubles it: each time is a
 * call of the system. */
static bool grow_block(Block *block, size_t size) {
    size_t more = whole_pages(size - block->size);
    if (more < block->mapped) more = block->mapped;
    if (more > block->reserved) more = block->reserved;
    if (block->size + more < size || !open_pages((char *)block + block->mapped, more)) return false;
    block->mapped += more;
    block->reserved -= more;
    block->size += more;
    return true;
}

static Block *new_block(size_t size, Block *previous) {
    Block *block = previous ? map_block(size, 0) : allocate_block(size);
    if (!block) out_of_memory(size);
    block->previous = previous;
    block->size = block->mapped ? block->mapped - sizeof *block : size;
    return block;
}

static void free_block(Block *block) {
    if (block->mapped) munmap(block, block->mapped + block->reserved);
    else free(block);
}

Arena *arena_new(void) {
    Arena *arena = malloc(sizeof *arena);
    if (!arena) out_of_memory(sizeof *arena);
    arena->block = new_block(FIRST_BLOCK, NULL);
    return arena;
}

static void free_blocks(Block *newest) {
    for (Block *block = newest, *previous; block; block = previous) {
        previous = block->previous;
        free_block(block);
    }
}

void arena_free(Arena *arena) {
    if (!arena) return;
    free_blocks(arena->block);
    free(arena);
}

void arena_clear(Arena *arena) {
    Block *block = arena->block;
    free_blocks(block->previous);
    block->previous = NULL;
    memset(block->bytes, 0, block->used);
    block->used = 0;
}

static size_t round_up(size_t size) {
    if (size > SIZE_MAX / 4) out_of_memory(size);
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Memory in a block of its own, behind the newest one. */
static void *allocate_large(Arena *arena, size_t size) {
    Block *newest = arena->block, *block = map_block(size, GROWTH * size);
    if (!block) block = new_block(size, newest);
    block->size = block->mapped - sizeof *block;
    block->used = size;
    block->large = true;
    block->previous = newest->previous;
    newest->previous = block;
    return block->bytes;
}

void *arena_allocate(Arena *arena, size_t size) {
    size_t rounded = round_up(size);
    if (rounded >= LARGE && rounded < SIZE_MAX / 2 / GROWTH) return allocate_large(arena, rounded);
    Block *block = arena->block;
    if (block->size - block->used < rounded) {
        size_t grown = block->size < LARGEST_BLOCK ? 2 * block->size : LARGEST_BLOCK;
        block = arena->block = new_block(rounded > grown ? rounded : grown, block);
    }
    void *memory = block->bytes + block->used;
    block->used += rounded;
    return memory;
}

bool arena_extend(Arena *arena, const void *memory, size_t size, size_t grown) {
    Block *block = arena->block;
    const char *end = (const char *)memory + round_up(size);
    size_t more = round_up(grown) - round_up(size);
    while (size >= LARGE && block->previous && end != block->bytes + block->used)
        block = block->previous;
    if (end != block->bytes + block->used) return false;
    if (block->size - block->used < more && !grow_block(block, block->used + more)) return false;
    block->used += more;
    return true;
}

void arena_give_back(Arena *arena, const void *memory) {
    Block **at = &arena->block->previous;
    while (*at && !((*at)->large && (*at)->bytes == memory)) at = &(*at)->previous;
    if (!*at) return;
    Block *block = *at;
    *at = block->previous;
    free_block(block);
}

char *arena_copy(Arena *arena, const char *bytes, size_t size) {
    char *copy = arena_allocate(arena, size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

char *arena_format_list(Arena *arena, const char *format, va_list arguments) {
    va_list again;
    char usual[128];
    va_copy(again, arguments);
    int length = format_bytes(usual, sizeof usual, format, arguments);
    size_t size = length < 0 ? 0 : (size_t)length;
    char *text = arena_allocate(arena, size + 1);
    if (size < sizeof usual) memcpy(text, usual, size);
    else format_bytes(text, size + 1, format, again);
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
