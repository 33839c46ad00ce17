/* Movement: functions that move elements, as nodes. Inside lower/. */
#ifndef FLOW_LOWER_MOVEMENT_H
#define FLOW_LOWER_MOVEMENT_H

#include "compiler/lower/lowering.h"

bool is_movement_name(const char *name);

/* True when the call is of such a function; *result is then set. */
bool lower_movement(const Context *context, const Expression *call, const Value *piped,
                    Value *result);

/* A view of a tensor; what is known of its values stays known where nothing fills it. */
Value make_view(const Context *context, const Value *x, const View *view, Type type, Range range);

/* The same elements in another shape. */
Value make_reshape(const Context *context, const Value *x, Type type, Range range);

#endif
