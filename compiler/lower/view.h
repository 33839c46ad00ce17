/* View: inside lower/, nodes that move elements. value_error after reporting. */
#ifndef FLOW_LOWER_VIEW_H
#define FLOW_LOWER_VIEW_H

#include "compiler/lower/lowering.h"

/* A view of a tensor; what is known of its values stays known where nothing fills it. */
Value make_view(const Context *context, const Value *x, const View *view, Type type, Range range);

/* The same elements in another shape. */
Value make_reshape(const Context *context, const Value *x, Type type, Range range);

#endif
