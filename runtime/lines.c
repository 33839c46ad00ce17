/* Lines: most texts are smaller than 4 GiB, and their lines short: a start takes four bytes. */
#include "runtime/lines.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

static size_t start_size(const Lines *lines) {
    return lines->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

static bool grow(Lines *lines) {
    int64_t capacity = lines->capacity ? 2 * lines->capacity : FIRST_CAPACITY;
    void *more = held_resize(lines->starts, (size_t)lines->capacity * start_size(lines),
                             (size_t)capacity * start_size(lines));
    if (!more) return false;
    lines->starts = more;
    lines->capacity = capacity;
    return true;
}

static bool add(Lines *lines, size_t start) {
    if (lines->count == lines->capacity && !grow(lines)) return false;
    if (lines->wide) ((uint64_t *)lines->starts)[lines->count++] = start;
    else ((uint32_t *)lines->starts)[lines->count++] = (uint32_t)start;
    return true;
}

static bool is_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    return at == end;
}

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

FlowStatus lines_open(const char *path, const char *text, size_t size, Lines *lines) {
    *lines = (Lines){.text = text, .size = size, .wide = size > UINT32_MAX};
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some programs write it */
    const char *end = text + size, *at = text;
    if (size >= 3 && !memcmp(text, mark, 3)) at += 3;
    while (at < end) {
        if (interrupted()) return interrupt_reading(path);
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline : end;
        bool blank = is_blank(at, next);
        lines->gaps |= blank;
        if (!blank && !add(lines, (size_t)(at - text))) return no_memory(path);
        at = next + 1;
    }
    return flow_ok;
}

void lines_close(Lines *lines) {
    free(lines->starts);
    *lines = (Lines){0};
}

const char *lines_at(const Lines *lines, int64_t line) {
    return lines->text + (lines->wide ? ((const uint64_t *)lines->starts)[line]
                                      : ((const uint32_t *)lines->starts)[line]);
}

int64_t lines_number(const Lines *lines, int64_t line) {
    const char *end = lines_at(lines, line);
    int64_t number = 1;
    if (!lines->gaps) return line + 1;
    for (const char *at = lines->text; (at = memchr(at, '\n', (size_t)(end - at))); at++) number++;
    return number;
}
