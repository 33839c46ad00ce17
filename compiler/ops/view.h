/* View: which element of an operand each element of a result is.
 *
 * Coordinate i of the operand is (start + the sum over j of factors[j] * o[j]) / divisor, where o
 * are the coordinates in the result. Where one is not whole or lies outside the operand, the
 * element is the fill number. Permutations, slices, flips, padding, windows, dilation and
 * diagonals are views; so is what undoes each of them. */
#ifndef FLOW_OPS_VIEW_H
#define FLOW_OPS_VIEW_H

#include "compiler/types/type.h"

enum { FACTOR_LIMIT = 1 << 19 }; /* of factors and divisors: their sums stay far below 2^63 */

typedef struct Coordinate {
    Dim start;
    int64_t factors[RANK_LIMIT]; /* of each axis of the result */
    int64_t divisor;             /* at least 1 */
} Coordinate;

/* Compared as bytes: without padding, and zero past the operand's rank. */
typedef struct View {
    int64_t rank; /* of the operand */
    Coordinate coordinates[RANK_LIMIT];
    double fill;
} View;

/* What a coordinate has to be tested for. */
typedef enum Guard { GUARD_low = 1, GUARD_high = 2, GUARD_whole = 4 } Guard;

/* A set of Guards: those that are not known to hold for every element of the result. */
int coordinate_guards(Dimensions *table, const Coordinate *coordinate, Dim size,
                      const Type *result);

/* The least or the largest value before it is divided, over all elements of the result; NULL past a
 * limit. */
Dim coordinate_extreme(Dimensions *table, const Coordinate *coordinate, const Type *result,
                       bool most);

bool view_is_guarded(Dimensions *table, const View *view, const Type *operand, const Type *result);

/* Coordinate i is axis i of the result. */
View view_identity(Dimensions *table, int rank);

/* A coordinate that is `start` plus axis `axis` of the result; axis -1: none. */
Coordinate coordinate_along(Dim start, int axis);

/* Exchanges the last two axes, of which there must be two. */
View view_transposition(Dimensions *table, int rank);

/* What `outer`, which has no guards, makes of the result of `inner`. False past a limit. */
bool view_compose(Dimensions *table, const View *outer, const View *inner, View *composed);

/* "[i0, 2*i1 + i3 - 1, (i2 - 1)/2]" */
void view_print(const View *view, Text *text);

#endif
