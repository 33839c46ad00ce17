/* Merge: the tokens of a word become fewer: of all pairs side by side that are known the one of the
 * lowest rank becomes one token, the first of them where there are several; and so on until none is
 * left. */
#ifndef FLOW_TEXT_MERGE_H
#define FLOW_TEXT_MERGE_H

#include "runtime/text/pairs.h"
#include "runtime/text/workplace.h"

/* Merges tokens->items from `first` on. Takes n log n for n of them. False: no memory. */
bool merge_word(const Pairs *pairs, TokenList *tokens, size_t first, Room *work);

#endif
