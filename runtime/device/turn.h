/* Turn: what one call of a function has of a GPU for itself: room for its inputs, a block with its
 * numbers, its guard and its results. There are as many turns as calls may be on their way at a
 * time, and one for those that are waited for. Inside device/.
 *
 * A turn's inputs and numbers are copied by the stream for that, while kernels of the turn before
 * compute; its own kernels wait for them. Results are put into the block among the kernels, and the
 * block is copied by the third stream: the next turn's kernels don't wait for it. The host uses a
 * turn again after turn_wait, so nothing else has to be waited for. */
#ifndef FLOW_TURN_H
#define FLOW_TURN_H

#include "runtime/device/gpu.h"

enum {
    TURN_ALONE = GPUS_AHEAD, /* the turn of calls that are waited for */
    TURN_COUNT,
};

/* On the device; twice on the host: as it is copied there, and as it comes back. */
typedef struct TurnBlock {
    int64_t numbers[FLOW_LAUNCH_INPUTS]; /* inputs that are one number; in: up to the guard */
    FlowGuard guard;                     /* out: from the guard on */
    char results[FLOW_LAUNCH_RESULT_ROOM];
} TurnBlock;

typedef struct TurnInput {
    uint64_t address;
    size_t room;
    size_t size;                /* of what this call copied; 0: nothing */
    bool is_number;             /* it lies in the block */
    int64_t outer, each, batch; /* of a replica's share: parts that lie apart, bytes of a record's
                                   in each, all records; outer 0: it has all */
} TurnInput;

typedef struct TurnResult {
    int64_t place;       /* in the program's memory */
    size_t offset, size; /* in the block's results */
} TurnResult;

struct Turn {
    TurnInput inputs[FLOW_LAUNCH_INPUTS];
    uint64_t block;
    TurnBlock *in, *out; /* pinned */
    TurnResult results[FLOW_LAUNCH_RESULTS];
    int result_count;
    size_t result_size;              /* of all, aligned */
    bool guarded;                    /* its call has a guard */
    bool sent;                       /* the block is; what comes to it now is copied by itself */
    bool copied;                     /* something was, that kernels don't wait for yet */
    bool used;                       /* in the call that is made, or that is on its way */
    void *arrived, *computed, *done; /* events: inputs; kernels; the block is back */
};

bool turns_open(Gpu *gpu);
void turns_close(Gpu *gpu);

/* The GPU's turn of that number begins, and becomes gpu->turn. */
void turn_begin(Gpu *gpu, int number, const FlowGuard *guard);

/* Input i of the call, from the CPU. number: it is one, of at most 8 bytes. */
bool turn_copy_in(Gpu *gpu, int i, const void *from, size_t size, bool number);
/* Room for so many bytes of it; what lay there is lost when it has to grow. */
bool turn_make_room(Gpu *gpu, int i, size_t size);
/* Where kernels find it. */
uint64_t turn_input(const Turn *turn, int i);

/* Kernels that are asked for from now on have all that was copied. */
bool turn_send(Gpu *gpu);

/* What kernels left at that place of the GPU's memory; where the block has room for it. */
bool turn_has_room(const Turn *turn, size_t size);
bool turn_put_result(Gpu *gpu, int64_t place, size_t size);

/* The call's last one. */
bool turn_end(Gpu *gpu);

/* Waits until its inputs are read; until all is done, and the results are in memory, and the guard
 * knows what was held back. memory, guard: or NULL. */
bool turn_wait_for_inputs(Gpu *gpu, Turn *turn);
bool turn_wait(Gpu *gpu, Turn *turn, char *memory, FlowGuard *guard);

#endif
