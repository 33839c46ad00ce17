/* How many batches may lie ready: in worlds whose times are known, and of a stage at work. */
#include "runtime/depth.h"
#include "tests/runtime/numbers.h"

#include <stdlib.h>

/* Worlds. */

static const int64_t ms = 1000000;

/* What a batch takes in nanoseconds: to be made, by one worker, each `slow`-th so much longer; and
 * in the step. */
typedef struct World {
    double make, step, longer;
    int slow;
} World;

enum { BATCHES = 200000, DEEPEST = 63 };

/* Each batch is begun when the one before is made and the one `depth` + 1 before is used up. */
static Depth settled(const World *world, Depth depth, int64_t *waited) {
    static double used[BATCHES];
    double made = 0, clock = 0;
    DepthPace pace = {0};
    int ready = DEEPEST;
    for (int i = 0; i < BATCHES; i++) {
        int before = i - depth.now - 1;
        double begun = before >= 0 && used[before] > made ? used[before] : made;
        pace.idle += (int64_t)(begun - made);
        made = begun + (i % world->slow ? world->make : world->make * world->longer);
        pace.waited += made > clock ? (int64_t)(made - clock) : 0;
        ready = made > clock ? 0 : ready;
        clock = used[i] = (made > clock ? made : clock) + world->step;
        pace.batches++;
        if (depth_waits(&depth, (int64_t)clock)) continue;
        depth_look(&depth, (int64_t)clock, &pace, 1, ready);
        ready = depth.now;
    }
    *waited = pace.waited;
    return depth;
}

static int best_of(World world, int tuned) {
    int64_t waited;
    Depth depth = settled(&world, depth_new(3, DEEPEST, tuned, 0), &waited);
    return depth_best(&depth);
}

static void worlds(void) {
    World uneven = {.make = 0.7 * 1e6, .step = 1e6, .longer = 10, .slow = 33};
    int64_t fixed, tuned;
    settled(&uneven, depth_new(3, 3, 0, 0), &fixed);
    Depth depth = settled(&uneven, depth_new(3, DEEPEST, 0, 0), &tuned);
    CHECK(depth.now > 6 && depth.tuned, "uneven: %d batches ready", depth.now);
    CHECK(tuned * 4 < fixed, "uneven: %lld ms waited, %lld with a queue of 3",
          (long long)(tuned / ms), (long long)(fixed / ms));
    CHECK(best_of((World){.make = 0.7 * 1e6, .step = 1e6, .longer = 1, .slow = 1}, 0) == 3,
          "even batches need no deeper queue");
    CHECK(best_of((World){.make = 2e6, .step = 1e6, .longer = 10, .slow = 33}, 0) == 3,
          "what is too slow is not made faster by a deeper queue");
    CHECK(best_of((World){.make = 0.7 * 1e6, .step = 1e6, .longer = 1, .slow = 1}, DEEPEST) == 3,
          "a queue that never runs low becomes shallower");
}

/* Stages. */

enum { RECORDS = 20000, BATCH = 4 };

static const FlowSource numbers = NUMBERS(.make = make_number);

/* Between batches the queue becomes deeper and shallower, and workers come and go. */
static void change(Stage *stage, int64_t number) {
    if (number % 50 == 0) stage_set_workers(stage, rand() % 4);
    if (number % 50 && number % 7) return;
    stage_set_queue(stage, rand() % (stage_most_queue(stage, SIZE_MAX) + 1));
    if (!stage_queue(stage)) return;
    CHECK(stage_queue(stage) <= stage_most_queue(stage, SIZE_MAX), "%d batches ready",
          stage_queue(stage));
}

static void take_all(int threads, int queue) {
    FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, BATCH);
    pipeline.queue = queue;
    Team team = {.threads = threads};
    Stage *stage = open_stage(&pipeline);
    int64_t batches = stage_batches(stage);
    stage_allow(stage, 3);
    CHECK(!stage_start(stage, NULL, batches, 2, &team).exit, "not started");
    CHECK(stage_queue(stage) == stage_usual_queue(stage), "%d batches ready", stage_queue(stage));
    for (int64_t i = 0; i < batches; i++) {
        const Batch *batch;
        CHECK(!stage_take(stage, &batch).exit, "batch %lld failed", (long long)i);
        CHECK(*(const int32_t *)batch->arrays[0] == i * BATCH, "other records");
        if (stage_wants_team(stage)) team_run(&team, fill_next, stage);
        stage_release(stage);
        if (!queue) change(stage, i);
    }
    stage_close(stage);
}

int main(void) {
    worlds();
    take_all(1, 0);
    take_all(2, 0);
    take_all(2, 5);
    return test_result();
}
