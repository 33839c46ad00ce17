/* Callee: inside lower/, what a call runs. */
#ifndef FLOW_LOWER_CALLEE_H
#define FLOW_LOWER_CALLEE_H

#include "compiler/lower/lowering.h"

/* A declaration, by itself or as an instance. */
typedef struct Callee {
    const Declaration *declaration;
    const Unit *unit;
    Instance *instance; /* or NULL */
    const char *path;   /* NULL: the next of the declaration's name here */
} Callee;

/* call.c: runs its body; the first arguments are given as values. value_error after reporting. */
Value call_declaration(const Context *context, const Expression *expression, Callee callee,
                       const Value *first, size_t count);

#endif
