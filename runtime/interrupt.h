/* Interrupt: a signal asks the run to stop after this step; a second one ends it at once.
 */
#ifndef FLOW_INTERRUPT_H
#define FLOW_INTERRUPT_H

#include <stdbool.h>

/* Watches SIGINT, SIGTERM and SIGHUP; makes failed writes errors instead of signals. */
void interrupt_watch(void);

bool interrupted(void);

/* Asks for the same from inside. */
void interrupt_now(void);

#endif
