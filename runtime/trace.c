/* Trace: one thread makes the calls in their order, and looks at all that each leaves in memory. An
 * infinity may be meant, so only one that led to the NaN is spoken of: it is followed back through
 * what the calls have read. */
#include "runtime/trace.h"

#include "runtime/barrier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Tracing {
    const Call *call;
    const FlowProgram *program;
    char *memory;
    const Batch *batch;
    bool nan;
    bool *infinite; /* of each stored value */
    char *text;
    size_t size;
} Tracing;

static bool is_floating(FlowElement element) {
    return element == FLOW_f16 || element == FLOW_bf16 || element == FLOW_f32 ||
           element == FLOW_f64;
}

/* The first NaN, or infinity, or -1. */
static int64_t find(FlowElement element, const char *values, int64_t count, bool nan) {
    size_t size = flow_element_size(element);
    for (int64_t i = 0; i < count; i++) {
        double value = number_read(element, values + (size_t)i * size);
        if (nan ? isnan(value) : isinf(value)) return i;
    }
    return -1;
}

static int64_t size_of(const Tracing *tracing, int64_t size) {
    const int64_t *sizes = tracing->call->sizes.values;
    return size < 0 ? tracing->program->sizes[~size](tracing->batch->records, sizes) : size;
}

static int64_t count_of(const Tracing *tracing, const FlowType *type) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= size_of(tracing, type->sizes[i]);
    return count;
}

/* What enters. */

static bool find_field(const Tracing *tracing) {
    const FlowFunction *function = tracing->call->function;
    for (int i = 0; i < function->input_count; i++) {
        const FlowInput *input = &function->inputs[i];
        if (input->kind != FLOW_INPUT_field || !is_floating(input->type.element)) continue;
        int64_t each = count_of(tracing, &input->type);
        int64_t at = find(input->type.element, tracing->batch->arrays[input->index],
                          each * tracing->batch->records, tracing->nan);
        if (at < 0) continue;
        snprintf(tracing->text, tracing->size, ": first in `%s` of record %lld of the batch",
                 input->name, (long long)(at / each + 1));
        return true;
    }
    return false;
}

static bool is_storage_broken(const Tracing *tracing, int index, bool nan) {
    const FlowStorage *storage = &tracing->program->storage[index];
    return is_floating(storage->type.element) &&
           find(storage->type.element, tracing->memory + storage->offset,
                count_of(tracing, &storage->type), nan) >= 0;
}

static void name_storage(const Tracing *tracing, int index) {
    snprintf(tracing->text, tracing->size, ": first in `%s`, which an earlier step left so",
             tracing->program->storage[index].name);
}

static bool find_storage(const Tracing *tracing) {
    for (int i = 0; i < tracing->program->storage_count; i++)
        if (is_storage_broken(tracing, i, tracing->nan)) {
            name_storage(tracing, i);
            return true;
        }
    return false;
}

/* What calls make. */

static void run_call(const Tracing *tracing, const FlowCall *call) {
    FlowBarrier barrier = {0};
    FlowFrame frame = {.memory = tracing->memory,
                       .inputs = tracing->call->inputs,
                       .batch = tracing->batch->records,
                       .barrier = &barrier,
                       .sizes = tracing->call->sizes.values};
    call->kernel(&frame, call->operands, 0, 1);
}

/* The infinity among what the call of value i has read: a value, a storage ~i; or i itself. */
static int infinity_before(const Tracing *tracing, int i) {
    const FlowStored *stored = &tracing->call->function->trace->stored[i];
    for (int read = 0; read < stored->read_count; read++) {
        int from = stored->reads[read];
        if (from < 0 ? is_storage_broken(tracing, ~from, false)
                     : from < i && tracing->infinite[from])
            return from;
    }
    return i;
}

static void name_value(const Tracing *tracing, int value) {
    const FlowStored *stored = tracing->call->function->trace->stored;
    int origin = value, before = infinity_before(tracing, origin);
    while (before >= 0 && before != origin) {
        origin = before;
        before = infinity_before(tracing, origin);
    }
    if (before < 0) name_storage(tracing, ~before);
    else if (!tracing->nan)
        snprintf(tracing->text, tracing->size, ": first at %s", stored[origin].infinity);
    else if (origin == value)
        snprintf(tracing->text, tracing->size, ": first at %s", stored[value].nan);
    else
        snprintf(tracing->text, tracing->size, ": first at %s; of an infinity that began at %s",
                 stored[value].nan, stored[origin].infinity);
}

/* Of infinities, those that lead to the loss count. */
static bool find_value(const Tracing *tracing, int value) {
    const FlowFunction *function = tracing->call->function;
    const FlowStored *stored = &function->trace->stored[value];
    const char *values = tracing->memory + stored->offset;
    int64_t count = size_of(tracing, stored->count);
    tracing->infinite[value] = find(stored->element, values, count, false) >= 0;
    return tracing->nan ? find(stored->element, values, count, true) >= 0
                        : tracing->infinite[value] && stored->offset == function->results[0].offset;
}

static void find_call(const Tracing *tracing) {
    const FlowTrace *trace = tracing->call->function->trace;
    for (int call = 0, value = 0; call < trace->call_count; call++) {
        run_call(tracing, &trace->calls[call]);
        for (; value < trace->stored_count && trace->stored[value].call == call; value++) {
            if (!find_value(tracing, value)) continue;
            name_value(tracing, value);
            return;
        }
    }
}

void trace_text(const Call *call, char *memory, const Batch *batch, bool nan, char *text,
                size_t size) {
    const FlowTrace *trace = call->function->trace;
    Tracing tracing = {call, call->sizes.program, memory, batch, nan, NULL, text, size};
    *text = 0;
    if (!trace || find_field(&tracing) || (nan && find_storage(&tracing))) return;
    tracing.infinite = calloc((size_t)trace->stored_count, sizeof *tracing.infinite);
    if (tracing.infinite) find_call(&tracing);
    free(tracing.infinite);
}
