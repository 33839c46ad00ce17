/* Generate: random programs that are valid by construction.
 *
 * A program is a list of items, each made of earlier ones; its text is a pipeline, a model and a
 * train block, so that its training step holds gradients and updates too. Ops come from ops.def by
 * class, operand types and domain: a new one is used as soon as it has its entry.
 *
 * Comparing needs care only where a small difference could become a large one. So data and weights
 * are few multiples of 1/8, each item knows how many bits its values take if arithmetic up to it is
 * exact, and ops that jump (comparisons, rounding, maxima) are given exact operands alone. */
#ifndef FLOW_FUZZ_GENERATE_H
#define FLOW_FUZZ_GENERATE_H

#include "compiler/ops/ops.h"
#include "lang/base/text.h"

enum { BATCH = 4, BATCH_SIZE = -1, SHAPE_LIMIT = 4, ITEM_LIMIT = 96, OPERAND_LIMIT = 3 };

typedef struct Shape {
    Element element;
    int rank;
    int sizes[SHAPE_LIMIT]; /* BATCH_SIZE: the batch */
} Shape;

typedef enum ItemKind { ITEM_field, ITEM_weight, ITEM_let } ItemKind;

typedef struct Item {
    ItemKind kind;
    char text[120]; /* of a let: an expression, with $0 $1 $2 for the operands */
    int operands[OPERAND_LIMIT], operand_count;
    Shape shape;
    int bits;     /* of the values, if they are exact; else 0 */
    double size;  /* about the largest absolute value */
    bool trained; /* a weight has a part in it */
} Item;

typedef struct Sample {
    Item items[ITEM_LIMIT];
    int count;
} Sample;

Sample generate(uint64_t seed);

/* The text under names that end with the number. Items that nothing uses count for the loss if
 * they are kept. */
void sample_print(const Sample *sample, const bool *kept, int number, Text *text);

#endif
