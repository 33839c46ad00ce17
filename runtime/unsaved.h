/* Unsaved: a train block that ends before its first `save` is due, or has none that the command
 * line's file could be for; or whose device is lost: what it has learnt is lost, and that is
 * said. */
#ifndef FLOW_UNSAVED_H
#define FLOW_UNSAVED_H

#include "runtime/run.h"

/* Says on standard error, of a run that is complete, which file it has not written, and why;
 * nothing where it has, where the program saves nothing, or of a run that went on from a file. */
void unsaved_tell(const Run *run);

/* Says of a run that can't be saved any more, since the device that had its weights is lost, what
 * is lost with it and what is left. */
void unsaved_tell_lost(const Run *run);

#endif
