/* Notation: inside lower/, the space that the indices of one statement span. */
#ifndef FLOW_LOWER_NOTATION_H
#define FLOW_LOWER_NOTATION_H

#include "compiler/lower/lowering.h"

typedef struct Axis {
    const char *name;
    Range range; /* where the name was introduced */
    Dim size;    /* NULL: not known yet */
    Range told;  /* the operand that told it */
} Axis;

/* What an index stands behind; computed once, outside of the notation. */
typedef struct Operand {
    const Expression *expression;
    Value value;
} Operand;

typedef struct Notation {
    int count, results; /* axes; those of the result come first */
    Axis axes[RANK_LIMIT];
    Vector(Operand) operands;
} Notation;

/* The axis of that name, or -1. */
int find_axis(const Notation *notation, const char *name);

/* As many indices as dimensions? False after reporting. */
bool has_rank(const Context *context, const Expression *expression, const Value *x);

/* Every axis of the space, 1 long. */
Type space_type(const Context *context, Element element);

/* A tensor of the space that the value is; value_error after reporting. */
Value in_space(const Context *context, Value value, Range range);

/* Axes (bit i: axis i) at their full sizes: a sum over k of what does not depend on k has its
 * terms. */
Value stretch(const Context *context, Value value, uint32_t axes, Range range);

#endif
