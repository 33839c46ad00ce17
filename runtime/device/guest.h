/* Guest: the GPUs of an instance of a deployed library, in a process that is somebody else's. The
 * primary context of each is shared with whoever else uses it there, and neither set up nor reset;
 * what is opened between them is the access of each to the others' memory. The context that a
 * thread has when it calls is its own again when it returns, and so is its mode of capture. Nothing
 * is printed, and no compiler is started. Different guests may be used by different threads at the
 * same time. */
#ifndef FLOW_GUEST_H
#define FLOW_GUEST_H

#include "runtime/call.h"

typedef struct Guest Guest;

struct FlowGuest {
    /* memory: of the program's size, with its weights; it outlives the guest. *guest is NULL when
     * it fails. */
    FlowStatus (*open)(const FlowProgram *program, char *memory, Guest **guest);
    /* Makes the call, whose inputs are bound to what GPUs need not reach; results are in memory
     * then. False: message says why, now and from then on. So does a process that was forked from
     * the one that opened it. */
    bool (*run)(Guest *guest, Call *call, FlowFrame *frame);
    const char *(*message)(const Guest *guest);
    void (*close)(Guest *guest);
};

#endif
