/* Reductions over any axes, and functions of rows. */
#include "tests/fuzz/programs/generator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Some axes as a set of bits, and how many elements they hold. */
static uint32_t random_axes(Generator *generator, const Shape *shape, bool single, int *count) {
    uint32_t axes = 1u << below(generator, shape->rank);
    for (int i = 0; i < shape->rank && !single; i++)
        if (chance(generator, 20)) axes |= 1u << i;
    *count = 1;
    for (int i = 0; i < shape->rank; i++)
        if (axes >> i & 1) *count *= size_count(shape->sizes[i]);
    return axes;
}

static void axes_text(uint32_t axes, bool keep, char *text, size_t room) {
    bool several = axes & (axes - 1);
    size_t at = (size_t)snprintf(text, room, several ? "axis = [" : "axis = ");
    bool first = true;
    for (int i = 0; i < SHAPE_LIMIT; i++) {
        if (!(axes >> i & 1)) continue;
        at += (size_t)snprintf(text + at, room - at, "%s%d", first ? "" : ", ", i);
        first = false;
    }
    snprintf(text + at, room - at, "%s%s", several ? "]" : "", keep ? ", keep = true" : "");
}

static void reduce_shape(Shape *shape, uint32_t axes, bool keep) {
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (!(axes >> i & 1)) continue;
        if (keep) shape->sizes[i] = 1;
        else remove_axis(shape, i);
    }
}

/* "name($0, axis = [0, 2], keep = true)" */
static Item reduced(Generator *generator, int index, const char *name, bool single, int *count) {
    Item item = item_of(generator, index);
    char axes[64];
    uint32_t chosen = random_axes(generator, &item.shape, single, count);
    bool keep = chance(generator, 50);
    axes_text(chosen, keep, axes, sizeof axes);
    snprintf(item.text, sizeof item.text, "%s($0, %s)", name, axes);
    if (chosen == 1u && item.shape.rank == 1 && item.shape.sizes[0] > 0) item.places = 0;
    if (single) item.places = item.shape.sizes[__builtin_ctz(chosen)];
    reduce_shape(&item.shape, chosen, keep);
    return item;
}

static Op random_reduction(Generator *generator) {
    static const Op ops[] = {OP_sum,  OP_sum, OP_sum, OP_max,    OP_min,
                             OP_prod, OP_any, OP_all, OP_argmax, OP_argmin};
    return ops[below(generator, 10)];
}

bool make_reduction(Generator *generator) {
    Op op = random_reduction(generator);
    const OpInfo *info = &op_info[op];
    bool index = info->gives == GIVES_index;
    int from = pick(generator, &(Wish){.takes = info->takes,
                                       .any_element = true,
                                       .bits = jumps(op) ? exact_limit(TYPE_f64) : 0,
                                       .rank = 1,
                                       .untrained = !info->gradient});
    if (from < 0) return false;
    int count;
    Item item = reduced(generator, from, info->name, index, &count);
    if (!index) item.places = op == OP_max || op == OP_min ? item_at(generator, from)->places : 0;
    if (index) item.shape.element = TYPE_i32, item.bits = 5, item.size = count;
    if (op == OP_sum) item.size *= count, item.bits += item.bits ? bits_for(count) : 0;
    if (op == OP_prod) item.size = pow(item.size, count), item.bits *= count;
    return add_let(generator, item);
}

bool make_statistic(Generator *generator) {
    static const char *const names[] = {"mean", "variance", "deviation", "logsumexp", "norm"};
    int index = pick(generator, &(Wish){.element = TYPE_f32, .rank = 1});
    if (index < 0) return false;
    int which = below(generator, 5), count;
    Item item = reduced(generator, index, names[which], false, &count);
    bool rooted = which == 2 || which == 4; /* whose slope is infinite where nothing varies */
    if (rooted && (count < 2 || item_at(generator, index)->trained)) return false;
    item.bits = item.places = 0;
    item.size = which == 1   ? item.size * item.size
                : which == 3 ? item.size + log(count)
                : which == 4 ? item.size * sqrt(count)
                             : item.size;
    return add_let(generator, item);
}

/* Rows. */

static bool make_accumulation(Generator *generator, const char *name) {
    bool sum = !strcmp(name, "cumsum"), extreme = !strcmp(name, "cummax");
    int index = pick(generator, &(Wish){.takes = TAKES_number,
                                        .any_element = true,
                                        .bits = sum ? 0 : JUMP_BITS,
                                        .rank = 1});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    int axis = below(generator, item.shape.rank), count = size_count(item.shape.sizes[axis]);
    snprintf(item.text, sizeof item.text, "%s($0, axis = %d)", name, axis);
    item.places = 0;
    if (sum) item.size *= count, item.bits += item.bits ? bits_for(count) : 0;
    else if (!extreme) item.size = pow(fmax(item.size, 1), count), item.bits *= count;
    return add_let(generator, item);
}

static bool make_order(Generator *generator, const char *name) {
    bool index = !strcmp(name, "argsort");
    int from = pick(generator, &(Wish){.takes = TAKES_number,
                                       .any_element = true,
                                       .bits = exact_limit(TYPE_f64),
                                       .rank = 1});
    if (from < 0) return false;
    Item item = item_of(generator, from);
    int axis = below(generator, item.shape.rank);
    snprintf(item.text, sizeof item.text, "%s($0, axis = %d%s)", name, axis,
             chance(generator, 40) ? ", descending = true" : "");
    if (index) {
        item.size = size_count(item.shape.sizes[axis]);
        item.places = item.shape.sizes[axis];
        item.shape.element = TYPE_i32;
        item.bits = 5;
    }
    return add_let(generator, item);
}

static bool make_top(Generator *generator) {
    int from = pick(generator, &(Wish){.takes = TAKES_floating,
                                       .any_element = true,
                                       .bits = exact_limit(TYPE_f64),
                                       .rank = 1});
    if (from < 0) return false;
    Item item = item_of(generator, from);
    int *last = &item.shape.sizes[item.shape.rank - 1];
    if (*last < 1) return false;
    *last = 1 + below(generator, *last);
    item.statements = true;
    snprintf(item.text, sizeof item.text, "let (v@, at@) = top_k($0, %d)", *last);
    return add_let(generator, item);
}

bool make_row(Generator *generator) {
    switch (below(generator, 7)) {
    case 0:
    case 1: return make_accumulation(generator, "cumsum");
    case 2: return make_accumulation(generator, "cumprod");
    case 3: return make_accumulation(generator, "cummax");
    case 4: return make_order(generator, "sort");
    case 5: return make_order(generator, "argsort");
    default: return make_top(generator);
    }
}
