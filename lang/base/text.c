/* Text: a growing string. */
#include "lang/base/text.h"

#include <stdio.h>
#include <string.h>

Text text_new(Arena *arena) {
    return (Text){.arena = arena};
}

/* Room for size more bytes and the NUL. */
static void reserve(Text *text, size_t size) {
    if (text->size + size + 1 <= text->capacity) return;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity < text->size + size + 1) capacity *= 2;
    char *grown = arena_allocate(text->arena, capacity);
    if (text->size) memcpy(grown, text->bytes, text->size);
    text->bytes = grown;
    text->capacity = capacity;
}

void text_add_bytes(Text *text, const char *bytes, size_t size) {
    reserve(text, size);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = 0;
}

void text_add(Text *text, const char *string) {
    text_add_bytes(text, string, strlen(string));
}

void text_format(Text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length > 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->bytes + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

const char *text_string(const Text *text) {
    return text->size ? text->bytes : "";
}
