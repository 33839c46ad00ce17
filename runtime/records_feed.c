/* Records_feed: records of a feed are there once they have come, and until they are forgotten. How
 * many positions there are is asked from the last order back to the feed. Only one thread at a time
 * waits. */
#include "runtime/records_state.h"

#include "runtime/clock.h"
#include "runtime/interrupt.h"
#include "runtime/least.h"

#include <stdlib.h>

/* Somebody waits until the deadline; final: what has come is all that there will be. */
typedef struct Wait {
    const Records *records;
    int64_t deadline;
    bool final;
} Wait;

/* How many there are of `end` when there are `count` in all. */
static int64_t within(Wait *wait, int64_t count, int64_t end) {
    wait->final &= count <= end;
    return least(count, end);
}

/* Forgetting. */

/* Nobody asks for what is before that position behind the section's first `orders` orders. */
static void forget(const Records *records, int index, int orders, int64_t position) {
    for (; index >= 0; index--) {
        const FlowSection *section = records_section_at(records, index);
        for (int i = orders < 0 ? section->order_count : orders; i-- > 0;) {
            const FlowOrder *order = &section->orders[i];
            Sieve *sieve = records->sections[index].orders[i].sieve;
            if (order->kind == FLOW_ORDER_skip) position += (int64_t)order->number;
            if (order->kind == FLOW_ORDER_filter) position = sieve_forget(sieve, position);
            if (order->kind == FLOW_ORDER_shuffle) position -= position % order->window;
        }
        position *= section->stride;
        orders = -1;
    }
    feed_forget(records->feed, position);
}

void records_forget(const Records *records, int64_t position) {
    forget(records, records_last_section(records), -1, position);
}

/* Waiting. */

static int64_t come(Wait *wait, int index, int orders, int64_t end);

static int64_t come_from_feed(Wait *wait, int64_t end) {
    int64_t count = feed_wait(wait->records->feed, end, wait->deadline, &wait->final);
    return within(wait, count, end);
}

static int64_t come_in_windows(Wait *wait, int index, int64_t end) {
    const FlowSection *section = records_section_at(wait->records, index);
    int64_t needed = end ? (end - 1) * section->stride + section->window : 0;
    int64_t count =
        come(wait, index - 1, records_section_at(wait->records, index - 1)->order_count, needed);
    return records_windows(section, count);
}

static int64_t take(Wait *wait, int index, int number, int64_t most, int64_t end) {
    int64_t count = come(wait, index, number, least(end, most));
    wait->final |= count == most;
    return count;
}

static int64_t skip(Wait *wait, int index, int number, int64_t records, int64_t end) {
    int64_t count = come(wait, index, number, end + records);
    return count < records ? 0 : count - records;
}

/* Only whole windows are shuffled, and what is left at the end. */
static int64_t shuffle(Wait *wait, int index, int number, int64_t window, int64_t end) {
    OrderState *state = (OrderState *)&wait->records->sections[index].orders[number];
    int64_t count = come(wait, index, number, (end + window - 1) / window * window);
    if (!wait->final) return least(count - count % window, end);
    atomic_store(&state->end, count);
    return within(wait, count, end);
}

/* Filters. */

static FlowStatus ask(const Records *records, int index, int number, int64_t position) {
    bool passes;
    FlowStatus status =
        records_ask(records, index, number, records->fed->scratch, position, &passes);
    if (status.exit) return status;
    if (sieve_add(records->sections[index].orders[number].sieve, passes)) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", records->pipeline->name);
}

/* Asks those that have come and were not asked. */
static void ask_all(const Records *records, int index, int number, int64_t count) {
    Sieve *sieve = records->sections[index].orders[number].sieve;
    FedState *fed = records->fed;
    for (int64_t i = sieve_seen(sieve); i < count && !fed->failure.exit; i++)
        fed->failure = ask(records, index, number, i);
    forget(records, index, number + 1, 0);
}

static bool has_time(const Wait *wait) {
    return !interrupted() && (!wait->deadline || clock_nanoseconds() < wait->deadline);
}

static int64_t filter(Wait *wait, int index, int number, int64_t end) {
    Sieve *sieve = wait->records->sections[index].orders[number].sieve;
    const FedState *fed = wait->records->fed;
    bool more = true;
    for (int64_t left; more && !fed->failure.exit && (left = end - sieve_count(sieve)) > 0;) {
        int64_t wanted = sieve_seen(sieve) + left;
        int64_t count = come(wait, index, number, wanted);
        ask_all(wait->records, index, number, count);
        more = count == wanted && has_time(wait);
    }
    wait->final |= fed->failure.exit != 0;
    return within(wait, sieve_count(sieve), end);
}

/* How many of `end` positions there are behind the first `orders` orders of the section. */
static int64_t come(Wait *wait, int index, int orders, int64_t end) {
    int number = orders - 1;
    wait->final = false;
    if (!orders) return index ? come_in_windows(wait, index, end) : come_from_feed(wait, end);
    const FlowOrder *order = &records_section_at(wait->records, index)->orders[number];
    switch (order->kind) {
    case FLOW_ORDER_take: return take(wait, index, number, (int64_t)order->number, end);
    case FLOW_ORDER_skip: return skip(wait, index, number, (int64_t)order->number, end);
    case FLOW_ORDER_shuffle: return shuffle(wait, index, number, order->window, end);
    case FLOW_ORDER_filter: return filter(wait, index, number, end);
    case FLOW_ORDER_bucket: break;
    }
    return 0;
}

int64_t records_wait(const Records *records, int64_t end, int64_t deadline) {
    Wait wait = {.records = records, .deadline = deadline};
    int last = records_last_section(records);
    return come(&wait, last, records_section_at(records, last)->order_count, end);
}

FlowStatus records_ended(const Records *records) {
    FlowStatus status;
    if (records->fed->failure.exit) return records->fed->failure;
    feed_has_ended(records->feed, &status);
    return status;
}

void records_stop(const Records *records) {
    feed_stop(records->feed);
}

/* Opening. */

static FlowStatus open_order(Records *records, int index, int number) {
    const FlowOrder *order = &records_section_at(records, index)->orders[number];
    OrderState *state = &records->sections[index].orders[number];
    atomic_init(&state->end, INT64_MAX);
    if (order->kind == FLOW_ORDER_shuffle && !order->window)
        return flow_failure(FLOW_EXIT_usage,
                            "pipeline `%s` (%s): `shuffle` asks for all records, and these come "
                            "one after the other; give it a window: `shuffle(seed = %llu, window = "
                            "10000)`",
                            records->pipeline->name, records->pipeline->line,
                            (unsigned long long)order->number);
    if (order->kind == FLOW_ORDER_bucket)
        return flow_failure(FLOW_EXIT_usage,
                            "pipeline `%s` (%s): `bucket` asks for all records, and these come one "
                            "after the other",
                            records->pipeline->name, records->pipeline->line);
    if (order->kind == FLOW_ORDER_shuffle)
        state->permutation = permutation_new(1, order->number, 0);
    if (order->kind != FLOW_ORDER_filter || (state->sieve = sieve_new())) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", records->pipeline->name);
}

static FlowStatus open_section(Records *records, int index) {
    const FlowSection *section = records_section_at(records, index);
    FlowStatus status = flow_ok;
    if (section->packs)
        return flow_failure(FLOW_EXIT_usage,
                            "pipeline `%s` (%s): `pack` asks for all records, and these come one "
                            "after the other",
                            records->pipeline->name, records->pipeline->line);
    for (int i = 0; i < section->order_count && !status.exit; i++)
        status = open_order(records, index, i);
    return status;
}

FlowStatus records_open_fed(Records *records) {
    FlowStatus status = flow_ok;
    records->fed = calloc(1, sizeof *records->fed);
    if (records->fed)
        records->fed->scratch = aligned_alloc(FLOW_ALIGNMENT, records->scratch + FLOW_ALIGNMENT);
    if (!records->fed || !records->fed->scratch)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory",
                            records->pipeline->name);
    for (int i = 0; i < records->pipeline->section_count && !status.exit; i++)
        status = open_section(records, i);
    return status;
}

void records_close_fed(Records *records) {
    if (records->fed) free(records->fed->scratch);
    free(records->fed);
    for (int i = 0; i < records->pipeline->section_count; i++)
        for (int j = 0; j < ORDER_LIMIT; j++) sieve_free(records->sections[i].orders[j].sieve);
}
