/* Train: open, initialise or resume, then steps and actions. The position counts the
 * actions done after a step as well, so that a run resumed between two of them does the
 * rest. */
#define _GNU_SOURCE
#include "runtime/train.h"

#include "runtime/checkpoint.h"
#include "runtime/clock.h"
#include "runtime/evaluate.h"
#include "runtime/file.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "runtime/type.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Run {
    const Settings *settings;
    const FlowTrain *train;
    const char *save_path;
    char *default_path; /* of a train block that saves nothing by itself */
    FileLock lock;
    Team team;
    char *memory;
    Call initialise, step;
    Stage *data;
    Evaluation *evaluations; /* one an action; unused ones are zero */
    int64_t *last_times;     /* one an action: when it was done, in nanoseconds */
    int64_t seed, first_step, last_step;
    Identity identity;
    Position position;
    Progress progress;
    bool quiet; /* standard output is gone */
} Run;

/* Numbers of the train block. */

static FlowStatus whole_number(const Run *run, FlowNumber number, const char *what, double least,
                               int64_t *value) {
    double wanted = settings_number(run->settings, number);
    if (wanted == floor(wanted) && wanted >= least && wanted <= 0x1p53) {
        *value = (int64_t)wanted;
        return flow_ok;
    }
    return flow_failure(FLOW_EXIT_usage,
                        "train `%s`: %s is %.10g; it must be a whole number, at least %g",
                        run->train->name, what, wanted, least);
}

static FlowStatus check_action(const Run *run, const FlowAction *action) {
    double every = settings_number(run->settings, action->every);
    int64_t whole;
    if (action->unit != FLOW_UNIT_second)
        return whole_number(run, action->every, "every", 1, &whole);
    return every > 0
               ? flow_ok
               : flow_failure(FLOW_EXIT_usage, "train `%s`: every %.10g seconds is no interval",
                              run->train->name, every);
}

static FlowStatus check_numbers(Run *run) {
    int64_t epochs;
    FlowStatus status = whole_number(run, run->train->epochs, "epochs", 0, &epochs);
    run->seed = run->settings->seed;
    if (!status.exit && !run->settings->has_seed)
        status = whole_number(run, run->train->seed, "seed", -0x1p53, &run->seed);
    for (int i = 0; i < run->train->action_count && !status.exit; i++)
        status = check_action(run, &run->train->actions[i]);
    return status;
}

/* Opening. */

static const char *path_of(const Run *run, const FlowAction *action) {
    return run->settings->save_path ? run->settings->save_path : action->path;
}

/* Where the run is saved when it is interrupted, and resumed from: the first path it saves
 * to. */
static FlowStatus choose_save_path(Run *run) {
    run->save_path = run->settings->save_path;
    for (int i = 0; i < run->train->action_count && !run->save_path; i++)
        if (run->train->actions[i].kind == FLOW_ACTION_save)
            run->save_path = run->train->actions[i].path;
    if (run->save_path) return flow_ok;
    if (asprintf(&run->default_path, "%s.safetensors", run->train->name) < 0)
        return flow_failure(FLOW_EXIT_resource, "no memory");
    run->save_path = run->default_path;
    return flow_ok;
}

static FlowStatus bind(const Run *run, const FlowFunction *function, Call *call) {
    return call_new(function, run->settings->program->options, run->settings->numbers,
                    &run->position.step, &run->seed, call);
}

static FlowStatus start_evaluations(Run *run) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < run->train->action_count && !status.exit; i++) {
        const FlowAction *action = &run->train->actions[i];
        Call call;
        if (action->kind != FLOW_ACTION_evaluate) continue;
        status = bind(run, action->function, &call);
        if (!status.exit)
            status = evaluation_start(&run->evaluations[i], action->pipeline,
                                      run->settings->program->folder, call);
    }
    return status;
}

static FlowStatus evaluation_failure(const Run *run) {
    for (int i = 0; i < run->train->action_count; i++)
        if (evaluation_has_failed(&run->evaluations[i])) return run->evaluations[i].status;
    return flow_ok;
}

static FlowStatus allocate(Run *run) {
    size_t actions = (size_t)run->train->action_count + 1;
    run->evaluations = calloc(actions, sizeof *run->evaluations);
    run->last_times = calloc(actions, sizeof *run->last_times);
    run->memory = memory_zeroed(run->settings->program->memory_size);
    if (run->evaluations && run->last_times && run->memory) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "no memory: the program needs %zu MB beside its data",
                        run->settings->program->memory_size >> 20);
}

static FlowStatus open_data(Run *run) {
    FlowStatus status = stage_open(run->train->data, run->settings->program->folder, &run->data);
    if (!status.exit) status = evaluation_failure(run);
    if (status.exit) return status;
    run->identity =
        (Identity){run->settings, run->seed, stage_records(run->data), stage_batches(run->data)};
    double epochs = settings_number(run->settings, run->train->epochs);
    double last = epochs * (double)run->identity.batches;
    run->last_step = last < 0x1p62 ? (int64_t)last : INT64_C(1) << 62;
    return flow_ok;
}

static FlowStatus open_run(Run *run) {
    FlowStatus status = check_numbers(run);
    if (!status.exit) status = choose_save_path(run);
    if (!status.exit) status = file_lock(run->save_path, &run->lock);
    if (!status.exit) status = bind(run, run->train->initialise, &run->initialise);
    if (!status.exit) status = bind(run, run->train->step, &run->step);
    if (!status.exit) status = allocate(run);
    if (!status.exit) status = start_evaluations(run);
    return status.exit ? status : open_data(run);
}

/* Beginning. */

static FlowStatus initialise(Run *run) {
    run->position = (Position){.action = run->train->action_count};
    step_run_alone(&run->initialise, run->memory, run->train->data->batch, &run->team);
    return flow_ok;
}

static FlowStatus initialise_or_resume(Run *run) {
    const char *path = run->settings->resume_path ? run->settings->resume_path : run->save_path;
    if (!run->settings->resume) return initialise(run);
    bool asked_for = run->settings->resume_path != NULL; /* then it has to be there */
    if (!asked_for && access(path, F_OK) && errno == ENOENT) {
        fprintf(stderr, "%s: %s does not exist yet: starting from the beginning\n",
                run->settings->program->name, path);
        return initialise(run);
    }
    return checkpoint_load(path, &run->identity, &run->position, run->memory);
}

/* Actions. */

static FlowStatus write_failure(Run *run) {
    if (errno != EPIPE)
        return flow_failure(FLOW_EXIT_resource, "standard output: %s", strerror(errno));
    run->quiet = true;
    interrupt_now();
    return flow_ok;
}

static FlowStatus evaluate(Run *run, int index) {
    Evaluation *evaluation = &run->evaluations[index];
    Averages averages = {0};
    char text[512];
    progress_clear(&run->progress);
    FlowStatus status = evaluation_run(evaluation, run->memory, &run->team, &averages);
    if (status.exit || interrupted()) return status;
    averages_text(&averages, evaluation->call.function, text, sizeof text);
    printf("evaluate %s:%s\n", evaluation->pipeline->name, text);
    return fflush(stdout) ? write_failure(run) : flow_ok;
}

static FlowStatus save(const Run *run, const char *path, int actions_done) {
    Position position = run->position;
    position.action = actions_done;
    return checkpoint_save(path, &run->identity, &position, run->memory);
}

static bool is_due(const Run *run, int index) {
    const FlowAction *action = &run->train->actions[index];
    double every = settings_number(run->settings, action->every);
    if (action->unit == FLOW_UNIT_second)
        return (double)(clock_nanoseconds() - run->last_times[index]) >= every * 1e9;
    double unit = action->unit == FLOW_UNIT_epoch ? (double)run->identity.batches : 1;
    return fmod((double)run->position.step, every * unit) == 0;
}

static FlowStatus act(Run *run, int index) {
    const FlowAction *action = &run->train->actions[index];
    return action->kind == FLOW_ACTION_evaluate ? evaluate(run, index)
                                                : save(run, path_of(run, action), index + 1);
}

/* Does the actions that are due and not yet done. One that is interrupted stays to be done.
 */
static FlowStatus run_actions(Run *run) {
    for (; run->position.action < run->train->action_count; run->position.action++) {
        int index = run->position.action;
        if (!is_due(run, index)) continue;
        FlowStatus status = act(run, index);
        if (status.exit) return status;
        bool undone =
            interrupted() && !run->quiet && run->train->actions[index].kind == FLOW_ACTION_evaluate;
        if (undone) break;
        run->last_times[index] = clock_nanoseconds();
    }
    return flow_ok;
}

/* Steps. */

static Standing standing(const Run *run) {
    int64_t done = run->position.step - 1;
    return (Standing){
        .epoch = done / run->identity.batches,
        .batch = done % run->identity.batches + 1,
        .averages = &run->position.averages,
    };
}

static FlowStatus check_loss(const Run *run) {
    const FlowResult *loss = &run->train->step->results[0];
    double value = number_read(loss->type.element, run->memory + loss->offset);
    if (isfinite(value)) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s is %s at step %lld (epoch %lld)", loss->name,
                        isnan(value) ? "nan" : "infinite", (long long)run->position.step,
                        (long long)standing(run).epoch + 1);
}

static void begin_epoch(Run *run) {
    run->position.averages = (Averages){0};
    progress_start_epoch(&run->progress, 0);
}

static FlowStatus update(Run *run) {
    const Batch *batch;
    FlowStatus status = stage_take(run->data, &batch);
    if (status.exit) return status;
    step_run(&run->step, run->memory, batch, run->data, &run->team);
    int64_t records = batch->records;
    stage_release(run->data);
    run->position.step++;
    run->position.action = 0;
    averages_add(&run->position.averages, run->train->step, run->memory, records);
    status = check_loss(run);
    progress_step(&run->progress, records, standing(run));
    return status;
}

static FlowStatus one_step(Run *run) {
    if (run->position.step % run->identity.batches == 0) begin_epoch(run);
    FlowStatus status = update(run);
    if (!status.exit) status = evaluation_failure(run);
    if (status.exit) return status;
    if (run->position.step % run->identity.batches == 0)
        progress_end_epoch(&run->progress, standing(run));
    return run_actions(run);
}

static FlowStatus run_steps(Run *run) {
    FlowStatus status = stage_start(run->data, run->position.step, run->last_step,
                                    run->settings->workers, &run->team);
    if (!status.exit) status = run_actions(run);
    while (!status.exit && run->position.step < run->last_step && !interrupted())
        status = one_step(run);
    return status;
}

/* The end. */

static FlowStatus save_interrupted(Run *run) {
    if (run->position.step == run->first_step)
        return flow_failure(FLOW_EXIT_interrupted,
                            "interrupted before the first step; nothing to save");
    FlowStatus status = save(run, run->save_path, run->position.action);
    if (status.exit) return status;
    return flow_failure(FLOW_EXIT_interrupted,
                        "interrupted after step %lld: saved to %s; --resume goes on",
                        (long long)run->position.step, run->save_path);
}

static bool is_complete(const Run *run) {
    return run->position.step >= run->last_step && run->position.action == run->train->action_count;
}

static FlowStatus train(Run *run) {
    run->first_step = run->position.step;
    int64_t epochs = (int64_t)settings_number(run->settings, run->train->epochs);
    run->progress =
        progress_new(run->settings->progress, run->train, epochs, run->identity.batches);
    progress_start_epoch(&run->progress, run->position.step % run->identity.batches);
    for (int i = 0; i < run->train->action_count; i++) run->last_times[i] = clock_nanoseconds();
    FlowStatus status = run_steps(run);
    if (status.exit) progress_clear(&run->progress);
    else progress_finish(&run->progress, stage_input_time(run->data));
    if (!status.exit && !is_complete(run)) status = save_interrupted(run);
    if (run->quiet) status.text[0] = 0;
    return status;
}

static FlowStatus begin_and_train(Run *run) {
    FlowStatus status = initialise_or_resume(run);
    if (status.exit) return status;
    if (run->settings->resume && is_complete(run)) {
        fprintf(stderr, "%s: training is complete after %lld steps; nothing is left to do\n",
                run->settings->program->name, (long long)run->position.step);
        return flow_ok;
    }
    return train(run);
}

static void close_run(Run *run) {
    for (int i = 0; run->evaluations && i < run->train->action_count; i++)
        evaluation_free(&run->evaluations[i]);
    stage_close(run->data);
    call_free(&run->step);
    call_free(&run->initialise);
    free(run->memory);
    free(run->last_times);
    free(run->evaluations);
    file_unlock(&run->lock);
    free(run->default_path);
}

FlowStatus train_run(const Settings *settings) {
    Run run = {.settings = settings, .train = settings->train, .team.threads = settings->threads};
    FlowStatus status = open_run(&run);
    if (!status.exit) status = begin_and_train(&run);
    close_run(&run);
    return status;
}
