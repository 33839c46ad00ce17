/* The split of the processors, in a world whose times are known. */
#include "runtime/tune.h"
#include "tests/runtime/test.h"

static const int64_t ms = 1000000;

/* What a batch takes in nanoseconds; with workers, the longer of the two. */
typedef struct World {
    double make, step,
        serial;  /* serial: the part of the step that more threads don't make shorter */
    bool sleeps; /* to make one takes time, no processor */
} World;

/* One batch later. */
static int64_t advance(const World *world, Split split, Pace *pace) {
    double step = world->serial + world->step / split.threads;
    double make = split.workers ? world->make / split.workers : world->make / split.threads;
    double input = split.workers ? (make > step ? make - step : 0) : make;
    pace->step += (int64_t)step;
    pace->input += (int64_t)input;
    pace->busy += split.workers ? 0 : (int64_t)world->make;
    pace->batches++;
    return (int64_t)(step + input);
}

static Split settled(const World *world, Tuner *tuner, double seconds) {
    Pace pace = {0};
    int64_t now = 0, end = (int64_t)(seconds * 1e9);
    while (now < end) {
        now += advance(world, tuner->now, &pace);
        tuner_look(tuner, now, &pace, world->sleeps);
    }
    return tuner_best(tuner);
}

static void expect(const char *what, World world, int threads, int workers, int team) {
    Tuner tuner = tuner_new((Split){0, threads}, threads, threads, 0);
    Split split = settled(&world, &tuner, 100);
    CHECK(split.workers == workers && split.threads == team, "%s: %s, not %d and %d", what,
          split_text(split).text, workers, team);
}

static int changes_of(World world) {
    Tuner tuner = tuner_new((Split){0, 2}, 2, 2, 0);
    Pace pace = {0};
    int changes = 0;
    for (int64_t now = 0; now < 100000 * ms;) {
        Split before = tuner.now;
        now += advance(&world, before, &pace);
        changes += tuner_look(&tuner, now, &pace, false).workers != before.workers;
    }
    return changes;
}

/* Trials become rare when they gain nothing; where nothing can be gained there is none. */
static void gives_up(void) {
    int changes = changes_of((World){.make = 4 * ms, .step = 4 * ms});
    CHECK(changes > 0 && changes <= 16, "%d changes", changes);
    changes = changes_of((World){.make = 9 * ms, .step = 0.1 * 1e6});
    CHECK(!changes, "%d changes where all threads make batches all the time", changes);
}

/* Nanoseconds of a second with another split than one that is the best. */
static int64_t tried_of(World world) {
    Tuner tuner = tuner_new((Split){0, 2}, 2, 2, 0);
    Pace pace = {0};
    int64_t tried = 0;
    for (int64_t now = 0, time; now < 1000 * ms; now += time) {
        time = advance(&world, tuner.now, &pace);
        if (tuner.now.workers) tried += time;
        tuner_look(&tuner, now + time, &pace, false);
    }
    return tried;
}

/* What many batches soon show to be much slower is given up soon. */
static void gives_up_soon(void) {
    int64_t clear = tried_of((World){.make = 1600, .step = 8000});
    int64_t close = tried_of((World){.make = 1600, .step = 2000, .serial = 4000});
    CHECK(clear > 0 && clear < 40 * ms, "%g ms at three fifths of the speed", (double)clear / ms);
    CHECK(close > 60 * ms, "%g ms where little is to be seen", (double)close / ms);
}

static void text_of_split(void) {
    Split split;
    CHECK(split_parse(split_text((Split){1, 15}).text, &split) && split.workers == 1 &&
              split.threads == 15,
          "not read back");
    CHECK(!split_parse("", &split) && !split_parse("1 worker", &split) &&
              !split_parse("1 worker and 0 threads", &split) &&
              !split_parse("-1 workers and 2 threads", &split),
          "damaged text is read");
}

int main(void) {
    expect("nothing to gain", (World){.make = 0.1 * 1e6, .step = 8e6}, 2, 0, 2);
    expect("a step that does not scale", (World){.make = 4e6, .serial = 4e6}, 2, 1, 1);
    expect("both scale", (World){.make = 4e6, .step = 4e6}, 2, 0, 2);
    expect("a slow disk", (World){.make = 8e6, .step = 4e6, .sleeps = true}, 4, 4, 4);
    Tuner fixed = tuner_new((Split){0, 2}, 2, 0, 0);
    Split split = settled(&(World){.make = 8e6, .serial = 4e6}, &fixed, 10);
    CHECK(split.workers == 0 && split.threads == 2, "a fixed split is tuned");
    gives_up();
    gives_up_soon();
    text_of_split();
    return test_result();
}
