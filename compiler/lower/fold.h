/* Fold: inside lower/, arithmetic at compile time. */
#ifndef FLOW_LOWER_FOLD_H
#define FLOW_LOWER_FOLD_H

#include "compiler/lower/lowering.h"

/* The number that a value is at compile time, without a report. */
bool known_number(const Value *value, double *number);

/* The op's value of known numbers. */
Value fold_numbers(Op op, double a, double b, Range range);

/* Numbers, sizes, strings and lists. False: the result is not known now. */
bool fold_binary(const Context *context, Op op, const Value *a, const Value *b, Range range,
                 Value *result);

#endif
