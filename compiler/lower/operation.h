/* Operation: inside lower/, ops that are called by their names. */
#ifndef FLOW_LOWER_OPERATION_H
#define FLOW_LOWER_OPERATION_H

#include "compiler/lower/builtin.h"

/* reduction.c: sum(x, axis = …, keep = …) and its like; cumsum(x, axis = …) and its like. */
Value lower_reduction(BuiltinCall *call);
Value lower_row(BuiltinCall *call);

/* generator.c: random_uniform(shape, key = …) and its like. */
Value lower_random(BuiltinCall *call);

/* Tells the random numbers of one place in the program from those of all others. */
int64_t stream_key(const Context *context);

/* size.c: the product of the sizes of these axes; NULL past a limit. */
Dim size_along(Dimensions *table, const Type *type, uint32_t axes);

#endif
