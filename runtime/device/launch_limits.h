/* Launch limits: how much a kernel on a GPU is given, for who launches it and who plans that. */
#ifndef FLOW_LAUNCH_LIMITS_H
#define FLOW_LAUNCH_LIMITS_H

enum {
    FLOW_LAUNCH_SIZES = 16,
    FLOW_LAUNCH_INPUTS = 64,
    FLOW_LAUNCH_OPERANDS = 384,
    FLOW_EVERY_GPU = 62, /* the number of no GPU: those of all replicas */
};

#endif
