#include "runtime/tuning.h"

#include "runtime/budget.h"
#include "runtime/clock.h"
#include "runtime/holdings.h"

#include <stdio.h>

/* Where memory is watched, what is held stays as it begins. */
static bool may_share(const Run *run) {
    return settings_leave_split(run->settings, run->train->data) &&
           !budget_is_watched(run->settings);
}

/* What was tuned before is begun with, unless the machine is another. */
static Split first_split(const Run *run) {
    Split tuned = run->position.split, most = {run->settings->threads, run->settings->threads};
    bool fits = tuned.threads && tuned.threads <= most.threads && tuned.workers <= most.workers;
    return may_share(run) && fits ? tuned : (Split){run_workers(run, run->data), most.threads};
}

/* For a deeper queue: under a limit half of what it leaves when all has begun, since a record may
 * come that is larger than those before. */
static size_t room_of(const Run *run) {
    bool fixed = !settings_tune() || run->settings->shows_memory;
    return fixed ? 0 : holdings_room() / 2;
}

static void bound_depth(Run *run) {
    int usual = stage_usual_queue(run->data);
    depth_bound(&run->depth, usual, stage_most_queue(run->data, run->depth_room));
}

static void begin_depth(Run *run) {
    int64_t now = clock_nanoseconds();
    DepthPace pace = stage_depth_pace(run->data);
    depth_begin(&run->depth, now, &pace);
    stage_least_ready(run->data);
}

static void start_depth(Run *run) {
    run->depth_room = room_of(run);
    int least = stage_usual_queue(run->data);
    int most = stage_most_queue(run->data, run->depth_room);
    run->depth = depth_new(least, most, run->position.depth, clock_nanoseconds());
    begin_depth(run);
    if (run->depth.now > least) stage_set_queue(run->data, run->depth.now);
}

FlowStatus tuning_start(Run *run) {
    int threads = run->settings->threads, workers = may_share(run) ? threads : 0;
    Split split = first_split(run);
    run->tuner = tuner_new(split, threads, workers, clock_nanoseconds());
    run->tuner.tuned = !run->tuner.fixed && run->position.split.threads;
    run->team.threads = split.threads;
    stage_allow(run->data, run->tuner.most_workers);
    FlowStatus status =
        stage_start(run->data, &run->position.done, run->last_step, split.workers, &run->team);
    if (!status.exit) start_depth(run);
    return status;
}

/* One thing is tried at a time. */

static void look_at_split(Run *run, int64_t now) {
    if (tuner_waits(&run->tuner, now)) return;
    Pace pace = run_pace(run);
    Split before = run->tuner.now;
    Split split = tuner_look(&run->tuner, now, &pace, stage_bottleneck(run->data).waits);
    if (split.workers == before.workers && split.threads == before.threads) return;
    run->team.threads = split.threads;
    run->tuner.now.workers = stage_set_workers(run->data, split.workers);
    bound_depth(run);
    stage_set_queue(run->data, run->depth.now);
    begin_depth(run);
}

static void look_at_depth(Run *run, int64_t now) {
    if (depth_waits(&run->depth, now)) return;
    DepthPace pace = stage_depth_pace(run->data);
    int before = run->depth.now, workers = run->tuner.now.workers;
    int depth = depth_look(&run->depth, now, &pace, workers, stage_least_ready(run->data));
    if (depth != before) stage_set_queue(run->data, depth);
}

void tuning_look(Run *run, int64_t now) {
    if (!run->depth.trying) look_at_split(run, now);
    if (!run->tuner.trying) look_at_depth(run, now);
}

void tuning_keep(const Run *run, Position *position) {
    if (run->tuner.tuned) position->split = tuner_best(&run->tuner);
    if (run->depth.tuned) position->depth = depth_best(&run->depth);
}

TuningText tuning_text(const Run *run) {
    TuningText text;
    int ready = run->depth.trying ? run->depth.before : stage_queue(run->data);
    size_t used = (size_t)snprintf(text.text, sizeof text.text, "%s",
                                   split_text(tuner_best(&run->tuner)).text);
    if (ready)
        snprintf(text.text + used, sizeof text.text - used, ", up to %d batch%s ready", ready,
                 ready == 1 ? "" : "es");
    return text;
}
