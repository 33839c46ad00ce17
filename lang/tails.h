/* Tails: comments behind lines that follow one another begin in one column. */
#ifndef FLOW_LANG_TAILS_H
#define FLOW_LANG_TAILS_H

#include "lang/paragraph.h"

/* comments: where they begin in the text. */
const Text *align_tails(Arena *arena, const Text *text, const Offsets *comments);

#endif
