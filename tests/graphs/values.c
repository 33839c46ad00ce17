/* Values: random numbers for the inputs and weights of a graph. */
#include "tests/graphs/values.h"

#include "compiler/graph/build.h"

#include <math.h>
#include <string.h>

static int64_t symbol_value(Dim symbol, const void *context) {
    return dim_is_batch(symbol) ? *(const int64_t *)context : dim_bound(symbol);
}

int64_t element_count(const Type *type) {
    int64_t count = 1, batch = BATCH;
    for (int i = 0; i < type->rank; i++) count *= dim_evaluate(type->dims[i], symbol_value, &batch);
    return count;
}

/* What is asked of one element. */
typedef struct Wanted {
    const char *domain;
    Element element;
    int which;            /* of the graph's leaves */
    int64_t index, count; /* of the leaf's elements */
    uint64_t *random;
} Wanted;

/* Uniform in [0, 1): Marsaglia's xorshift64. */
static double random_unit(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

static bool is_domain(const Wanted *wanted, const char *name) {
    return !strcmp(wanted->domain, name);
}

/* No two of one operand are equal, nor one of this and one of another. */
static double apart(const Wanted *wanted) {
    int64_t place = (wanted->index * 7919 + 5) % wanted->count;
    return (double)place * 0.25 - (double)wanted->count / 8 + 0.0625 * wanted->which;
}

/* Factors: some are 0, and of many the product is still a number one can tell. */
static double factor(const Wanted *wanted, double unit) {
    bool many = wanted->count > 100;
    if (unit < (many ? 0.5 / (double)wanted->count : 0.25)) return 0;
    double even = 4 * random_unit(wanted->random) - 2;
    return many ? exp(even / sqrt((double)wanted->count)) : even;
}

static double special(const Wanted *wanted) {
    double largest = wanted->element == TYPE_f16    ? 65504
                     : wanted->element == TYPE_bf16 ? 0x1.fep127
                     : wanted->element == TYPE_f32  ? 0x1.fffffep127
                                                    : 0x1.fffffffffffffp1023;
    double smallest = wanted->element == TYPE_f16    ? 0x1p-24
                      : wanted->element == TYPE_bf16 ? 0x1p-133
                      : wanted->element == TYPE_f32  ? 0x1p-149
                                                     : 0x1p-1074;
    const double values[] = {NAN, INFINITY, -INFINITY, 0,  -0.0, largest, -largest, smallest,
                             1,   -1,       2,         -3, 0.5,  1.5,     -2.5};
    enum { COUNT = sizeof values / sizeof *values };
    int64_t place = wanted->index;
    for (int i = 0; i < wanted->which; i++) place /= COUNT;
    return values[place % COUNT];
}

static double random_floating(const Wanted *wanted) {
    double unit = random_unit(wanted->random);
    if (is_domain(wanted, "special")) return special(wanted);
    if (is_domain(wanted, "positive")) return 0.5 + 2 * unit;
    if (is_domain(wanted, "nonzero"))
        return (unit < 0.5 ? -1 : 1) * (0.5 + 2 * random_unit(wanted->random));
    if (is_domain(wanted, "zeros")) return factor(wanted, unit);
    return is_domain(wanted, "apart") ? apart(wanted) : 4 * unit - 2;
}

/* The ends of the type's range, or what a double can still hold the product of two of. */
static double extreme(Element element, bool high) {
    switch (element) {
    case TYPE_u8: return high ? 255 : 128;
    case TYPE_i8: return high ? 127 : -128;
    case TYPE_i32: return high ? 0x7fffff00 : -0x1p31;
    default: return high ? 0x1p31 + 0x1p8 : -0x1p31;
    }
}

/* A double holds every product of ones and twos, also one that wraps. */
static double whole_factor(const Wanted *wanted, double unit) {
    if (wanted->element != TYPE_i64) return floor(15 * unit) - 7;
    if (unit < 0.5 / (double)wanted->count) return 0;
    return (unit < 0.5 ? -1 : 1) * (1 + floor(1.25 * random_unit(wanted->random)));
}

static double random_whole(const Wanted *wanted) {
    double unit = random_unit(wanted->random);
    if (is_domain(wanted, "zeros")) return whole_factor(wanted, unit);
    if (unit < 0.125) return extreme(wanted->element, unit < 0.0625);
    double value = floor(15 * random_unit(wanted->random)) - 7;
    return value == 0 && is_domain(wanted, "nonzero") ? 3 : value;
}

static double random_value(const Wanted *wanted) {
    switch (element_info[wanted->element].class) {
    case CLASS_boolean: return random_unit(wanted->random) < 0.5;
    case CLASS_integer: return element_round(wanted->element, random_whole(wanted));
    default: return element_round(wanted->element, random_floating(wanted));
    }
}

double **random_values(Arena *arena, const Graph *graph, Domain domain, uint64_t seed) {
    double **values = arena_new_array(arena, double *, graph->nodes.count);
    uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    Wanted wanted = {.domain = domain.name, .random = &state};
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op != OP_input && node->op != OP_weight) continue;
        bool place = !strcmp(node->name, "index");
        wanted.element = node->type.element;
        wanted.count = element_count(&node->type);
        values[id] = arena_new_array(arena, double, wanted.count);
        for (wanted.index = 0; wanted.index < wanted.count; wanted.index++)
            values[id][wanted.index] =
                place ? floor(random_unit(&state) * (double)domain.places) : random_value(&wanted);
        wanted.which++;
    }
    return values;
}

const double *const *values_for(const Graph *graph, const Graph *from, double *const *values) {
    const double **found = arena_new_array(graph->arena, const double *, graph->nodes.count);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        for (NodeId old = 0; old < from->nodes.count; old++) {
            const Node *a = graph_node(graph, id), *b = graph_node(from, old);
            if (values[old] && a->op == b->op && !strcmp(a->name, b->name)) found[id] = values[old];
        }
    return found;
}
