/* Nccl: the library by which NVIDIA's GPUs add up what each of them has, which is there or not when
 * this runs: the one that $FLOWC_NCCL names, else the system's. What its functions do and which
 * numbers its types have is said by the NCCL documentation ("Collective Communication Functions",
 * "Types"); bf16 is there from 2.10 on. */
#ifndef FLOW_NCCL_H
#define FLOW_NCCL_H

#include "runtime/device/device.h"
#include "runtime/flow.h"

/* How to get it, behind what is said to be missing. */
#define NCCL_COMES                                                         \
    "it comes from nvidia.com (Debian's repository there: libnccl2, pip: " \
    "nvidia-nccl-cu13); FLOWC_NCCL names it when it is elsewhere"

/* Functions return 0, or an error that error_text knows, unless they say what they give. */
typedef struct Nccl {
    void *library;
#define NCCL(type, name, symbol, parameters) type(*name) parameters;
#include "runtime/device/nccl.def"
#undef NCCL
} Nccl;

/* How replicas put together what each of them has. */
typedef enum AllReduce {
    ALL_REDUCE_peer,  /* by copies between GPUs, in the order of the replicas */
    ALL_REDUCE_nccl,  /* in an order of its own */
    ALL_REDUCE_wrong, /* what was asked for can't be done */
} AllReduce;

typedef struct AllReduceText {
    char text[2 * DEVICE_TEXT]; /* "by NCCL 2.27.3 (libnccl.so.2)", or why not */
    const char *fix;            /* how to get what is missing, or NULL */
} AllReduceText;

/* What $FLOWC_ALL_REDUCE asks for, nccl or peer; without it NCCL where it is found, unless sums are
 * to be exact, which is never by NCCL. A library that $FLOWC_NCCL names has to be there.
 * *nccl is loaded for ALL_REDUCE_nccl, and stays so: it keeps threads. */
AllReduce nccl_choose(Nccl *nccl, bool exact, AllReduceText *text);

/* Its numbers. */
int nccl_type(FlowElement element);
enum { NCCL_IN_PROGRESS = 7 };

#endif
