/* Pump: a pipeline that ends in a sink, from its first record to its last. */
#ifndef FLOW_PUMP_H
#define FLOW_PUMP_H

#include "runtime/settings.h"

/* Runs settings->run. Standard output that is closed by its reader ends it without a message. */
FlowStatus pump_run(const Settings *settings);

#endif
