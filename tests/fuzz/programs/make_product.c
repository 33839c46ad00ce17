/* Contractions in all transposed forms, over batches and not. */
#include "tests/fuzz/programs/generator.h"

#include <stdio.h>

static void value_of_product(Item *item, const Item *left, const Item *right, int depth) {
    item->operand_count = 2;
    item->places = 0;
    item->statements = false;
    item->size = depth * left->size * right->size;
    item->bits = left->bits && right->bits ? left->bits + right->bits + bits_for(depth) : 0;
}

/* By a weight of rank 2, which serves all leading axes; it or the operand may be turned. */
static bool make_weighted(Generator *generator) {
    int index = pick(generator, &(Wish){.takes = TAKES_floating, .any_element = true, .rank = 2});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int last = item.shape.rank - 1;
    bool turned = chance(generator, 30), turns_operand = chance(generator, 25);
    if (turns_operand) {
        int size = item.shape.sizes[last];
        item.shape.sizes[last] = item.shape.sizes[last - 1];
        item.shape.sizes[last - 1] = size;
    }
    int depth = item.shape.sizes[last], units = 1 + below(generator, 9);
    if (depth < 1) return false;
    Shape shape = {item.shape.element, 2, {depth, units}};
    if (turned) shape.sizes[0] = units, shape.sizes[1] = depth;
    int weight = add_weight(generator, shape);
    if (weight < 0) return false;
    item.operands[1] = weight;
    item.shape.sizes[last] = units;
    snprintf(item.text, sizeof item.text, "matmul(%s, %s)", turns_operand ? "transpose($0)" : "$0",
             turned ? "transpose($1)" : "$1");
    value_of_product(&item, item_at(generator, index), item_at(generator, weight), depth);
    return add_let(generator, item);
}

/* a·b, aᵀ·b, a·bᵀ, aᵀ·bᵀ of two items with the same leading axes. */
static bool make_pair(Generator *generator) {
    Wish wish = {.takes = TAKES_floating, .any_element = true, .rank = 2};
    int a = pick(generator, &wish);
    if (a < 0) return false;
    Shape left = item_at(generator, a)->shape;
    wish = (Wish){.element = left.element, .rank = left.rank, .rank_limit = left.rank};
    int b = pick(generator, &wish), last = left.rank - 1;
    if (b < 0) return false;
    Shape right = item_at(generator, b)->shape;
    for (int i = 0; i < last - 1; i++)
        if (left.sizes[i] != right.sizes[i]) return false;
    int turned_a = below(generator, 2), turned_b = below(generator, 2);
    int depth = left.sizes[last - turned_a];
    if (depth != right.sizes[last - 1 + turned_b]) return false;
    Item item = item_of(generator, a);
    item.operands[1] = b;
    item.shape.sizes[last - 1] = left.sizes[last - 1 + turned_a];
    item.shape.sizes[last] = right.sizes[last - turned_b];
    snprintf(item.text, sizeof item.text, "matmul(%s, %s)", turned_a ? "transpose($0)" : "$0",
             turned_b ? "transpose($1)" : "$1");
    value_of_product(&item, item_at(generator, a), item_at(generator, b), size_count(depth));
    return add_let(generator, item);
}

/* An item with itself: rows or columns beside each other. */
static bool make_gram(Generator *generator) {
    int index = pick(generator, &(Wish){.takes = TAKES_floating, .any_element = true, .rank = 2});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    bool rows = chance(generator, 50);
    int last = item.shape.rank - 1, depth = size_count(item.shape.sizes[rows ? last : last - 1]);
    int size = item.shape.sizes[rows ? last - 1 : last];
    item.shape.sizes[last] = item.shape.sizes[last - 1] = size;
    snprintf(item.text, sizeof item.text,
             rows ? "matmul($0, transpose($0))" : "matmul(transpose($0), $0)");
    value_of_product(&item, item_at(generator, index), item_at(generator, index), depth);
    item.operand_count = 1;
    return add_let(generator, item);
}

bool make_product(Generator *generator) {
    int which = below(generator, 10);
    return which < 6   ? make_weighted(generator)
           : which < 9 ? make_pair(generator)
                       : make_gram(generator);
}
