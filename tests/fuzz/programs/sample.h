/* Sample: a random program before it is text: a list of items, each made of earlier ones.
 *
 * Its text is a pipeline, a model and a train block, so that its training step holds gradients and
 * updates too. Any part of a sample is a valid program with what it is made of. */
#ifndef FLOW_FUZZ_SAMPLE_H
#define FLOW_FUZZ_SAMPLE_H

#include "compiler/types/type.h"

enum {
    BATCH = 4, /* records */
    BOUND = 5, /* of `dim T` */
    BATCH_SIZE = -1,
    BOUND_SIZE = -2, /* T; other sizes are numbers */
    SHAPE_LIMIT = 5,
    ITEM_LIMIT = 160,
    OPERAND_LIMIT = 3,
};

typedef struct Shape {
    Element element;
    int rank;
    int sizes[SHAPE_LIMIT];
} Shape;

typedef enum ItemKind { ITEM_field, ITEM_weight, ITEM_let } ItemKind;

typedef struct Item {
    ItemKind kind;
    char text[320];  /* of a let: an expression, with $0 $1 $2 for the operands, @ for its number */
    bool statements; /* the text is whole statements that make v@ */
    int operands[OPERAND_LIMIT], operand_count;
    Shape shape;
    bool rough;   /* field, weight: any numbers; else few multiples of 1/8 */
    int bits;     /* of the values, if they are exact; else 0 */
    double size;  /* about the largest absolute value */
    bool trained; /* a weight has a part in it */
    int places;   /* it is proven to be in 0..places, in the notation of sizes; or 0 */
} Item;

typedef struct Sample {
    Item items[ITEM_LIMIT];
    int count;
} Sample;

/* The first letter of the names of rough fields and weights, and of no others. */
bool is_rough_letter(char letter);

bool same_shape(const Shape *a, const Shape *b); /* and element */
int size_count(int size);                        /* how many places that is */

void shape_text(const Shape *shape, char *text, size_t room); /* "[B, 4]" */

/* What all programs of a text share. */
void sample_print_head(Text *text);

/* Which items the program that keeps these is made of. */
void sample_needed(const Sample *sample, const bool *kept, bool *needed);

/* The program under names that end with the number. Items that nothing uses count for the loss if
 * they are kept. */
void sample_print(const Sample *sample, const bool *kept, int number, Text *text);

#endif
