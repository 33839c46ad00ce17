/* Fact: what is known of the values of a tensor, as whole numbers low <= v < high.
 *
 * An operation of integers gets its fact from those of its operands by a rule of `rules`. A bound
 * that can't be told stays NULL. Integers wrap, so a fact holds only when its bounds fit into the
 * element type. */
#include "compiler/lower/fact.h"

#include <math.h>

typedef struct Rule {
    Op op;
    Fact (*fact)(Dimensions *table, const Fact *operands);
} Rule;

static const Fact nothing = {NULL, NULL};

static Fact between(Dimensions *table, int64_t low, int64_t high) {
    return (Fact){dim_constant(table, low), dim_constant(table, high)};
}

static bool is_known(Fact fact) {
    return fact.low && fact.high;
}

/* Bounds. */

/* a >= b, provably. */
static bool at_least(Dimensions *table, Dim a, Dim b) {
    Dim difference = dim_subtract(table, b, a);
    return difference && dim_bound(difference) <= 0;
}

static Dim larger(Dimensions *table, Dim a, Dim b) {
    if (at_least(table, a, b)) return a;
    return at_least(table, b, a) ? b : NULL;
}

static Dim smaller(Dimensions *table, Dim a, Dim b) {
    if (at_least(table, a, b)) return b;
    return at_least(table, b, a) ? a : NULL;
}

static Dim plus(Dimensions *table, Dim a, int64_t b) {
    return a ? dim_add(table, a, dim_constant(table, b)) : NULL;
}

static bool is_positive(Dimensions *table, Fact fact) {
    return fact.low && at_least(table, fact.low, dim_constant(table, 1));
}

static bool is_natural(Dimensions *table, Fact fact) {
    return fact.low && at_least(table, fact.low, dim_constant(table, 0));
}

/* Rules. */

static Fact same(Dimensions *table, const Fact *a) {
    (void)table;
    return a[0];
}

static Fact of_negate(Dimensions *table, const Fact *a) {
    Dim one = dim_constant(table, 1);
    return (Fact){a[0].high ? dim_subtract(table, one, a[0].high) : NULL,
                  a[0].low ? dim_subtract(table, one, a[0].low) : NULL};
}

static Fact of_add(Dimensions *table, const Fact *a) {
    if (!is_known(a[0]) || !is_known(a[1])) return nothing;
    return (Fact){dim_add(table, a[0].low, a[1].low),
                  plus(table, dim_add(table, a[0].high, a[1].high), -1)};
}

static Fact of_subtract(Dimensions *table, const Fact *a) {
    const Fact operands[] = {a[0], of_negate(table, &a[1])};
    return of_add(table, operands);
}

static Fact of_multiply(Dimensions *table, const Fact *a) {
    if (!is_known(a[0]) || !is_known(a[1])) return nothing;
    if (!is_natural(table, a[0]) || !is_natural(table, a[1])) return nothing;
    Dim last_a = plus(table, a[0].high, -1), last_b = plus(table, a[1].high, -1);
    if (!last_a || !last_b) return nothing;
    return (Fact){dim_multiply(table, a[0].low, a[1].low),
                  plus(table, dim_multiply(table, last_a, last_b), 1)};
}

static Fact of_remainder(Dimensions *table, const Fact *a) {
    if (!is_positive(table, a[1])) return nothing;
    return (Fact){dim_constant(table, 0), plus(table, a[1].high, -1)};
}

static Fact of_quotient(Dimensions *table, const Fact *a) {
    if (!is_natural(table, a[0]) || !is_positive(table, a[1])) return nothing;
    return (Fact){dim_constant(table, 0), a[0].high};
}

/* One of the lower bounds is enough. */
static Fact of_maximum(Dimensions *table, const Fact *a) {
    Dim low = a[0].low && a[1].low ? larger(table, a[0].low, a[1].low) : NULL;
    if (!low) low = a[1].low ? a[1].low : a[0].low;
    return (Fact){low, a[0].high && a[1].high ? larger(table, a[0].high, a[1].high) : NULL};
}

static Fact of_minimum(Dimensions *table, const Fact *a) {
    Dim high = a[0].high && a[1].high ? smaller(table, a[0].high, a[1].high) : NULL;
    if (!high) high = a[1].high ? a[1].high : a[0].high;
    return (Fact){a[0].low && a[1].low ? smaller(table, a[0].low, a[1].low) : NULL, high};
}

static Fact of_select(Dimensions *table, const Fact *a) {
    return (Fact){a[1].low && a[2].low ? smaller(table, a[1].low, a[2].low) : NULL,
                  a[1].high && a[2].high ? larger(table, a[1].high, a[2].high) : NULL};
}

static Fact of_sign(Dimensions *table, const Fact *a) {
    return between(table, is_natural(table, a[0]) ? 0 : -1, 2);
}

static const Rule rules[] = {
    {OP_cast, same},
    {OP_stop_gradient, same},
    {OP_reshape, same},
    {OP_broadcast, same},
    {OP_gather, same},
    {OP_max, same},
    {OP_min, same},
    {OP_negate, of_negate},
    {OP_sign, of_sign},
    {OP_add, of_add},
    {OP_subtract, of_subtract},
    {OP_multiply, of_multiply},
    {OP_remainder, of_remainder},
    {OP_quotient, of_quotient},
    {OP_maximum, of_maximum},
    {OP_minimum, of_minimum},
    {OP_select, of_select},
};

/* What every value of the element type obeys; of the larger types nothing that is worth saying. */
static Fact fact_of_element(Dimensions *table, Element element) {
    switch (element) {
    case TYPE_bool: return between(table, 0, 2);
    case TYPE_u8: return between(table, 0, 256);
    case TYPE_i8: return between(table, -128, 128);
    default: return nothing;
    }
}

/* Do the bounds fit into the element type? Sizes without a bound are taken to: they are checked
 * when a call tells them. */
static Fact fitting(Dimensions *table, Element element, Fact fact) {
    Fact limits = element == TYPE_i32 ? between(table, INT32_MIN, (int64_t)INT32_MAX + 1)
                                      : fact_of_element(table, element);
    if (!limits.low) return fact;
    bool open = fact.high && dim_bound(fact.high) == SIZE_UNKNOWN;
    bool low_fits = !fact.low || at_least(table, fact.low, limits.low);
    bool high_fits = !fact.high || open || at_least(table, limits.high, fact.high);
    if (!low_fits || !high_fits) fact = nothing;
    if (!fact.low && element != TYPE_i32) fact.low = limits.low;
    if (!fact.high && element != TYPE_i32) fact.high = limits.high;
    return fact;
}

static Fact fact_of_number(Dimensions *table, double number) {
    bool whole = number == floor(number) && fabs(number) < (double)DIMENSION_LIMIT;
    return whole ? between(table, (int64_t)number, (int64_t)number + 1) : nothing;
}

Fact fact_of(Dimensions *table, const Value *value) {
    if (value->kind == VALUE_number) return fact_of_number(table, value->number);
    if (value->kind == VALUE_size) return (Fact){value->size, plus(table, value->size, 1)};
    if (value->kind != VALUE_tensor) return nothing;
    const Node *node = graph_node(value->graph, value->node);
    if (node->op == OP_constant) return fact_of_number(table, node->number);
    Fact known = fact_of_element(table, node->type.element);
    return (Fact){value->low ? value->low : known.low, value->high ? value->high : known.high};
}

void note_fact(Dimensions *table, Op op, const Value *const *operands, Value *result) {
    Fact facts[ARITY_LIMIT] = {{0}};
    if (result->kind != VALUE_tensor) return;
    Element element = value_type(result)->element;
    if (element_info[element].class != CLASS_integer) return;
    for (int i = 0; i < op_info[op].arity; i++) {
        bool floating =
            operands[i]->kind == VALUE_tensor && is_floating(value_type(operands[i])->element);
        if (!floating) facts[i] = fact_of(table, operands[i]);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].op != op) continue;
        Fact fact = fitting(table, element, rules[i].fact(table, facts));
        result->low = fact.low;
        result->high = fact.high;
    }
}

bool fact_within(Dimensions *table, Fact fact, Dim low, Dim high) {
    return is_known(fact) && at_least(table, fact.low, low) && at_least(table, high, fact.high);
}

const char *fact_text(Arena *arena, Fact fact) {
    if (is_known(fact))
        return arena_format(arena, "these lie in %s..%s", dim_text(arena, fact.low),
                            dim_text(arena, fact.high));
    if (fact.low)
        return arena_format(arena, "of these it is only known that they are at least %s",
                            dim_text(arena, fact.low));
    if (fact.high)
        return arena_format(arena, "of these it is only known that they are below %s",
                            dim_text(arena, fact.high));
    return "nothing is known of these";
}
