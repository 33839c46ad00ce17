/* Spacing: the blanks between the words of a line, and which operators break a line first. */
#ifndef FLOW_LANG_SPACING_H
#define FLOW_LANG_SPACING_H

#include "lang/words.h"

/* How tightly an operator binds, from loose to tight. */
enum { LEVEL_pipe = 1, LEVEL_or, LEVEL_and, LEVEL_comparison, LEVEL_sum, LEVEL_product, LEVEL_end };

/* 0 for what does not stand between two operands. */
int level_at(const Words *words, uint32_t at);

/* Whether an operator may follow the word. */
bool ends_operand(const Words *words, uint32_t at);

/* The blanks before a word that is not the first of its line. */
uint32_t blanks_before(const Words *words, uint32_t at);

#endif
