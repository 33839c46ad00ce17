/* Learn: one pass over the training data that finds the texts of its vocabularies. The pipeline is
 * opened for that alone. What it asks of its records meanwhile, to filter them, sees every text as
 * 0; then those that are left are read, and texts counted: once in each record of a source, however
 * often training takes it. */
#include "runtime/run.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/learner.h"
#include "runtime/records_learn.h"
#include "runtime/watchdog.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Learning {
    Run *run;
    Learner **learners; /* one a vocabulary; NULL: no field of the data has it */
    TextSeer **seers;   /* theirs */
    int count;
} Learning;

/* Which vocabularies there are in the data. */

static bool has_vocabulary(const FlowPipeline *pipeline, int index) {
    const FlowSection *first = &pipeline->sections[0];
    const FlowJoin *join = pipeline->join;
    bool has = false;
    for (int i = 0; join && i < join->input_count; i++)
        has |= has_vocabulary(join->inputs[i], index);
    for (int i = 0; i < first->field_count; i++) has |= first->fields[i].vocabulary == index + 1;
    return has;
}

static bool has_any(const FlowPipeline *pipeline, int count) {
    bool any = false;
    for (int i = 0; i < count; i++) any |= has_vocabulary(pipeline, i);
    return any;
}

static bool allocate(Learning *learning) {
    size_t count = (size_t)learning->count;
    learning->learners = calloc(count, sizeof *learning->learners);
    learning->seers = calloc(count, sizeof *learning->seers);
    bool made = learning->learners && learning->seers;
    for (int i = 0; i < learning->count && made; i++) {
        if (!has_vocabulary(learning->run->train->data, i)) continue;
        learning->learners[i] = learner_new();
        made = learning->learners[i] != NULL;
        if (made) learning->seers[i] = learner_seer(learning->learners[i]);
    }
    return made;
}

static void release(Learning *learning) {
    for (int i = 0; learning->learners && i < learning->count; i++)
        learner_free(learning->learners[i]);
    free(learning->learners);
    free(learning->seers);
}

/* What was found. */

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

static FlowStatus settle_all(const Learning *learning) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < learning->count && !status.exit; i++)
        if (learning->learners[i]) status = settle(learning, i);
    return status.exit ? status : checkpoint_check_vocabularies(learning->run->settings);
}

/* Finding it. */

static FlowStatus go_over(Learning *learning, const Records *records) {
    Run *run = learning->run;
    for (int i = 0; i < learning->count; i++)
        if (learning->learners[i]) learner_number(learning->learners[i]);
    vocabularies_skim(run->settings->vocabularies, true);
    FlowStatus status =
        records_learn(records, run->train->data->on_error == FLOW_ON_ERROR_stop, &run->team);
    vocabularies_skim(run->settings->vocabularies, false);
    return status.exit || !interrupted() ? status : run_without_steps();
}

/* What can't be read is told when training meets it. */
static FlowStatus open_records(const Learning *learning, Holding *holding, Rejects **rejects,
                               Records **records) {
    const Run *run = learning->run;
    const FlowPipeline *data = run->train->data;
    Holding *before = holding_enter(holding);
    Beat beat = {.name = data->name};
    beat_add(&beat);
    beat_begin(&beat, "opens its files");
    FlowStatus status = flow_ok;
    if (data->on_error != FLOW_ON_ERROR_stop) status = rejects_new(NULL, NULL, rejects);
    if (!status.exit)
        status = records_open(data, settings_places(run->settings), run->settings->sizes,
                              run->numbers.seed, *rejects, records);
    beat_end(&beat);
    beat_remove(&beat);
    holding_enter(before);
    return status;
}

/* Of a feed nothing is learned; who opens it says what is wrong. */
static FlowStatus find_texts(Learning *learning) {
    const FlowPipeline *data = learning->run->train->data;
    Holding holding;
    Rejects *rejects = NULL;
    Records *records = NULL;
    holding_open(&holding, data->name, data->line);
    FlowStatus status = open_records(learning, &holding, &rejects, &records);
    if (!status.exit && records_count(records) >= 0) status = go_over(learning, records);
    records_close(records);
    rejects_free(rejects);
    holding_close(&holding);
    return status;
}

static FlowStatus learn(Learning *learning) {
    Vocabularies *vocabularies = learning->run->settings->vocabularies;
    vocabularies_learn(vocabularies, learning->seers);
    FlowStatus status = find_texts(learning);
    vocabularies_learn(vocabularies, NULL);
    return status.exit ? status : settle_all(learning);
}

FlowStatus run_learn(Run *run) {
    Learning learning = {.run = run, .count = vocabularies_count(run->settings->vocabularies)};
    if (!has_any(run->train->data, learning.count)) return flow_ok;
    FlowStatus status = allocate(&learning)
                            ? learn(&learning)
                            : flow_failure(FLOW_EXIT_resource, "no memory for the vocabularies");
    release(&learning);
    return status;
}
