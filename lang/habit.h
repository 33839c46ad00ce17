/* Habit: what other languages write, told how it is written here. */
#ifndef FLOW_LANG_HABIT_H
#define FLOW_LANG_HABIT_H

#include "lang/tokens.h"

/* What is written here in place of another language's function or value; or NULL. */
const char *habit_of_name(const char *name);

typedef struct Habit {
    Range range;
    const char *text; /* NULL: what was expected says it */
    const char *help; /* NULL: nothing is known */
} Habit;

/* Why the parser may have stumbled at the token. expected: as for report_mistake. */
Habit find_habit(Arena *arena, const Tokens *tokens, const Token *token, const char *expected);

#endif
