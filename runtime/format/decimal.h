/* Decimal: numbers written in digits. */
#ifndef FLOW_DECIMAL_H
#define FLOW_DECIMAL_H

#include "runtime/flow.h"

enum { DECIMAL_PADDING = 32 };

/* Stores the number in `text`: [+-]digits[.digits][e[+-]digits]; of a floating element also inf,
 * infinity and nan in any letters, of a bool true and false. A floating element gets the value that
 * is nearest, ties to even; an integer element only what it can hold exactly. False: the text is no
 * such number, or it is too large. DECIMAL_PADDING bytes from `text` on can be read, and what
 * follows `size` is no part of a number. */
bool decimal_write(const char *text, size_t size, FlowElement element, void *value);

#endif
