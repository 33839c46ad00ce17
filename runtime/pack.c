/* Pack: records are dealt to threads in chunks, whose tokens stay where they were put; so the order
 * is that of the records, whoever made them. A record that can't be made is made again when all are
 * through, to hear why. */
#include "runtime/pack.h"

#include "runtime/cpus.h"
#include "runtime/crew.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/least.h"
#include "runtime/records_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_LIMIT = 256, /* records in one */
    SHARES = 8,        /* chunks a thread, at least, where there are enough records */
};
static const size_t pack_limit = (size_t)4 << 30; /* bytes */

typedef struct Chunk {
    int64_t first;  /* token */
    int64_t count;  /* tokens */
    char *tokens;   /* `width` bytes each */
    size_t room;    /* bytes */
    int64_t failed; /* records */
} Chunk;

struct Pack {
    int width;
    int64_t tokens;
    int64_t chunk_count;
    Chunk chunks[];
};

/* What the threads that fill it share. */
typedef struct Filling {
    const Records *records;
    Pack *pack;
    int index; /* of the section before */
    int64_t count, chunk;
    int32_t separator;
    Holding *holding;     /* that the tokens count for */
    _Atomic int64_t next; /* chunk */
    atomic_llong limit;   /* chunks from here on are not needed: one before has failed */
    _Atomic size_t bytes;
    atomic_bool full, starved;
} Filling;

static FlowStatus no_memory(const Records *records) {
    return flow_failure(FLOW_EXIT_resource,
                        "pipeline `%s` (%s): no memory for the tokens of all texts",
                        records->pipeline->name, records->pipeline->line);
}

/* Tokens into chunks. */

static void put(char *place, int width, int64_t at, int32_t token) {
    if (width == 1) ((uint8_t *)place)[at] = (uint8_t)token;
    else if (width == 2) ((uint16_t *)(void *)place)[at] = (uint16_t)token;
    else ((int32_t *)(void *)place)[at] = token;
}

static bool grow(Filling *filling, Chunk *chunk, size_t wanted) {
    size_t room = chunk->room ? chunk->room : 4096;
    if (wanted <= chunk->room) return true;
    while (room < wanted) room *= 2;
    if (atomic_fetch_add(&filling->bytes, room - chunk->room) + room - chunk->room > pack_limit) {
        filling->full = true;
        return false;
    }
    char *tokens = held_resize(chunk->tokens, chunk->room, room);
    if (!tokens) {
        filling->starved = true;
        return false;
    }
    chunk->tokens = tokens;
    chunk->room = room;
    return true;
}

static bool append(Filling *filling, Chunk *chunk, const TokenSpan *span) {
    const int32_t *tokens = (const int32_t *)(uintptr_t)span->address;
    int width = filling->pack->width;
    if (!grow(filling, chunk, (size_t)(chunk->count + span->count + 1) * (size_t)width))
        return false;
    for (int64_t i = 0; i < span->count; i++) put(chunk->tokens, width, chunk->count++, tokens[i]);
    if (filling->separator >= 0) put(chunk->tokens, width, chunk->count++, filling->separator);
    return true;
}

static bool is_over(const Filling *filling) {
    return filling->full || filling->starved || interrupted();
}

/* Behind its last record. */
static int64_t end_of(const Filling *filling, int64_t chunk) {
    int64_t end = (chunk + 1) * filling->chunk;
    return end < filling->count ? end : filling->count;
}

static void fill_chunk(Filling *filling, int64_t number, char *scratch) {
    Chunk *chunk = &filling->pack->chunks[number];
    Maker maker = {.records = filling->records, .scratch = scratch};
    int64_t end = end_of(filling, number);
    for (int64_t position = number * filling->chunk; position < end && !is_over(filling);
         position++) {
        TokenSpan span;
        if (!records_make_at(&maker, filling->index, position, (void *const[]){&span})) {
            chunk->failed++;
            if (!filling->records->rejects) return least_note(&filling->limit, number);
        } else if (!append(filling, chunk, &span)) return;
    }
}

static char *scratch_new(const Filling *filling) {
    size_t size = filling->records->scratch + FLOW_ALIGNMENT;
    if (!holding_take(filling->holding, HOLDING_scratch, size)) return NULL;
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, size);
    if (!scratch) holding_give(filling->holding, HOLDING_scratch, size);
    return scratch;
}

static void scratch_free(const Filling *filling, char *scratch) {
    if (!scratch) return;
    free(scratch);
    holding_give(filling->holding, HOLDING_scratch, filling->records->scratch + FLOW_ALIGNMENT);
}

static void *fill_chunks(void *argument) {
    Filling *filling = argument;
    char *scratch = scratch_new(filling);
    Holding *before = holding_enter(filling->holding);
    int64_t number;
    if (!scratch) filling->starved = true;
    while (!is_over(filling) && (number = filling->next++) < filling->pack->chunk_count &&
           number < filling->limit)
        fill_chunk(filling, number, scratch);
    holding_enter(before);
    scratch_free(filling, scratch);
    return NULL;
}

/* What can't be made. */

static FlowStatus tell_failure(const Filling *filling, int64_t position,
                               const FlowStatus *failure) {
    const Records *records = filling->records;
    int orders = records_section_at(records, filling->index)->order_count;
    return rejects_add(records->rejects, records->pipeline->name,
                       records_through(records, filling->index, orders, NULL, position), failure);
}

static FlowStatus tell_failures(const Filling *filling, int64_t number, char *scratch) {
    FlowStatus failure = flow_ok, status = flow_ok;
    Maker maker = {.records = filling->records, .scratch = scratch, .failure = &failure};
    int64_t left = filling->pack->chunks[number].failed;
    int64_t position = number * filling->chunk, end = end_of(filling, number);
    for (; position < end && left && !status.exit; position++) {
        TokenSpan span;
        if (records_make_at(&maker, filling->index, position, (void *const[]){&span})) continue;
        status = tell_failure(filling, position, &failure);
        left--;
    }
    return status.exit || !left ? status : no_memory(filling->records);
}

static FlowStatus settle_failures(const Filling *filling) {
    FlowStatus status = flow_ok;
    char *scratch = scratch_new(filling);
    if (!scratch) return no_memory(filling->records);
    for (int64_t i = 0; i < filling->pack->chunk_count && !status.exit; i++)
        if (filling->pack->chunks[i].failed) status = tell_failures(filling, i, scratch);
    scratch_free(filling, scratch);
    return status;
}

/* Open and close. */

static FlowStatus fill(Filling *filling) {
    const FlowPipeline *pipeline = filling->records->pipeline;
    crew_run(fill_chunks, filling, filling->pack->chunk_count);
    if (interrupted())
        return flow_failure(FLOW_EXIT_interrupted, "stopped while texts became tokens");
    if (filling->full)
        return flow_failure(
            FLOW_EXIT_resource,
            "pipeline `%s` (%s): the tokens of all texts take more than 4 GiB of memory; "
            "`take` fewer texts",
            pipeline->name, pipeline->line);
    if (filling->starved) return no_memory(filling->records);
    return settle_failures(filling);
}

/* What is not needed of its room is given back. */
static void trim(Chunk *chunk, int width) {
    size_t needed = (size_t)chunk->count * (size_t)width;
    char *tokens = needed ? held_resize(chunk->tokens, chunk->room, needed) : NULL;
    if (!tokens) return;
    chunk->tokens = tokens;
    chunk->room = needed;
}

static void number_tokens(Pack *pack) {
    for (int64_t i = 0; i < pack->chunk_count; i++) {
        Chunk *chunk = &pack->chunks[i];
        trim(chunk, pack->width);
        chunk->first = pack->tokens;
        pack->tokens += chunk->count;
    }
}

/* The tokenizer of the only field that is tokens. */
static int64_t limit_of(const Records *records) {
    const FlowField *fields = records->sections[0].fields;
    for (int i = 0; i < records_section_at(records, 0)->field_count; i++)
        if (fields[i].tokens && fields[i].tokens->use == FLOW_TOKENS_span)
            return tokenizer_limit(fields[i].tokenizer);
    return INT32_MAX;
}

static int64_t chunk_size(int64_t count) {
    int64_t size = count / (SHARES * (int64_t)cpus_available());
    return size < 1 ? 1 : size > CHUNK_LIMIT ? CHUNK_LIMIT : size;
}

FlowStatus pack_open(const Records *records, int index, int64_t count, Pack **out) {
    int32_t separator = records_section_at(records, index)->separator;
    int64_t limit = limit_of(records), chunk = chunk_size(count);
    int64_t chunks = (count + chunk - 1) / chunk;
    size_t size = sizeof(Pack) + (size_t)chunks * sizeof(Chunk);
    Pack *pack = *out = held_resize(NULL, 0, size);
    if (!pack) return no_memory(records);
    memset(pack, 0, size);
    if (separator >= limit) limit = (int64_t)separator + 1;
    pack->width = limit <= 1 << 8 ? 1 : limit <= 1 << 16 ? 2 : 4;
    pack->chunk_count = chunks;
    Filling filling = {.records = records,
                       .pack = pack,
                       .index = index - 1,
                       .count = count,
                       .chunk = chunk,
                       .separator = separator,
                       .holding = holding_here(),
                       .limit = chunks};
    FlowStatus status = fill(&filling);
    if (!status.exit) {
        number_tokens(pack);
        return flow_ok;
    }
    pack_close(pack);
    *out = NULL;
    return status;
}

void pack_close(Pack *pack) {
    for (int64_t i = 0; pack && i < pack->chunk_count; i++) free(pack->chunks[i].tokens);
    free(pack);
}

int64_t pack_tokens(const Pack *pack) {
    return pack->tokens;
}

/* Rows. */

static const Chunk *chunk_of(const Pack *pack, int64_t token) {
    int64_t low = 0, high = pack->chunk_count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (pack->chunks[middle].first <= token) low = middle;
        else high = middle;
    }
    return &pack->chunks[low];
}

static void widen(const Chunk *chunk, int width, int64_t first, int64_t count, int32_t *tokens) {
    const char *from = chunk->tokens + (size_t)first * (size_t)width;
    const uint16_t *twos = (const uint16_t *)(const void *)from;
    for (int64_t i = 0; width == 1 && i < count; i++) tokens[i] = (unsigned char)from[i];
    for (int64_t i = 0; width == 2 && i < count; i++) tokens[i] = twos[i];
    if (width == 4) memcpy(tokens, from, (size_t)count * sizeof *tokens);
}

void pack_read(const Pack *pack, int64_t first, int64_t count, int32_t *tokens) {
    for (const Chunk *chunk = chunk_of(pack, first); count; chunk++) {
        int64_t at = first - chunk->first, left = chunk->count - at;
        int64_t taken = left < count ? left : count;
        if (taken) widen(chunk, pack->width, at, taken, tokens);
        first += taken;
        tokens += taken;
        count -= taken;
    }
}
