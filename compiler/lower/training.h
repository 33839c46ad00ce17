/* Training: what the files that lower a train block share. */
#ifndef FLOW_LOWER_TRAINING_H
#define FLOW_LOWER_TRAINING_H

#include "compiler/lower/lowering.h"

/* train.c */

/* `name = …`, or NULL. */
const Statement *find_entry(const Declaration *declaration, const char *name);

/* The batches that the expression names; value_error after reporting. */
Value lower_data(const Context *context, const Expression *expression);

/* The block's `let`s, loss and metrics over batches of data: results of the context's function. */
void lower_measures(const Context *context, const Declaration *declaration, Value data);

/* An empty function `TRAIN.NAME`; data: whose batches it takes, or NULL. */
Function function_new(const Context *context, const char *train, const char *name,
                      const Pipeline *data);

/* optimizer.c: the new values of all weights, in the graph that has the loss as first result. */
void lower_optimizer(const Context *context, const Declaration *declaration);

/* action.c: the actions of one `every` block. */
void lower_every(const Context *context, const Declaration *declaration, Train *train,
                 const Statement *statement);

#endif
