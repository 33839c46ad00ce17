/* Room: which values a band of slices, and the earlier one that it makes values of again, keep in
 * the buffer of a thread; they share what it has if no call wants both. */
#include "compiler/plan/slices.h"

static bool is_made_again(const Finder *finder, NodeId id) {
    vector_each(NodeId, value, finder->values)
        if (*value == id) return true;
    return false;
}

static bool passes(const Finder *finder, NodeId id) {
    const Bander *bander = finder->bander;
    if (!planner_of(finder)->stored[id] || bander->kept[id]) return false;
    if (planner_of(finder)->target[id] != NODE_NONE) return false;
    if (!is_large(bander, id)) {
        const Band run = {.count = finder->end - finder->first};
        return is_passing(bander, &run, finder->first, id);
    }
    vector_each(SliceReader, reader, finder->readers[id])
        if (!reads_within(finder, reader)) return false;
    return finder->readers[id].count > 0;
}

static void add_value(const Finder *finder, Band *band, NodeId id) {
    const int64_t size = row_size(finder->bander, id, finder->share);
    vector_push(planner_of(finder)->arena, &band->values, (BandValue){id, size, 0});
}

/* Of the earlier band; small ones and reductions stay in memory, from where the later band has
 * them, too. */
static bool passes_earlier(const Finder *finder, const Band *band, NodeId id) {
    return is_large(finder->bander, id) && !is_found_again(finder, id) &&
           planner_of(finder)->target[id] == NODE_NONE &&
           is_passing(finder->bander, band, place_of(finder, band->kernels[0]), id);
}

/* Those that are made again come first, so that they have the same numbers in both bands. */
void add_values(const Finder *finder, Band *band) {
    vector_each(NodeId, value, finder->values) add_value(finder, band, *value);
    for (int i = 0; i < band->count; i++) {
        const KernelPlan *kernel = kernel_of(finder, band->kernels[i]);
        for (size_t j = 0; j < kernel->node_count; j++) {
            const NodeId id = kernel->nodes[j];
            if (is_made_again(finder, id) || !row_size(finder->bander, id, finder->share)) continue;
            if (band->slices ? passes(finder, id) : passes_earlier(finder, band, id))
                add_value(finder, band, id);
        }
    }
}

/* From when to when a band's buffer holds a value, in calls. */
typedef struct Life {
    int first, last;
} Life;

static int call_of(const Band *band, int k) {
    int call = calls_of_band(band);
    while (--call >= 0 && kernel_of_call(band, call) != k) continue;
    return call;
}

static Life life_of(const Finder *finder, const Band *band, NodeId id) {
    const int written = call_of(band, writer_of(finder, id));
    Life life = {written, written};
    if (!is_large(finder->bander, id)) life.last = calls_of_band(band);
    vector_each(SliceReader, reader, finder->readers[id]) {
        const int read = call_of(band, reader->kernel);
        if (read > life.last) life.last = read;
    }
    return life;
}

void give_room(const Finder *finder, Band *band) {
    Life *lives = arena_new_array(planner_of(finder)->arena, Life, band->values.count + 1);
    for (size_t i = 0; i < band->values.count; i++) {
        BandValue *value = &band->values.items[i];
        const size_t size = align_size((size_t)(band->rows * value->row_size));
        lives[i] = life_of(finder, band, value->node);
        for (size_t j = 0; j < i; j++) {
            const BandValue *other = &band->values.items[j];
            const size_t end = other->offset + align_size((size_t)(band->rows * other->row_size));
            const bool apart = lives[j].last < lives[i].first || lives[i].last < lives[j].first;
            if (apart || value->offset >= end || value->offset + size <= other->offset) continue;
            value->offset = end;
            j = (size_t)-1; /* once more: it may lie over one before */
        }
        if (value->offset + size > band->room) band->room = value->offset + size;
    }
}
