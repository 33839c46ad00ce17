/* Stand-in: CUDA's driver, NVRTC and NCCL as one library that needs none of them, for programs that
 * find them with dlopen; kernels run on the processor (runtime/device/simulated.h). What a program
 * gets wrong shows here as it would by bad luck on a GPU: each stream is a thread, which waits a
 * little before what it does; copies read and write pinned memory when their turn comes; addresses
 * of the device fault when the host goes there; errors of kernels come later, and stay.
 *
 * FLOWC_SIMULATE=gpu:N          so many devices (1)
 * FLOWC_SIMULATE_MEMORY=BYTES   of each (4 GiB)
 * FLOWC_SIMULATE_SHARED=BYTES   of shared memory a block may have (227 KiB)
 * FLOWC_SIMULATE_NVRTC=MAJOR    version of NVRTC (12)
 * FLOWC_SIMULATE_DELAY=MICROS   the longest wait before an operation (200)
 * FLOWC_SIMULATE_FAULT=CALL:N[:ERROR]  the N-th call of a function, or of any for "*", fails
 * FLOWC_SIMULATE_FAULT=nvrtcCompileProgram:1[:HANG|:CRASH]  it fails; or never ends, or crashes
 * FLOWC_SIMULATE_CALLS=FILE     the name of each call of the driver is added to it
 * FLOWC_SIMULATE_LOSE=CALL:FIRST:STEP  a function that makes somebody wait does nothing, at its
 *                               call FIRST, and each STEP calls later
 * FLOWC_SIMULATE_SEED, _CHECKS  as simulated.h says */
#ifndef FLOW_STANDIN_H
#define FLOW_STANDIN_H

#include "runtime/device/simulated.h"

#include <pthread.h>

#define API __attribute__((visibility("default")))

enum {
#define ERROR(name, number, text) ERROR_##name = number,
#include "runtime/device/standin/errors.def"
#undef ERROR
    DEVICE_MOST = 16,
    MAJOR = 9, /* of what devices say they can */
    MINOR = 0,
    SHARED_UNASKED = 48 << 10,   /* bytes a block has, and may have when it asks for them: */
    SHARED_OF_BLOCK = 227 << 10, /* CUDA C++ programming guide, compute capability 9.0 */
};

typedef uint64_t Address; /* CUdeviceptr */
typedef struct Stream Stream;
typedef struct Graph Graph;
typedef struct Event Event;
typedef struct Communicator Communicator;

/* A device, and its primary context. */
typedef struct Device {
    int number;
    _Atomic int holders;
    _Atomic int error;        /* that stays; ERROR_SUCCESS */
    _Atomic unsigned reached; /* bits: other devices */
    uint64_t memory;
    _Atomic uint64_t used;
    Stream *streams;
    Stream *plain; /* stream NULL; made when it is asked for */
} Device;

/* A kernel. */
typedef struct Function {
    FlowSimulatedKernel *kernel;
    char name[200];
    int64_t arguments, threads; /* bytes; of a block */
    int shared;                 /* bytes that a launch may add */
    const Device *device;
    struct Function *next; /* of the module */
} Function;

/* What a stream does, one after the other. */
typedef enum OperationKind {
    OPERATION_to_device,
    OPERATION_from_device,
    OPERATION_within,
    OPERATION_fill,
    OPERATION_launch,
    OPERATION_record,
    OPERATION_wait,
    OPERATION_collective, /* value: ncclRedOp_t; threads: ncclDataType_t */
} OperationKind;

typedef struct Operation {
    OperationKind kind;
    Address target, source; /* of the device, or of the host */
    size_t size;
    unsigned value;
    Event *event;
    uint64_t record; /* of the event */
    Communicator *communicator;
    const Function *function;
    int64_t blocks, records;
    int threads, shared;
    char *bytes; /* its own: arguments, or what pageable memory held */
    struct Operation *next;
} Operation;

/* Guards all below, of all devices; changed: a stream has come on. */
extern pthread_mutex_t standin_lock;
extern pthread_cond_t standin_changed;

/* What each function of the driver begins with. A function with a context needs a current one,
 * whose error it gives. */
int standin_enter(const char *call, bool with_context);
#define ENTER(call)                               \
    do {                                          \
        int entered = standin_enter(#call, true); \
        if (entered) return entered;              \
    } while (0)
#define ENTER_ANYWHERE(call)                       \
    do {                                           \
        int entered = standin_enter(#call, false); \
        if (entered) return entered;               \
    } while (0)

/* Counts the call. Is it the one that shall fail? error: what FLOWC_SIMULATE_FAULT says behind its
 * number, of 64. */
bool standin_fails(const char *call, char *error);

/* Is this call of a function that makes somebody wait to be lost? */
bool standin_loses(const char *call);

Device *standin_device(void); /* the current one */
Device *standin_device_by_number(int number);
int standin_shared(void); /* bytes that a block may ask for */
uint64_t standin_setting(const char *variable, uint64_t otherwise);
int standin_result_of(const char *name); /* -1: no error has this name */

/* Takes the operation with what it owns. NULL: stream NULL, which waits for all others first. */
int stream_put(Stream *stream, Operation operation);
int stream_wait(Stream *stream);
const Device *stream_device(const Stream *stream); /* NULL: the current one */
bool stream_is_captured(const Stream *stream);
bool stream_forbids_allocation(void); /* somebody captures, and this thread heeds it */
void device_wait(Device *device);     /* all its streams */
void stream_append(Stream *stream, Operation *operation); /* a copy; while the lock is held */

/* Its turn has come; then, after a while, it is done, on the stream's thread. Gives an error that
 * stays. */
void operation_begin(const Operation *operation);
int operation_run(const Operation *operation);
int operation_launch(const Operation *operation);
void operation_free(Operation *operation);
Operation *operation_copy(const Operation *operation);

/* Waits for the other ranks; while the lock is held. */
int collective_attend(const Operation *operation);

bool memory_is_pinned(const void *place, size_t size);
/* Does the device have all the bytes? */
bool memory_is_on(const Device *device, Address address, size_t size);

/* One image: what the compiler gives, and modules are made of. */
typedef struct ImageHead {
    char mark[8];
    int32_t architecture; /* 90 */
    int32_t is_virtual;   /* PTX, rather than for one architecture */
    int32_t is_alone;     /* for that one only, not for what comes after it */
    uint64_t size;        /* of a shared library, which follows */
} ImageHead;
#define IMAGE_MARK "FLOWSIM"

#endif
