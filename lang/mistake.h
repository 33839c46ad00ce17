/* Mistake: how a syntax error is told. */
#ifndef FLOW_LANG_MISTAKE_H
#define FLOW_LANG_MISTAKE_H

#include "lang/build.h"

/* Reports the current token as unexpected, or what is missing before it. expected: "expected …",
 * or NULL where too much could stand. */
void report_mistake(Parser *parser, const char *expected);

#endif
