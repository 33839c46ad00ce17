/* Dimension: a size that may not be a number yet, in a normal form.
 *
 * A dimension is a sum of terms, a term a whole coefficient times a product of atoms, an atom a
 * symbol or an exact quotient. Equal dimensions are the same pointer. Symbols carry the largest
 * value they can take (SIZE_UNKNOWN if none is known yet), from which every dimension has one. */
#ifndef FLOW_TYPES_DIMENSION_H
#define FLOW_TYPES_DIMENSION_H

#include "lang/base/map.h"
#include "lang/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define DIMENSION_LIMIT ((int64_t)1 << 40) /* the largest size of one dimension */
#define SIZE_UNKNOWN INT64_MAX

typedef const struct Dimension *Dim;

enum { DIMENSIONS_RECENT = 256 };

/* The table that makes equal dimensions the same pointer. One compilation has one. */
typedef struct Dimensions {
    Arena *arena;
    Map interned;
    Dim recent[DIMENSIONS_RECENT]; /* constants, by their last bits: asked for again and again */
    struct {
        Dim a, b, product;
    } products[DIMENSIONS_RECENT]; /* the same of products, by their factors */
    int symbol_count, bounded_count;
} Dimensions;

Dimensions *dimensions_new(Arena *arena);

Dim dim_constant(Dimensions *table, int64_t value);

/* A new symbol, equal to no other, of 1 up to bound. batch: it counts the records of a batch. One
 * of bound 1 is a batch of a single record: constant and vanishing from products, but not the
 * same dimension as 1. */
Dim dim_symbol(Dimensions *table, const char *name, int64_t bound, bool batch);

/* A new symbol whose value each run chooses: `dim T <= 1024`. They are numbered from 0. */
Dim dim_bounded(Dimensions *table, const char *name, int64_t bound);

/* NULL when the result would pass DIMENSION_LIMIT or a limit of the normal form. */
Dim dim_add(Dimensions *table, Dim a, Dim b);
Dim dim_subtract(Dimensions *table, Dim a, Dim b);
Dim dim_multiply(Dimensions *table, Dim a, Dim b);

/* NULL when b divides a provably not; a quotient atom when that can't be known. */
Dim dim_divide(Dimensions *table, Dim a, Dim b);

bool dim_is_constant(Dim dim, int64_t *value);
bool dim_is_one(Dim dim);             /* 1, or a batch of one record */
bool dim_is_batch(Dim dim);           /* the symbol of a batch */
bool dim_counts_records(Dim dim);     /* that symbol is in it */
bool dim_is_symbol(Dim dim);          /* one symbol and nothing else */
int64_t dim_bound(Dim dim);           /* the largest value, or SIZE_UNKNOWN */
const char *dim_symbol_name(Dim dim); /* of a symbol; NULL otherwise */
int dim_bounded_number(Dim dim);      /* of a symbol that dim_bounded made; -1 otherwise */
bool dim_is_bounded(Dim dim);         /* one of those is in it, and no symbol of another kind */

/* The value when each symbol has the value that `value(symbol, context)` gives. */
int64_t dim_evaluate(Dim dim, int64_t (*value)(Dim symbol, const void *context),
                     const void *context); /* 0 for what divides by 0 */

/* Every symbol in it, once for each place; the symbol lives only during the visit. */
void dim_each_symbol(Dim dim, void (*visit)(Dim symbol, void *context), void *context);

/* Every quotient in it, once for each place. */
void dim_each_quotient(Dim dim, void (*visit)(Dim dividend, Dim divisor, void *context),
                       void *context);

void dim_print(Dim dim, Text *text); /* "3*E", "H/2", "784" */

/* The same with other names for the symbols. */
typedef const char *SymbolName(Dim symbol, void *context);
void dim_print_as(Dim dim, SymbolName *name, void *context, Text *text);
const char *dim_text(Arena *arena, Dim dim);

#endif
