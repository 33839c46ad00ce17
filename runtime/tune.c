/* Tune: a neighbour of the split is tried for a moment when batches are waited for, and kept when
 * it is faster by more than chance makes. What gains nothing is tried again ever more rarely. */
#include "runtime/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_BATCHES = 8,  /* that a rate is measured from */
    MANY_BATCHES = 512, /* then a shorter time will do */
    GAIN_PERCENT = 5,   /* less is chance */
    CLEAR_PERCENT = 30, /* is no chance in a shorter time either */
    INPUT_PERCENT = 10, /* of the time: less is not worth a trial */
};

/* Nanoseconds. */
static const int64_t warm_up = 20000000, window = 250000000, short_window = 50000000,
                     glance = 10000000, first_pause = 1000000000,
                     longest_pause = INT64_C(120000000000);

SplitText split_text(Split split) {
    SplitText text;
    snprintf(text.text, sizeof text.text, "%d worker%s and %d thread%s", split.workers,
             split.workers == 1 ? "" : "s", split.threads, split.threads == 1 ? "" : "s");
    return text;
}

bool split_parse(const char *text, Split *split) {
    enum { MOST = 1 << 16 };
    char *end;
    split->workers = (int)strtol(text, &end, 10);
    const char *threads = strstr(end, " and ");
    split->threads = threads ? (int)strtol(threads + strlen(" and "), NULL, 10) : 0;
    return end > text && split->workers >= 0 && split->threads > 0 && split->workers < MOST &&
           split->threads < MOST;
}

Tuner tuner_new(Split split, int threads, int workers, int64_t now) {
    return (Tuner){.fixed = !workers,
                   .now = split,
                   .threads = threads,
                   .most_workers = workers,
                   .start = now,
                   .next_trial = now,
                   .pause = first_pause};
}

static int within(int number, int least, int most) {
    return number < least ? least : number > most ? most : number;
}

static double input_percent(const Pace *pace) {
    double all = (double)(pace->input + pace->step);
    return all > 0 ? 100 * (double)pace->input / all : 0;
}

/* Of the time of all threads, what could be gained at best where they make batches themselves. */
static double idle_percent(const Tuner *tuner, const Pace *pace) {
    double all = (double)(pace->input + pace->step) * tuner->now.threads;
    return all > 0 ? 100 - 100 * (double)pace->busy / all : 0;
}

/* Workers that sleep take nothing from the team. */
static Split with_sleepers(const Tuner *tuner) {
    int workers = within(2 * tuner->now.workers, tuner->threads, tuner->most_workers);
    return (Split){workers, tuner->threads};
}

/* A larger part of the processors for who is waited for, as large as its part of the time; a
 * smaller one when nobody is. */
static Split neighbour(const Tuner *tuner, const Pace *pace, bool sleeps) {
    int workers = tuner->now.workers, change = (workers + 1) / 2;
    double input = input_percent(pace);
    bool waited = input >= INPUT_PERCENT;
    if (waited && sleeps) return with_sleepers(tuner);
    int part = (int)(tuner->threads * input / 100);
    workers = !waited ? workers - change : part > workers ? part : workers + 1;
    workers = within(workers, 0, tuner->threads - 1);
    return (Split){workers, tuner->threads - workers};
}

static bool equal(Split a, Split b) {
    return a.workers == b.workers && a.threads == b.threads;
}

/* Measuring begins anew. */
static void begin(Tuner *tuner, int64_t now, const Pace *pace, bool warm) {
    tuner->warm = warm;
    tuner->start = now;
    tuner->begun = *pace;
}

static void wait_longer(Tuner *tuner, int64_t now) {
    tuner->next_trial = now + tuner->pause;
    if (tuner->pause < longest_pause) tuner->pause *= 2;
}

static void end_trial(Tuner *tuner, int64_t now, double rate) {
    bool better = rate > tuner->rate * (1 + GAIN_PERCENT / 100.0);
    tuner->trying = false;
    if (better) tuner->pause = first_pause;
    tuner->tuned |= better;
    if (!better) tuner->now = tuner->before;
    if (better) tuner->next_trial = now;
    else wait_longer(tuner, now);
}

static void begin_trial(Tuner *tuner, int64_t now, const Pace *since, double rate, bool sleeps) {
    Split split = neighbour(tuner, since, sleeps);
    bool alone = !tuner->now.workers && !sleeps;
    if (now < tuner->next_trial || equal(split, tuner->now)) return;
    if (alone && idle_percent(tuner, since) < GAIN_PERCENT) return;
    tuner->before = tuner->now;
    tuner->now = split;
    tuner->rate = rate;
    tuner->trying = true;
}

bool tuner_waits(const Tuner *tuner, int64_t now) {
    const int64_t least = !tuner->warm ? warm_up : tuner->trying ? glance : short_window;
    return tuner->fixed || now - tuner->start < least;
}

/* Is the trial so much slower or faster that it need not last? */
static bool is_clear(const Tuner *tuner, double rate) {
    const double change = tuner->rate * CLEAR_PERCENT / 100.0;
    return rate < tuner->rate - change || rate > tuner->rate + change;
}

static bool has_measured(const Tuner *tuner, int64_t time, int64_t batches, double rate) {
    if (!tuner->warm) return batches > 0;
    if (time < short_window && !is_clear(tuner, rate)) return false;
    return batches >= (time < window ? MANY_BATCHES : LEAST_BATCHES);
}

Split tuner_look(Tuner *tuner, int64_t now, const Pace *pace, bool sleeps) {
    Pace since = pace_since(pace, &tuner->begun);
    double rate = (double)since.batches / (double)(since.input + since.step + 1) * 1e9;
    if (tuner_waits(tuner, now) || !has_measured(tuner, now - tuner->start, since.batches, rate))
        return tuner->now;
    Split before = tuner->now;
    if (tuner->warm && tuner->trying) end_trial(tuner, now, rate);
    else if (tuner->warm) begin_trial(tuner, now, &since, rate, sleeps);
    begin(tuner, now, pace, equal(before, tuner->now));
    return tuner->now;
}

Split tuner_best(const Tuner *tuner) {
    return tuner->trying ? tuner->before : tuner->now;
}
