/* Train: open, initialise or resume, then steps and actions. The position counts the
 * actions done after a step as well, so that a run resumed between two of them does the
 * rest.
 *
 * Steps that one GPU computes go ahead: what a step gave is looked at when GPUS_AHEAD more are to
 * be made, or before anything else is done: an action, a line of progress, the end of an epoch. So
 * a number that is none ends the run up to so many steps later, of which nothing is saved; the
 * message has the step where it came about, and where it began is found by repeating that with its
 * batch and numbers, but with the weights as they are then. */
#define _GNU_SOURCE
#include "runtime/train.h"

#include "runtime/budget.h"
#include "runtime/clock.h"
#include "runtime/device/gpus.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/run.h"
#include "runtime/measure.h"
#include "runtime/memory.h"
#include "runtime/timeline.h"
#include "runtime/tuning.h"
#include "runtime/unsaved.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW_VALUES = 1 << 20 /* bytes */ };

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

/* Where an action saves has to have a name. */
static FlowStatus check_path(const Run *run, const FlowAction *action) {
    const Places places = settings_places(run->settings);
    const PathOwner owner = {"train", run->train->name, NULL};
    const char *said;
    return path_to_write(&places, action->path, action->path_option, owner, &said);
}

static FlowStatus check_action(const Run *run, const FlowAction *action) {
    FlowStatus status = check_path(run, action);
    if (status.exit) return status;
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
    int64_t whole;
    FlowStatus status = whole_number(run, run->train->epochs, "epochs", 0, &whole);
    if (!status.exit) status = whole_number(run, run->train->steps, "steps", 0, &whole);
    run->numbers.seed = run->settings->seed;
    if (!status.exit && !run->settings->has_seed)
        status = whole_number(run, run->train->seed, "seed", -0x1p53, &run->numbers.seed);
    for (int i = 0; i < run->train->action_count && !status.exit; i++)
        status = check_action(run, &run->train->actions[i]);
    return status;
}

/* Opening. */

/* The action that saves the whole run each time: what can be resumed from. */
static const FlowAction *first_save(const FlowTrain *train) {
    for (int i = 0; i < train->action_count; i++) {
        const FlowAction *action = &train->actions[i];
        if (action->kind == FLOW_ACTION_save && !action->weights_only && !action->watch.set)
            return action;
    }
    return NULL;
}

/* Where the run is saved when it is interrupted, and resumed from. */
static FlowStatus choose_save_path(Run *run) {
    run->saves = first_save(run->train);
    run->save_path = run->settings->save_path;
    if (!run->save_path && run->saves) run->save_path = run_path(run, run->saves);
    if (run->save_path) return flow_ok;
    if (asprintf(&run->default_path, "%s.safetensors", run->train->name) < 0)
        return flow_failure(FLOW_EXIT_resource, "no memory");
    run->save_path = run->default_path;
    return flow_ok;
}

FlowStatus run_bind(const Run *run, const FlowFunction *function, Call *call) {
    FlowStatus status =
        call_new(function, run->settings->sizes, run->settings->numbers, &run->numbers, call);
    if (!status.exit) status = profile_watch(run->settings->profile, function, &call->observer);
    if (!status.exit && !call->observer) status = timeline_watch(function, &call->observer);
    if (status.exit) call_free(call);
    return status;
}

/* The team makes the batches, unless the program asks for threads. */
static int evaluation_workers(const Run *run, const FlowAction *action) {
    return run->settings->has_workers ? 0 : settings_workers(run->settings, action->pipeline, 0);
}

/* The functions of the actions. */
static FlowStatus start_evaluations(Run *run) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < run->train->action_count && !status.exit; i++) {
        const FlowAction *action = &run->train->actions[i];
        Call call;
        if (!action->function) continue;
        status = run_bind(run, action->function, &call);
        if (!status.exit && action->kind == FLOW_ACTION_print) run->evaluations[i].call = call;
        else if (!status.exit)
            status = evaluation_start(&run->evaluations[i], action->pipeline,
                                      settings_places(run->settings),
                                      evaluation_workers(run, action), run->numbers.seed, call);
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
    size_t size = run->settings->program->memory_size;
    if (holding_take(NULL, HOLDING_program, size)) run->memory = memory_zeroed(size);
    if (run->evaluations && run->last_times && run->memory) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "no memory: the program needs %zu MB beside its data",
                        size >> 20);
}

static bool has_few_values(const Settings *settings) {
    return settings->program->memory_size < FEW_VALUES;
}

/* A small program makes its first steps before the other threads would be there, and does not call
 * them for a single one. So the team is begun as soon as it is known to be wanted: at the start, by
 * the values; once data is open, by the batches as well; or when a second step comes. */
static bool begins_alone(const Run *run) {
    const Settings *settings = run->settings;
    size_t batches = stage_needs(run->data, 0, settings->threads);
    return !settings->has_threads && settings->program->memory_size + batches < FEW_VALUES;
}

static FlowStatus open_data(Run *run) {
    FlowStatus status = stage_open(run->train->data, settings_places(run->settings),
                                   run->settings->sizes, run->numbers.seed, &run->data);
    if (!status.exit) status = stage_check_counted(run->data);
    if (!status.exit) status = evaluation_failure(run);
    if (status.exit) return status;
    run->identity = (Identity){run->settings, run->numbers.seed, stage_records(run->data),
                               stage_batches(run->data)};
    double epochs = settings_number(run->settings, run->train->epochs);
    double steps = settings_number(run->settings, run->train->steps) * (double)run->group;
    double last = epochs * (double)run->identity.batches;
    if (steps < last) last = steps;
    run->last_step = last < 0x1p62 ? (int64_t)last : INT64_C(1) << 62;
    if (!begins_alone(run)) team_begin(run->settings->threads);
    return flow_ok;
}

static const char *resume_path(const Run *run) {
    return run->settings->resume_path ? run->settings->resume_path : run->save_path;
}

/* A resumed run has those that its data had when it began, whatever the data has become. */
static FlowStatus open_vocabularies(Run *run) {
    Vocabularies *vocabularies = run->settings->vocabularies;
    const char *path = resume_path(run);
    bool asked_for = run->settings->resume_path != NULL;
    bool resumes = run->settings->resume && (asked_for || !access(path, F_OK));
    Safetensors *file = NULL;
    if (!vocabularies) return flow_ok;
    if (!resumes) return run_learn(run);
    FlowStatus status = safetensors_open(path, &file);
    if (!status.exit) status = vocabularies_read(vocabularies, file, path);
    safetensors_close(file);
    return status;
}

static FlowStatus open_run(Run *run) {
    FlowStatus status = check_numbers(run);
    if (!status.exit) status = choose_save_path(run);
    if (!status.exit) status = file_lock(run->save_path, &run->lock);
    if (!status.exit) status = run_bind(run, run->train->initialise, &run->initialise);
    if (!status.exit) status = run_bind(run, run->train->step, &run->step);
    if (!status.exit && run->train->accumulate)
        status = run_bind(run, run->train->accumulate, &run->accumulate);
    if (!status.exit) status = allocate(run);
    if (!status.exit) measure_open(&run->step, run->train->data->batch);
    if (!status.exit)
        status =
            gpus_open(run->settings->program, run->memory, run->settings->program->memory_size);
    if (!status.exit) status = open_vocabularies(run);
    if (!status.exit) status = start_evaluations(run);
    return status.exit ? status : open_data(run);
}

/* Beginning. */

/* Few values are made before the other threads would be there. */
static void make_first_values(Run *run) {
    Team alone = {.threads = 1};
    step_run_alone(&run->initialise, run->memory, run->train->data->batch,
                   has_few_values(run->settings) ? &alone : &run->team);
}

static FlowStatus initialise(Run *run) {
    run->position = (Position){.action = run->train->action_count, .plateau = 1};
    run->numbers.plateau = 1;
    make_first_values(run);
    FlowStatus status = gpus_status();
    return status.exit ? status : run_fits(run);
}

static FlowStatus initialise_or_resume(Run *run) {
    const char *path = resume_path(run);
    if (!run->settings->resume) return initialise(run);
    bool asked_for = run->settings->resume_path != NULL; /* then it has to be there */
    if (!asked_for && access(path, F_OK) && errno == ENOENT) {
        fprintf(stderr, "%s: %s does not exist yet: starting from the beginning\n",
                run->settings->program->name, path);
        return initialise(run);
    }
    FlowStatus status = checkpoint_load(path, &run->identity, &run->position, run->memory);
    gpus_leave();
    run->numbers.plateau = run->position.plateau;
    return status;
}

/* Steps. A status is half a kilobyte: in what each step goes through it is not assigned, which
 * would copy it, but each has a name of its own. */

/* Batches that the team makes belong to the input. */
Pace run_pace(const Run *run) {
    int64_t input = stage_input_time(run->data), made = stage_team_time(run->data);
    Pace pace = {.input = input,
                 .step = run->step_time - made,
                 .busy = stage_busy_time(run->data),
                 .batches = run->position.step - run->first_step};
    return pace_since(&pace, &run->begun);
}

static Standing standing(const Run *run) {
    int64_t done = run->position.step - 1;
    return (Standing){
        .pace = run_pace(run),
        .epoch = done / run->identity.batches,
        .batch = done % run->identity.batches + 1,
        .averages = &run->position.averages,
    };
}

static void begin_epoch(Run *run) {
    run->position.averages = (Averages){0};
    begin_pass(run, run->train->step);
    progress_start_epoch(&run->progress, 0);
}

/* Neighbouring batches and neighbouring seeds are far apart. */
static int64_t draw_of(const Run *run) {
    uint64_t batch = (uint64_t)run->position.step + 1;
    return (int64_t)((uint64_t)run->numbers.seed + batch * UINT64_C(0x9e3779b97f4a7c15));
}

int64_t updates_made(const Run *run) {
    return run->position.step / run->group;
}

void count_updates(Run *run) {
    run->numbers.draw = draw_of(run);
    run->numbers.step = updates_made(run);
    run->numbers.epoch = (double)run->position.step / (double)run->identity.batches;
}

static void note_taken(const Run *run, int64_t entered, int64_t begun) {
    timeline_end(begun, "takes a batch", NULL);
    profile_leave(run->settings->profile, entered, profile_batches_awaited);
}

static void note_step(const Run *run, const Call *call, int64_t begun) {
    char name[160];
    if (!timeline_is_on()) return;
    snprintf(name, sizeof name, "%s: step %lld", call->function->name,
             (long long)run->position.step + 1);
    timeline_end(begun, name, NULL);
}

static void run_call(Run *run, Call *call, const Batch *batch) {
    Profile *profile = run->settings->profile;
    int64_t entered = profile_enter(profile), made = stage_team_time(run->data);
    int64_t before = clock_nanoseconds();
    measure_begin(call, batch->records, run->team.alone ? 1 : run->team.threads);
    step_run(call, run->memory, batch, run->data, &run->team);
    measure_end(call);
    note_step(run, call, before);
    run->step_end = clock_nanoseconds();
    run->step_time += run->step_end - before;
    profile_spend(profile, stage_team_time(run->data) - made, profile_batches_made);
    profile_leave(profile, entered, profile_threads_meet);
}

static void note_made(Run *run, Call *call, const Batch *batch) {
    run->made[run->made_count++ % GPUS_AHEAD] =
        (Made){call, run->position.step + 1, batch->records, run->numbers, batch->sizes};
    run->position.step++;
    run->position.action = 0;
}

/* Until the batch may be given back. */
static FlowStatus finish_batch(Run *run, const Batch *batch) {
    if (!gpus_calls_ahead()) return look_at_step(run, batch);
    const int64_t before = clock_nanoseconds();
    gpus_wait_for_inputs();
    run->step_time += clock_nanoseconds() - before;
    return gpus_status();
}

static FlowStatus make_step(Run *run, Call *call, const Batch *batch) {
    call->ahead = call->function->ahead && (!call->observer || call->observer->goes_on);
    const FlowStatus looked = look_at_steps(run, call->ahead ? GPUS_AHEAD - 1 : 0);
    if (looked.exit) return looked;
    count_updates(run);
    run_call(run, call, batch);
    note_made(run, call, batch);
    return finish_batch(run, batch);
}

static FlowStatus tell_progress(Run *run, int64_t records) {
    if (!progress_is_due(&run->progress, records, run->step_end)) return flow_ok;
    FlowStatus status = look_at_steps(run, 0);
    if (!status.exit) progress_tell(&run->progress, standing(run), run->step_end);
    return status;
}

static FlowStatus update(Run *run) {
    const Batch *batch;
    const int64_t entered = profile_enter(run->settings->profile), begun = timeline_begin();
    const FlowStatus taken = stage_take(run->data, &batch);
    note_taken(run, entered, begun);
    if (taken.exit) return taken;
    bool last = (run->position.step + 1) % run->group == 0;
    int64_t records = batch->records;
    const FlowStatus made = make_step(run, last ? &run->step : &run->accumulate, batch);
    stage_release(run->data);
    if (made.exit) return made;
    return tell_progress(run, records);
}

static bool is_over(const Run *run) {
    return run->position.stopped || run->position.step >= run->last_step;
}

static FlowStatus one_step(Run *run) {
    if (run->position.step % run->identity.batches == 0) begin_epoch(run);
    const FlowStatus updated = update(run);
    if (updated.exit) return updated;
    const FlowStatus evaluated = evaluation_failure(run);
    if (evaluated.exit) return evaluated;
    if (run->position.step % run->identity.batches && !is_over(run)) return flow_ok;
    const FlowStatus looked = look_at_steps(run, 0);
    if (looked.exit) return looked;
    progress_end_epoch(&run->progress, standing(run));
    return flow_ok;
}

static bool goes_on(const Run *run) {
    return !is_over(run) && !interrupted();
}

/* Have the others come, who are called where there are more steps? */
static bool others_come(const Run *run) {
    team_begin(run->team.threads);
    return team_is_ready();
}

typedef struct Stretch {
    Run *run;
    FlowStatus status;
} Stretch;

static void make_steps(void *argument) {
    Stretch *stretch = argument;
    Run *run = stretch->run;
    const int threads = run->team.threads;
    while (run->team.threads == threads) {
        const FlowStatus made = one_step(run);
        if (made.exit) stretch->status = made;
        if (made.exit || !goes_on(run)) return;
        const bool come = run->team.alone && others_come(run);
        if (come || actions_are_due(run)) return;
        tuning_look(run, run->step_end);
    }
}

/* Steps up to one after which there is something else to do. The team's threads stay meanwhile. */
static FlowStatus run_stretch(Run *run) {
    Stretch stretch = {.run = run};
    run->team.alone = begins_alone(run) && !team_is_ready();
    team_stay(&run->team, make_steps, &stretch);
    run->team.alone = false;
    return stretch.status.exit ? stretch.status : look_at_steps(run, 0);
}

/* What they will need is asked for before the first step, where it is watched. */
static FlowStatus prepare_evaluations(Run *run) {
    FlowStatus status = flow_ok;
    if (!budget_is_watched(run->settings)) return status;
    for (int i = 0; i < run->train->action_count && !status.exit; i++)
        status = evaluation_prepare(&run->evaluations[i], &run->team);
    return status;
}

int run_workers(const Run *run, const Stage *stage) {
    return budget_workers(run->settings, stage, run->train->data);
}

static FlowStatus run_steps(Run *run) {
    int64_t entered = profile_enter(run->settings->profile);
    FlowStatus status = prepare_evaluations(run);
    run->begun = run_pace(run);
    if (!status.exit) status = tuning_start(run);
    profile_leave(run->settings->profile, entered, profile_opening);
    if (!status.exit) budget_print(run->settings);
    if (!status.exit) status = run_actions(run);
    while (!status.exit && goes_on(run)) {
        status = run_stretch(run);
        if (!status.exit) status = run_actions(run);
        if (!status.exit && !is_over(run)) tuning_look(run, clock_nanoseconds());
    }
    return status;
}

/* The end. */

FlowStatus run_without_steps(void) {
    return flow_failure(FLOW_EXIT_interrupted,
                        "interrupted before the first step; nothing to save");
}

static FlowStatus save_interrupted(Run *run) {
    if (run->position.step == run->first_step) return run_without_steps();
    FlowStatus status = run_save(run, run->save_path, run->position.action);
    if (status.exit) return status;
    return flow_failure(FLOW_EXIT_interrupted,
                        "interrupted after step %lld: saved to %s; --resume goes on",
                        (long long)updates_made(run), run->save_path);
}

static bool is_complete(const Run *run) {
    return is_over(run) && run->position.action == run->train->action_count;
}

/* Counts epochs, or steps where they end within the first one. */
static Progress start_progress(const Run *run) {
    int64_t batches = run->identity.batches, last = run->last_step;
    int64_t epochs = last / batches + (last % batches != 0);
    return progress_new(run->settings->progress, run->train, epochs,
                        last > 0 && last < batches ? last : batches);
}

static void tell_pace(Run *run) {
    Pace pace = run_pace(run);
    Bottleneck bottleneck = stage_bottleneck(run->data);
    progress_finish(&run->progress, &pace, &bottleneck, tuning_text(run).text);
}

static FlowStatus train(Run *run) {
    run->first_step = run->learnt = run->position.step;
    run->progress = start_progress(run);
    progress_start_epoch(&run->progress, run->position.step % run->identity.batches);
    run->began = clock_nanoseconds();
    for (int i = 0; i < run->train->action_count; i++) run->last_times[i] = run->began;
    FlowStatus status = run_steps(run);
    if (status.exit) progress_clear();
    else tell_pace(run);
    if (!status.exit && is_complete(run)) unsaved_tell(run);
    else if (!status.exit) status = save_interrupted(run);
    if (gpus_status().exit) unsaved_tell_lost(run);
    if (run->quiet) status.text[0] = 0;
    return status;
}

/* What has its first values and nothing else, where the program saves. */
static FlowStatus save_untrained(const Run *run) {
    fprintf(stderr, "%s: 0 steps: nothing is trained\n", run->settings->program->name);
    if (!run->saves && !run->settings->save_path) return flow_ok;
    return run_save(run, run->save_path, run->train->action_count);
}

static FlowStatus begin_and_train(Run *run) {
    FlowStatus status = initialise_or_resume(run);
    if (status.exit) return status;
    if (run->settings->resume && is_complete(run)) {
        fprintf(stderr, "%s: training is complete after %lld steps; nothing is left to do\n",
                run->settings->program->name, (long long)updates_made(run));
        return flow_ok;
    }
    return run->last_step ? train(run) : save_untrained(run);
}

static void close_run(Run *run) {
    for (int i = 0; run->evaluations && i < run->train->action_count; i++)
        evaluation_free(&run->evaluations[i]);
    stage_close(run->data);
    call_free(&run->step);
    call_free(&run->accumulate);
    call_free(&run->initialise);
    measure_close();
    gpus_close();
    free(run->memory);
    free(run->last_times);
    free(run->evaluations);
    file_unlock(&run->lock);
    free(run->default_path);
}

FlowStatus train_run(const Settings *settings) {
    Run run = {.settings = settings, .train = settings->train, .team.threads = settings->threads};
    run.group = run.train->accumulate ? run.train->accumulate_count : 1;
    if (settings->has_threads || !has_few_values(settings)) team_begin(settings->threads);
    budget_begin(settings);
    int64_t entered = profile_enter(settings->profile);
    FlowStatus status = open_run(&run);
    profile_leave(settings->profile, entered, profile_opening);
    if (!status.exit) status = begin_and_train(&run);
    entered = profile_enter(settings->profile);
    close_run(&run);
    team_end();
    profile_leave(settings->profile, entered, profile_closing);
    return status;
}
