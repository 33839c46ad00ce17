/* Search. Of splits with the same round the one with less work in all is better. */
#include "compiler/balance/search.h"

enum {
    PASSES = 30,
    PAIRS_MOST = 64, /* items, of which all pairs are tried */
    KICKS = 200,     /* moves of three items at once, where pairs are tried */
};

static const double work_counts = 1e-4; /* beside the round */

static double score(const Loads *loads) {
    double sum = 0;
    for (int i = 0; i < BUSY_COUNT; i++) sum += loads->seconds[i];
    return loads->seconds[balance_busiest(loads)] + work_counts * sum;
}

static void touch(Search *search, int *used, int item, int value, bool makes) {
    search->touches[*used] = (Touch){value, search->first[item], makes};
    search->first[item] = (*used)++;
}

static void find_touches(Arena *arena, Search *search) {
    const Round *round = search->round;
    size_t total = 0;
    int used = 0;
    vector_each(Crossing, value, round->values) total += 1 + (size_t)value->count;
    search->touches = arena_new_array(arena, Touch, total + 1);
    search->first = arena_new_array(arena, int, search->count + 1);
    for (int i = 0; i < search->count; i++) search->first[i] = -1;
    for (int v = 0; v < (int)round->values.count; v++) {
        const Crossing *value = &round->values.items[v];
        touch(search, &used, value->from, v, true);
        for (int i = 0; i < value->count; i++) touch(search, &used, value->readers[i], v, false);
    }
}

/* One item. */

static bool crosses(const Search *search, int v) {
    int there = search->read_on_gpu[v];
    return search->made_on_gpu[v] ? there < search->round->values.items[v].count : there > 0;
}

static void move_end(Search *search, const Touch *touched, bool to_gpu) {
    const Crossing *value = &search->round->values.items[touched->value];
    bool before = crosses(search, touched->value);
    if (touched->makes) search->made_on_gpu[touched->value] = to_gpu;
    else search->read_on_gpu[touched->value] += to_gpu ? 1 : -1;
    double more = value->seconds * (crosses(search, touched->value) - before);
    search->loads.seconds[BUSY_link] += more;
    if (value->in_step) search->loads.seconds[BUSY_step] += more;
}

static void flip(Search *search, int i) {
    const Item *item = &search->round->items.items[i];
    bool to_gpu = search->on_gpu[i] = !search->on_gpu[i];
    double cpu = to_gpu ? -item->cpu : item->cpu, gpu = to_gpu ? item->gpu : -item->gpu;
    search->loads.seconds[BUSY_cpu] += cpu;
    search->loads.seconds[BUSY_gpu] += gpu;
    if (item->in_step) search->loads.seconds[BUSY_step] += cpu + gpu;
    for (int t = search->first[i]; t >= 0; t = search->touches[t].next)
        move_end(search, &search->touches[t], to_gpu);
}

static bool note(Search *search) {
    double now = score(&search->loads);
    if (now >= search->best_score * (1 - 1e-9)) return false;
    search->best_score = now;
    memcpy(search->best, search->on_gpu, (size_t)search->count);
    return true;
}

static bool is_free(const Search *search, int i) {
    return search->round->items.items[i].fixed == SIDE_free;
}

Search search_new(Arena *arena, const Round *round) {
    Search search = {.round = round, .count = (int)round->items.count};
    find_touches(arena, &search);
    search.on_gpu = arena_new_array(arena, bool, search.count + 1);
    search.best = arena_new_array(arena, bool, search.count + 1);
    search.made_on_gpu = arena_new_array(arena, bool, round->values.count + 1);
    search.read_on_gpu = arena_new_array(arena, int, round->values.count + 1);
    search.loads = balance_loads(round, search.on_gpu);
    for (int i = 0; i < search.count; i++)
        if (round->items.items[i].fixed == SIDE_gpu) flip(&search, i);
    search.best_score = score(&search.loads);
    memcpy(search.best, search.on_gpu, (size_t)search.count);
    return search;
}

static void go_to(Search *search, const bool *split) {
    for (int i = 0; i < search->count; i++)
        if (search->on_gpu[i] != split[i]) flip(search, i);
}

void search_visit(Search *search, const bool *split, bool backwards) {
    for (int n = 0; n < search->count; n++) {
        int i = backwards ? search->count - 1 - n : n;
        if (search->on_gpu[i] == split[i]) continue;
        flip(search, i);
        note(search);
    }
}

/* Several. */

static bool move_single(Search *search) {
    bool better = false;
    for (int i = 0; i < search->count; i++) {
        if (!is_free(search, i)) continue;
        flip(search, i);
        if (note(search)) better = true;
        else flip(search, i);
    }
    return better;
}

static bool move_pairs(Search *search) {
    bool better = false;
    for (int i = 0; i < search->count; i++) {
        if (!is_free(search, i)) continue;
        for (int j = 0; j < i; j++) {
            if (!is_free(search, j)) continue;
            flip(search, i), flip(search, j);
            if (note(search)) better = true;
            else flip(search, i), flip(search, j);
        }
    }
    return better;
}

static void settle(Search *search, bool pairs) {
    for (int pass = 0; pass < PASSES; pass++)
        if (!move_single(search) && !(pairs && move_pairs(search))) return;
}

static unsigned next_random(unsigned *state) {
    return *state = *state * 1664525u + 1013904223u;
}

/* From the best, three items are moved, and then those that help until none does. */
static void kick(Search *search, unsigned *state) {
    go_to(search, search->best);
    double best = search->best_score;
    for (int n = 0; n < 3; n++) {
        int i = (int)((next_random(state) >> 8) % (unsigned)search->count);
        if (is_free(search, i)) flip(search, i);
    }
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < search->count; i++) {
            double before = score(&search->loads);
            if (!is_free(search, i)) continue;
            flip(search, i);
            if (score(&search->loads) >= before) flip(search, i);
        }
    note(search);
    if (search->best_score < best) settle(search, true);
}

void search_refine(Search *search) {
    int free = 0;
    unsigned state = 1;
    for (int i = 0; i < search->count; i++) free += is_free(search, i);
    go_to(search, search->best);
    settle(search, free <= PAIRS_MOST);
    for (int i = 0; i < KICKS && free && free <= PAIRS_MOST; i++) kick(search, &state);
}
