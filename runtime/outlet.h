/* Outlet: a sink at the end of a pipeline, or one that its records pass. */
#ifndef FLOW_OUTLET_H
#define FLOW_OUTLET_H

#include "runtime/settings.h"
#include "runtime/team.h"
#include "runtime/watchdog.h"

/* Where the records come from. */
typedef struct OutletPlace {
    const Settings *settings;
    const FlowFunction *function; /* or NULL */
    const FlowSection *section;   /* the pipeline's last */
    const char *memory;           /* where the function leaves its results */
    int64_t records;              /* at most so many; INT64_MAX: nobody knows */
} OutletPlace;

typedef struct Outlet {
    const FlowOutlet *form;
    FlowSinkArguments arguments;
    FlowSinkField *fields;
    FlowWriter *writer;
    Beat beat;
} Outlet;

/* outlet: zeroed. Whatever it returns, outlet_close has to follow. */
FlowStatus outlet_open(Outlet *outlet, const FlowOutlet *form, const OutletPlace *place);

/* Writes the records of a batch, whose outputs are in arrays; `first` were written before. */
FlowStatus outlet_write(Outlet *outlet, void *const *arrays, int64_t first, int64_t records,
                        Team *team);

/* As FlowSink.close; of one that was not opened, too. */
FlowStatus outlet_close(Outlet *outlet, FlowEnd end);

#endif
