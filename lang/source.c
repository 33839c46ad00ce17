/* Source: a file's text with its line table. */
#include "lang/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the line behind the one at `at` begins; 0: there is none. */
static uint32_t next_line(const Source *source, uint32_t at) {
    const char *end = memchr(source->text + at, '\n', source->size - at);
    return end ? (uint32_t)(end - source->text) + 1 : 0;
}

static uint32_t count_lines(const Source *source) {
    uint32_t count = 1;
    for (uint32_t at = 0; (at = next_line(source, at));) count++;
    return count;
}

static Source *source_new(Arena *arena, const char *path, const char *text, uint32_t size) {
    Source *source = arena_new_item(arena, Source);
    *source = (Source){arena_copy(arena, path, strlen(path)), text, size, NULL, 0};
    source->lines = arena_new_array(arena, uint32_t, count_lines(source));
    source->line_count = 1;
    for (uint32_t at = 0; (at = next_line(source, at));) source->lines[source->line_count++] = at;
    return source;
}

/* A text above the limit keeps one byte more than the limit, so that parse() can say so. */
Source *source_from_text(Arena *arena, const char *path, const char *text, size_t size) {
    if (size > SOURCE_SIZE_LIMIT) size = SOURCE_SIZE_LIMIT + 1;
    return source_new(arena, path, arena_copy(arena, text, size), (uint32_t)size);
}

static const char *find_problem(const struct stat *status) {
    if (S_ISDIR(status->st_mode)) return "it is a directory";
    if (!S_ISREG(status->st_mode)) return "it is not a regular file";
    if (status->st_size > SOURCE_SIZE_LIMIT) return "it is larger than 16 MiB";
    return NULL;
}

/* Reads up to size bytes; a file that shrank gives fewer. -1 on failure. */
static ssize_t read_all(int file, char *text, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t count = read(file, text + done, size - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        done += (size_t)count;
    }
    return (ssize_t)done;
}

static Source *read_open(Arena *arena, const char *path, int file, const char **problem) {
    struct stat status;
    if (fstat(file, &status)) {
        *problem = arena_format(arena, "%s", strerror(errno));
        return NULL;
    }
    if ((*problem = find_problem(&status))) return NULL;
    char *text = arena_allocate(arena, (size_t)status.st_size + 1);
    ssize_t size = read_all(file, text, (size_t)status.st_size);
    if (size < 0) *problem = arena_format(arena, "%s", strerror(errno));
    return size < 0 ? NULL : source_new(arena, path, text, (uint32_t)size);
}

Source *source_read(Arena *arena, const char *path, const char **problem) {
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        *problem = arena_format(arena, "%s", strerror(errno));
        return NULL;
    }
    Source *source = read_open(arena, path, file, problem);
    close(file);
    return source;
}

/* The index of the last line that begins at or before the offset. */
static uint32_t find_line(const Source *source, uint32_t offset) {
    uint32_t low = 0, high = source->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= offset) low = middle;
        else high = middle;
    }
    return low;
}

static bool continues_code_point(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* By the first byte; 0xC0, 0xC1 and those above 0xF4 begin nothing. */
static uint32_t announced_length(unsigned char byte) {
    if (byte < 0x80) return 1;
    if (byte < 0xC2) return 0;
    if (byte < 0xE0) return 2;
    if (byte < 0xF0) return 3;
    return byte < 0xF5 ? 4 : 0;
}

uint32_t code_point_length(const char *text, uint32_t size) {
    uint32_t length = announced_length((unsigned char)*text);
    if (length > size) return 0;
    for (uint32_t i = 1; i < length; i++)
        if (!continues_code_point(text[i])) return 0;
    return length;
}

Position source_position(const Source *source, uint32_t offset) {
    if (offset > source->size) offset = source->size;
    uint32_t line = find_line(source, offset), column = 1;
    for (uint32_t i = source->lines[line]; i < offset; i++)
        column += !continues_code_point(source->text[i]);
    return (Position){line + 1, column};
}

Range range_join(Range first, Range last) {
    if (!first.source) return last;
    if (!last.source) return first;
    assert(first.source == last.source);
    return (Range){first.source, first.begin, last.end > first.end ? last.end : first.end};
}
