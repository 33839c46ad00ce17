/* Format: .flow text in its one canonical form.
 *
 * Words and comments stay as they are; line ends, blanks and empty lines are chosen anew, with
 * three exceptions: a chain that is broken before a `|>`, a bracket whose first item is on a
 * line of its own, and a `[` list with line ends between its items stay so, as does a block on
 * one line. */
#ifndef FLOW_LANG_FORMAT_H
#define FLOW_LANG_FORMAT_H

#include "lang/base/text.h"
#include "lang/diagnostic.h"

/* NULL when the source has syntax errors, which stand in diagnostics then. Should the text not say
 * what the source says (it is read again), also NULL, and diagnostics stays empty. */
const Text *format(Arena *arena, const Source *source, Diagnostics *diagnostics);

#endif
