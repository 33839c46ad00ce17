/* Unused text: the lines of a kernel that compute an index `pN` which nothing speaks of. Where an
 * element of a view lies is written before it is known whether it is read there. A name may be
 * defined in several loops of the same text. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 20 };

/* The number of the index whose name begins at `at`; -1: none does. */
static int number_at(const char *text, const char *at) {
    if (*at != 'p' || !isdigit((unsigned char)at[1])) return -1;
    if (at > text && is_word(at[-1])) return -1;
    char *end;
    const long number = strtol(at + 1, &end, 10);
    return is_word(*end) || number >= MOST_NUMBERS ? -1 : (int)number;
}

static int largest_number(const char *text) {
    int largest = -1;
    for (const char *at = text; (at = strchr(at, 'p')); at++) {
        const int number = number_at(text, at);
        if (number > largest) largest = number;
    }
    return largest;
}

/* Adds `by` for each time that the text names an index up to `end`. */
static void count_numbers(const char *text, const char *from, const char *end, int *counts,
                          int by) {
    for (const char *at = from; (at = memchr(at, 'p', (size_t)(end - at))); at++) {
        const int number = number_at(text, at);
        if (number >= 0) counts[number] += by;
    }
}

/* The number of the index that the line from `from` up to `end` is there for; -1: for none. */
static int defined_in(const char *text, const char *from, const char *end) {
    static const char start[] = "const int64_t ";
    while (*from == ' ') from++;
    if (strncmp(from, start, strlen(start)) || end[-1] != ';') return -1;
    from += strlen(start);
    const int number = number_at(text, from);
    for (from++; isdigit((unsigned char)*from); from++) continue;
    return strncmp(from, " = ", 3) ? -1 : number;
}

typedef struct TextLine {
    const char *start, *end;
    bool unused;
} TextLine;

typedef Vector(TextLine) LineList;

static LineList lines_of(Arena *arena, const char *text) {
    LineList lines = {0};
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        vector_push(arena, &lines, (TextLine){text, end, false});
    }
    return lines;
}

const char *without_unused(Arena *arena, const char *text) {
    const int largest = largest_number(text);
    int *counts = arena_new_array(arena, int, largest + 2);
    int *defined = arena_new_array(arena, int, largest + 2);
    count_numbers(text, text, text + strlen(text), counts, 1);
    LineList lines = lines_of(arena, text);
    vector_each(TextLine, line, lines) {
        const int number = defined_in(text, line->start, line->end);
        if (number >= 0) defined[number]++;
    }
    for (size_t i = lines.count; i-- > 0;) { /* what a line speaks of was defined before it */
        TextLine *line = &lines.items[i];
        const int number = defined_in(text, line->start, line->end);
        line->unused = number >= 0 && counts[number] == defined[number];
        if (!line->unused) continue;
        defined[number]--;
        count_numbers(text, line->start, line->end, counts, -1);
    }
    Text used = text_new(arena);
    vector_each(TextLine, line, lines)
        if (!line->unused) {
            text_add_bytes(&used, line->start, (size_t)(line->end - line->start));
            text_add(&used, "\n");
        }
    return text_string(&used);
}
