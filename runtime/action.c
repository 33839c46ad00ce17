/* Action: what a train block does between steps. */
#define _GNU_SOURCE
#include "runtime/clock.h"
#include "runtime/device/gpus.h"
#include "runtime/interrupt.h"
#include "runtime/timeline.h"
#include "runtime/tuning.h"
#include "runtime/type.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static FlowStatus write_failure(Run *run) {
    if (errno != EPIPE)
        return flow_failure(FLOW_EXIT_resource, "standard output: %s", strerror(errno));
    run->quiet = true;
    interrupt_now();
    return flow_ok;
}

void begin_pass(const Run *run, const FlowFunction *function) {
    const FlowProgram *program = run->settings->program;
    for (int i = 0; i < program->storage_count; i++) {
        const FlowStorage *storage = &program->storage[i];
        size_t size = flow_type_size(&storage->type);
        if (!storage->pass || strcmp(storage->pass, function->name)) continue;
        memset(run->memory + storage->offset, 0, size);
        gpus_leave_part(storage->offset, size);
    }
}

/* Watching. */

static FlowStatus say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static FlowStatus say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    progress_clear();
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    return flow_ok;
}

static void look(Run *run, int index, const Averages *averages, const FlowFunction *function) {
    const FlowWatch *watch = &run->train->actions[index].watch;
    watch_look(&run->position.watchers[index], watch->highest,
               averages_value(averages, function, watch->result));
}

/* Actions that wait for what the evaluate `index` measured. */
static void look_at_evaluation(Run *run, int index, const Averages *averages) {
    for (int i = 0; i < run->train->action_count; i++) {
        const FlowWatch *watch = &run->train->actions[i].watch;
        if (watch->set && watch->action == index)
            look(run, i, averages, run->train->actions[index].function);
    }
}

static bool has_lost_patience(const Run *run, int index) {
    double patience = settings_number(run->settings, run->train->actions[index].watch.patience);
    return (double)run->position.watchers[index].waited >= patience;
}

static const char *watched(const Run *run, const FlowWatch *watch) {
    const FlowFunction *function =
        watch->action < 0 ? run->train->step : run->train->actions[watch->action].function;
    return function->results[watch->result].name;
}

/* What is done. */

static FlowStatus evaluate(Run *run, int index) {
    Evaluation *evaluation = &run->evaluations[index];
    Averages averages = {0};
    char text[512];
    progress_clear();
    begin_pass(run, evaluation->call.function);
    Team team = {.threads = run->settings->threads};
    FlowStatus status = evaluation_run(evaluation, run->memory, &team, &averages);
    if (status.exit || interrupted()) return status;
    look_at_evaluation(run, index, &averages);
    averages_text(&averages, evaluation->call.function, text, sizeof text);
    const char *name = run->train->actions[index].text;
    printf("evaluate %s:%s\n", name ? name : evaluation->pipeline->name, text);
    return fflush(stdout) ? write_failure(run) : flow_ok;
}

static FlowStatus print(Run *run, int index) {
    const Call *call = &run->evaluations[index].call;
    const char *text = run->train->actions[index].text;
    if (text) {
        progress_clear();
        return puts(text) < 0 || fflush(stdout) ? write_failure(run) : flow_ok;
    }
    count_updates(run);
    step_run_alone(call, run->memory, 1, &run->team);
    FlowStatus status = gpus_status();
    if (status.exit) return status;
    const FlowResult *result = &call->function->results[0];
    progress_clear();
    printf("step %lld: %s = %.6g\n", (long long)run->numbers.step, result->name,
           number_read(result->type.element, run->memory + result->offset));
    return fflush(stdout) ? write_failure(run) : flow_ok;
}

const char *run_path(const Run *run, const FlowAction *action) {
    const Places places = settings_places(run->settings);
    return path_said(&places, action->path, action->path_option);
}

FlowStatus run_save(const Run *run, const char *path, int actions_done) {
    Position position = run->position;
    gpus_bring_home();
    FlowStatus status = gpus_status();
    if (status.exit) return status;
    position.action = actions_done;
    position.done = *stage_done(run->data);
    tuning_keep(run, &position);
    return checkpoint_save(path, &run->identity, &position, run->memory);
}

static FlowStatus save(Run *run, int index) {
    const FlowAction *action = &run->train->actions[index];
    bool given = action == run->saves && run->settings->save_path;
    const char *path = given ? run->settings->save_path : run_path(run, action);
    if (action->watch.set && !run->position.watchers[index].improved) return flow_ok;
    gpus_bring_home();
    FlowStatus status = gpus_status();
    if (!status.exit && action->keep > 1) status = file_rotate(path, action->keep - 1);
    if (!status.exit)
        status = action->weights_only ? checkpoint_save_weights(path, run->settings, run->memory)
                                      : run_save(run, path, index + 1);
    if (!status.exit && !action->weights_only) {
        run->saved_step = updates_made(run);
        run->saved_path = path;
    }
    run->saved |= !status.exit && (given || !run->settings->save_path);
    return status;
}

static FlowStatus stop(Run *run, int index) {
    if (!has_lost_patience(run, index)) return flow_ok;
    const Watcher *watcher = &run->position.watchers[index];
    run->position.stopped = true;
    return say("%s: stopped after step %lld: %s was best at %.6g, %lld times ago\n",
               run->settings->program->name, (long long)updates_made(run),
               watched(run, &run->train->actions[index].watch), watcher->best,
               (long long)watcher->waited);
}

static FlowStatus reduce(Run *run, int index) {
    const FlowAction *action = &run->train->actions[index];
    if (!has_lost_patience(run, index)) return flow_ok;
    run->position.watchers[index].waited = 0;
    run->position.plateau *= (float)settings_number(run->settings, action->factor);
    run->numbers.plateau = run->position.plateau;
    return say("%s: %s stays: plateau is %g after step %lld\n", run->settings->program->name,
               watched(run, &action->watch), (double)run->position.plateau,
               (long long)updates_made(run));
}

/* When. */

static bool is_due(const Run *run, int index) {
    const FlowAction *action = &run->train->actions[index];
    double every = settings_number(run->settings, action->every);
    if (action->unit == FLOW_UNIT_second)
        return (double)(clock_nanoseconds() - run->last_times[index]) >= every * 1e9;
    bool epochs = action->unit == FLOW_UNIT_epoch;
    double unit = epochs ? (double)run->identity.batches : (double)run->group;
    return fmod((double)run->position.step, every * unit) == 0;
}

bool actions_are_due(const Run *run) {
    for (int i = run->position.action; i < run->train->action_count; i++)
        if (is_due(run, i)) return true;
    return false;
}

static FlowStatus do_action(Run *run, int index) {
    const FlowAction *action = &run->train->actions[index];
    if (action->watch.set && action->watch.action < 0)
        look(run, index, &run->position.averages, run->train->step);
    switch (action->kind) {
    case FLOW_ACTION_evaluate: return evaluate(run, index);
    case FLOW_ACTION_print: return print(run, index);
    case FLOW_ACTION_save: return save(run, index);
    case FLOW_ACTION_stop: return stop(run, index);
    case FLOW_ACTION_reduce: return reduce(run, index);
    }
    return flow_ok;
}

static FlowStatus act(Run *run, int index) {
    static const char *const names[] = {
        [FLOW_ACTION_evaluate] = "batches of evaluations",
        [FLOW_ACTION_print] = "prints",
        [FLOW_ACTION_save] = "saves",
        [FLOW_ACTION_stop] = "watching",
        [FLOW_ACTION_reduce] = "watching",
    };
    Profile *profile = run->settings->profile;
    int64_t entered = profile_enter(profile), begun = timeline_begin();
    FlowStatus status = do_action(run, index);
    timeline_end(begun, names[run->train->actions[index].kind], NULL);
    profile_leave(profile, entered, names[run->train->actions[index].kind]);
    return status;
}

FlowStatus run_actions(Run *run) {
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
