/* Copy: from global to shared memory, while the thread goes on. What is copied is read when the
 * copy begins, and lands when it is waited for: until then nonsense is there. */
#include "runtime/device/simulated_launch.h"

#include <string.h>

enum { COPY_LIMIT = 64, COPY_SIZE = 16 };

typedef struct Copy {
    char *to, bytes[COPY_SIZE];
    size_t size;
    int group;
} Copy;

/* Those of a thread that have not landed, in their order. */
typedef struct Copies {
    int count, group; /* of the next one */
    Copy items[COPY_LIMIT];
} Copies;

static Launch *launch_now;
static Copies all[THREAD_LIMIT];

static Copies *own_copies(void) {
    return &all[launch_now->seen.thread];
}

static void copy(const void *to, int64_t index, const void *from, int64_t from_index, size_t size,
                 int line) {
    Copies *copies = own_copies();
    FlowSimulated *seen = &launch_now->seen;
    if (copies->count == COPY_LIMIT || size > COPY_SIZE)
        launch_fail(launch_now, "thread %lld begins too many copies at line %d, or a large one",
                    (long long)seen->thread, line);
    Copy *next = &copies->items[copies->count++];
    *next = (Copy){.size = size, .group = copies->group};
    if (from)
        memcpy(next->bytes, seen->global(FLOW_ACCESS_read, from, from_index, size, NULL, line),
               size);
    next->to = seen->shared(FLOW_ACCESS_write, to, index, size, NULL, line);
    launch_set_landing(launch_now, next->to, size, true, line);
}

static void end_copies(void) {
    own_copies()->group++;
}

static void await_copies(int groups, int line) {
    Copies *copies = own_copies();
    int landed = 0;
    for (; landed < copies->count; landed++) {
        Copy *next = &copies->items[landed];
        if (next->group >= copies->group - groups) break;
        launch_set_landing(launch_now, next->to, next->size, false, line);
        memcpy(next->to, next->bytes, next->size);
    }
    copies->count -= landed;
    memmove(copies->items, copies->items + landed, (size_t)copies->count * sizeof(Copy));
}

void launch_forget_copies(int thread) {
    all[thread].count = all[thread].group = 0;
}

void launch_set_copies(Launch *launch) {
    launch_now = launch;
    launch->seen.copy = copy;
    launch->seen.end_copies = end_copies;
    launch->seen.await_copies = await_copies;
}
