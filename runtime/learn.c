/* Learn: one pass over the training data that finds the texts of its vocabularies. The pipeline is opened
 * for that alone and makes its records as always, but decodes nothing and takes every text for 0. Where it
 * filters, the records that are left out show their texts, too: the filter will be asked about them again. */
#include "runtime/run.h"

#include "runtime/interrupt.h"
#include "runtime/learner.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Learning {
    Run *run;
    TextLearner **learners; /* one a vocabulary */
    Learner **seeing;       /* of these */
    bool *bound;            /* does a field of the data have it? */
    int count;
} Learning;

static bool allocate(Learning *learning) {
    size_t count = (size_t)learning->count;
    learning->learners = calloc(count, sizeof *learning->learners);
    learning->seeing = calloc(count, sizeof *learning->seeing);
    learning->bound = calloc(count, sizeof *learning->bound);
    bool made = learning->learners && learning->seeing && learning->bound;
    for (int i = 0; i < learning->count && made; i++) {
        learning->learners[i] = learner_new();
        made = learning->learners[i] != NULL;
        if (made) learning->seeing[i] = learner_of(learning->learners[i]);
    }
    return made;
}

static void release(Learning *learning) {
    for (int i = 0; learning->learners && i < learning->count; i++)
        learner_free(learning->learners[i]);
    free(learning->learners);
    free(learning->seeing);
    free(learning->bound);
}

static void fill_next(void *stage, int thread, int threads) {
    stage_fill_next(stage, thread, threads);
}

static FlowStatus take_batch(Learning *learning, Stage *stage) {
    const Batch *batch;
    FlowStatus status = stage_take(stage, &batch);
    if (status.exit) return status;
    if (stage_wants_team(stage)) team_run(&learning->run->team, fill_next, stage);
    stage_release(stage);
    return flow_ok;
}

static FlowStatus go_over_data(Learning *learning, Stage *stage) {
    Run *run = learning->run;
    int64_t batches = stage_batches(stage);
    FlowStatus status = stage_start(stage, NULL, batches, run_workers(run, stage), &run->team);
    for (int64_t i = 0; i < batches && !status.exit && !interrupted(); i++)
        status = take_batch(learning, stage);
    stage_stop(stage);
    if (status.exit || !interrupted()) return status;
    return flow_failure(FLOW_EXIT_interrupted,
                        "interrupted before the first step; nothing to save");
}

static FlowStatus too_many(const FlowVocabulary *vocabulary, int64_t count) {
    long long room = vocabularies_room(vocabulary);
    return flow_failure(FLOW_EXIT_data,
                        "the training data has %lld texts for `%s`, `category` has room for %lld: "
                        "say more, or `unknown = …` for those that are seldom",
                        (long long)count, vocabulary->name, room);
}

static FlowStatus settle(const Learning *learning, int index) {
    const Settings *settings = learning->run->settings;
    const FlowVocabulary *vocabulary = &settings->program->vocabularies[index];
    int64_t count, room = vocabularies_room(vocabulary);
    const char *const *texts = learner_texts(learning->learners[index], room, &count);
    if (!texts)
        return flow_failure(FLOW_EXIT_resource, "`%s`: too many texts to remember",
                            vocabulary->name);
    if (count > room && !vocabulary->unknown) return too_many(vocabulary, count);
    int64_t kept = count < room ? count : room;
    if (!vocabularies_set(settings->vocabularies, index, texts, kept))
        return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", vocabulary->name);
    if (progress_is_off(settings->progress)) return flow_ok;
    fprintf(stderr, "%s: `%s`: %lld text%s", settings->program->name, vocabulary->name,
            (long long)kept, kept == 1 ? "" : "s");
    if (kept < count) fprintf(stderr, ", the most frequent of %lld", (long long)count);
    fputc('\n', stderr);
    return flow_ok;
}

static FlowStatus find_texts(Learning *learning, Stage *stage) {
    bool any = false;
    for (int i = 0; i < learning->count; i++) any |= learning->bound[i];
    if (!any) return flow_ok;
    FlowStatus status = go_over_data(learning, stage);
    for (int i = 0; i < learning->count && !status.exit; i++)
        if (learning->bound[i]) status = settle(learning, i);
    return status;
}

static FlowStatus learn(Learning *learning) {
    Run *run = learning->run;
    const Settings *settings = run->settings;
    Stage *stage;
    vocabularies_learn(settings->vocabularies, learning->seeing, learning->bound);
    FlowStatus status = stage_open(run->train->data, settings_places(settings), settings->sizes,
                                   run->numbers.seed, &stage);
    vocabularies_learn(settings->vocabularies, NULL, NULL);
    if (!status.exit) status = stage_check_counted(stage);
    if (!status.exit) status = find_texts(learning, stage);
    stage_close(stage);
    return status;
}

FlowStatus run_learn(Run *run) {
    Learning learning = {.run = run, .count = vocabularies_count(run->settings->vocabularies)};
    FlowStatus status = allocate(&learning)
                            ? learn(&learning)
                            : flow_failure(FLOW_EXIT_resource, "no memory for the vocabularies");
    release(&learning);
    return status;
}
