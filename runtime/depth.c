#include "runtime/depth.h"

enum {
    LEAST_BATCHES = 32, /* that an uneven stream shows itself in */
    UNEVEN_PERCENT = 5, /* of the time: less is not worth a trial */
    GAIN_PERCENT = 10,  /* of what was waited for: less is chance */
    STEP = 4,           /* times as deep: less may not reach over what takes long */
    CALM_TIMES = 40,
};

/* Nanoseconds. */
static const int64_t window = 250000000, first_pause = 1000000000,
                     longest_pause = INT64_C(120000000000);

static int within(int number, int least, int most) {
    return number < least ? least : number > most ? most : number;
}

Depth depth_new(int least, int most, int tuned, int64_t now) {
    return (Depth){.now = tuned ? within(tuned, least, most) : least,
                   .least = least,
                   .most = most,
                   .tuned = tuned != 0,
                   .start = now,
                   .next_trial = now,
                   .pause = first_pause};
}

void depth_bound(Depth *depth, int least, int most) {
    depth->least = least;
    depth->most = most;
    depth->now = within(depth_best(depth), least, most);
    depth->trying = false;
}

void depth_begin(Depth *depth, int64_t now, const DepthPace *pace) {
    depth->start = now;
    depth->begun = *pace;
    depth->calm = 0;
}

bool depth_waits(const Depth *depth, int64_t now) {
    return depth->least == depth->most || now - depth->start < window;
}

int depth_best(const Depth *depth) {
    return depth->trying ? depth->before : depth->now;
}

static void end_trial(Depth *depth, int64_t now, double waited) {
    bool better = waited < depth->waited * (1 - GAIN_PERCENT / 100.0);
    depth->trying = false;
    depth->tuned |= better;
    if (!better) {
        depth->now = depth->before;
        depth->next_trial = now + depth->pause;
        if (depth->pause < longest_pause) depth->pause *= 2;
    } else depth->pause = first_pause;
}

static void begin_trial(Depth *depth, double waited) {
    depth->before = depth->now;
    depth->now = within(STEP * (depth->now + 1) - 1, depth->least, depth->most);
    depth->waited = waited;
    depth->trying = true;
}

static void become_shallower(Depth *depth, int ready) {
    depth->calm = 2 * ready > depth->now ? depth->calm + 1 : 0;
    if (depth->calm < CALM_TIMES) return;
    depth->now = within(depth->now / 2, depth->least, depth->most);
    depth->calm = 0;
}

int depth_look(Depth *depth, int64_t now, const DepthPace *pace, int workers, int ready) {
    double all = (double)(now - depth->start);
    int64_t batches = pace->batches - depth->begun.batches;
    if (depth_waits(depth, now) || batches < LEAST_BATCHES) return depth->now;
    double waited = (double)(pace->waited - depth->begun.waited) / all;
    double idle = workers ? (double)(pace->idle - depth->begun.idle) / (all * workers) : 0;
    bool uneven = waited * 100 >= UNEVEN_PERCENT && idle * 100 >= UNEVEN_PERCENT;
    int calm = depth->calm;
    depth_begin(depth, now, pace);
    depth->calm = calm;
    if (depth->trying) end_trial(depth, now, waited);
    else if (uneven && depth->now < depth->most && now >= depth->next_trial)
        begin_trial(depth, waited);
    else become_shallower(depth, ready);
    return depth->now;
}
