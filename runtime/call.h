/* Call: a compiled function with its inputs bound. */
#ifndef FLOW_CALL_H
#define FLOW_CALL_H

#include "runtime/type.h"

typedef struct Call {
    const FlowFunction *function;
    Sizes sizes;            /* of the run, or of the last batch */
    const void **inputs;    /* as FlowFrame.inputs */
    int64_t *cells;         /* one an input: the converted value of an option */
    FlowGuard guard;        /* of the last batch */
    FlowObserver *observer; /* sees all its calls, or NULL */
    bool ahead;             /* as FlowFrame.ahead */
} Call;

/* What the functions of a run share; read at each call. */
typedef struct RunNumbers {
    int64_t step, seed; /* step: updates made so far */
    int64_t draw;       /* the seed, another one for each batch that is trained */
    float plateau;
    double epoch; /* passes over the data so far */
} RunNumbers;

/* numbers: the values of options. Fails when one does not fit its element type. */
FlowStatus call_new(const FlowFunction *function, Sizes sizes, const double *numbers,
                    const RunNumbers *run, Call *call);
void call_free(Call *call);

/* Binds the fields and the number of records; the other inputs stay. */
void call_bind(Call *call, const void *const *fields, int64_t batch);

#endif
