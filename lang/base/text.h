/* Text: a growing string, for everything that is written in pieces. */
#ifndef FLOW_BASE_TEXT_H
#define FLOW_BASE_TEXT_H

#include "lang/base/arena.h"

#include <stdint.h>

typedef struct Text {
    Arena *arena;
    char *bytes; /* NUL-terminated once anything was added */
    size_t size, capacity;
} Text;

Text text_new(Arena *arena);
void text_add(Text *text, const char *string);
void text_add_bytes(Text *text, const char *bytes, size_t size);
void text_add_number(Text *text, int64_t number); /* in decimal digits */
void text_format(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The string so far; "" when nothing was added. */
const char *text_string(const Text *text);

#endif
