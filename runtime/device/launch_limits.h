/* Launch limits: how much a kernel on a GPU is given, for who launches it and who plans that. */
#ifndef FLOW_LAUNCH_LIMITS_H
#define FLOW_LAUNCH_LIMITS_H

enum {
    FLOW_LAUNCH_SIZES = 16,
    FLOW_LAUNCH_INPUTS = 64,
    FLOW_LAUNCH_OPERANDS = 384,
    FLOW_LAUNCH_MAPS = 2,           /* of tensors */
    FLOW_RING_THREADS = 288,        /* of a block that has a ring */
    FLOW_TENSOR_RANK = 5,           /* dimensions, at most */
    FLOW_LAUNCH_RESULTS = 32,       /* of a call that goes ahead; */
    FLOW_LAUNCH_RESULT_ROOM = 4096, /* bytes of all of them, each of so many more that they are */
    FLOW_LAUNCH_RESULT_UNIT = 16,   /* a multiple of this */
    FLOW_REPLAY_KERNELS = 8192,     /* of a graph: each keeps its parameters, of almost 4 KiB */
    FLOW_EVERY_GPU = 62,            /* the number of no GPU: those of all replicas */
};

#endif
