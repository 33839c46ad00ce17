/* Whole: values of which each replica has a part, or its share, become whole on all of them. What
 * is asked for is put off until somebody reads it or much has come together, so that it is done at
 * once: by NCCL, on a stream of its own while kernels go on; else by copies between GPUs, among the
 * kernels (replicas.c). Inside device/. */
#ifndef FLOW_WHOLE_H
#define FLOW_WHOLE_H

#include "runtime/device/gpu.h"

/* Places in memory, the elements, bytes of each. to: from, or whole_await comes at once. */
typedef struct Whole {
    int64_t to, from, count, size;
    FlowWhole how;
    FlowElement element;
} Whole;

/* Of the replicas of the call that is made. */
bool whole_add(const Whole *whole);

/* Kernels that are asked for from now on have all that was added. */
bool whole_await(void);

/* NCCL has noted nothing wrong: it is asked by who waits long, as the driver doesn't know. Else
 * gpus_fail is told, and what is on its way is broken off. */
bool whole_goes_on(void);
bool whole_uses_nccl(void);

/* Before GPUs are closed. */
void whole_close(void);

/* replicas.c: those are made whole by copies. */
bool replicas_join(const Whole *wholes, int count);

#endif
