/* Balance. The network's source is the GPU: of cuts that cost the same, that with the least there
 * is found. */
#include "compiler/balance/balance.h"

#include "compiler/balance/cut.h"
#include "compiler/balance/search.h"

#include <math.h>

enum {
    CUTS_MOST = 40,
    CUTS_LEAST = 8,
    ARCS_IN_ALL = 3000000, /* of all cuts */
    TURNS = 2500,          /* of the game that finds weights */
    PACE = 4,
};

static const double worth_more = 1 - 1e-5; /* of the bound: nearer weights are not looked for */
static const double room_of_all = 0x1p44;  /* of arcs, which are whole numbers */

typedef struct Weights {
    double of[BUSY_COUNT];
} Weights;

/* The arcs of a round: of item i two, of value i two or, with several readers, more. */
typedef struct Cutter {
    const Round *round;
    Network network;
    int *of_item, *of_value; /* numbers of arcs */
    bool *on_gpu;            /* by the last cut */
    double bound;            /* the highest of a weighted mean */
} Cutter;

static int node_of(int item) {
    return NETWORK_nodes + item;
}

static void add_item(Cutter *cutter, int i) {
    Side fixed = cutter->round->items.items[i].fixed;
    int64_t here = fixed == SIDE_gpu ? NETWORK_ENDLESS : 0;
    int64_t there = fixed == SIDE_cpu ? NETWORK_ENDLESS : 0;
    cutter->of_item[i] = network_add(&cutter->network, NETWORK_source, node_of(i), here);
    network_add(&cutter->network, node_of(i), NETWORK_sink, there);
}

/* A node for what any reader has there, and one for what any has here. */
static void add_value(Cutter *cutter, int v, int spare) {
    const Crossing *value = &cutter->round->values.items[v];
    int from = node_of(value->from), down = spare, up = spare + 1;
    if (value->count == 1) down = up = node_of(value->readers[0]);
    cutter->of_value[v] = network_add(&cutter->network, from, down, 0);
    network_add(&cutter->network, up, from, 0);
    for (int i = 0; i < value->count && value->count > 1; i++) {
        network_add(&cutter->network, down, node_of(value->readers[i]), NETWORK_ENDLESS);
        network_add(&cutter->network, node_of(value->readers[i]), up, NETWORK_ENDLESS);
    }
}

static Cutter cutter_new(Arena *arena, const Round *round) {
    int items = (int)round->items.count, values = (int)round->values.count;
    Cutter cutter = {.round = round};
    cutter.network = network_new(arena, NETWORK_nodes + items + 2 * values);
    cutter.of_item = arena_new_array(arena, int, items + 1);
    cutter.of_value = arena_new_array(arena, int, values + 1);
    cutter.on_gpu = arena_new_array(arena, bool, items + 1);
    for (int i = 0; i < items; i++) add_item(&cutter, i);
    for (int v = 0; v < values; v++) add_value(&cutter, v, NETWORK_nodes + items + 2 * v);
    return cutter;
}

/* Arcs that a cut has used up are as they were made. */
static void restore(Cutter *cutter) {
    Arc *arcs = cutter->network.arcs.items;
    for (size_t i = 0; i < cutter->network.arcs.count; i += 2) {
        int64_t room = arcs[i].room + arcs[i + 1].room;
        arcs[i] = (Arc){arcs[i].to, arcs[i].next, room >= NETWORK_ENDLESS ? NETWORK_ENDLESS : 0};
        arcs[i + 1].room = 0;
    }
}

static void set_room(Cutter *cutter, int arc, double seconds, double scale) {
    int64_t *room = &cutter->network.arcs.items[arc].room;
    if (*room < NETWORK_ENDLESS) *room = (int64_t)(seconds * scale);
}

static void weigh(Cutter *cutter, const Weights *weights, double scale) {
    const Round *round = cutter->round;
    const double *of = weights->of;
    restore(cutter);
    for (size_t i = 0; i < round->items.count; i++) {
        const Item *item = &round->items.items[i];
        double step = item->in_step ? of[BUSY_step] : 0;
        set_room(cutter, cutter->of_item[i], item->cpu * (of[BUSY_cpu] + step), scale);
        set_room(cutter, cutter->of_item[i] + 2, item->gpu * (of[BUSY_gpu] + step), scale);
    }
    for (size_t v = 0; v < round->values.count; v++) {
        const Crossing *value = &round->values.items[v];
        double seconds = value->seconds * (of[BUSY_link] + (value->in_step ? of[BUSY_step] : 0));
        set_room(cutter, cutter->of_value[v], seconds, scale);
        set_room(cutter, cutter->of_value[v] + 2, seconds, scale);
    }
}

static double all_work(const Round *round) {
    double sum = 0;
    vector_each(Item, item, round->items) sum += item->cpu + item->gpu;
    vector_each(Crossing, value, round->values) sum += value->seconds;
    return sum;
}

typedef Vector(Loads) Met;

static double mean_of(const Weights *weights, const Loads *loads) {
    double mean = 0;
    for (int i = 0; i < BUSY_COUNT; i++) mean += weights->of[i] * loads->seconds[i];
    return mean;
}

/* weights: their sum is 1. */
static Loads cut(Cutter *cutter, const Weights *weights, double scale) {
    weigh(cutter, weights, scale);
    network_cut(&cutter->network);
    for (size_t i = 0; i < cutter->round->items.count; i++)
        cutter->on_gpu[i] = is_with_source(&cutter->network, node_of((int)i));
    Loads loads = balance_loads(cutter->round, cutter->on_gpu);
    double mean = mean_of(weights, &loads);
    if (mean > cutter->bound) cutter->bound = mean;
    return loads;
}

static const Loads *least_mean(const Met *met, const Weights *weights) {
    const Loads *least = met->items;
    vector_each(Loads, loads, *met)
        if (mean_of(weights, loads) < mean_of(weights, least)) least = loads;
    return least;
}

/* What gained more weighs more. */
static Weights weights_by(const double *gain, int turn) {
    Weights weights;
    double pace = PACE / sqrt(turn + 1.0), most = gain[0], sum = 0;
    for (int i = 1; i < BUSY_COUNT; i++)
        if (gain[i] > most) most = gain[i];
    for (int i = 0; i < BUSY_COUNT; i++) sum += weights.of[i] = exp(pace * (gain[i] - most));
    for (int i = 0; i < BUSY_COUNT; i++) weights.of[i] /= sum;
    return weights;
}

/* The weights of which the least mean of all that was met is the highest: those of a game, whose
 * one player weighs and whose other picks loads, as both learn it (Y. Freund, R. Schapire,
 * "Adaptive game playing using multiplicative weights", 1999). */
static Weights best_weights(const Met *met) {
    Weights mean = {{0}};
    double gain[BUSY_COUNT] = {0}, most = 0;
    vector_each(Loads, loads, *met)
        if (loads->seconds[balance_busiest(loads)] > most)
            most = loads->seconds[balance_busiest(loads)];
    for (int turn = 0; turn < TURNS; turn++) {
        Weights weights = weights_by(gain, turn);
        const Loads *least = least_mean(met, &weights);
        for (int i = 0; i < BUSY_COUNT; i++) {
            mean.of[i] += weights.of[i] / TURNS;
            gain[i] += least->seconds[i] / (most + 1e-30);
        }
    }
    return mean;
}

static bool is_done(const Cutter *cutter, const Search *search) {
    Loads loads = balance_loads(cutter->round, search->best);
    return loads.seconds[balance_busiest(&loads)] <= cutter->bound * (1 + 1e-9);
}

static void visit(Cutter *cutter, Search *search, bool backwards) {
    search_visit(search, cutter->on_gpu, backwards);
}

static void look_for_weights(Arena *arena, Cutter *cutter, Search *search, double scale) {
    Met met = {0};
    int cuts = ARCS_IN_ALL / (int)(cutter->network.arcs.count + 1);
    cuts = cuts > CUTS_MOST ? CUTS_MOST : cuts < CUTS_LEAST ? CUTS_LEAST : cuts;
    for (int i = 0; i < cuts && !is_done(cutter, search); i++) {
        Weights weights = {{0.25, 0.25, 0.25, 0.25}};
        if (i) weights = best_weights(&met);
        Loads loads = cut(cutter, &weights, scale);
        visit(cutter, search, i & 1);
        if (i &&
            mean_of(&weights, &loads) >= worth_more * mean_of(&weights, least_mean(&met, &weights)))
            return;
        vector_push(arena, &met, loads);
    }
}

Split balance(Arena *arena, const Round *round) {
    const Weights step_alone = {.of[BUSY_step] = 1};
    Search search = search_new(arena, round);
    Cutter cutter = cutter_new(arena, round);
    double scale = room_of_all / (all_work(round) + 1e-30);
    cut(&cutter, &step_alone, scale);
    visit(&cutter, &search, false);
    look_for_weights(arena, &cutter, &search, scale);
    if (!is_done(&cutter, &search)) search_refine(&search);
    Split split = {.on_gpu = search.best, .loads = balance_loads(round, search.best)};
    split.seconds = split.loads.seconds[balance_busiest(&split.loads)];
    split.bound = cutter.bound < split.seconds ? cutter.bound : split.seconds;
    return split;
}

/* Loads. */

static bool goes_over(const Crossing *value, const bool *on_gpu) {
    for (int i = 0; i < value->count; i++)
        if (on_gpu[value->readers[i]] != on_gpu[value->from]) return true;
    return false;
}

Loads balance_loads(const Round *round, const bool *on_gpu) {
    Loads loads = {{0}};
    for (size_t i = 0; i < round->items.count; i++) {
        const Item *item = &round->items.items[i];
        double seconds = on_gpu[i] ? item->gpu : item->cpu;
        loads.seconds[on_gpu[i] ? BUSY_gpu : BUSY_cpu] += seconds;
        if (item->in_step) loads.seconds[BUSY_step] += seconds;
    }
    vector_each(Crossing, value, round->values) {
        if (!goes_over(value, on_gpu)) continue;
        loads.seconds[BUSY_link] += value->seconds;
        if (value->in_step) loads.seconds[BUSY_step] += value->seconds;
    }
    return loads;
}

Busy balance_busiest(const Loads *loads) {
    Busy busiest = BUSY_cpu;
    for (Busy i = BUSY_cpu; i < BUSY_COUNT; i++)
        if (loads->seconds[i] >= loads->seconds[busiest]) busiest = i;
    return busiest;
}
