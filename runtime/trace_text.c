/* Trace text. */
#include "runtime/trace_text.h"

#include <stdlib.h>
#include <string.h>

static int digit_of(char c) {
    static const char digits[] = FLOW_TRACE_DIGITS;
    return (int)(strchr(digits, c) - digits);
}

static int64_t next_number(const char **at) {
    int64_t number = 0;
    for (int shift = 0;; shift += FLOW_TRACE_BITS) {
        const int digit = digit_of(*(*at)++);
        number |= (int64_t)(digit % FLOW_TRACE_MORE) << shift;
        if (digit < FLOW_TRACE_MORE) return number;
    }
}

static int64_t next_signed(const char **at) {
    const int64_t number = next_number(at);
    return number & 1 ? -(number >> 1) - 1 : number >> 1;
}

static int64_t next_place(const char **at) {
    return next_number(at) ? next_signed(at) : FLOW_NOWHERE;
}

static FlowValue next_value(const FlowTraceText *text, int number, int call, const char **at) {
    FlowValue value = {.made = text->made + next_number(at)};
    value.call = call + (int)next_signed(at);
    value.place = next_place(at);
    const int64_t operands = next_number(at);
    for (int i = 0; i < 3; i++)
        value.operands[i] = i < operands ? number - (int)next_number(at) : -1;
    return value;
}

static void read_stored(FlowTrace *trace, const char **at) {
    int *reads = trace->reads;
    for (int i = 0; i < trace->stored_count; i++) {
        FlowStored *stored = &trace->stored[i];
        stored->value = (i ? stored[-1].value : 0) + (int)next_signed(at);
        stored->read_count = (int)next_number(at);
        stored->reads = reads;
        for (int read = 0; read < stored->read_count; read++) *reads++ = (int)next_signed(at);
    }
}

static void read_tables(FlowTrace *trace, const FlowTraceText *text) {
    const char *at = text->numbers;
    for (int i = 0; i < trace->value_count; i++)
        trace->values[i] = next_value(text, i, i ? trace->values[i - 1].call : -1, &at);
    read_stored(trace, &at);
    for (int i = 0; i < trace->update_count; i++) {
        trace->updates[i].stored = (int)next_number(&at);
        trace->updates[i].storage = (int)next_number(&at);
    }
}

/* False: there is no memory. */
static bool read_bodies(FlowTrace *trace, const FlowTraceText *text) {
    if (!text->bodies) return true;
    trace->bodies = calloc((size_t)trace->call_count, sizeof *trace->bodies);
    bool good = trace->bodies;
    for (int i = 0; good && i < trace->call_count; i++) {
        trace->bodies[i] = trace_read(text->bodies[i]);
        good = trace->bodies[i] || !text->bodies[i];
    }
    return good;
}

FlowTrace *trace_read(const FlowTraceText *text) {
    FlowTrace *trace = text ? calloc(1, sizeof *trace) : NULL;
    if (!trace) return NULL;
    *trace = (FlowTrace){.calls = text->calls,
                         .call_count = text->call_count,
                         .values = calloc((size_t)text->value_count + 1, sizeof *trace->values),
                         .value_count = text->value_count,
                         .stored = calloc((size_t)text->stored_count + 1, sizeof *trace->stored),
                         .stored_count = text->stored_count,
                         .updates = calloc((size_t)text->update_count + 1, sizeof *trace->updates),
                         .update_count = text->update_count,
                         .compute = text->compute,
                         .reads = calloc((size_t)text->read_count + 1, sizeof *trace->reads)};
    bool good = trace->values && trace->stored && trace->updates && trace->reads;
    if (good) read_tables(trace, text);
    if (good && read_bodies(trace, text)) return trace;
    trace_free(trace);
    return NULL;
}

void trace_free(FlowTrace *trace) {
    if (!trace) return;
    for (int i = 0; trace->bodies && i < trace->call_count; i++) trace_free(trace->bodies[i]);
    free(trace->bodies);
    free(trace->values);
    free(trace->stored);
    free(trace->updates);
    free(trace->reads);
    free(trace);
}
