/* Generator: what the files make_*.c, which know one kind of op each, share.
 *
 * Comparing needs care only where a small difference could become a large one. So each item knows
 * how many bits its values take if arithmetic up to it is exact, and ops that jump (comparisons,
 * rounding, maxima) are given exact operands; sizes are kept small. Where this guesses wrong, the
 * comparison says less, never something false: bound.h. */
#ifndef FLOW_FUZZ_GENERATOR_H
#define FLOW_FUZZ_GENERATOR_H

#include "compiler/ops/ops.h"
#include "tests/fuzz/programs/sample.h"

enum { JUMP_BITS = 11, DATA_BITS = 5, ELEMENTS = 512 };

typedef struct Generator {
    Sample *made;
    uint64_t state;
} Generator;

/* Chance. */

uint64_t next_bits(Generator *generator);
int below(Generator *generator, int count);
bool chance(Generator *generator, int percent);

/* Shapes. */

int element_count(const Shape *shape);
bool shape_is_small(const Shape *shape);

/* False when they don't fit or the result is large. result may be one of the two. */
bool broadcast_shape(const Shape *a, const Shape *b, Shape *result);

void remove_axis(Shape *shape, int axis);
void insert_axis(Shape *shape, int axis, int size); /* there must be room */

int exact_limit(Element element); /* bits of numbers that it holds exactly */
int bits_for(int count);          /* that a sum of so many gains */

/* An axis whose size is a number of at least `least`, or -1. */
int pick_axis(Generator *generator, const Shape *shape, int least);

/* Items. The adding ones return the number, or -1 when it can't be. */

Item *item_at(Generator *generator, int index);
int add_weight(Generator *generator, Shape shape);
bool add_let(Generator *generator, Item item);

/* Picking: a random item that will do, later ones rather than early ones; or -1. */
typedef struct Wish {
    Takes takes;
    bool any_element; /* else: element */
    Element element;
    int bits;            /* exact, and at most so many; 0: any */
    int rank;            /* at least */
    int rank_limit;      /* at most; 0: any */
    const Shape *beside; /* broadcasts with it; or NULL */
    const Shape *like;   /* the same shape, of any element if any_element; or NULL */
    bool untrained;
    bool index; /* its places are known */
} Wish;
int pick(Generator *generator, const Wish *wish);

/* An item with that one operand, of its shape, bits and size. */
Item item_of(Generator *generator, int operand);

/* Near a jump of its value or of its gradient, an op needs operands that are the same
 * everywhere. */
bool jumps(Op op);

/* make_*.c: each adds an item; false when nothing fitted. */
bool make_elementwise(Generator *generator);
bool make_cast(Generator *generator);
bool make_reduction(Generator *generator);
bool make_statistic(Generator *generator); /* reductions of the library */
bool make_row(Generator *generator);
bool make_product(Generator *generator);
bool make_movement(Generator *generator);
bool make_window(Generator *generator);
bool make_joined(Generator *generator);
bool make_places(Generator *generator);
bool make_leaf(Generator *generator);
bool make_repetition(Generator *generator);
bool make_notation(Generator *generator);
bool make_loop(Generator *generator);
bool make_layer(Generator *generator);

#endif
