/* Generator. */
#include "tests/fuzz/programs/generator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double LARGE = 8;

/* Chance. */

uint64_t next_bits(Generator *generator) {
    generator->state ^= generator->state << 13;
    generator->state ^= generator->state >> 7;
    generator->state ^= generator->state << 17;
    return generator->state >> 11;
}

int below(Generator *generator, int count) {
    return (int)(next_bits(generator) % (uint64_t)count);
}

bool chance(Generator *generator, int percent) {
    return below(generator, 100) < percent;
}

/* Shapes. */

int element_count(const Shape *shape) {
    int count = 1;
    for (int i = 0; i < shape->rank; i++) count *= size_count(shape->sizes[i]);
    return count;
}

/* Sizes grow with the batch at most in its square. */
bool shape_is_small(const Shape *shape) {
    int symbols = 0;
    for (int i = 0; i < shape->rank; i++) symbols += shape->sizes[i] < 0;
    return symbols <= 2 && element_count(shape) <= ELEMENTS;
}

static int size_at(const Shape *shape, int from_end) {
    return from_end < shape->rank ? shape->sizes[shape->rank - 1 - from_end] : 1;
}

bool broadcast_shape(const Shape *a, const Shape *b, Shape *result) {
    Shape both = {.element = a->element, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < both.rank; i++) {
        int x = size_at(a, i), y = size_at(b, i);
        if (x != y && x != 1 && y != 1) return false;
        both.sizes[both.rank - 1 - i] = x == 1 ? y : x;
    }
    *result = both;
    return shape_is_small(result);
}

void remove_axis(Shape *shape, int axis) {
    shape->rank--;
    memmove(shape->sizes + axis, shape->sizes + axis + 1,
            sizeof(int) * (size_t)(shape->rank - axis));
}

void insert_axis(Shape *shape, int axis, int size) {
    memmove(shape->sizes + axis + 1, shape->sizes + axis,
            sizeof(int) * (size_t)(shape->rank - axis));
    shape->sizes[axis] = size;
    shape->rank++;
}

int exact_limit(Element element) {
    switch (element) {
    case TYPE_bool: return 1;
    case TYPE_u8:
    case TYPE_i8: return 8;
    case TYPE_f16: return 11;
    case TYPE_bf16: return 8;
    case TYPE_i32: return 20;
    default: return 22;
    }
}

int bits_for(int count) {
    return (int)ceil(log2(count));
}

int pick_axis(Generator *generator, const Shape *shape, int least) {
    for (int tries = 0; tries < 8 && shape->rank; tries++) {
        int axis = below(generator, shape->rank);
        if (shape->sizes[axis] >= least) return axis;
    }
    return -1;
}

/* Items. */

Item *item_at(Generator *generator, int index) {
    return &generator->made->items[index];
}

static int add(Generator *generator, Item item) {
    if (generator->made->count == ITEM_LIMIT) return -1;
    generator->made->items[generator->made->count] = item;
    return generator->made->count++;
}

int add_weight(Generator *generator, Shape shape) {
    bool rough = chance(generator, 20);
    return add(generator, (Item){.kind = ITEM_weight,
                                 .shape = shape,
                                 .rough = rough,
                                 .bits = rough ? 0 : DATA_BITS,
                                 .size = 2,
                                 .trained = true});
}

/* What bits and size are of numbers that wrap, or are only true or false. */
static void limit_values(Item *item) {
    switch (item->shape.element) {
    case TYPE_bool: item->bits = 1, item->size = 1; return;
    case TYPE_u8: item->bits = 8, item->size = 255; return;
    case TYPE_i8: item->bits = 8, item->size = 128; return;
    default: break;
    }
    if (item->bits > exact_limit(item->shape.element)) item->bits = 0;
}

/* Large values are made small again, which keeps exact ones exact: by an item of its own if the
 * text is whole statements. */
static bool add_smaller(Generator *generator, Item item) {
    char inner[sizeof item.text] = "$0";
    double factor = exp2(-ceil(log2(item.size / LARGE * 2)));
    if (item.statements) {
        Item whole = item;
        item.operands[0] = add(generator, whole);
        item.operand_count = 1;
        item.statements = false;
        if (item.operands[0] < 0) return false;
    } else snprintf(inner, sizeof inner, "%s", item.text);
    int size = snprintf(item.text, sizeof item.text, "(%s) * %.10g", inner, factor);
    item.size *= factor;
    return size < (int)sizeof item.text && add(generator, item) >= 0;
}

bool add_let(Generator *generator, Item item) {
    bool whole = element_info[item.shape.element].class == CLASS_integer;
    item.kind = ITEM_let;
    limit_values(&item);
    if (whole && !item.bits) return false;
    if (!shape_is_small(&item.shape) || !isfinite(item.size) || item.size > 1e4) return false;
    if (generator->made->count > ITEM_LIMIT - 2) return false;
    item.trained = false;
    for (int i = 0; i < item.operand_count; i++)
        item.trained |= item_at(generator, item.operands[i])->trained;
    bool floating = is_floating(item.shape.element);
    if (floating && item.size > LARGE) return add_smaller(generator, item);
    return add(generator, item) >= 0;
}

Item item_of(Generator *generator, int operand) {
    Item item = *item_at(generator, operand);
    item.operands[0] = operand;
    item.operand_count = 1;
    item.statements = item.rough = false;
    return item;
}

/* Picking. */

static bool element_fits(Takes takes, Element element) {
    ElementClass class = element_info[element].class;
    switch (takes) {
    case TAKES_boolean: return class == CLASS_boolean;
    case TAKES_floating: return class == CLASS_floating;
    case TAKES_integer: return class == CLASS_integer;
    case TAKES_number: return class != CLASS_boolean;
    default: return true;
    }
}

static bool is_like(const Shape *shape, const Wish *wish) {
    Shape mine = *shape;
    if (wish->any_element) mine.element = wish->like->element;
    return same_shape(&mine, wish->like);
}

static bool grants(const Item *item, const Wish *wish) {
    Shape shape;
    if (!element_fits(wish->takes, item->shape.element)) return false;
    if (!wish->any_element && item->shape.element != wish->element) return false;
    if (wish->bits && (!item->bits || item->bits > wish->bits)) return false;
    if (item->shape.rank < wish->rank || (wish->untrained && item->trained)) return false;
    if (wish->rank_limit && item->shape.rank > wish->rank_limit) return false;
    if (wish->index && !item->places) return false;
    if (wish->like && !is_like(&item->shape, wish)) return false;
    return !wish->beside || broadcast_shape(&item->shape, wish->beside, &shape);
}

int pick(Generator *generator, const Wish *wish) {
    int count = generator->made->count;
    for (int tries = 0; tries < 40; tries++) {
        int index = below(generator, count);
        if (chance(generator, 50)) index = count - 1 - below(generator, count < 6 ? count : 6);
        if (grants(item_at(generator, index), wish)) return index;
    }
    return -1;
}

bool jumps(Op op) {
    const OpInfo *info = &op_info[op];
    if (op == OP_divide) return false;
    if (info->gives == GIVES_boolean && info->takes != TAKES_boolean) return true;
    return info->domain && strcmp(info->domain, "positive") && strcmp(info->domain, "any");
}
