/* Names: the only ways in which text of the user's gets into generated C. */
#ifndef FLOW_CODEGEN_NAMES_H
#define FLOW_CODEGEN_NAMES_H

#include "compiler/graph/graph.h"

/* Of a name: a letter, a digit or an underscore. */
bool is_word(char c);

/* "v12_hint": prefix and number, then, marked (marked_text.h), what is left of hint in
 * [A-Za-z0-9_], shortened. Different prefixes and numbers make different names. */
const char *marked_name(Arena *arena, char prefix, NodeId number, const char *hint);

/* What is left of text in [a-z0-9_], starting with a letter and no keyword of C or C++: for what
 * users of a library call. */
const char *public_name(Arena *arena, const char *text);

/* A C string literal with its quotes; "NULL" for NULL. */
const char *string_literal(Arena *arena, const char *text);

/* For comments: other bytes than [A-Za-z0-9_./: -] become '?'. */
const char *comment_text(Arena *arena, const char *text);

/* A number as C source of that type. */
const char *number_literal(Arena *arena, Element element, double number);

/* "digits.flow:31", or "" for nowhere. Not yet safe for a comment. */
const char *place_text(Arena *arena, Range range);

#endif
