#include "runtime/progression.h"

#include <string.h>

static bool bit_of(const Progression *progression, int64_t index) {
    return progression->beyond[index / 64] >> index % 64 & 1;
}

/* Forgets bit 0, and the others move down. */
static void move_down(Progression *progression) {
    enum { WORDS = OVERTAKE_LIMIT / 64 };
    for (int i = 0; i < WORDS; i++) {
        progression->beyond[i] >>= 1;
        if (i + 1 < WORDS) progression->beyond[i] |= progression->beyond[i + 1] << 63;
    }
    progression->low++;
}

int64_t progression_beyond(const Progression *progression) {
    int64_t count = 0;
    for (int i = 0; i < OVERTAKE_LIMIT / 64; i++)
        count += __builtin_popcountll(progression->beyond[i]);
    return count;
}

void progression_add(Progression *progression, int64_t number) {
    int64_t index = number - progression->low;
    if (!index && !progression_beyond(progression)) {
        progression->low++;
        return;
    }
    progression->beyond[index / 64] |= UINT64_C(1) << index % 64;
    while (bit_of(progression, 0)) move_down(progression);
}

bool progression_has(const Progression *progression, int64_t number) {
    int64_t index = number - progression->low;
    return index < 0 || (index < OVERTAKE_LIMIT && bit_of(progression, index));
}

void progression_text(const Progression *progression, char text[PROGRESSION_TEXT_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (size_t i = 0; i < OVERTAKE_LIMIT / 4; i++) {
        unsigned digit = progression->beyond[i / 16] >> i % 16 * 4 & 15;
        text[i] = digits[digit];
        if (digit) used = i + 1;
    }
    text[used] = 0;
}

bool progression_parse(const char *text, int64_t done, Progression *progression) {
    static const char digits[] = "0123456789abcdef";
    *progression = (Progression){0};
    for (size_t i = 0; text[i]; i++) {
        const char *digit = strchr(digits, text[i]);
        if (!digit || i >= OVERTAKE_LIMIT / 4) return false;
        progression->beyond[i / 16] |= (uint64_t)(digit - digits) << i % 16 * 4;
    }
    progression->low = done - progression_beyond(progression);
    return progression->low >= 0 && !bit_of(progression, 0);
}
