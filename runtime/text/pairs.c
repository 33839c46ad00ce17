#include "runtime/text/pairs.h"

#include "runtime/holdings.h"

#include <stdlib.h>

bool pairs_open(Pairs *pairs, size_t count) {
    size_t capacity = 2;
    while (capacity < 2 * count) capacity *= 2;
    pairs->items = held_resize(NULL, 0, capacity * sizeof *pairs->items);
    pairs->mask = capacity - 1;
    for (size_t i = 0; pairs->items && i < capacity; i++) pairs->items[i].key = PAIR_NONE;
    return pairs->items;
}

void pairs_close(Pairs *pairs) {
    free(pairs->items);
}
