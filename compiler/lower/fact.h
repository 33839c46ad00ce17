/* Fact: inside lower/, what is known of the values of a tensor. */
#ifndef FLOW_LOWER_FACT_H
#define FLOW_LOWER_FACT_H

#include "compiler/lower/value.h"

/* low <= v < high for every value v; NULL: not known. */
typedef struct Fact {
    Dim low, high;
} Fact;

/* What is known of a number, size or tensor. */
Fact fact_of(Dimensions *table, const Value *value);

/* Gives the result of an operation the fact that follows from its operands. */
void note_fact(Dimensions *table, Op op, const Value *const *operands, Value *result);

bool fact_within(Dimensions *table, Fact fact, Dim low, Dim high);

const char *fact_text(Arena *arena, Fact fact); /* "these lie in 0..10" */

#endif
