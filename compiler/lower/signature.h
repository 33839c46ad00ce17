/* Signature: inside lower/, what the files that match values against declared types share. */
#ifndef FLOW_LOWER_SIGNATURE_H
#define FLOW_LOWER_SIGNATURE_H

#include "compiler/lower/lowering.h"

/* One match: what is declared against what came. */
typedef struct Match {
    const Context *context;
    const TypeTree *declared;
    Range range;      /* of the value */
    const char *what; /* "`x`" */
    bool *lifted;     /* NULL: the value must bring its batch */
} Match;

/* signature.c */

/* What is written. */
const char *declared_text(const Context *context, const TypeTree *declared);

/* Reports "`x` expects f32[B, 784], receives f32[10]". */
Diagnostic *report_mismatch(const Match *match, ErrorCode code, const Value *value);

/* Where a matrix of records is asked for, a tensor of more dimensions may only need flatten. */
void help_flatten(const Match *match, Diagnostic *d, const Value *value);

/* match_tensor.c, match_fact.c, match_record.c: the value as the type declares it; value_error
 * after reporting. */
Value match_tensor(const Match *match, Value value);
Value match_fact(const Match *match, Value value);
Value match_record(const Match *match, Value value);

/* declared.c */

/* `?n`, a size that only each record tells. */
bool is_open(const Expression *dimension);

/* A name that this signature may bind. */
bool is_free(const Context *context, const Expression *dimension);

/* The place of `...`, or -1. */
int find_ellipsis(const TypeTree *declared);

/* The axis of a tensor of that rank that a dimension behind or before `...` is. */
int axis_of_declared(const TypeTree *declared, int dimension, int rank);

/* NULL after reporting. */
Dim dimension_size(const Context *context, const Expression *dimension);

/* Binds what is free in the declared type to sizes of the type, whose rank fits. range: where they
 * come from; {0}: from the declaration. */
void bind_free(const Context *context, const TypeTree *declared, const Type *type, Range range);

/* Binds `...`. */
void bind_rest(const Context *context, const Dim *dims, int count, Range range);

/* Says that the name is no type. */
void report_type(const Context *context, const Name *name);

#endif
