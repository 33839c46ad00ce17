#include "runtime/pace.h"

#include <stdio.h>

enum { BOUND_PERCENT = 10 /* of the time: less is not worth a word */ };

Pace pace_since(const Pace *now, const Pace *before) {
    return (Pace){.input = now->input - before->input,
                  .step = now->step - before->step,
                  .sink = now->sink - before->sink,
                  .busy = now->busy - before->busy,
                  .batches = now->batches - before->batches};
}

static int percent(int64_t part, const Pace *pace) {
    int64_t all = pace->input + pace->step + pace->sink;
    return all > 0 ? (int)((double)part / (double)all * 100 + 0.5) : 0;
}

/* The step goes before what it waits for a little. */
static bool is_input_bound(const Pace *pace) {
    return percent(pace->input, pace) >= BOUND_PERCENT && pace->input >= pace->sink;
}

void pace_short(const Pace *pace, const char *sink, char *text, size_t size) {
    *text = 0;
    if (pace->input + pace->step + pace->sink <= 0) return;
    if (is_input_bound(pace)) snprintf(text, size, "input-bound %d %%", percent(pace->input, pace));
    else if (sink && pace->sink > pace->step)
        snprintf(text, size, "sink-bound %d %%", percent(pace->sink, pace));
    else snprintf(text, size, "step-bound %d %%", percent(pace->step, pace));
}

/* "14.2 ms", "730 us" */
static void time_text(double nanoseconds, char *text, size_t size) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    for (; nanoseconds >= 999.5 && unit < 3; unit++) nanoseconds /= 1000;
    snprintf(text, size, nanoseconds < 99.95 ? "%.1f %s" : "%.0f %s", nanoseconds, units[unit]);
}

static void input_text(const Bottleneck *bottleneck, char *text, size_t size) {
    char time[32];
    time_text(bottleneck->time, time, sizeof time);
    snprintf(text, size, "%s %s/batch on %s%d thread%s", bottleneck->name, time,
             bottleneck->team ? "the step's " : "", bottleneck->threads,
             bottleneck->threads == 1 ? "" : "s");
}

/* ", step 9.1 ms" for each that took time. */
static size_t part_text(const char *name, int64_t part, const Pace *pace, char *text, size_t size) {
    char time[32];
    if (!name || !part || !pace->batches) return 0;
    time_text((double)part / (double)pace->batches, time, sizeof time);
    return (size_t)snprintf(text, size, ", %s %s", name, time);
}

void pace_text(const Pace *pace, const Bottleneck *bottleneck, const char *sink, char *text,
               size_t size) {
    char bound[64], input[128] = "input", parts[256] = "";
    pace_short(pace, sink, bound, sizeof bound);
    if (!*bound) {
        snprintf(text, size, "nothing was waited for");
        return;
    }
    if (bottleneck->name) input_text(bottleneck, input, sizeof input);
    size_t used = part_text("step", pace->step, pace, parts, sizeof parts);
    part_text(sink, pace->sink, pace, parts + used, sizeof parts - used);
    const char *advice = "";
    if (is_input_bound(pace) && bottleneck->name && bottleneck->waits)
        advice = "; it waits more than it computes: more `@threads(n)` wait together";
    snprintf(text, size, "%s: %s%s%s", bound, input, parts, advice);
}
