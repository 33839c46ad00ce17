/* Places that are data; and what is made of nothing, or made again. */
#include "tests/fuzz/programs/generator.h"

#include <stdio.h>

/* Whole numbers of whose values it is proven which there are. */
static int pick_index(Generator *generator, int rank_limit) {
    int index = pick(generator, &(Wish){.takes = TAKES_integer,
                                        .any_element = true,
                                        .rank_limit = rank_limit,
                                        .index = true});
    if (index < 0 || item_at(generator, index)->shape.element == TYPE_i32) return index;
    return -1;
}

/* Such numbers in 0..places as an expression of operand 0. */
typedef struct Places {
    int operand, places;
    Shape shape;
    char text[48];
} Places;

/* An item that is one, or where the largest of each row is. */
static bool choose_places(Generator *generator, int rank_limit, Places *places) {
    int index = chance(generator, 40) ? pick_index(generator, rank_limit) : -1;
    bool made = index < 0;
    if (made)
        index = pick(generator, &(Wish){.takes = TAKES_number,
                                        .any_element = true,
                                        .bits = exact_limit(TYPE_f64),
                                        .rank = 2,
                                        .rank_limit = rank_limit + 1});
    if (index < 0) return false;
    const Item *item = item_at(generator, index);
    *places = (Places){index, item->places, item->shape, "$0"};
    if (made) {
        places->places = places->shape.sizes[--places->shape.rank];
        snprintf(places->text, sizeof places->text, "arg%s($0, axis = -1)",
                 chance(generator, 50) ? "max" : "min");
    }
    return places->places > 0;
}

/* The rows of a weight. */
static bool make_embedding(Generator *generator) {
    Places places;
    if (!choose_places(generator, SHAPE_LIMIT - 1, &places)) return false;
    Item item = item_of(generator, places.operand);
    int features = 1 + below(generator, 5), rank = below(generator, 2);
    int table = add_weight(generator, (Shape){TYPE_f32, 1 + rank, {places.places, features}});
    if (table < 0) return false;
    item.operands[1] = table, item.operand_count = 2;
    item.shape = places.shape;
    item.shape.element = TYPE_f32;
    if (rank) item.shape.sizes[item.shape.rank++] = features;
    item.bits = item_at(generator, table)->bits, item.size = 2, item.places = 0;
    snprintf(item.text, sizeof item.text, "gather($1, %s)", places.text);
    return add_let(generator, item);
}

/* Slices of an item by an index of the size of one of its axes. */
static bool make_gather(Generator *generator) {
    int index = pick_index(generator, 2);
    int from = pick(generator, &(Wish){.any_element = true, .rank = 1});
    if (index < 0 || from < 0) return false;
    const Item *places = item_at(generator, index);
    Item item = item_of(generator, from);
    int axis = 0;
    while (axis < item.shape.rank && item.shape.sizes[axis] != places->places) axis++;
    if (axis == item.shape.rank || item.shape.rank + places->shape.rank - 1 > SHAPE_LIMIT)
        return false;
    remove_axis(&item.shape, axis);
    for (int i = 0; i < places->shape.rank; i++)
        insert_axis(&item.shape, axis + i, places->shape.sizes[i]);
    item.operands[item.operand_count++] = index;
    snprintf(item.text, sizeof item.text, "gather($0, $1, axis = %d)", axis);
    return add_let(generator, item);
}

/* Updates whose leading axes are those of the index. */
static bool make_scatter(Generator *generator) {
    Places places;
    if (!choose_places(generator, 2, &places)) return false;
    int rank = places.shape.rank, meeting = element_count(&places.shape);
    int from = pick(generator, &(Wish){.takes = TAKES_number, .any_element = true, .rank = rank});
    if (from < 0 || !rank) return false;
    Item item = item_of(generator, from);
    for (int i = 0; i < rank; i++)
        if (item.shape.sizes[i] != places.shape.sizes[i]) return false;
    for (int i = 0; i < rank; i++) remove_axis(&item.shape, 0);
    insert_axis(&item.shape, 0, places.places);
    item.operands[0] = places.operand, item.operands[1] = from, item.operand_count = 2;
    item.size *= meeting;
    item.bits += item.bits ? bits_for(meeting) : 0;
    item.places = 0;
    snprintf(item.text, sizeof item.text, "scatter_add(%s, $1, %d)", places.text, places.places);
    return add_let(generator, item);
}

static bool make_along(Generator *generator) {
    int from = pick(generator, &(Wish){.takes = TAKES_number,
                                       .any_element = true,
                                       .bits = exact_limit(TYPE_f64),
                                       .rank = 1});
    if (from < 0) return false;
    Item item = item_of(generator, from);
    int other = pick(generator, &(Wish){.any_element = true, .like = &item.shape});
    if (other < 0) return false;
    int axis = below(generator, item.shape.rank);
    item.operands[0] = other, item.operands[1] = from, item.operand_count = 2;
    const Item *taken = item_at(generator, other);
    item.shape.element = taken->shape.element;
    item.bits = taken->bits, item.size = taken->size, item.places = taken->places;
    snprintf(item.text, sizeof item.text, "take_along($0, argsort($1, axis = %d), axis = %d)", axis,
             axis);
    return add_let(generator, item);
}

static bool make_one_hot(Generator *generator) {
    Places places;
    if (!choose_places(generator, SHAPE_LIMIT - 1, &places)) return false;
    Item item = item_of(generator, places.operand);
    snprintf(item.text, sizeof item.text, "one_hot(%s, %d)", places.text, places.places);
    item.shape = places.shape;
    insert_axis(&item.shape, item.shape.rank, places.places);
    item.shape.element = TYPE_f32;
    item.bits = 1, item.size = 1, item.places = 0;
    return add_let(generator, item);
}

bool make_places(Generator *generator) {
    switch (below(generator, 8)) {
    case 0:
    case 1: return make_embedding(generator);
    case 2:
    case 3: return make_gather(generator);
    case 4:
    case 5: return make_scatter(generator);
    case 6: return make_along(generator);
    default: return make_one_hot(generator);
    }
}

bool make_leaf(Generator *generator) {
    int count = 1 + below(generator, 9);
    switch (below(generator, 4)) {
    case 0: {
        Shape shape = {TYPE_f32, 1, {count}};
        if (chance(generator, 50)) insert_axis(&shape, 0, 1 + below(generator, 4));
        return add_weight(generator, shape) >= 0;
    }
    case 1: {
        Item item = {.shape = {TYPE_f32, 1, {count}}, .size = 6};
        bool normal = chance(generator, 50);
        snprintf(item.text, sizeof item.text, "random_%s([%d])", normal ? "normal" : "uniform",
                 count);
        return add_let(generator, item);
    }
    default: {
        Item item = {.shape = {TYPE_i32, 1, {count}}, .bits = 4, .size = count, .places = count};
        snprintf(item.text, sizeof item.text, "iota(%d)", count);
        return add_let(generator, item);
    }
    }
}

/* The same as an earlier item, which has to become one node; random ones are two. */
bool make_repetition(Generator *generator) {
    int index = below(generator, generator->made->count);
    const Item *item = item_at(generator, index);
    return item->kind == ITEM_let && add_let(generator, *item);
}
