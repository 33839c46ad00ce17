/* Shadow: traces in pages that are made when they are touched. Elements of a page have one size;
 * where a smaller one comes, each trace becomes several equal ones. */
#include "runtime/device/simulated_shadow.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

typedef struct Page {
    Trace *traces;
    size_t unit; /* bytes that have one trace */
} Page;

struct Shadow {
    size_t count;
    Page pages[];
};

static bool is_ordered(const Touch *before, const Epochs *epochs, uint32_t first, uint32_t thread) {
    if (before->epoch < epochs->block) return before->epoch < first; /* another block */
    return epochs_order(epochs, before->epoch, before->thread, thread);
}

/* Field by field: every access comes by here, and a load of a whole touch would wait until stores
 * of its parts are done. */
static void note(Touch *touch, uint32_t epoch, uint32_t thread, bool atomic, uint32_t line) {
    touch->epoch = epoch;
    touch->thread = thread;
    touch->atomic = atomic;
    touch->line = line;
}

static void note_reader(Trace *trace, const Epochs *epochs, uint32_t first, uint32_t thread,
                        uint32_t line) {
    Touch *latest = &trace->readers[0], *other = &trace->readers[1];
    bool same = latest->epoch == epochs->now && latest->thread == thread;
    if (!same && is_ordered(other, epochs, first, thread)) *other = *latest;
    note(latest, epochs->now, thread, false, line);
}

bool trace_touch(Trace *trace, const Epochs *epochs, uint32_t first, FlowAccess access,
                 uint32_t thread, uint32_t line, Clash *clash) {
    const bool atomic = access == FLOW_ACCESS_atomic;
    const Touch *before = NULL;
    if (!(atomic && trace->writer.atomic) && !is_ordered(&trace->writer, epochs, first, thread))
        before = &trace->writer;
    for (int i = 0; i < 2 && access != FLOW_ACCESS_read && !before; i++)
        if (!is_ordered(&trace->readers[i], epochs, first, thread)) before = &trace->readers[i];
    if (before) *clash = (Clash){.wrote = before == &trace->writer, .before = *before};
    if (access == FLOW_ACCESS_read) note_reader(trace, epochs, first, thread, line);
    else {
        note(&trace->writer, epochs->now, thread, atomic, line);
        trace->readers[0].epoch = trace->readers[1].epoch = 0;
    }
    return !before;
}

Shadow *shadow_new(size_t size) {
    size_t count = (size + PAGE - 1) / PAGE;
    Shadow *shadow = calloc(1, sizeof *shadow + count * sizeof(Page));
    if (shadow) shadow->count = count;
    return shadow;
}

void shadow_clear(Shadow *shadow) {
    for (size_t i = 0; i < shadow->count; i++) {
        free(shadow->pages[i].traces);
        shadow->pages[i].traces = NULL;
    }
}

void shadow_free(Shadow *shadow) {
    if (shadow) shadow_clear(shadow);
    free(shadow);
}

/* The page with a trace for each `unit` bytes. */
static bool split(Page *page, size_t unit) {
    Trace *traces = calloc(PAGE / unit, sizeof *traces);
    if (!traces) return false;
    for (size_t i = 0; page->traces && i < PAGE / unit; i++)
        traces[i] = page->traces[i * unit / page->unit];
    free(page->traces);
    *page = (Page){.traces = traces, .unit = unit};
    return true;
}

Trace *shadow_at(Shadow *shadow, size_t offset, size_t size, size_t *count) {
    Page *page = &shadow->pages[offset / PAGE];
    size_t within = offset % PAGE, unit = size;
    while (within % unit) unit /= 2;
    if ((!page->traces || page->unit > unit) && !split(page, unit)) return NULL;
    size_t most = (PAGE - within) / page->unit, wanted = size / page->unit;
    *count = wanted < most ? wanted : most;
    return page->traces + within / page->unit;
}
