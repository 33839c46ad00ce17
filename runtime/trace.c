/* Trace: one thread makes the calls in their order, and notes which of the values that each leaves
 * in memory are not finite. From the loss or an update back, one such value is followed to another
 * among those its call has read, until there is none. The calls before that one are then made
 * again, and an element of its value is computed by the trace's tables, back to the operation that
 * made it.
 *
 * In a loop, whose values last for a turn, it is the first call that leaves such a number. */
#include "runtime/trace.h"

#include "runtime/barrier.h"
#include "runtime/device/gpus.h"
#include "runtime/holdings.h"
#include "runtime/memory.h"
#include "runtime/point.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first elements of a stored value with each fault, or -1. */
typedef struct Faults {
    int64_t first[2];
} Faults;

typedef struct Tracing {
    const Call *call;
    FlowTrace *trace;
    const FlowProgram *program;
    const char *before; /* the memory when the trace began */
    char *memory;       /* that the calls work in: the same, or a copy */
    FlowGuard *guard;
    const Batch *batch;
    Fault fault;
    Faults *faults; /* of each stored value */
    char *text;
    size_t size;
} Tracing;

static bool is_floating(FlowElement element) {
    return element == FLOW_f16 || element == FLOW_bf16 || element == FLOW_f32 ||
           element == FLOW_f64;
}

/* The first of these numbers that has the fault, or -1. */
static int64_t find(FlowElement element, const char *values, int64_t count, Fault fault) {
    size_t size = flow_element_size(element);
    for (int64_t i = 0; i < count; i++)
        if (has_fault(number_read(element, values + (size_t)i * size), fault)) return i;
    return -1;
}

static int64_t count_for(const Tracing *tracing, const FlowType *type, int64_t records) {
    const int64_t *sizes = tracing->call->sizes.values;
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) {
        const int64_t size = type->sizes[i];
        count *= size < 0 ? tracing->program->sizes[~size](records, sizes) : size;
    }
    return count;
}

static int64_t count_of(const Tracing *tracing, const FlowType *type) {
    return count_for(tracing, type, tracing->batch->records);
}

/* Elements of it that each record has. */
static int64_t count_of_record(const Tracing *tracing, const FlowType *type) {
    return count_for(tracing, type, 2) - count_for(tracing, type, 1);
}

/* What enters. */

static bool find_field(const Tracing *tracing) {
    const FlowFunction *function = tracing->call->function;
    for (int i = 0; i < function->input_count; i++) {
        const FlowInput *input = &function->inputs[i];
        if (input->kind != FLOW_INPUT_field || !is_floating(input->type.element)) continue;
        int64_t each = count_of(tracing, &input->type);
        int64_t at = find(input->type.element, tracing->batch->arrays[input->index],
                          each * tracing->batch->records, tracing->fault);
        if (at < 0) continue;
        snprintf(tracing->text, tracing->size, ": first in `%s` of record %lld of the batch",
                 input->name, (long long)(at / each + 1));
        return true;
    }
    return false;
}

static bool is_storage_broken(const Tracing *tracing, int index, Fault fault) {
    const FlowStorage *storage = &tracing->program->storage[index];
    return is_floating(storage->type.element) &&
           find(storage->type.element, tracing->before + storage->offset,
                count_of(tracing, &storage->type), fault) >= 0;
}

static void name_storage(const Tracing *tracing, int index) {
    snprintf(tracing->text, tracing->size, ": first in `%s`, which was so before this step",
             tracing->program->storage[index].name);
}

static bool find_storage(const Tracing *tracing) {
    for (int i = 0; i < tracing->program->storage_count; i++)
        if (is_storage_broken(tracing, i, tracing->fault)) {
            name_storage(tracing, i);
            return true;
        }
    return false;
}

/* Making calls. */

static FlowFrame frame_of(const Tracing *tracing, FlowBarrier *barrier, FlowObserver *observer) {
    return (FlowFrame){.memory = tracing->memory,
                       .inputs = tracing->call->inputs,
                       .batch = tracing->batch->records,
                       .barrier = barrier,
                       .sizes = tracing->call->sizes.values,
                       .observer = observer,
                       .guard = tracing->guard};
}

static void begin_again(const Tracing *tracing) {
    if (tracing->memory == tracing->before) return;
    memcpy(tracing->memory, tracing->before, tracing->program->memory_size);
    gpus_leave();
}

static const FlowValue *stored_value(const FlowTrace *trace, int stored) {
    return &trace->values[trace->stored[stored].value];
}

static const char *place_of(const FlowFrame *frame, const FlowValue *value) {
    return value->place < 0 ? frame->inputs[~value->place] : frame->memory + value->place;
}

/* The first element with the fault of a value that was just stored, or -1. */
static int64_t find_stored(const Tracing *tracing, const FlowFrame *frame, const FlowTrace *trace,
                           int stored, Fault fault) {
    const FlowValue *value = stored_value(trace, stored);
    return find(value->made->type.element, place_of(frame, value),
                count_of(tracing, &value->made->type), fault);
}

/* Makes a call of those of a trace; what it stores can be looked at. */
static void make(const Tracing *tracing, const FlowFrame *frame, const FlowTrace *trace,
                 const FlowCall *call, int number) {
    gpus_mark();
    call->kernel(frame, call->operands, 0, 1);
    for (int i = 0; i < trace->stored_count; i++) {
        const FlowValue *value = stored_value(trace, i);
        const FlowType *type = &value->made->type;
        if (value->call == number)
            gpus_show(frame, value->place,
                      (size_t)count_of(tracing, type) * flow_element_size(type->element),
                      (size_t)count_of_record(tracing, type) * flow_element_size(type->element));
    }
}

/* Makes all calls. */
static void note_faults(const Tracing *tracing) {
    const FlowTrace *trace = tracing->trace;
    FlowBarrier barrier = {0};
    FlowFrame frame = frame_of(tracing, &barrier, NULL);
    begin_again(tracing);
    for (int call = 0, stored = 0; call < trace->call_count; call++) {
        make(tracing, &frame, trace, &trace->calls[call], call);
        for (; stored < trace->stored_count && stored_value(trace, stored)->call == call; stored++)
            for (Fault fault = FAULT_nan; fault <= FAULT_infinity; fault++)
                tracing->faults[stored].first[fault] =
                    find_stored(tracing, &frame, trace, stored, fault);
    }
}

/* The first ones, from the beginning. */
static void make_calls(const Tracing *tracing, const FlowFrame *frame, int end) {
    begin_again(tracing);
    for (int call = 0; call < end; call++)
        make(tracing, frame, tracing->trace, &tracing->trace->calls[call], call);
}

/* Back from a stored value: the first stored value on the way that has the fault, or storage ~i. */
static int first_of(const Tracing *tracing, int stored, Fault fault) {
    const FlowStored *at = &tracing->trace->stored[stored];
    for (int i = 0; i < at->read_count; i++) {
        int read = at->reads[i];
        if (read < 0 && is_storage_broken(tracing, ~read, fault)) return read;
        if (read >= 0 && read < stored && tracing->faults[read].first[fault] >= 0)
            return first_of(tracing, read, fault);
    }
    return stored;
}

/* Loops. */

/* The call of a loop's body that left the fault first. */
typedef struct Event {
    int64_t number; /* of all calls made in the loop, or -1 */
    int stored;
    int64_t index;
} Event;

typedef struct Search {
    FlowObserver observer; /* first: the calls are made through a pointer to it */
    const Tracing *tracing;
    const FlowTrace *trace; /* of the calls that are being made */
    int64_t made;
    Fault fault;
    Event event;
    bool known; /* the event is; its origin is wanted */
    Origin origin, infinity;
    const FlowTrace *origins; /* whose values those are */
} Search;

static void look_before(Search *search, const FlowFrame *frame, int number) {
    if (!search->known || search->made != search->event.number) return;
    Scene scene = {search->trace, frame, search->tracing->program, number};
    Point point = {search->trace->stored[search->event.stored].value, search->event.index};
    search->origin = find_origin(&scene, point, search->fault, &search->infinity);
    search->origins = search->trace;
}

static void look_behind(Search *search, const FlowFrame *frame, int number, int64_t made) {
    const FlowTrace *trace = search->trace;
    for (int i = 0; i < trace->stored_count && search->event.number < 0; i++) {
        if (stored_value(trace, i)->call != number) continue;
        int64_t index = find_stored(search->tracing, frame, trace, i, search->fault);
        if (index >= 0) search->event = (Event){made, i, index};
    }
}

static void make_call(FlowObserver *observer, const FlowFrame *frame, const FlowCall *call,
                      int number, int thread, int threads) {
    Search *search = (Search *)observer;
    const FlowTrace *trace = search->trace;
    bool traced = trace && number < trace->call_count;
    if (traced) look_before(search, frame, number);
    int64_t made = search->made++;
    search->trace = traced && trace->bodies ? trace->bodies[number] : NULL;
    if (traced) make(search->tracing, frame, trace, call, number);
    else call->kernel(frame, call->operands, thread, threads);
    search->trace = trace;
    if (traced && !search->known) look_behind(search, frame, number, made);
}

static void run_loop(Search *search, int call) {
    const FlowTrace *trace = search->tracing->trace;
    FlowBarrier barrier = {0};
    FlowFrame frame = frame_of(search->tracing, &barrier, NULL);
    make_calls(search->tracing, &frame, call);
    frame.observer = &search->observer;
    search->trace = trace->bodies[call];
    search->made = 0;
    trace->calls[call].kernel(&frame, trace->calls[call].operands, 0, 1);
}

/* What is said. */

typedef struct Found {
    const char *made;     /* what made it, or NULL */
    const char *infinity; /* of which infinity, or NULL */
    int read;             /* a value of the trace that was read with the infinity, or -1 */
} Found;

static Found found_of(const FlowTrace *trace, Origin origin, Origin infinity) {
    Found found = {NULL, NULL, -1};
    if (origin.kind == ORIGIN_made) found.made = trace->values[origin.point.value].made->text;
    if (infinity.kind == ORIGIN_made)
        found.infinity = trace->values[infinity.point.value].made->text;
    if (infinity.kind == ORIGIN_read) found.read = infinity.point.value;
    return found;
}

static Found search_loop(const Tracing *tracing, int call, Fault fault) {
    Search search = {
        .observer.make = make_call, .tracing = tracing, .fault = fault, .event.number = -1};
    run_loop(&search, call);
    if (search.event.number < 0) return (Found){NULL, NULL, -1};
    search.known = true;
    run_loop(&search, call);
    Found found = found_of(search.origins, search.origin, search.infinity);
    if (found.read >= 0) found.infinity = search_loop(tracing, call, FAULT_infinity).made;
    found.read = -1;
    return found;
}

static Found search_call(const Tracing *tracing, int stored, Fault fault) {
    const FlowTrace *trace = tracing->trace;
    int call = stored_value(trace, stored)->call;
    if (trace->bodies && trace->bodies[call]) return search_loop(tracing, call, fault);
    FlowBarrier barrier = {0};
    FlowFrame frame = frame_of(tracing, &barrier, NULL);
    make_calls(tracing, &frame, call);
    Scene scene = {trace, &frame, tracing->program, call};
    Point point = {trace->stored[stored].value, tracing->faults[stored].first[fault]};
    Origin infinity, origin = find_origin(&scene, point, fault, &infinity);
    return found_of(trace, origin, infinity);
}

/* The text for an infinity in a stored value, or NULL: it is meant, or was there before. */
static const char *infinity_text(const Tracing *tracing, int value) {
    for (int i = 0; i < tracing->trace->stored_count; i++) {
        if (tracing->trace->stored[i].value != value) continue;
        int first = first_of(tracing, i, FAULT_infinity);
        return first < 0 ? NULL : search_call(tracing, first, FAULT_infinity).made;
    }
    return NULL;
}

static void name_value(const Tracing *tracing, int stored) {
    Found found = search_call(tracing, stored, tracing->fault);
    const char *made = found.made ? found.made : stored_value(tracing->trace, stored)->made->text;
    const char *infinity = found.read >= 0 ? infinity_text(tracing, found.read) : found.infinity;
    if (infinity)
        snprintf(tracing->text, tracing->size, ": first at %s; of an infinity that began at %s",
                 made, infinity);
    else snprintf(tracing->text, tracing->size, ": first at %s", made);
}

static bool has_found(const Tracing *tracing, int stored, Fault fault) {
    return tracing->faults[stored].first[fault] >= 0;
}

static void find_origin_of_stored(const Tracing *tracing, int stored) {
    int first = first_of(tracing, stored, tracing->fault);
    if (first < 0) name_storage(tracing, ~first);
    else name_value(tracing, first);
}

/* What is traced. */

/* The stored value at that place, the last that was; -1: none is. */
static int stored_at(const FlowTrace *trace, int64_t place) {
    for (int i = trace->stored_count; i-- > 0;)
        if (stored_value(trace, i)->place == place) return i;
    return -1;
}

static Tracing begin_trace(const Call *call, const char *before, char *memory, const Batch *batch,
                           Trace *trace) {
    gpus_bring_home();
    Tracing tracing = {.call = call,
                       .trace = trace_read(call->function->trace),
                       .program = call->sizes.program,
                       .before = before,
                       .memory = memory,
                       .batch = batch,
                       .text = trace->where,
                       .size = sizeof trace->where};
    if (tracing.trace)
        tracing.faults = calloc((size_t)tracing.trace->stored_count, sizeof *tracing.faults);
    return tracing;
}

static void end_trace(const Tracing *tracing) {
    trace_free(tracing->trace);
    free(tracing->faults);
}

Trace trace_loss(const Call *call, char *memory, const Batch *batch) {
    const FlowResult *loss = &call->function->results[0];
    bool nan = isnan(number_read(loss->type.element, memory + loss->offset));
    Trace trace = {.fault = nan ? "nan" : "infinite"};
    snprintf(trace.what, sizeof trace.what, "%s", loss->name);
    Tracing tracing = begin_trace(call, memory, memory, batch, &trace);
    tracing.fault = nan ? FAULT_nan : FAULT_infinity;
    if (tracing.faults && !find_field(&tracing) && !(nan && find_storage(&tracing))) {
        note_faults(&tracing);
        int result = stored_at(tracing.trace, (int64_t)loss->offset);
        if (result >= 0 && has_found(&tracing, result, tracing.fault))
            find_origin_of_stored(&tracing, result);
    }
    end_trace(&tracing);
    return trace;
}

/* The update that was held back first in memory, or NULL. */
static const FlowUpdate *held_update(const FlowTrace *trace, const Call *call) {
    for (int i = 0; trace && i < trace->update_count; i++)
        if (stored_value(trace, trace->updates[i].stored)->place == call->guard.place)
            return &trace->updates[i];
    return NULL;
}

static void trace_stored(Tracing *tracing, int stored, Trace *trace) {
    note_faults(tracing);
    snprintf(trace->where, sizeof trace->where, ": at %s; not so when the step was repeated",
             stored_value(tracing->trace, stored)->made->text);
    for (Fault fault = FAULT_nan; fault <= FAULT_infinity; fault++) {
        if (!has_found(tracing, stored, fault)) continue;
        trace->fault = fault == FAULT_nan ? "nan" : "infinite";
        tracing->fault = fault;
        *trace->where = 0;
        if (!find_field(tracing)) find_origin_of_stored(tracing, stored);
        return;
    }
}

static void trace_held(Tracing *tracing, Trace *trace) {
    const FlowUpdate *update = held_update(tracing->trace, tracing->call);
    if (!update) return;
    snprintf(trace->what, sizeof trace->what, "the update of `%s`",
             tracing->program->storage[update->storage].name);
    size_t size = tracing->program->memory_size;
    tracing->memory = holding_take(NULL, HOLDING_program, size) ? memory_new(size) : NULL;
    FlowGuard open = {.open = true};
    tracing->guard = &open;
    if (tracing->memory && tracing->faults) trace_stored(tracing, update->stored, trace);
    if (tracing->memory) holding_give(NULL, HOLDING_program, size);
    free(tracing->memory);
}

Trace trace_update(const Call *call, const char *memory, const Batch *batch) {
    Trace trace = {.what = "an update", .fault = "not finite"};
    Tracing tracing = begin_trace(call, memory, NULL, batch, &trace);
    trace_held(&tracing, &trace);
    end_trace(&tracing);
    return trace;
}
