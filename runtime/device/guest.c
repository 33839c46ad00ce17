#include "runtime/device/guest.h"

#include "runtime/device/gpus_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Guest {
    GpusState state;
    Driver driver; /* to ask what the thread had; its library is NULL where there is none */
    pid_t process;
    char *staged; /* pinned: the arguments of a call, each aligned; or NULL */
    size_t room;  /* bytes of it */
};

enum { RELAXED = 2 }; /* capture by other threads of the process: nothing is forbidden */

/* A thread at work for a guest, and what it did before. */
typedef struct Visit {
    GpusState *state;
    void *context;
    int mode; /* of capture */
} Visit;

static Visit enter(Guest *guest) {
    Visit visit = {gpus_now, NULL, RELAXED};
    const Driver *driver = &guest->driver;
    if (driver->library && driver->get_used(&visit.context)) visit.context = NULL;
    if (driver->library) driver->exchange_mode(&visit.mode);
    gpus_now = &guest->state;
    return visit;
}

static void leave(const Guest *guest, Visit visit) {
    if (guest->driver.library) guest->driver.use(visit.context);
    if (guest->driver.library) guest->driver.exchange_mode(&visit.mode);
    gpus_now = visit.state;
}

/* Arguments. */

static size_t staged_size(const FlowInput *input, Sizes sizes) {
    const FlowType type = type_at(&input->type, sizes);
    return (flow_type_size(&type) + FLOW_ALIGNMENT - 1) / FLOW_ALIGNMENT * FLOW_ALIGNMENT;
}

static size_t all_staged(const Call *call) {
    size_t size = 0;
    for (int i = 0; i < call->function->input_count; i++)
        if (call->function->inputs[i].kind == FLOW_INPUT_field)
            size += staged_size(&call->function->inputs[i], call->sizes);
    return size;
}

/* The call before is done with what it had. */
static bool make_room(Guest *guest, size_t size, const char *function) {
    Gpu *gpu = guest->state.gpus;
    const size_t more = guest->room + guest->room / 2;
    if (guest->staged && size <= guest->room) return true;
    if (size < more) size = more;
    gpu_end_pinned(gpu, guest->staged);
    guest->staged = gpu_new_pinned(gpu, size);
    guest->room = guest->staged ? size : 0;
    return guest->staged ||
           gpus_fail(FLOW_EXIT_resource, "no pinned memory for the arguments of `%.100s`: %.1f MiB",
                     function, (double)size / 0x1p20);
}

/* GPUs copy from there while the host goes on. */
static void stage(const Guest *guest, Call *call) {
    char *to = guest->staged;
    for (int i = 0; i < call->function->input_count; i++) {
        const FlowInput *input = &call->function->inputs[i];
        if (input->kind != FLOW_INPUT_field) continue;
        const FlowType type = type_at(&input->type, call->sizes);
        call->inputs[i] = memcpy(to, call->inputs[i], flow_type_size(&type));
        to += staged_size(input, call->sizes);
    }
}

/* Opening. */

static void close_guest(Guest *guest) {
    if (guest->process == getpid()) {
        const Visit visit = enter(guest);
        if (guest->state.count) gpu_end_pinned(guest->state.gpus, guest->staged);
        gpus_close();
        leave(guest, visit);
    }
    free(guest);
}

static FlowStatus open_guest(const FlowProgram *program, char *memory, Guest **out) {
    char missing[DEVICE_TEXT];
    Guest *guest = *out = calloc(1, sizeof *guest);
    if (!guest) return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", program->name);
    guest->process = getpid();
    guest->state.guest = true;
    if (!driver_load(&guest->driver, missing)) guest->driver = (Driver){0};
    const Visit visit = enter(guest);
    FlowStatus status = gpus_open(program, memory, program->memory_size);
    leave(guest, visit);
    if (status.exit) close_guest(guest);
    if (status.exit) *out = NULL;
    return status;
}

/* Calls. */

static void compute(Guest *guest, Call *call, FlowFrame *frame) {
    if (!gpus_work() || !make_room(guest, all_staged(call), call->function->name)) return;
    stage(guest, call);
    frame->ahead = call->function->ahead;
    call->function->run(frame, 0, 1);
    if (frame->ahead) gpus_take_call(frame->memory, NULL);
}

static bool fail_forked(Guest *guest) {
    GpusState *before = gpus_now;
    gpus_now = &guest->state;
    gpus_fail(FLOW_EXIT_resource,
              "this process was forked from the one that opened `%.100s`, and GPUs don't come "
              "along: fork before that, and open it in each process",
              guest->state.program->name);
    gpus_now = before;
    return false;
}

static bool run_guest(Guest *guest, Call *call, FlowFrame *frame) {
    if (guest->process != getpid()) return fail_forked(guest);
    const Visit visit = enter(guest);
    compute(guest, call, frame);
    leave(guest, visit);
    return !guest->state.failed;
}

static const char *message_of(const Guest *guest) {
    return guest->state.failed ? guest->state.status.text : "";
}

const FlowGuest flow_guest = {open_guest, run_guest, message_of, close_guest};
