/* Interrupt: a signal asks the run to stop after this step; a second one ends it at once. */
#ifndef FLOW_INTERRUPT_H
#define FLOW_INTERRUPT_H

#include "runtime/flow.h"

/* Watches SIGINT, SIGTERM and SIGHUP; makes failed writes errors instead of signals. */
void interrupt_watch(void);

/* What takes long before the first step, or with each record, asks now and then. */
bool interrupted(void);

/* How a file ends that was being read then. */
FlowStatus interrupt_reading(const char *path);

/* How a run ends that waited for a reader of the FIFO then. */
FlowStatus interrupt_unread(const char *path);

/* Asks for the same from inside. */
void interrupt_now(void);

#endif
