/* Stage_slots: the memory of batches, and what is worked in while they are made. */
#include "runtime/device/pinned.h"
#include "runtime/memory.h"
#include "runtime/stage_state.h"

#include <stdio.h>
#include <stdlib.h>

static void slot_free(Batch *slot) {
    if (!slot) return;
    for (int i = 0; i < FIELD_LIMIT; i++)
        if (!pinned_free(slot->arrays[i])) free(slot->arrays[i]);
    free(slot->rejected);
    free(slot);
}

/* GPUs copy it while the host goes on, where there are any. */
static void *array_new(size_t size) {
    void *pinned = pinned_new(size);
    return pinned ? pinned : memory_zeroed(size);
}

static bool slot_fill(const Stage *stage, Batch *slot) {
    for (int i = 0; i < stage->section->output_count; i++) {
        size_t size = flow_type_size(&stage->section->outputs[i].type);
        if (__builtin_mul_overflow(size, (size_t)stage->pipeline->batch, &size)) return false;
        if (!(slot->arrays[i] = array_new(size))) return false;
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
    size_t size = records_scratch(stage->source);
    bool overflows = __builtin_add_overflow(size, FLOW_ALIGNMENT, &size) ||
                     __builtin_mul_overflow(size, (size_t)count, &size);
    return overflows ? SIZE_MAX : size;
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

/* Those that are out of use go round again. */
static void recall(Stage *stage, int count) {
    int kept = stage->surplus < count ? stage->surplus : count;
    stage->surplus -= kept;
    for (int left = count - kept; left > 0 && stage->spare_count; left--)
        queue_push(stage->vacant, stage->spare[--stage->spare_count]);
}

bool slots_use(Stage *stage, int count) {
    int more = count - slots_used(stage);
    if (more < 0) stage->surplus -= more;
    if (more <= 0) return true;
    recall(stage, more);
    return slots_grow(stage, stage->slot_count + count - slots_used(stage));
}

void slots_return(Stage *stage, Batch *slot) {
    if (!stage->surplus) {
        queue_push(stage->vacant, slot);
        return;
    }
    stage->spare[stage->spare_count++] = slot;
    stage->surplus--;
}

bool hand_open(Hand *hand, Stage *stage, int worker) {
    char number[32] = "";
    if (worker) snprintf(number, sizeof number, ", worker %d,", worker);
    snprintf(hand->name, sizeof hand->name, "pipeline `%.64s`%s", stage->pipeline->name, number);
    hand->beat.name = hand->name;
    hand->beat.place = stage_place(stage);
    hand->ahead.batch = -1;
    if (!holding_take(&stage->holding, HOLDING_scratch, scratch_size(stage, 1))) return false;
    hand->scratch = memory_new(records_scratch(stage->source));
    if (hand->scratch) beat_add(&hand->beat);
    else holding_give(&stage->holding, HOLDING_scratch, scratch_size(stage, 1));
    return hand->scratch != NULL;
}

void hand_close(Hand *hand, Stage *stage) {
    if (!hand->scratch) return;
    beat_remove(&hand->beat);
    free(hand->scratch);
    holding_give(&stage->holding, HOLDING_scratch, scratch_size(stage, 1));
}

static void hands_free(Stage *stage) {
    for (int i = 0; i < stage->hand_count; i++) {
        hand_close(stage->hands[i], stage);
        free(stage->hands[i]);
    }
    free(stage->hands);
    free(stage->shares);
}

static bool add_hand(Stage *stage) {
    Hand *hand = calloc(1, sizeof *hand);
    bool opened = hand && hand_open(hand, stage, 0);
    if (opened) stage->hands[stage->hand_count++] = hand;
    else free(hand);
    return opened;
}

static bool shares_grow(Stage *stage, int threads) {
    Share *shares = aligned_alloc(_Alignof(Share), (size_t)threads * sizeof *shares);
    if (!shares) return false;
    free(stage->shares);
    stage->shares = shares;
    stage->share_count = 0;
    return true;
}

bool slots_hands(Stage *stage, int threads) {
    if (stage->hand_count >= threads) return true;
    Hand **hands = realloc(stage->hands, (size_t)threads * sizeof *hands);
    if (hands) stage->hands = hands;
    if (!hands || !shares_grow(stage, threads)) return false;
    while (stage->hand_count < threads)
        if (!add_hand(stage)) return false;
    return true;
}

void slots_free(Stage *stage) {
    for (int i = 0; i < stage->slot_count; i++) slot_free(stage->slots[i]);
    free(stage->slots);
    free(stage->held);
    free(stage->own);
    free(stage->spare);
    hands_free(stage);
}
