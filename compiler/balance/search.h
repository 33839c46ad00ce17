/* Search: splits of a round, changed item by item, and the best that was seen. */
#ifndef FLOW_BALANCE_SEARCH_H
#define FLOW_BALANCE_SEARCH_H

#include "compiler/balance/balance.h"

/* Of an item: a value that it makes or reads. */
typedef struct Touch {
    int value, next; /* next: of the same item, or -1 */
    bool makes;
} Touch;

typedef struct Search {
    const Round *round;
    int count; /* of items */
    Touch *touches;
    int *first; /* of each item: in touches */
    bool *on_gpu, *made_on_gpu;
    int *read_on_gpu; /* of each value: readers there */
    Loads loads;
    bool *best;
    double best_score;
} Search;

/* It begins with all on the CPU but for what is fixed. */
Search search_new(Arena *arena, const Round *round);

/* Goes there from where it is, item by item, first to last or last to first. */
void search_visit(Search *search, const bool *split, bool backwards);

/* Moves single items and pairs from the best while that helps. */
void search_refine(Search *search);

#endif
