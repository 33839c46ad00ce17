/* Layout: the layered drawing of Sugiyama, Tagawa and Toda (1981).
 *
 * 1. Layers: a box stands below all that it reads; what reads nothing moves down to its readers.
 * 2. Bends: an arrow over several layers gets a place in each between. Arrows that leave the same
 *    box share them, which keeps the forward values of a training step from flooding the picture.
 * 3. Order within layers: barycentres, down and up; the order with the fewest crossings is kept.
 * 4. Coordinates: each place wants to be under the mean of its neighbours, each bend under the
 *    other bends of its box. For a fixed order and minimal distances the least squares are
 *    isotonic regression, solved by pooling. */
#include "compiler/picture/layout.h"

#include <stdlib.h>
#include <string.h>

enum { ORDER_SWEEPS = 24, PLACE_SWEEPS = 60, MARGIN = 24, BEND_WIDTH = 14, CHAIN_WEIGHT = 8 };
static const double gap_x = 26, gap_y = 46;

typedef Vector(int) Integers;

typedef struct Link {
    int upper, lower; /* places in neighbouring layers */
} Link;

typedef struct Drawing {
    Arena *arena;
    const Boxes *boxes;
    Layout *layout;
    Vector(Link) links;
    Integers *above, *below; /* of each place: its neighbours */
    Integers *chains;        /* of each box: the bends below it */
    Integers sources;        /* of each bend: its box */
    double *middles;         /* of each box: the mean x of the bends below it */
    Integers *layers;        /* places from left to right */
} Drawing;

static Place *place_at(const Drawing *drawing, int place) {
    return &drawing->layout->places.items[place];
}

/* 1. Layers. */

static bool lower_readers(Drawing *drawing) {
    bool changed = false;
    vector_each(Arrow, arrow, drawing->boxes->arrows) {
        Place *from = place_at(drawing, arrow->from), *to = place_at(drawing, arrow->to);
        if (to->layer > from->layer) continue;
        to->layer = from->layer + 1;
        changed = true;
    }
    return changed;
}

/* Boxes that read nothing move down to their first reader. */
static void move_leaves_down(Drawing *drawing) {
    int count = (int)drawing->boxes->boxes.count;
    int *nearest = arena_new_array(drawing->arena, int, count + 1);
    vector_each(Arrow, arrow, drawing->boxes->arrows) {
        int layer = place_at(drawing, arrow->to)->layer;
        if (!nearest[arrow->from] || layer < nearest[arrow->from]) nearest[arrow->from] = layer;
    }
    for (int i = 0; i < count; i++) {
        Place *place = place_at(drawing, i);
        if (!place->layer && nearest[i]) place->layer = nearest[i] - 1;
    }
}

/* Arrows come in order of their readers, so a few rounds do; the bound is for broken graphs. */
static void choose_layers(Drawing *drawing, const double (*sizes)[2]) {
    size_t count = drawing->boxes->boxes.count;
    for (size_t i = 0; i < count; i++)
        vector_push(drawing->arena, &drawing->layout->places,
                    (Place){.width = sizes[i][0], .height = sizes[i][1]});
    for (size_t round = 0; round <= count && lower_readers(drawing); round++) continue;
    move_leaves_down(drawing);
    for (size_t i = 0; i < count; i++) {
        int layer = place_at(drawing, (int)i)->layer;
        if (layer >= drawing->layout->layer_count) drawing->layout->layer_count = layer + 1;
    }
}

/* 2. Bends. */

static void add_link(Drawing *drawing, int upper, int lower) {
    vector_push(drawing->arena, &drawing->links, (Link){upper, lower});
}

/* Makes the chain of bends below a box at least as long as asked. */
static void lengthen_chain(Drawing *drawing, Integers *chain, int from, int length) {
    while ((int)chain->count < length) {
        int upper = chain->count ? chain->items[chain->count - 1] : from;
        int bend = (int)drawing->layout->places.count;
        Place place = {.layer = place_at(drawing, upper)->layer + 1, .width = BEND_WIDTH};
        vector_push(drawing->arena, &drawing->layout->places, place);
        vector_push(drawing->arena, chain, bend);
        vector_push(drawing->arena, &drawing->sources, from);
        add_link(drawing, upper, bend);
    }
}

static void add_paths(Drawing *drawing) {
    const Boxes *boxes = drawing->boxes;
    drawing->chains = arena_new_array(drawing->arena, Integers, boxes->boxes.count + 1);
    drawing->layout->paths = arena_new_array(drawing->arena, Path, boxes->arrows.count + 1);
    for (size_t i = 0; i < boxes->arrows.count; i++) {
        const Arrow *arrow = &boxes->arrows.items[i];
        int span = place_at(drawing, arrow->to)->layer - place_at(drawing, arrow->from)->layer;
        int bends = span > 1 ? span - 1 : 0;
        Integers *chain = &drawing->chains[arrow->from];
        lengthen_chain(drawing, chain, arrow->from, bends);
        Path *path = &drawing->layout->paths[i];
        *path = (Path){.count = bends + 2};
        path->places = arena_new_array(drawing->arena, int, path->count);
        path->places[0] = arrow->from;
        for (int j = 0; j < bends; j++) path->places[j + 1] = chain->items[j];
        path->places[path->count - 1] = arrow->to;
        add_link(drawing, path->places[path->count - 2], arrow->to);
    }
}

static void list_neighbours(Drawing *drawing) {
    size_t count = drawing->layout->places.count;
    drawing->above = arena_new_array(drawing->arena, Integers, count + 1);
    drawing->below = arena_new_array(drawing->arena, Integers, count + 1);
    vector_each(Link, link, drawing->links) {
        vector_push(drawing->arena, &drawing->above[link->lower], link->upper);
        vector_push(drawing->arena, &drawing->below[link->upper], link->lower);
    }
}

/* 3. Order. */

/* Depth first, so that what belongs together starts together. */
static void add_in_order(Drawing *drawing, int place, bool *placed) {
    Integers stack = {0};
    vector_push(drawing->arena, &stack, place);
    while (stack.count) {
        int next = stack.items[--stack.count];
        if (placed[next]) continue;
        placed[next] = true;
        Integers *layer = &drawing->layers[place_at(drawing, next)->layer];
        place_at(drawing, next)->order = (int)layer->count;
        vector_push(drawing->arena, layer, next);
        Integers *below = &drawing->below[next];
        for (size_t i = below->count; i-- > 0;)
            vector_push(drawing->arena, &stack, below->items[i]);
    }
}

static void first_order(Drawing *drawing) {
    bool *placed = arena_new_array(drawing->arena, bool, drawing->layout->places.count + 1);
    drawing->layers = arena_new_array(drawing->arena, Integers, drawing->layout->layer_count + 1);
    for (size_t i = 0; i < drawing->layout->places.count; i++)
        if (!drawing->above[i].count) add_in_order(drawing, (int)i, placed);
    for (size_t i = 0; i < drawing->layout->places.count; i++)
        add_in_order(drawing, (int)i, placed);
}

static void number_layer(Drawing *drawing, const Integers *layer) {
    for (size_t i = 0; i < layer->count; i++) place_at(drawing, layer->items[i])->order = (int)i;
}

typedef struct Wish {
    double at;
    int place, order;
} Wish;

static int compare_wishes(const void *a, const void *b) {
    const Wish *left = a, *right = b;
    if (left->at != right->at) return left->at < right->at ? -1 : 1;
    return left->order - right->order;
}

static double mean_order(const Drawing *drawing, const Integers *neighbours, double otherwise) {
    double sum = 0;
    for (size_t i = 0; i < neighbours->count; i++)
        sum += place_at(drawing, neighbours->items[i])->order;
    return neighbours->count ? sum / (double)neighbours->count : otherwise;
}

static void sort_layer(Drawing *drawing, Integers *layer, const Integers *neighbours) {
    Wish *wishes = arena_new_array(drawing->arena, Wish, layer->count + 1);
    for (size_t i = 0; i < layer->count; i++) {
        int place = layer->items[i];
        wishes[i] = (Wish){mean_order(drawing, &neighbours[place], (double)i), place, (int)i};
    }
    qsort(wishes, layer->count, sizeof *wishes, compare_wishes);
    for (size_t i = 0; i < layer->count; i++) layer->items[i] = wishes[i].place;
    number_layer(drawing, layer);
}

/* Crossings between a layer and the next: inversions, counted in a Fenwick tree. */
static int64_t layer_crossings(const Drawing *drawing, int upper) {
    const Integers *layer = &drawing->layers[upper];
    int size = (int)drawing->layers[upper + 1].count;
    int *tree = arena_new_array(drawing->arena, int, size + 1);
    int64_t crossings = 0, added = 0;
    for (size_t i = 0; i < layer->count; i++) {
        const Integers *below = &drawing->below[layer->items[i]];
        for (size_t j = 0; j < below->count; j++) {
            int64_t before = 0;
            for (int k = place_at(drawing, below->items[j])->order + 1; k > 0; k &= k - 1)
                before += tree[k];
            crossings += added - before;
        }
        for (size_t j = 0; j < below->count; j++, added++)
            for (int k = place_at(drawing, below->items[j])->order + 1; k <= size; k += k & -k)
                tree[k]++;
    }
    return crossings;
}

static int64_t count_crossings(const Drawing *drawing) {
    int64_t crossings = 0;
    for (int i = 0; i + 1 < drawing->layout->layer_count; i++)
        crossings += layer_crossings(drawing, i);
    return crossings;
}

static void sweep_order(Drawing *drawing, bool down) {
    int count = drawing->layout->layer_count;
    for (int i = 1; i < count; i++) {
        int layer = down ? i : count - 1 - i;
        sort_layer(drawing, &drawing->layers[layer], down ? drawing->above : drawing->below);
    }
}

static void save_order(const Drawing *drawing, int *orders) {
    for (size_t i = 0; i < drawing->layout->places.count; i++)
        orders[i] = drawing->layout->places.items[i].order;
}

static void restore_order(Drawing *drawing, const int *orders) {
    for (size_t i = 0; i < drawing->layout->places.count; i++) {
        Place *place = &drawing->layout->places.items[i];
        place->order = orders[i];
        drawing->layers[place->layer].items[place->order] = (int)i;
    }
}

static void choose_order(Drawing *drawing) {
    int *best = arena_new_array(drawing->arena, int, drawing->layout->places.count + 1);
    first_order(drawing);
    int64_t fewest = count_crossings(drawing);
    save_order(drawing, best);
    for (int i = 0; i < ORDER_SWEEPS && fewest; i++) {
        sweep_order(drawing, i % 2 == 0);
        int64_t crossings = count_crossings(drawing);
        if (crossings >= fewest) continue;
        fewest = crossings;
        save_order(drawing, best);
    }
    restore_order(drawing, best);
}

/* 4. Coordinates. */

static void find_middles(Drawing *drawing) {
    for (size_t box = 0; box < drawing->boxes->boxes.count; box++) {
        const Integers *chain = &drawing->chains[box];
        double sum = 0;
        for (size_t i = 0; i < chain->count; i++) sum += place_at(drawing, chain->items[i])->x;
        if (chain->count) drawing->middles[box] = sum / (double)chain->count;
    }
}

/* Where a place wants to be, and how much. */
static void wish(const Drawing *drawing, int place, double *at, double *weight) {
    const Integers *sides[] = {&drawing->above[place], &drawing->below[place]};
    int bend = place - (int)drawing->boxes->boxes.count;
    double sum = 0, total = 0;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < sides[side]->count; i++, total++)
            sum += place_at(drawing, sides[side]->items[i])->x;
    if (bend >= 0) {
        sum += CHAIN_WEIGHT * drawing->middles[drawing->sources.items[bend]];
        total += CHAIN_WEIGHT;
    }
    *at = total ? sum / total : place_at(drawing, place)->x;
    *weight = total ? total : 0.1;
}

/* A run of places that touch. */
typedef struct Run {
    double at, weight;
    size_t count;
} Run;

static double distance(const Place *left, const Place *right) {
    return (left->width + right->width) / 2 + gap_x;
}

static void settle_layer(Drawing *drawing, const Integers *layer) {
    Run *runs = arena_new_array(drawing->arena, Run, layer->count + 1);
    double *offsets = arena_new_array(drawing->arena, double, layer->count + 1);
    size_t count = 0, next = 0;
    for (size_t i = 0; i < layer->count; i++) {
        const Place *place = place_at(drawing, layer->items[i]);
        Run run = {.count = 1};
        wish(drawing, layer->items[i], &run.at, &run.weight);
        if (i)
            offsets[i] = offsets[i - 1] + distance(place_at(drawing, layer->items[i - 1]), place);
        run.at -= offsets[i];
        for (; count && runs[count - 1].at > run.at; count--) {
            const Run *last = &runs[count - 1];
            double weight = last->weight + run.weight;
            run.at = (last->at * last->weight + run.at * run.weight) / weight;
            run.weight = weight;
            run.count += last->count;
        }
        runs[count++] = run;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < runs[i].count; j++, next++)
            place_at(drawing, layer->items[next])->x = runs[i].at + offsets[next];
}

static void choose_x(Drawing *drawing) {
    int count = drawing->layout->layer_count;
    drawing->middles = arena_new_array(drawing->arena, double, drawing->boxes->boxes.count + 1);
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
        for (int i = 0; i < count; i++)
            settle_layer(drawing, &drawing->layers[sweep % 2 ? count - 1 - i : i]);
        find_middles(drawing);
    }
}

static void move_to_origin(Layout *layout) {
    double left = 0, right = 0;
    vector_each(Place, place, layout->places) {
        double low = place->x - place->width / 2, high = place->x + place->width / 2;
        if (place == layout->places.items || low < left) left = low;
        if (place == layout->places.items || high > right) right = high;
    }
    vector_each(Place, moved, layout->places) moved->x += MARGIN - left;
    layout->width = right - left + 2 * MARGIN;
}

static void choose_y(Arena *arena, Layout *layout) {
    layout->tops = arena_new_array(arena, double, layout->layer_count + 1);
    layout->heights = arena_new_array(arena, double, layout->layer_count + 1);
    vector_each(Place, place, layout->places)
        if (place->height > layout->heights[place->layer])
            layout->heights[place->layer] = place->height;
    double y = MARGIN;
    for (int i = 0; i < layout->layer_count; i++) {
        layout->tops[i] = y;
        y += layout->heights[i] + gap_y;
    }
    layout->height = y - gap_y + MARGIN;
}

/* Where arrows touch boxes. */

/* Where a path goes from its box, or comes from. */
typedef struct End {
    double at;
    int path, next; /* next: the place there */
} End;
typedef Vector(End) Ends;

static int compare_ends(const void *a, const void *b) {
    const End *left = a, *right = b;
    if (left->at != right->at) return left->at < right->at ? -1 : 1;
    return left->next - right->next;
}

/* Spreads the ends at one side of a box; those that go the same way stay together. */
static void spread(const Drawing *drawing, int box, const Ends *ends, bool leaving) {
    const Place *place = place_at(drawing, box);
    int ways = 0, way = 0;
    for (size_t i = 0; i < ends->count; i++)
        ways += !i || ends->items[i].next != ends->items[i - 1].next;
    for (size_t i = 0; i < ends->count; i++) {
        Path *path = &drawing->layout->paths[ends->items[i].path];
        way += !i || ends->items[i].next != ends->items[i - 1].next;
        double x = place->x + place->width * ((double)way / (ways + 1) - 0.5);
        if (leaving) path->start = x;
        else path->end = x;
    }
}

static void choose_ends(Drawing *drawing, bool leaving) {
    const Boxes *boxes = drawing->boxes;
    Ends *ends = arena_new_array(drawing->arena, Ends, boxes->boxes.count + 1);
    for (size_t i = 0; i < boxes->arrows.count; i++) {
        const Path *path = &drawing->layout->paths[i];
        int next = path->places[leaving ? 1 : path->count - 2];
        int box = leaving ? boxes->arrows.items[i].from : boxes->arrows.items[i].to;
        vector_push(drawing->arena, &ends[box], (End){place_at(drawing, next)->x, (int)i, next});
    }
    for (size_t i = 0; i < boxes->boxes.count; i++) {
        if (!ends[i].count) continue;
        qsort(ends[i].items, ends[i].count, sizeof(End), compare_ends);
        spread(drawing, (int)i, &ends[i], leaving);
    }
}

Layout *layout_new(Arena *arena, const Boxes *boxes, const double (*sizes)[2]) {
    Layout *layout = arena_new_item(arena, Layout);
    Drawing drawing = {.arena = arena, .boxes = boxes, .layout = layout};
    choose_layers(&drawing, sizes);
    add_paths(&drawing);
    list_neighbours(&drawing);
    choose_order(&drawing);
    choose_x(&drawing);
    move_to_origin(layout);
    choose_y(arena, layout);
    choose_ends(&drawing, true);
    choose_ends(&drawing, false);
    return layout;
}
