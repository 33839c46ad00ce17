/* Operator: inside lower/, elementwise nodes of values. */
#ifndef FLOW_LOWER_OPERATOR_H
#define FLOW_LOWER_OPERATOR_H

#include "compiler/lower/lowering.h"

/* A number, size, truth, option or tensor. */
bool is_numeric(const Value *value);

/* The node of an elementwise op; the first `conditions` of its operands are bool. Numbers take the
 * element type of the tensors beside them. value_error after reporting. */
Value apply_op(const Context *context, Op op, const Value *const *values, int count, int conditions,
               Range range);

/* Reports two tensors whose shapes don't fit together, naming both ends. True: they don't. */
bool report_shapes(const Context *context, const Value *a, const Value *b, Range range);

/* Notes what each of the tensors is. */
void note_operands(const Context *context, Diagnostic *d, const Value *const *values, int count);

#endif
