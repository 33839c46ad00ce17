/* Streams: each is a thread that does operations in turn, after a wait of random length. Events are
 * counted: each record of one has a number, and waiting for an event is for the last one asked for
 * so far. A stream that is captured keeps its operations in a graph instead. */
#define _GNU_SOURCE
#include "runtime/device/standin/standin.h"

#include "runtime/clock.h"

#include <stdlib.h>
#include <unistd.h>

struct Stream {
    Device *device;
    pthread_t thread;
    Operation *first, *last;
    bool busy, closing;
    bool with_plain;        /* waits for what stream NULL does, and is waited for */
    uint64_t random, delay; /* microseconds, at most */
    Graph *capture;
    Stream *next; /* of the device */
};

struct Event {
    uint64_t asked, done; /* records */
    int64_t time;         /* of the last one done; nanoseconds */
    bool timed, closing;
    const Device *device;
    int users; /* operations that will touch it */
    Graph *capture;
};

struct Graph {
    Operation *first, *last;
    Stream *origin;
    int mode;
};

enum { GLOBAL, RELAXED = 2 }; /* modes of capture */
static _Thread_local int own_mode = GLOBAL;
static _Atomic int global_captures; /* that are going on, by any thread */

enum { NOT_BLOCKING = 1, NOT_TIMED = 2 };

/* Operations. */

void operation_free(Operation *operation) {
    if (operation->event && !--operation->event->users && operation->event->closing)
        free(operation->event);
    free(operation->bytes);
    free(operation);
}

static void add_last(Operation **first, Operation **last, Operation *operation) {
    operation->next = NULL;
    if (*last) (*last)->next = operation;
    else *first = operation;
    *last = operation;
}

static void wait_a_little(Stream *stream) {
    stream->random = stream->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    if (!stream->delay || !(stream->random >> 63)) return;
    usleep((useconds_t)((stream->random >> 33) % stream->delay));
}

/* Another stream may have done a later one before. */
static void record(const Operation *operation) {
    if (operation->event->done < operation->record) operation->event->done = operation->record;
    operation->event->time = clock_nanoseconds();
}

/* While the lock is held, which it leaves for the time. */
static void perform(Stream *stream, const Operation *operation) {
    const Event *event = operation->event;
    const bool is_collective = operation->kind == OPERATION_collective;
    if (operation->kind == OPERATION_record) record(operation);
    else if (operation->kind == OPERATION_wait)
        while (event->done < operation->record) pthread_cond_wait(&standin_changed, &standin_lock);
    else if (!stream->device->error) {
        pthread_mutex_unlock(&standin_lock);
        operation_begin(operation);
        wait_a_little(stream);
        int error = is_collective ? ERROR_SUCCESS : operation_run(operation);
        pthread_mutex_lock(&standin_lock);
        if (is_collective) error = collective_attend(operation);
        if (error) stream->device->error = error;
    }
}

static void *work(void *context) {
    Stream *stream = context;
    flow_simulated_use(stream->device->number);
    pthread_mutex_lock(&standin_lock);
    for (;;) {
        while (!stream->first && !stream->closing)
            pthread_cond_wait(&standin_changed, &standin_lock);
        Operation *operation = stream->first;
        if (!operation) break;
        stream->first = operation->next;
        if (!stream->first) stream->last = NULL;
        stream->busy = true;
        perform(stream, operation);
        operation_free(operation);
        stream->busy = false;
        pthread_cond_broadcast(&standin_changed);
    }
    pthread_mutex_unlock(&standin_lock);
    return NULL;
}

/* Waiting; while the lock is held. */

static bool is_idle(const Stream *stream) {
    return !stream->first && !stream->busy;
}

static void wait_for(const Stream *stream) {
    while (!is_idle(stream)) pthread_cond_wait(&standin_changed, &standin_lock);
}

static void wait_for_all(const Device *device, bool with_plain_only) {
    for (const Stream *stream = device->streams; stream; stream = stream->next)
        if (!with_plain_only || stream->with_plain) wait_for(stream);
}

void device_wait(Device *device) {
    pthread_mutex_lock(&standin_lock);
    wait_for_all(device, false);
    pthread_mutex_unlock(&standin_lock);
}

/* Streams. */

static Stream *stream_new(Device *device, bool with_plain) {
    static uint64_t count;
    Stream *stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    *stream = (Stream){.device = device, .with_plain = with_plain, .next = device->streams};
    stream->delay = standin_setting("FLOWC_SIMULATE_DELAY", 200);
    stream->random = standin_setting("FLOWC_SIMULATE_SEED", 1) * 1000003 + ++count;
    if (pthread_create(&stream->thread, NULL, work, stream)) {
        free(stream);
        return NULL;
    }
    device->streams = stream;
    return stream;
}

void stream_append(Stream *stream, Operation *operation) {
    if (operation->event) operation->event->users++;
    if (stream->capture) add_last(&stream->capture->first, &stream->capture->last, operation);
    else add_last(&stream->first, &stream->last, operation);
    pthread_cond_broadcast(&standin_changed);
}

Operation *operation_copy(const Operation *operation) {
    Operation *copy = malloc(sizeof *copy);
    if (!copy) return NULL;
    *copy = *operation;
    copy->next = NULL;
    size_t size = operation->kind == OPERATION_launch ? (size_t)operation->function->arguments
                                                      : operation->size;
    if (operation->bytes) {
        copy->bytes = malloc(size + 1);
        if (!copy->bytes) return free(copy), NULL;
        __builtin_memcpy(copy->bytes, operation->bytes, size);
    }
    return copy;
}

/* Stream NULL waits for others before, and the caller waits for it: stricter than the driver, which
 * only makes others wait. */
static int put_plain(Device *device, Operation *operation) {
    if (!device->plain) device->plain = stream_new(device, true);
    if (!device->plain) return ERROR_OUT_OF_MEMORY;
    wait_for_all(device, true);
    stream_append(device->plain, operation);
    wait_for(device->plain);
    return device->error;
}

int stream_put(Stream *stream, Operation operation) {
    Operation *kept = malloc(sizeof *kept);
    int error = ERROR_SUCCESS;
    if (!kept) return free(operation.bytes), ERROR_OUT_OF_MEMORY;
    *kept = operation;
    pthread_mutex_lock(&standin_lock);
    if (stream) stream_append(stream, kept);
    else error = put_plain(standin_device(), kept);
    pthread_mutex_unlock(&standin_lock);
    return error;
}

int stream_wait(Stream *stream) {
    Device *device = standin_device();
    pthread_mutex_lock(&standin_lock);
    bool captured = stream && stream->capture;
    if (!captured && stream) wait_for(stream);
    if (!captured && !stream) wait_for_all(device, true);
    pthread_mutex_unlock(&standin_lock);
    return captured ? ERROR_STREAM_CAPTURE_UNSUPPORTED : device->error;
}

bool stream_is_captured(const Stream *stream) {
    return stream->capture;
}

const Device *stream_device(const Stream *stream) {
    return stream ? stream->device : standin_device();
}

API int cuStreamCreate(Stream **stream, unsigned flags) {
    ENTER(cuStreamCreate);
    pthread_mutex_lock(&standin_lock);
    *stream = stream_new(standin_device(), !(flags & NOT_BLOCKING));
    pthread_mutex_unlock(&standin_lock);
    return *stream ? ERROR_SUCCESS : ERROR_OUT_OF_MEMORY;
}

API int cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority) {
    (void)priority;
    return cuStreamCreate(stream, flags);
}

API int cuStreamDestroy_v2(Stream *stream) {
    ENTER_ANYWHERE(cuStreamDestroy_v2);
    if (!stream) return ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&standin_lock);
    stream->closing = true;
    pthread_cond_broadcast(&standin_changed);
    pthread_mutex_unlock(&standin_lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&standin_lock);
    Stream **link = &stream->device->streams;
    while (*link != stream) link = &(*link)->next;
    *link = stream->next;
    pthread_mutex_unlock(&standin_lock);
    free(stream);
    return ERROR_SUCCESS;
}

API int cuStreamSynchronize(Stream *stream) {
    ENTER(cuStreamSynchronize);
    return stream_wait(stream);
}

API int cuStreamQuery(Stream *stream) {
    ENTER(cuStreamQuery);
    if (!stream) return ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&standin_lock);
    bool idle = is_idle(stream);
    pthread_mutex_unlock(&standin_lock);
    return idle ? stream->device->error : ERROR_NOT_READY;
}

/* Events. */

API int cuEventCreate(Event **event, unsigned flags) {
    ENTER(cuEventCreate);
    *event = calloc(1, sizeof **event);
    if (*event) (*event)->timed = !(flags & NOT_TIMED), (*event)->device = standin_device();
    return *event ? ERROR_SUCCESS : ERROR_OUT_OF_MEMORY;
}

API int cuEventDestroy_v2(Event *event) {
    ENTER_ANYWHERE(cuEventDestroy_v2);
    if (!event) return ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&standin_lock);
    event->closing = true;
    if (!event->users) free(event);
    pthread_mutex_unlock(&standin_lock);
    return ERROR_SUCCESS;
}

API int cuEventRecord(Event *event, Stream *stream) {
    ENTER(cuEventRecord);
    if (!event || event->device != stream_device(stream)) return ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&standin_lock);
    Graph *capture = stream ? stream->capture : NULL;
    event->capture = capture;
    uint64_t number = capture ? 0 : ++event->asked;
    pthread_mutex_unlock(&standin_lock);
    if (capture) return ERROR_SUCCESS; /* the order of a graph's operations is what it says */
    return stream_put(stream,
                      (Operation){.kind = OPERATION_record, .event = event, .record = number});
}

/* The graph that an event was recorded into, if it is still captured. */
static Graph *captured_by(const Event *event) {
    for (const Stream *stream = standin_device()->streams; stream; stream = stream->next)
        if (event->capture && stream->capture == event->capture) return event->capture;
    return NULL;
}

API int cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    ENTER(cuStreamWaitEvent);
    if (!event || flags) return ERROR_INVALID_VALUE;
    if (standin_loses("cuStreamWaitEvent")) return ERROR_SUCCESS;
    pthread_mutex_lock(&standin_lock);
    Graph *capture = captured_by(event);
    if (capture && stream) stream->capture = capture;
    uint64_t number = event->asked;
    pthread_mutex_unlock(&standin_lock);
    if (capture) return stream ? ERROR_SUCCESS : ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return stream_put(stream,
                      (Operation){.kind = OPERATION_wait, .event = event, .record = number});
}

API int cuEventSynchronize(Event *event) {
    ENTER(cuEventSynchronize);
    if (!event) return ERROR_INVALID_HANDLE;
    if (standin_loses("cuEventSynchronize")) return ERROR_SUCCESS;
    pthread_mutex_lock(&standin_lock);
    for (uint64_t number = event->asked; event->done < number;)
        pthread_cond_wait(&standin_changed, &standin_lock);
    pthread_mutex_unlock(&standin_lock);
    return standin_device()->error;
}

API int cuEventQuery(Event *event) {
    ENTER(cuEventQuery);
    if (!event) return ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&standin_lock);
    bool done = event->done == event->asked;
    pthread_mutex_unlock(&standin_lock);
    return done ? standin_device()->error : ERROR_NOT_READY;
}

API int cuEventElapsedTime_v2(float *milliseconds, Event *start, Event *end) {
    ENTER(cuEventElapsedTime_v2);
    if (!start || !end || !start->timed || !end->timed) return ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&standin_lock);
    bool asked = start->asked && end->asked;
    bool done = start->done == start->asked && end->done == end->asked;
    *milliseconds = (float)((double)(end->time - start->time) * 1e-6);
    pthread_mutex_unlock(&standin_lock);
    return !asked ? ERROR_INVALID_HANDLE : done ? ERROR_SUCCESS : ERROR_NOT_READY;
}

API int cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

/* Graphs. */

API int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    ENTER(cuStreamBeginCapture_v2);
    if (!stream || stream->capture || mode < 0 || mode > 2) return ERROR_INVALID_VALUE;
    Graph *graph = calloc(1, sizeof *graph);
    if (!graph) return ERROR_OUT_OF_MEMORY;
    graph->origin = stream;
    graph->mode = mode;
    if (mode == GLOBAL) global_captures++;
    pthread_mutex_lock(&standin_lock);
    stream->capture = graph;
    pthread_mutex_unlock(&standin_lock);
    return ERROR_SUCCESS;
}

/* CUDA: "Driver API, Stream Management": what an unsafe call may do while others capture. */
API int cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER_ANYWHERE(cuThreadExchangeStreamCaptureMode);
    if (*mode < 0 || *mode > RELAXED) return ERROR_INVALID_VALUE;
    const int before = own_mode;
    own_mode = *mode;
    *mode = before;
    return ERROR_SUCCESS;
}

bool stream_forbids_allocation(void) {
    return own_mode == GLOBAL && global_captures > 0;
}

API int cuStreamEndCapture(Stream *stream, Graph **graph) {
    ENTER(cuStreamEndCapture);
    if (!stream || !stream->capture) return ERROR_INVALID_VALUE;
    if (stream->capture->origin != stream) return ERROR_STREAM_CAPTURE_UNMATCHED;
    pthread_mutex_lock(&standin_lock);
    *graph = stream->capture;
    if ((*graph)->mode == GLOBAL) global_captures--;
    for (Stream *other = stream->device->streams; other; other = other->next)
        if (other->capture == *graph) other->capture = NULL;
    pthread_mutex_unlock(&standin_lock);
    return ERROR_SUCCESS;
}

/* 0: it is not captured, 1: it is. */
API int cuStreamIsCapturing(Stream *stream, int *status) {
    ENTER(cuStreamIsCapturing);
    *status = stream && stream->capture;
    return ERROR_SUCCESS;
}

static Graph *graph_copy(const Graph *graph) {
    Graph *copy = calloc(1, sizeof *copy);
    for (const Operation *at = graph->first; copy && at; at = at->next) {
        Operation *operation = operation_copy(at);
        if (operation) add_last(&copy->first, &copy->last, operation);
    }
    return copy;
}

API int cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long flags) {
    ENTER(cuGraphInstantiateWithFlags);
    if (!graph || flags) return ERROR_INVALID_VALUE;
    *executable = graph_copy(graph);
    return *executable ? ERROR_SUCCESS : ERROR_OUT_OF_MEMORY;
}

API int cuGraphLaunch(Graph *executable, Stream *stream) {
    ENTER(cuGraphLaunch);
    if (!executable || !stream) return ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    for (const Operation *at = executable->first; at; at = at->next) {
        Operation *operation = operation_copy(at);
        if (operation) stream_append(stream, operation);
    }
    pthread_mutex_unlock(&standin_lock);
    return ERROR_SUCCESS;
}

API int cuGraphDestroy(Graph *graph) {
    ENTER_ANYWHERE(cuGraphDestroy);
    if (!graph) return ERROR_INVALID_VALUE;
    for (Operation *at = graph->first, *next; at; at = next) {
        next = at->next;
        operation_free(at);
    }
    free(graph);
    return ERROR_SUCCESS;
}

API int cuGraphExecDestroy(Graph *executable) {
    return cuGraphDestroy(executable);
}
