/* Collectives: NCCL without one. A sum begins when the streams of all ranks have come to it, and
 * ranks are added up in an order that follows from the seed and the sum: results are right but for
 * rounding. What would hang with the real one, or is not defined, is an error that standard error
 * explains. FLOWC_SIMULATE_LOSE=ncclAllReduce:… leaves out what a rank has to do: the others wait
 * until the communicator is aborted, and are told of a remote error.
 *
 * FLOWC_SIMULATE_NCCL=VERSION   as ncclGetVersion tells it (22703) */
#include "runtime/device/standin/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NCCL_SUCCESS,
    NCCL_CUDA_ERROR,
    NCCL_SYSTEM_ERROR,
    NCCL_INTERNAL_ERROR,
    NCCL_INVALID_ARGUMENT,
    NCCL_INVALID_USAGE,
    NCCL_REMOTE_ERROR
};

static const char *const names[] = {"NO_ERROR",       "UNHANDLED_CUDA_ERROR", "SYSTEM_ERROR",
                                    "INTERNAL_ERROR", "INVALID_ARGUMENT",     "INVALID_USAGE",
                                    "REMOTE_ERROR"};
static const char *const texts[] = {
    "no error",
    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "internal error - please report this issue to the NCCL developers",
    "invalid argument (run with NCCL_DEBUG=WARN for details)",
    "invalid usage (run with NCCL_DEBUG=WARN for details)",
    "remote process exited or there was a network error",
};
enum { ERRORS = sizeof names / sizeof *names };

/* One sum: what each rank brings. */
typedef struct Meeting {
    uint64_t number; /* of the clique's sums */
    Operation ranks[DEVICE_MOST];
    char *from[DEVICE_MOST], *to[DEVICE_MOST];
    int come, gone;
    bool done;
    struct Meeting *next;
} Meeting;

typedef struct Clique {
    int count, left;             /* communicators; not ended */
    uint64_t begun[DEVICE_MOST]; /* sums, of each rank */
    bool aborted, lost;
    Meeting *meetings; /* that some have come to */
} Clique;

struct Communicator {
    Clique *clique;
    int rank;
    Device *device;
};

typedef struct Call {
    Communicator *communicator;
    Stream *stream;
    Operation operation;
} Call;

enum { CALLS = 1 << 16, LOST = -1 /* blocks: of a call that is left out */ };
static _Thread_local Call *calls; /* of the group */
static _Thread_local int call_count, depth, group_error;

static int wrong(const char *what) {
    fprintf(stderr, "simulated NCCL: %s\n", what);
    return NCCL_INVALID_USAGE;
}

static int entered(const char *call) {
    char name[64];
    if (!standin_fails(call, name)) return NCCL_SUCCESS;
    for (int i = 1; i < ERRORS; i++)
        if (!strcmp(names[i], name)) return i;
    return NCCL_CUDA_ERROR;
}

#define ENTER_NCCL(call)            \
    do {                            \
        int fault = entered(#call); \
        if (fault) return fault;    \
    } while (0)

/* Adding up. Largest and least are those of fmax and fmin: no NaN, where a rank has a number. */

static const int sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2}; /* by ncclDataType_t */
enum { TYPES = sizeof sizes / sizeof *sizes, OPERATIONS = 4 };

static float of_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define SAME(value) (value)
#define OF_BF16(value) of_bf16(value)
#define TO_BF16(value) to_bf16(value)
#define COMBINE(type, wide, load, store)                                                      \
    do {                                                                                      \
        const wide a = (wide)load(*(type *)to), b = (wide)load(*(const type *)from);          \
        const wide both[OPERATIONS] = {(wide)(a + b), (wide)(a * b), a > b || b != b ? a : b, \
                                       a < b || b != b ? a : b};                              \
        *(type *)to = (type)store(both[operation]);                                           \
    } while (0)

static void combine(char *to, const char *from, int type, int operation) {
    switch (type) {
    case 0: COMBINE(int8_t, int32_t, SAME, SAME); break;
    case 1: COMBINE(uint8_t, uint32_t, SAME, SAME); break;
    case 2: COMBINE(int32_t, int64_t, SAME, SAME); break;
    case 3: COMBINE(uint32_t, uint64_t, SAME, SAME); break;
    case 4: COMBINE(int64_t, __int128, SAME, SAME); break;
    case 5: COMBINE(uint64_t, uint64_t, SAME, SAME); break;
    case 6: COMBINE(_Float16, float, SAME, SAME); break;
    case 7: COMBINE(float, float, SAME, SAME); break;
    case 8: COMBINE(double, double, SAME, SAME); break;
    case 9: COMBINE(uint16_t, float, OF_BF16, TO_BF16); break;
    }
}

static void add_up(const Meeting *meeting, int count) {
    const Operation *first = &meeting->ranks[0];
    const size_t size = (size_t)sizes[first->threads];
    const uint64_t begin = meeting->number + standin_setting("FLOWC_SIMULATE_SEED", 1);
    char sum[8];
    for (size_t at = 0; at < first->size; at += size) {
        for (int i = 0; i < count; i++) {
            const char *from = meeting->from[(begin + (uint64_t)i) % (uint64_t)count] + at;
            if (i) combine(sum, from, first->threads, (int)first->value);
            else memcpy(sum, from, size);
        }
        for (int i = 0; i < count; i++) memcpy(meeting->to[i] + at, sum, size);
    }
}

/* On the streams' threads, while the lock is held. */

static Meeting *meeting_of(Clique *clique, uint64_t number) {
    Meeting *meeting = clique->meetings;
    while (meeting && meeting->number != number) meeting = meeting->next;
    if (meeting) return meeting;
    meeting = calloc(1, sizeof *meeting);
    if (!meeting) abort();
    meeting->number = number;
    meeting->next = clique->meetings;
    return clique->meetings = meeting;
}

static bool is_alike(const Operation *a, const Operation *b) {
    return a->size == b->size && a->threads == b->threads && a->value == b->value;
}

/* Sums of different counts have met: their bytes would not be what anybody expects. */
static bool agree(const Meeting *meeting, int count) {
    bool good = true;
    for (int i = 1; i < count; i++) good &= is_alike(&meeting->ranks[0], &meeting->ranks[i]);
    if (!good) wrong("ranks disagree about the count, the type or the operation of a sum");
    return good;
}

static void leave(Clique *clique, Meeting *meeting) {
    Meeting **link = &clique->meetings;
    if (++meeting->gone < clique->count) return;
    while (*link != meeting) link = &(*link)->next;
    *link = meeting->next;
    free(meeting);
}

int collective_attend(const Operation *operation) {
    Communicator *communicator = operation->communicator;
    Clique *clique = communicator->clique;
    const int rank = communicator->rank, count = clique->count;
    if (operation->blocks == LOST) return clique->begun[rank]++, clique->lost = true, ERROR_SUCCESS;
    Meeting *meeting = meeting_of(clique, clique->begun[rank]++);
    void *from = (void *)(uintptr_t)operation->source, *to = (void *)(uintptr_t)operation->target;
    meeting->ranks[rank] = *operation;
    meeting->from[rank] = flow_simulated_host(from, operation->size);
    meeting->to[rank] = flow_simulated_host(to, operation->size);
    flow_simulated_mark(to, operation->size, true);
    if (++meeting->come == count) {
        meeting->done = true;
        clique->aborted |= !agree(meeting, count);
        clique->lost |= clique->aborted;
        if (!clique->aborted) add_up(meeting, count);
        pthread_cond_broadcast(&standin_changed);
    }
    while (!meeting->done && !clique->aborted) pthread_cond_wait(&standin_changed, &standin_lock);
    leave(clique, meeting);
    return ERROR_SUCCESS;
}

/* Communicators. */

API int ncclGetVersion(int *version) {
    ENTER_NCCL(ncclGetVersion);
    *version = (int)standin_setting("FLOWC_SIMULATE_NCCL", 22703);
    return NCCL_SUCCESS;
}

API const char *ncclGetErrorString(int error) {
    return error >= 0 && error < ERRORS ? texts[error] : "unknown result code";
}

static bool are_good(int count, const int *devices) {
    bool good = count > 0 && count <= DEVICE_MOST;
    for (int i = 0; i < count && good; i++) {
        good = standin_device_by_number(devices[i]) != NULL;
        for (int k = 0; k < i; k++) good &= devices[k] != devices[i];
    }
    return good;
}

API int ncclCommInitAll(Communicator **all, int count, const int *devices) {
    ENTER_NCCL(ncclCommInitAll);
    if (depth) return wrong("ncclCommInitAll within a group");
    if (!are_good(count, devices)) return wrong("a device is there twice, or not at all");
    Clique *clique = calloc(1, sizeof *clique);
    if (!clique) return NCCL_SYSTEM_ERROR;
    clique->count = clique->left = count;
    for (int i = 0; i < count; i++) {
        all[i] = malloc(sizeof **all);
        if (!all[i]) return NCCL_SYSTEM_ERROR;
        *all[i] = (Communicator){clique, i, standin_device_by_number(devices[i])};
    }
    return NCCL_SUCCESS;
}

static void clique_free(Clique *clique) {
    for (Meeting *meeting = clique->meetings, *next; meeting; meeting = next) {
        next = meeting->next;
        free(meeting);
    }
    free(clique);
}

static int end(Communicator *communicator, bool abort) {
    if (!communicator) return NCCL_INVALID_ARGUMENT;
    Clique *clique = communicator->clique;
    pthread_mutex_lock(&standin_lock);
    clique->aborted |= abort;
    pthread_cond_broadcast(&standin_changed);
    pthread_mutex_unlock(&standin_lock);
    device_wait(communicator->device);
    pthread_mutex_lock(&standin_lock);
    const bool last = !--clique->left;
    pthread_mutex_unlock(&standin_lock);
    if (last) clique_free(clique);
    free(communicator);
    return NCCL_SUCCESS;
}

API int ncclCommDestroy(Communicator *communicator) {
    ENTER_NCCL(ncclCommDestroy);
    return end(communicator, false);
}

API int ncclCommAbort(Communicator *communicator) {
    ENTER_NCCL(ncclCommAbort);
    return end(communicator, true);
}

API int ncclCommGetAsyncError(Communicator *communicator, int *error) {
    ENTER_NCCL(ncclCommGetAsyncError);
    if (!communicator) return NCCL_INVALID_ARGUMENT;
    *error = NCCL_SUCCESS;
    pthread_mutex_lock(&standin_lock);
    if (communicator->clique->lost) *error = NCCL_REMOTE_ERROR;
    pthread_mutex_unlock(&standin_lock);
    return NCCL_SUCCESS;
}

/* Groups. */

API int ncclGroupStart(void) {
    ENTER_NCCL(ncclGroupStart);
    if (!depth++) call_count = group_error = 0;
    return NCCL_SUCCESS;
}

/* Every rank of a clique has as many calls as the others. */
static bool is_complete(void) {
    for (int i = 0; i < call_count; i++) {
        const Clique *clique = calls[i].communicator->clique;
        int own = 0, all = 0;
        for (int k = 0; k < call_count; k++) {
            all += calls[k].communicator->clique == clique;
            own += calls[k].communicator == calls[i].communicator;
        }
        if (own * clique->count != all) return false;
    }
    return true;
}

static int begin_call(Call *call) {
    if (standin_loses("ncclAllReduce")) call->operation.blocks = LOST;
    return stream_put(call->stream, call->operation) ? NCCL_CUDA_ERROR : NCCL_SUCCESS;
}

static int begin_calls(void) {
    int error = group_error;
    if (!error && !is_complete())
        error = wrong("ranks of a group have different numbers of sums: some would wait for ever");
    for (int i = 0; i < call_count && !error; i++) error = begin_call(&calls[i]);
    free(calls);
    calls = NULL;
    return error;
}

API int ncclGroupEnd(void) {
    const int fault = entered("ncclGroupEnd");
    if (fault) group_error = fault;
    if (!depth) return wrong("ncclGroupEnd without a beginning");
    return --depth ? NCCL_SUCCESS : begin_calls();
}

static int add_call(Communicator *communicator, const Operation *operation, Stream *stream) {
    if (!calls) calls = malloc(CALLS * sizeof *calls);
    if (!calls || call_count == CALLS) return NCCL_SYSTEM_ERROR;
    calls[call_count++] = (Call){communicator, stream, *operation};
    return NCCL_SUCCESS;
}

static int check(const Communicator *communicator, const Operation *operation,
                 const Stream *stream) {
    if (!depth && communicator->clique->count > 1)
        return wrong("a sum outside of a group: one thread that has all devices waits for itself");
    if (!stream || stream_device(stream) != communicator->device)
        return wrong("the stream is of another device than the communicator");
    if (stream_is_captured(stream))
        return wrong("graphs of several devices of one process may wait for each other for ever");
    if (memory_is_on(communicator->device, operation->source, operation->size) &&
        memory_is_on(communicator->device, operation->target, operation->size))
        return NCCL_SUCCESS;
    wrong("the device has no such memory");
    return NCCL_INVALID_ARGUMENT;
}

API int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                      Communicator *communicator, Stream *stream) {
    int error = entered("ncclAllReduce");
    if (!error &&
        (!communicator || type < 0 || type >= TYPES || operation < 0 || operation >= OPERATIONS))
        error = NCCL_INVALID_ARGUMENT;
    if (!error) {
        const Operation sum = {.kind = OPERATION_collective,
                               .target = (uintptr_t)to,
                               .source = (uintptr_t)from,
                               .size = count * (size_t)sizes[type],
                               .value = (unsigned)operation,
                               .threads = type,
                               .communicator = communicator};
        error = check(communicator, &sum, stream);
        if (!error) error = add_call(communicator, &sum, stream);
        if (!error && !depth) error = begin_calls();
    }
    if (error) group_error = error;
    return error;
}
