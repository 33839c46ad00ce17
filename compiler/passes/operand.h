/* Operand: where a contraction finds the elements of an operand in memory.
 *
 * A contraction reads through casts that make f32 of both operands, views without guards, reshapes
 * and broadcasts, as long as the place of an element stays a sum of one part for each of the
 * loops. */
#ifndef FLOW_PASSES_OPERAND_H
#define FLOW_PASSES_OPERAND_H

#include "compiler/graph/graph.h"

enum { DIGIT_LIMIT = 16 };

/* The index of a loop as digits, the first the most significant; each adds digit * stride. */
typedef struct Digit {
    Dim size, stride;
} Digit;

typedef struct Digits {
    int count;
    Digit items[DIGIT_LIMIT];
} Digits;

/* y[outer, row, column] = sum(depth) a[outer, row, depth] * b[outer, depth, column] */
typedef struct ContractionOperand {
    NodeId node; /* in memory */
    Dim start;
    Digits outer, first, second; /* first, second: row and depth of a, depth and column of b */
} ContractionOperand;

/* A cast from a half type to f32 that no kernel stores. */
bool is_widening(const Graph *graph, const Node *node);

/* Are both operands such casts, of the same type? Then it is read through them. */
bool widens_both(const Graph *graph, const Node *matmul);

/* Operand 0, a, or 1, b. */
ContractionOperand contraction_operand(const Graph *graph, const Node *matmul, int which);

/* Does the operand lie as the loops go over it, one element after the other, all of the node? */
bool is_in_order(const Graph *graph, const ContractionOperand *operand);

/* Are the elements adjacent that a loop goes over? */
bool is_run(const Digits *digits);

/* Is b a matrix that lies row after row? */
bool is_in_rows(const ContractionOperand *b);

/* For templates/windows.c: does the contraction with these operands and so many columns see a
 * through windows, and read it where it lies? */
bool sees_windows(const Graph *graph, const ContractionOperand *a, const ContractionOperand *b,
                  Dim columns);

/* How many depths there are for each value of the first digit of a's; 0: it has no other. */
int64_t depth_of_windows(const ContractionOperand *a);

#endif
