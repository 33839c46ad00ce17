/* Launch: the one that is made now, as those see it who run its threads and who check what they
 * touch. */
#ifndef FLOW_SIMULATED_LAUNCH_H
#define FLOW_SIMULATED_LAUNCH_H

#include "runtime/device/fiber.h"
#include "runtime/device/simulated_memory.h"

enum {
    THREAD_LIMIT = 1024,        /* of a block */
    SHARED_LIMIT = 48 << 10,    /* bytes of a block, as every GPU has them */
    SHARED_MOST = 227 << 10,    /* with what a launch adds, as those of 9.0 have them */
    GATE_LIMIT = 32,            /* of a block */
    SHARED_ARRAY_LIMIT = 64,    /* arrays of a kernel */
    LINE_LIMIT = (1 << 21) - 1, /* that are told apart */
    FAULT_SIZE = 512,
};

/* What a box brings to shared memory: whoever has seen the gate open more than `opened` times may
 * look at it. */
typedef struct Mark {
    uint32_t gate : 8 /* 1 + its number; 0: no box brought it */, opened : 24;
} Mark;

/* An array of the block. */
typedef struct SharedArray {
    const char *name; /* the same text is the same array */
    int line;
    size_t size; /* of an element */
    int64_t count;
    uint32_t start; /* its address in shared memory */
    char *memory;
    Trace *traces; /* one an element */
    bool *landing; /* a copy of it has not been waited for; one an element */
    Mark *marks;   /* what it is of; one an element */
} SharedArray;

typedef enum LaneState {
    LANE_ready,
    LANE_barrier,
    LANE_shuffle,
    LANE_waits,   /* as its Wait says */
    LANE_arrived, /* at a gate: who waited for it goes first */
    LANE_done
} LaneState;

/* For what a thread waits that is no barrier and no shuffle. */
typedef struct Launch Launch;
typedef struct Wait {
    bool (*is_over)(Launch *launch, int thread);
    void (*tell)(const Launch *launch, int thread, char *text, size_t size); /* "waits for …" */
} Wait;

/* A thread of the block. */
typedef struct Lane {
    LaneState state;
    int line; /* where it waits */
    int mask; /* of a shuffle; of a barrier, how many threads come to it */
    const Wait *wait;
    int gate, odd;             /* that it waits for */
    uint32_t seen[GATE_LIMIT]; /* so often open, each gate */
    uint64_t bits;             /* it brings to a shuffle, or gets there */
    uint32_t shown; /* epoch: what it wrote to shared memory, then or before, products see */
    char brought[FLOW_MEETING];
    Fiber *fiber; /* that it waits in; NULL: it has not begun */
} Lane;

struct Launch {
    FlowSimulated seen; /* first: what the kernel sees */
    const char *name;
    FlowSimulatedKernel *kernel;
    int checks;
    uint64_t random;
    int64_t all_blocks;                /* of all records; number b is of record b / seen.blocks */
    int64_t block_start, block_stride; /* block i is start + i * stride, modulo their number */
    uint32_t *block_epochs;            /* that they began with, in the order in which they ran */
    int64_t blocks_begun;
    Epochs epochs;
    uint32_t since[THREAD_LIMIT / WARP]; /* Epochs.since */
    int arrived;                         /* threads that are LANE_arrived */
    Lane lanes[THREAD_LIMIT];
    char met[THREAD_LIMIT][FLOW_MEETING]; /* what lanes brought when their warp met */
    int order[THREAD_LIMIT], begun;       /* threads, and how many have begun */
    Fiber *running;
    SharedArray arrays[SHARED_ARRAY_LIMIT];
    int array_count;
    size_t shared_size; /* of all of them, but for what the launch adds: */
    size_t more, more_used;
    bool failed;
    char fault[FAULT_SIZE];
};

/* Fails in a thread, which does not go on. The text follows "kernel …, block …: ". */
_Noreturn void launch_fail(Launch *launch, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where no thread runs; false. */
bool launch_fault(Launch *launch, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Some number below `below`, by the seed. */
uint64_t launch_draw(Launch *launch, uint64_t below);

/* The thread goes on when that is over. */
void launch_wait(Launch *launch, const Wait *wait, int line);
/* The thread goes on after those whose waiting is over. */
void launch_let_go_first(Launch *launch, int line);

/* The number of the block that ran in an epoch of this launch. */
int64_t launch_block_at(const Launch *launch, uint32_t epoch);

/* Fills in what kernels see of memory. */
void launch_set_access(Launch *launch);
/* Shared memory of a new block has no values. */
void launch_clear_shared(Launch *launch);
void launch_free_shared(Launch *launch);

/* Fills in what kernels see of copies; a thread begins, and has none. */
void launch_set_copies(Launch *launch);
void launch_forget_copies(int thread);

/* For copies: where an element of shared memory lies; it has a copy under way from now on, or not
 * any more, which writes it. */
void launch_set_landing(Launch *launch, char *element, size_t size, bool landing, int line);

/* Fills in what kernels see of products of warpgroups; a thread begins, and has none. */
void launch_set_products(Launch *launch);
void launch_forget_products(int thread);

/* For products: the address that a place in an array has in shared memory; and the half that lies
 * at one, which is written, and shown. */
uint32_t launch_shared_address(Launch *launch, const void *place, int line);
uint16_t launch_half_at(Launch *launch, uint32_t address, int line);

/* For boxes: so many bytes at an address, inside of one array, are brought from now on, by a copy
 * that the thread begins at that line; and have come. */
void launch_begin_arrival(Launch *launch, uint32_t address, size_t size, Mark mark, int line);
void launch_end_arrival(Launch *launch, uint32_t address, const void *bytes, size_t size);

/* Gates: fills in what kernels see of them; a block begins, and has none. */
void launch_set_gates(Launch *launch);
void launch_clear_gates(void);
/* The one at that place, which the thread may use; by_copies: a copy may, too. */
int launch_gate_at(const void *place, bool by_copies, int line);
/* What of it is to come when it opens next. */
Mark launch_next_mark(int gate);
bool launch_has_opened(Mark mark);
/* So many bytes have landed. False: nobody expects them. */
bool launch_landed(Launch *launch, int gate, int64_t bytes);

/* Boxes: fills in what kernels see of them. Lands one of those that are under way; `any`: there
 * was one. */
void launch_set_boxes(Launch *launch);
bool launch_land_box(Launch *launch, bool *any);
void launch_free_boxes(void);

/* Until trap_close, a thread of the launch fails where it would end the process: at an address of
 * the device that it goes to by itself, and where its stack ends. False: that cannot be had. */
bool trap_open(Launch *launch);
void trap_close(void);

#endif
