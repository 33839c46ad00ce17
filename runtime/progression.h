/* Progression: which batches of a run are done, where some may overtake others: all before `low`,
 * and some of those that follow. */
#ifndef FLOW_PROGRESSION_H
#define FLOW_PROGRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OVERTAKE_LIMIT = 512,                           /* batches that one can overtake, and 1 */
    PROGRESSION_TEXT_SIZE = OVERTAKE_LIMIT / 4 + 1, /* bytes */
};

typedef struct Progression {
    int64_t low;                          /* is not done */
    uint64_t beyond[OVERTAKE_LIMIT / 64]; /* bit i: low + i is */
} Progression;

/* number: low <= number < low + OVERTAKE_LIMIT. */
void progression_add(Progression *progression, int64_t number);
bool progression_has(const Progression *progression, int64_t number);

/* How many are done beyond `low`. */
int64_t progression_beyond(const Progression *progression);

/* What is beyond `low`: hexadecimal digits, for batches in turn; and back, where `done` batches are
 * done in all. False: it is damaged. */
void progression_text(const Progression *progression, char text[PROGRESSION_TEXT_SIZE]);
bool progression_parse(const char *text, int64_t done, Progression *progression);

#endif
