/* Parse: .flow text to a tree. Reentrant and thread-safe for different arenas.
 *
 * Limits (each reported as an error, none can be passed): SOURCE_SIZE_LIMIT bytes, 4 M tokens,
 * nesting of 256, names of 255 bytes. */
#ifndef FLOW_LANG_PARSE_H
#define FLOW_LANG_PARSE_H

#include "lang/diagnostic.h"
#include "lang/tree.h"

enum { TOKEN_LIMIT = 4 << 20, NESTING_LIMIT = 256, NAME_LIMIT = 255 };

/* Never NULL; what could not be parsed is missing from the tree and stands in diagnostics. */
Tree *parse(Arena *arena, const Source *source, Diagnostics *diagnostics);

/* The same of a part, which begins with a line and has whole declarations. */
Tree *parse_part(Arena *arena, Range part, Diagnostics *diagnostics);

/* One expression alone, as the gradients of the op table are written. */
Expression *parse_expression(Arena *arena, const Source *source, Diagnostics *diagnostics);

#endif
