/* Axes text: coordinates of an element along the axes of its node, for what reads elements that lie
 * elsewhere. */
#ifndef FLOW_CODEGEN_AXES_TEXT_H
#define FLOW_CODEGEN_AXES_TEXT_H

#include "compiler/codegen/writer.h"

/* The first of the node's last axes whose elements are the loops' columns; 0: the index does not
 * fall into rows and columns. */
int column_axis(Writer *writer, const Type *node, Index index);

/* The coordinate along one axis of the node. */
Index axis_index(Writer *writer, const Type *node, int axis, Index index);

/* Of column c = s + lane, where s begins a run of whole vectors: c / inner % count, without a
 * division for each lane. The text is NULL where that takes one. */
Index run_index(Writer *writer, Dim inner, Dim count);

/* Of column c = q * apart + s: q or s, where c / inner % count is one of these; else its text is
 * NULL. */
Index part_index(Writer *writer, Dim inner, Dim count);

/* A sum, its parts at the levels where they are known. */
typedef struct Sum {
    Text parts[LEVEL_count];
} Sum;

Sum new_sum(Writer *writer);
void add_start(Writer *writer, Sum *sum, Dim start);
void add_part(Writer *writer, Sum *sum, Level level, const char *text, Dim factor);

/* Adds what axes first to last - 1 of the node add to the place in an operand, by what the next
 * place along each does. */
void add_axes(Writer *writer, Sum *sum, const Type *node, const Dim *strides, int first, int last,
              Index index);

/* The sum as a variable, of outer parts by themselves. */
Index sum_index(Writer *writer, Sum *sum);

/* view_text.c: the coordinate, along an axis of the view's operand, of an element that it shows. */
Index seen_coordinate(Writer *writer, const Seen *seen, int axis);

#endif
