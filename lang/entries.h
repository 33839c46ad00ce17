/* Entries: in lines that follow one another, `name = value` has its `=` in one column: in train
 * blocks, and of options, whose help is aligned too. */
#ifndef FLOW_LANG_ENTRIES_H
#define FLOW_LANG_ENTRIES_H

#include "lang/words.h"

typedef enum Block { BLOCK_program, BLOCK_train, BLOCK_statements } Block;

/* The words of a statement or declaration. */
typedef struct Line {
    uint32_t first, end;
    uint32_t equal;       /* the word; 0: not aligned */
    uint32_t name, value; /* columns before and behind `=` */
    bool has_help;
} Line;
typedef Vector(Line) Lines;

/* Those of a block, whose words are [first, end). */
Lines find_lines(Arena *arena, const Words *words, uint32_t first, uint32_t end);

/* Sets the blanks of the words before which more are wanted than usual. */
void align_entries(Arena *arena, Words *words, Lines *lines, Block block);

#endif
