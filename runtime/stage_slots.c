/* Stage_slots: the memory of batches, and what is worked in while they are made. */
#include "runtime/memory.h"
#include "runtime/stage_state.h"

#include <stdlib.h>

static void slot_free(Batch *slot) {
    if (!slot) return;
    for (int i = 0; i < FIELD_LIMIT; i++) free(slot->arrays[i]);
    free(slot->rejected);
    free(slot);
}

static bool slot_fill(const Stage *stage, Batch *slot) {
    for (int i = 0; i < stage->section->output_count; i++) {
        size_t size = flow_type_size(&stage->section->outputs[i].type);
        if (__builtin_mul_overflow(size, (size_t)stage->pipeline->batch, &size)) return false;
        if (!(slot->arrays[i] = memory_zeroed(size))) return false;
    }
    if (!stage->rejects) return true;
    slot->rejected = malloc((size_t)stage->pipeline->batch);
    return slot->rejected != NULL;
}

static Batch *slot_new(const Stage *stage) {
    Batch *slot = calloc(1, sizeof *slot);
    if (!slot || slot_fill(stage, slot)) return slot;
    slot_free(slot);
    return NULL;
}

static size_t slot_size(const Stage *stage) {
    size_t size = stage->rejects ? (size_t)stage->pipeline->batch : 0, array;
    for (int i = 0; i < stage->section->output_count; i++)
        if (__builtin_mul_overflow(flow_type_size(&stage->section->outputs[i].type),
                                   (size_t)stage->pipeline->batch, &array) ||
            __builtin_add_overflow(size, array + FLOW_ALIGNMENT, &size))
            return SIZE_MAX;
    return size;
}

size_t slots_size(const Stage *stage, int count) {
    size_t size;
    return __builtin_mul_overflow(slot_size(stage), (size_t)count, &size) ? SIZE_MAX : size;
}

size_t scratch_size(const Stage *stage, int count) {
    return (records_scratch(stage->source) + FLOW_ALIGNMENT) * (size_t)count;
}

static bool add_slot(Stage *stage) {
    if (!holding_take(&stage->holding, HOLDING_batches, slot_size(stage))) return false;
    Batch *slot = slot_new(stage);
    if (!slot) holding_give(&stage->holding, HOLDING_batches, slot_size(stage));
    else stage->slots[stage->slot_count++] = slot;
    if (slot && stage->vacant) queue_push(stage->vacant, slot);
    return slot != NULL;
}

bool slots_grow(Stage *stage, int count) {
    if (stage->slot_count >= count) return true;
    Batch **slots = realloc(stage->slots, (size_t)count * sizeof *slots);
    if (!slots) return false;
    stage->slots = slots;
    while (stage->slot_count < count)
        if (!add_slot(stage)) return false;
    return true;
}

static void scratch_free(Stage *stage) {
    if (stage->scratch_count)
        holding_give(&stage->holding, HOLDING_scratch, scratch_size(stage, stage->scratch_count));
    for (int i = 0; stage->scratch && i < stage->scratch_count; i++) free(stage->scratch[i]);
    free(stage->scratch);
    free(stage->shares);
    stage->scratch = NULL;
    stage->shares = NULL;
    stage->scratch_count = stage->share_count = 0;
}

bool slots_scratch(Stage *stage, int threads) {
    if (stage->scratch_count >= threads) return true;
    scratch_free(stage);
    if (!holding_take(&stage->holding, HOLDING_scratch, scratch_size(stage, threads))) return false;
    stage->scratch_count = threads;
    stage->scratch = calloc((size_t)threads, sizeof *stage->scratch);
    stage->shares = aligned_alloc(_Alignof(Share), (size_t)threads * sizeof *stage->shares);
    if (!stage->scratch || !stage->shares) return false;
    for (int i = 0; i < threads; i++)
        if (!(stage->scratch[i] = memory_new(records_scratch(stage->source)))) return false;
    return true;
}

void slots_free(Stage *stage) {
    for (int i = 0; i < stage->slot_count; i++) slot_free(stage->slots[i]);
    free(stage->slots);
    free(stage->held);
    scratch_free(stage);
}
