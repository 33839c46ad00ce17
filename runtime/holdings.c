/* Holdings: a list of those that are open, behind one lock: memory is asked for when pipelines
 * begin, and then only when a larger image or record comes than ever before. */
#include "runtime/holdings.h"

#include "runtime/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3, TEXT_SIZE = 96 };

static Holding program;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t limit, sum, most;
static FlowStatus refusal; /* the first */
static _Thread_local Holding *here;

static const struct {
    const char *what, *help;
} kinds[HOLDING_KINDS] = {
    [HOLDING_program] = {"weights, states and scratch", "smaller batches or `microbatches`"},
    [HOLDING_batches] = {"batches", "smaller batches, a shorter `@queue` or fewer `--workers`"},
    [HOLDING_scratch] = {"scratch of threads", "fewer `--threads` or `--workers`"},
    [HOLDING_source] = {"data in memory",
                        "fewer files, or plain ones, which (but for idx) are mapped,"},
    [HOLDING_feed] = {"input read ahead", "shorter records, or files in place of streams,"},
    [HOLDING_decoders] = {"decoders and tokenizers",
                          "smaller images and texts, or fewer `--threads` or `--workers`"},
    [HOLDING_output] = {"output", "smaller batches"},
};

/* Texts. */

static const char *bytes_text(char *text, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 3) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, TEXT_SIZE, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

/* "45.0 MiB of data in memory for `digits` (digits.flow:3)" */
static const char *part_text(char *text, size_t size, const Holding *holding, HoldingKind kind,
                             size_t bytes) {
    char number[TEXT_SIZE];
    int used =
        snprintf(text, size, "%s of %s", bytes_text(number, (double)bytes), kinds[kind].what);
    if (holding->name && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " for `%.40s` (%.60s)", holding->name,
                 holding->line);
    return text;
}

/* The largest. */

typedef struct Part {
    const Holding *holding;
    HoldingKind kind;
} Part;

static size_t part_bytes(const Part *part) {
    return part->holding ? part->holding->bytes[part->kind] : 0;
}

/* Puts it where it belongs among the largest so far. */
static void rank_part(Part *parts, int count, Part part) {
    for (int i = 0; i < count; i++) {
        if (part_bytes(&part) <= part_bytes(&parts[i])) continue;
        Part smaller = parts[i];
        parts[i] = part;
        part = smaller;
    }
}

static void find_largest(Part *parts, int count) {
    for (const Holding *holding = &program; holding; holding = holding->next)
        for (int kind = 0; kind < HOLDING_KINDS; kind++)
            rank_part(parts, count, (Part){holding, (HoldingKind)kind});
}

/* Keeps why, for the one who tells the user. */
static void refuse(const Holding *holding, HoldingKind kind, size_t bytes) {
    Part parts[SHOWN] = {{0}};
    char all[TEXT_SIZE], wanted[256], held[400] = "", part[200];
    size_t used = 0;
    if (refusal.exit) return;
    find_largest(parts, SHOWN);
    for (int i = 0; i < SHOWN && part_bytes(&parts[i]); i++)
        used += (size_t)snprintf(
            held + used, sizeof held - used, "%s%.120s", i ? ", " : "",
            part_text(part, sizeof part, parts[i].holding, parts[i].kind, part_bytes(&parts[i])));
    bool own = part_bytes(&parts[0]) > bytes;
    refusal = flow_failure(FLOW_EXIT_resource,
                           "memory is limited to %s: there is no room for %s%s%.230s; %s take less",
                           bytes_text(all, (double)limit),
                           part_text(wanted, sizeof wanted, holding, kind, bytes),
                           used ? " beside " : "", held, kinds[own ? parts[0].kind : kind].help);
}

/* Counting. */

void holding_open(Holding *holding, const char *name, const char *line) {
    *holding = (Holding){.name = name, .line = line};
    pthread_mutex_lock(&lock);
    holding->next = program.next;
    program.next = holding;
    pthread_mutex_unlock(&lock);
}

void holding_close(Holding *holding) {
    pthread_mutex_lock(&lock);
    Holding *before = &program;
    while (before && before->next != holding) before = before->next;
    if (before) before->next = holding->next;
    for (int kind = 0; before && kind < HOLDING_KINDS; kind++) sum -= holding->bytes[kind];
    pthread_mutex_unlock(&lock);
}

bool holding_take(Holding *holding, HoldingKind kind, size_t bytes) {
    if (!holding) holding = &program;
    pthread_mutex_lock(&lock);
    bool fits = bytes <= (limit ? limit : SIZE_MAX) - sum;
    if (!fits) refuse(holding, kind, bytes);
    else sum += bytes, holding->bytes[kind] += bytes;
    if (sum > most) most = sum;
    pthread_mutex_unlock(&lock);
    return fits;
}

void holding_give(Holding *holding, HoldingKind kind, size_t bytes) {
    if (!holding) holding = &program;
    pthread_mutex_lock(&lock);
    sum -= bytes;
    holding->bytes[kind] -= bytes;
    pthread_mutex_unlock(&lock);
}

/* Of sources. */

Holding *holding_enter(Holding *holding) {
    Holding *before = here;
    here = holding;
    return before;
}

Holding *holding_here(void) {
    return here;
}

void *held_resize(void *bytes, size_t before, size_t after) {
    if (after > before && !holding_take(here, HOLDING_source, after - before)) return NULL;
    void *resized = realloc(bytes, after);
    if (!resized && after > before) holding_give(here, HOLDING_source, after - before);
    if (resized && after < before) holding_give(here, HOLDING_source, before - after);
    return resized;
}

void *held_new(size_t size) {
    if (!holding_take(here, HOLDING_source, size)) return NULL;
    void *bytes = memory_new(size);
    if (!bytes) holding_give(here, HOLDING_source, size);
    return bytes;
}

void held_give(size_t size) {
    holding_give(here, HOLDING_source, size);
}

/* The whole. */

static size_t read_locked(const size_t *value) {
    pthread_mutex_lock(&lock);
    size_t found = *value;
    pthread_mutex_unlock(&lock);
    return found;
}

void holdings_limit(size_t bytes) {
    limit = bytes;
}

size_t holdings_limited(void) {
    return limit;
}

size_t holdings_room(void) {
    return limit ? limit - read_locked(&sum) : SIZE_MAX;
}

size_t holdings_sum(void) {
    return read_locked(&sum);
}

size_t holdings_most(void) {
    return read_locked(&most);
}

FlowStatus holdings_verdict(FlowStatus status) {
    pthread_mutex_lock(&lock);
    if (refusal.exit && status.exit == FLOW_EXIT_resource) status = refusal;
    pthread_mutex_unlock(&lock);
    return status;
}

static void print_holding(const char *name, const Holding *holding) {
    char part[200];
    for (int kind = 0; kind < HOLDING_KINDS; kind++)
        if (holding->bytes[kind])
            fprintf(stderr, "%s:   %s\n", name,
                    part_text(part, sizeof part, holding, (HoldingKind)kind, holding->bytes[kind]));
}

void holdings_print(const char *name) {
    char text[TEXT_SIZE];
    pthread_mutex_lock(&lock);
    fprintf(stderr, "%s: memory: %s (%zu bytes)\n", name, bytes_text(text, (double)sum), sum);
    for (const Holding *holding = &program; holding; holding = holding->next)
        print_holding(name, holding);
    pthread_mutex_unlock(&lock);
}

void holdings_print_most(const char *name) {
    char text[TEXT_SIZE];
    size_t bytes = holdings_most();
    if (bytes)
        fprintf(stderr, "%s: memory: at most %s (%zu bytes)\n", name,
                bytes_text(text, (double)bytes), bytes);
}
