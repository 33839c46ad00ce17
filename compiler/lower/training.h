/* Training: what the files that lower a train block share. */
#ifndef FLOW_LOWER_TRAINING_H
#define FLOW_LOWER_TRAINING_H

#include "compiler/lower/lowering.h"

/* train.c */

bool is_entry(const char *name);

/* `name = …`, or NULL. */
const Statement *find_entry(const Declaration *declaration, const char *name);

/* The batches that the expression names; value_error after reporting. */
Value lower_data(const Context *context, const Expression *expression);

/* An empty function `TRAIN.NAME`; data: whose batches it takes, or NULL. */
Function function_new(const Context *context, const char *train, const char *name,
                      const Pipeline *data);

/* The context of a function of the batches that training takes. */
Context step_context(const Context *context, const Declaration *declaration, Train *train,
                     Function *function, const char *name);

/* fit.c: the passes over the data that come before the first step. */
void lower_fits(const Context *context, const Declaration *declaration, Train *train, Value data);

/* resources.c: replicas, microbatches, memory. Microbatches make the batches of data smaller. */
void lower_resources(const Context *context, const Declaration *declaration, const Value *data,
                     Train *train);

/* measure.c */

/* The block's `let`s, loss and metrics over batches of data: results of the context's function. */
void lower_measures(const Context *context, const Declaration *declaration, Value data);

/* One number becomes a result of the context's function. */
void add_measure(const Context *context, const char *name, const Expression *expression,
                 const Value *value);

/* optimizer.c: for the graph that has the loss as first result. */

/* The new values of all weights. */
void lower_optimizer(const Context *context, const Declaration *declaration, Train *train);

/* Adds the gradients to the sums that the optimizer reads later. */
void lower_accumulation(const Context *context, const Declaration *declaration, Train *train);

/* action.c: the actions of one `every` block. */
void lower_every(const Context *context, const Declaration *declaration, Train *train,
                 const Statement *statement);

#endif
