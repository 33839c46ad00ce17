/* Classes: two bits for each code point, set from ranges when they are first asked for. */
#include "runtime/text/classes.h"

#include <pthread.h>
#include <stddef.h>

static const struct {
    uint32_t first, last;
    Class class;
} ranges[] = {
#define LETTERS(first, last) {first, last, CLASS_letter},
#define NUMBERS(first, last) {first, last, CLASS_number},
#define SPACES(first, last) {first, last, CLASS_space},
#include "runtime/text/classes.def"
#undef LETTERS
#undef NUMBERS
#undef SPACES
};

static uint8_t table[CODE_LIMIT / 4];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void) {
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (uint32_t code = ranges[i].first; code <= ranges[i].last; code++)
            table[code / 4] |= (uint8_t)(ranges[i].class << code % 4 * 2);
}

const uint8_t *classes(void) {
    pthread_once(&once, fill_table);
    return table;
}
