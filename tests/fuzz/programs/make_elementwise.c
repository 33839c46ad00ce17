/* Elementwise ops come from ops.def by operand types and domain: a new one is used as soon as it
 * has its entry. */
#include "compiler/graph/build.h"
#include "tests/fuzz/programs/generator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_positive(Op op, int operand) {
    const char *domain = op_info[op].domain;
    if (domain && !strcmp(domain, "positive")) return true;
    return op == OP_divide && operand == 1;
}

/* "name($0, $1)", with what an operand has to be written in. */
static void call_text(Op op, char *text, size_t room) {
    if (op == OP_not) snprintf(text, room, "not $0");
    if (op == OP_and || op == OP_or) snprintf(text, room, "$0 %s $1", op_info[op].name);
    if (op == OP_not || op == OP_and || op == OP_or) return;
    size_t at = (size_t)snprintf(text, room, "%s(", op_info[op].name);
    for (int i = 0; i < op_info[op].arity; i++)
        at += (size_t)snprintf(text + at, room - at,
                               is_positive(op, i) ? "%s$%d * $%d + 0.5" : "%s$%d", i ? ", " : "", i,
                               i);
    snprintf(text + at, room - at, ")");
}

/* The largest value of the formula over a few places where its operands may lie. */
static double formula_size(Op op, const double *sizes) {
    enum { PLACES = 5 };
    double largest = 0;
    for (int place = 0; place < PLACES * PLACES * PLACES; place++) {
        double operands[OPERAND_LIMIT];
        for (int i = 0, rest = place; i < OPERAND_LIMIT; i++, rest /= PLACES) {
            operands[i] = sizes[i] * ((rest % PLACES) / 2.0 - 1);
            if (is_positive(op, i)) operands[i] = operands[i] * operands[i] + 0.5;
        }
        double value = fabs(
            formula_evaluate(op, &(Scalars){.a = operands[0], .b = operands[1], .c = operands[2]}));
        if (!(value <= largest)) largest = value;
    }
    return largest;
}

static int result_bits(Generator *generator, Op op, const Item *item) {
    int sum = 0, most = 0;
    for (int i = 0; i < item->operand_count; i++) {
        int bits = item_at(generator, item->operands[i])->bits;
        if (!bits) return 0;
        sum += bits;
        if (bits > most) most = bits;
    }
    if (op == OP_multiply || op == OP_remainder || op == OP_quotient) return sum;
    return op_info[op].cost <= 1 ? most + 1 : 0;
}

static int jump_bits(Generator *generator, Op op) {
    bool careless = op_info[op].gives == GIVES_boolean && chance(generator, 20);
    return jumps(op) && !careless ? JUMP_BITS : 0;
}

static bool pick_operands(Generator *generator, Op op, Item *item) {
    const OpInfo *info = &op_info[op];
    Wish wish = {.takes = info->takes,
                 .any_element = true,
                 .bits = jump_bits(generator, op),
                 .untrained = !info->gradient};
    for (int i = 0; i < info->arity; i++) {
        Wish mine = wish;
        if (op == OP_select && i == 0) mine.takes = TAKES_boolean;
        int index = pick(generator, &mine);
        if (index < 0) return false;
        item->operands[item->operand_count++] = index;
        Shape shape = item_at(generator, index)->shape;
        if (i && !broadcast_shape(&shape, &item->shape, &item->shape)) return false;
        if (!i) item->shape = shape;
        if (op == OP_select && i == 0) continue;
        item->shape.element = wish.element = shape.element;
        wish.any_element = false;
        wish.beside = &item->shape;
    }
    return true;
}

static bool make_quotient(Generator *generator, Op op) {
    int divisor = 2 + below(generator, 5);
    int index = pick(generator,
                     &(Wish){.takes = op_info[op].takes, .any_element = true, .bits = JUMP_BITS});
    if (index < 0) return false;
    Item item = item_of(generator, index);
    snprintf(item.text, sizeof item.text, "%s($0, %d)", op_info[op].name, divisor);
    item.size += divisor;
    item.bits += 3;
    bool whole = element_info[item.shape.element].class == CLASS_integer;
    item.places = op == OP_remainder && whole ? divisor : 0;
    return add_let(generator, item);
}

static bool make_call(Generator *generator, Op op) {
    Item item = {0};
    double sizes[OPERAND_LIMIT] = {1, 1, 1};
    if (!pick_operands(generator, op, &item)) return false;
    for (int i = 0; i < item.operand_count; i++)
        sizes[i] = item_at(generator, item.operands[i])->size;
    call_text(op, item.text, sizeof item.text);
    if (op_info[op].gives == GIVES_boolean) item.shape.element = TYPE_bool;
    item.size = formula_size(op, sizes);
    item.bits = result_bits(generator, op, &item);
    return add_let(generator, item);
}

bool make_elementwise(Generator *generator) {
    Op op = (Op)below(generator, OP_COUNT);
    while (op_info[op].hidden || op_info[op].class != LOOP_elementwise || op == OP_cast)
        op = (Op)below(generator, OP_COUNT);
    if (op == OP_remainder || op == OP_quotient) return make_quotient(generator, op);
    return make_call(generator, op);
}

/* To whole numbers only what is exact, to the narrow ones only what has room there: the rest is
 * no number that C defines. */
static bool cast_is_defined(const Item *from, Element to) {
    bool floating = is_floating(from->shape.element);
    bool whole = element_info[to].class != CLASS_floating;
    if (whole && floating && (!from->bits || from->bits > JUMP_BITS)) return false;
    if (!floating || (to != TYPE_u8 && to != TYPE_i8)) return true;
    return to == TYPE_i8 && from->size < 127;
}

bool make_cast(Generator *generator) {
    static const Element elements[] = {TYPE_f32, TYPE_f32, TYPE_f32, TYPE_f64, TYPE_f16, TYPE_bf16,
                                       TYPE_i32, TYPE_i32, TYPE_i64, TYPE_u8,  TYPE_i8};
    Element to = elements[below(generator, 11)];
    int index = pick(generator, &(Wish){.any_element = true});
    if (index < 0 || !cast_is_defined(item_at(generator, index), to)) return false;
    Item item = item_of(generator, index);
    if (item.shape.element == to) return false;
    item.shape.element = to;
    snprintf(item.text, sizeof item.text, "cast($0, %s)", element_info[to].name);
    if (to != TYPE_i32 && to != TYPE_i64) item.places = 0;
    return add_let(generator, item);
}
