/* Paragraph: text that is broken into lines where it must be. What is written is a stream of words,
 * places where a line may end, and groups of both; printing decides which places are used.
 *
 * A group that fits in the rest of its line stays on it. Otherwise, by its kind:
 *   GROUP_all      every place of the group ends a line
 *   GROUP_fill     a place ends a line when what follows it, up to the next, does not fit
 *   GROUP_bracket  as GROUP_fill, aligned behind the bracket; where that leaves too little room,
 *                  the lines hang: between the bracket's own lines, indented by two */
#ifndef FLOW_LANG_PARAGRAPH_H
#define FLOW_LANG_PARAGRAPH_H

#include "lang/base/text.h"
#include "lang/base/vector.h"

#include <stdbool.h>
#include <stdint.h>

enum { PARAGRAPH_WIDTH = 100 }; /* columns of a line */

typedef enum GroupKind { GROUP_all, GROUP_fill, GROUP_bracket } GroupKind;

typedef struct ParagraphItem ParagraphItem;

typedef struct Paragraph {
    Arena *arena;
    Vector(ParagraphItem) items;
    Vector(uint32_t) open; /* indexes of the groups that are not closed */
} Paragraph;

/* Where a comment behind other text begins in what was printed. */
typedef Vector(size_t) Offsets;

Paragraph *paragraph_new(Arena *arena);
void paragraph_word(Paragraph *paragraph, const char *bytes, size_t size);
void paragraph_blanks(Paragraph *paragraph, uint32_t count);

/* A place where the line may end; otherwise it is that many blanks wide. */
void paragraph_place(Paragraph *paragraph, uint32_t blanks);

/* The line ends here in any case, so the groups around it do not fit. */
void paragraph_line(Paragraph *paragraph);

/* A comment that ends its line. behind: words stand before it on the line. */
void paragraph_comment(Paragraph *paragraph, const char *bytes, size_t size, bool behind);

/* indent: of the group's lines, beyond those around it (not of a bracket). */
void paragraph_open(Paragraph *paragraph, GroupKind kind, uint32_t indent);
void paragraph_close(Paragraph *paragraph);
/* Inside a GROUP_bracket, behind the opening and before the closing bracket. */
void paragraph_edge(Paragraph *paragraph);
/* The open groups do not stay on one line. */
void paragraph_force(Paragraph *paragraph);
/* And their brackets hang. */
void paragraph_hang(Paragraph *paragraph);

/* Appends the lines to text, the first at its end, others indented. Adds to comments. */
void paragraph_print(const Paragraph *paragraph, uint32_t indent, Text *text, Offsets *comments);

/* The columns of all of it on one line; more than PARAGRAPH_WIDTH when that can't be. */
uint32_t paragraph_columns(const Paragraph *paragraph);

/* How many code points. */
uint32_t text_columns(const char *bytes, size_t size);

#endif
