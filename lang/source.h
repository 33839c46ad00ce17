/* Source: the text of one .flow file, and ranges in it. */
#ifndef FLOW_LANG_SOURCE_H
#define FLOW_LANG_SOURCE_H

#include "lang/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { SOURCE_SIZE_LIMIT = 16 << 20 }; /* bytes of one file */

typedef struct Source {
    const char *path; /* as shown to the user */
    const char *text; /* size bytes, then a NUL */
    uint32_t size;
    uint32_t *lines; /* offset of the start of each line */
    uint32_t line_count;
} Source;

/* Bytes [begin, end) of a source. A range with source NULL is "nowhere". */
typedef struct Range {
    const Source *source;
    uint32_t begin, end;
} Range;

/* Both count from 1. Columns count code points, so that carets line up. */
typedef struct Position {
    uint32_t line, column;
} Position;

/* A source over text that is copied into the arena. */
Source *source_from_text(Arena *arena, const char *path, const char *text, size_t size);

/* Reads a file. NULL when it can't be read, is no regular file, or is too large; *problem then
 * says why in a few words, without the path. */
Source *source_read(Arena *arena, const char *path, const char **problem);

Position source_position(const Source *source, uint32_t offset);

/* The bytes of the UTF-8 code point at text, of which size bytes are left; 0 when it is none. */
uint32_t code_point_length(const char *text, uint32_t size);

/* From the beginning of first to the end of last. */
Range range_join(Range first, Range last);

#endif
