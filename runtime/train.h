/* Train: one train block from its first step, or where it was left, to its last. */
#ifndef FLOW_TRAIN_H
#define FLOW_TRAIN_H

#include "runtime/settings.h"

FlowStatus train_run(const Settings *settings);

#endif
