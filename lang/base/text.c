/* Text: a growing string. */
#include "lang/base/text.h"

#include "lang/base/format.h"

#include <string.h>

enum { FORMATTED = 60 /* bytes that most of what is formatted fits into */ };

Text text_new(Arena *arena) {
    return (Text){.arena = arena};
}

/* Room for size more bytes and the NUL. */
static void reserve(Text *text, size_t size) {
    if (text->size + size + 1 <= text->capacity) return;
    size_t capacity = text->capacity ? text->capacity : 64, before = text->capacity;
    while (capacity < text->size + size + 1) capacity *= 2;
    text->capacity = capacity;
    if (before && arena_extend(text->arena, text->bytes, before, capacity)) return;
    char *grown = arena_allocate(text->arena, capacity);
    if (text->size) memcpy(grown, text->bytes, text->size);
    text->bytes = grown;
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

void text_add_number(Text *text, int64_t number) {
    char digits[20], *first = digits + sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) *--first = '-';
    text_add_bytes(text, first, (size_t)(digits + sizeof digits - first));
}

void text_format(Text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    reserve(text, FORMATTED);
    size_t room = text->capacity - text->size;
    int length = format_bytes(text->bytes + text->size, room, format, arguments);
    if (length > 0 && (size_t)length >= room) {
        reserve(text, (size_t)length);
        format_bytes(text->bytes + text->size, (size_t)length + 1, format, again);
    }
    if (length > 0) text->size += (size_t)length;
    va_end(again);
    va_end(arguments);
}

const char *text_string(const Text *text) {
    return text->size ? text->bytes : "";
}
