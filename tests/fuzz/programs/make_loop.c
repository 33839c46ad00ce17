/* Loops over one axis, whose turns are stacked or whose last one is kept. */
#include "tests/fuzz/programs/generator.h"

#include <stdio.h>
#include <string.h>

/* ":, :, t": the slice of a turn, or where it is stacked. */
static void turn_text(int rank, int axis, char *text) {
    *text = 0;
    for (int i = 0; i < rank; i++) {
        strcat(text, i ? ", " : "");
        strcat(text, i == axis ? "t" : ":");
    }
}

typedef struct Turn {
    const char *next; /* of c@, with %s for the slice */
    bool weighted;    /* $1 is a square matrix of the last axis */
    bool shared;      /* $1 has the shape of a slice's last axis */
    double growth;    /* of the size, in a turn, over the slice's; 0: it stays within 1 */
} Turn;

static const Turn turns[] = {
    {"tanh($0[%s] + 0.5 * c@)", false, false, 0},
    {"c@ + $0[%s]", false, false, 1},
    {"tanh($0[%s] + matmul(c@, $1))", true, false, 0},
    {"tanh($0[%s] * $1 + c@)", false, true, 0},
    {"0.5 * c@ + $0[%s] * cast(t, f32)", false, false, 2},
    {"0.5 * (c@ + tanh($0[%s]) * $1)", false, true, 2},
};

static int operand_of_turn(Generator *generator, const Turn *turn, const Shape *slice) {
    int last = slice->sizes[slice->rank - 1];
    Shape shape = {TYPE_f32, turn->weighted ? 2 : 1, {last, last}};
    return add_weight(generator, shape);
}

static void loop_text(const Turn *turn, const Item *from, int axis, bool stacked,
                      const Shape *slice, const char *count, Item *item) {
    char sizes[64], at[32], next[160];
    shape_text(slice, sizes, sizeof sizes);
    turn_text(from->shape.rank, axis, at);
    size_t front = (size_t)(strstr(turn->next, "%s") - turn->next);
    snprintf(next, sizeof next, "%.*s%s%s", (int)front, turn->next, at, turn->next + front + 2);
    snprintf(item->text, sizeof item->text,
             "let c@ = broadcast(0, %s)\n  scan t in %s {\n    c@ = %s\n", sizes, count, next);
    size_t end = strlen(item->text);
    if (stacked)
        snprintf(item->text + end, sizeof item->text - end, "    let v@[%s] = c@\n  }", at);
    else snprintf(item->text + end, sizeof item->text - end, "  }\n  let v@ = c@");
}

bool make_loop(Generator *generator) {
    int index = pick(generator, &(Wish){.element = TYPE_f32, .rank = 2, .rank_limit = 4});
    if (index < 0) return false;
    Item from = *item_at(generator, index), item = item_of(generator, index);
    const Turn *turn = &turns[below(generator, 6)];
    int axis = below(generator, from.shape.rank), turn_count = from.shape.sizes[axis];
    if (turn_count == BATCH_SIZE || size_count(turn_count) > 8) return false;
    Shape slice = from.shape;
    remove_axis(&slice, axis);
    if (turn->weighted || turn->shared) {
        if (slice.sizes[slice.rank - 1] < 1 || (turn->weighted && slice.rank < 2)) return false;
        int weight = operand_of_turn(generator, turn, &slice);
        if (weight < 0) return false;
        item.operands[item.operand_count++] = weight;
    }
    bool stacked = chance(generator, 60);
    char count[16] = "T";
    if (turn_count > 0) snprintf(count, sizeof count, "%d", turn_count);
    loop_text(turn, &from, axis, stacked, &slice, count, &item);
    item.statements = true;
    if (!stacked) item.shape = slice;
    double most = size_count(turn_count);
    item.size = turn->growth > 0 ? turn->growth * most * (from.size + 1) : 1;
    item.bits = item.places = 0;
    return add_let(generator, item);
}
