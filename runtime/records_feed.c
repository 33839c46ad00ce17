/* Records_feed: records of a feed are there once they have come, and until they are forgotten. */
#include "runtime/records_state.h"

/* How many records the orders leave of `count`. */
static int64_t left_of(const FlowSection *section, int64_t count) {
    for (int i = 0; i < section->order_count; i++) {
        int64_t number = (int64_t)section->orders[i].number;
        bool take = section->orders[i].kind == FLOW_ORDER_take;
        int64_t most = count < number ? count : number;
        count = take ? most : count - most;
    }
    return count;
}

/* How many they need for `count`; fewer, where there will never be so many. */
static int64_t needed_for(const FlowSection *section, int64_t count) {
    for (int i = section->order_count; i-- > 0;) {
        int64_t number = (int64_t)section->orders[i].number;
        if (section->orders[i].kind == FLOW_ORDER_skip) count += number;
        else if (count > number) count = number;
    }
    return count;
}

int64_t records_wait(const Records *records, int64_t end, int64_t deadline) {
    int64_t count = end;
    for (int i = records_last_section(records); i >= 0; i--) {
        const FlowSection *section = records_section_at(records, i);
        count = needed_for(section, count);
        if (i && count) count = (count - 1) * section->stride + section->window;
    }
    count = feed_wait(records->feed, count, deadline);
    for (int i = 0; i < records->pipeline->section_count; i++) {
        const FlowSection *section = records_section_at(records, i);
        count = left_of(section, i ? records_windows(section, count) : count);
    }
    return count < end ? count : end;
}

FlowStatus records_ended(const Records *records) {
    FlowStatus status;
    feed_has_ended(records->feed, &status);
    return status;
}

void records_stop(const Records *records) {
    feed_stop(records->feed);
}

void records_forget(const Records *records, int64_t position) {
    for (int i = records_last_section(records); i >= 0; i--) {
        const FlowSection *section = records_section_at(records, i);
        for (int j = section->order_count; j-- > 0;)
            if (section->orders[j].kind == FLOW_ORDER_skip)
                position += (int64_t)section->orders[j].number;
        position *= section->stride;
    }
    feed_forget(records->feed, position);
}
