#include "runtime/unsaved.h"

#include "runtime/clock.h"

#include <stdio.h>

enum { SPAN_SIZE = 64 };

/* The `save` that would have written there, or the first one. */
static const FlowAction *awaited(const Run *run) {
    if (run->saves || run->settings->save_path) return run->saves;
    for (int i = 0; i < run->train->action_count; i++)
        if (run->train->actions[i].kind == FLOW_ACTION_save) return &run->train->actions[i];
    return NULL;
}

/* "100 steps", "1 epoch" */
static void write_span(char *text, double number, const char *unit) {
    snprintf(text, SPAN_SIZE, "%.4g %s%s", number, unit, number == 1 ? "" : "s");
}

/* How long the run was, in the unit of the action. */
static double trained(const Run *run, FlowUnit unit) {
    switch (unit) {
    case FLOW_UNIT_epoch: return (double)run->position.step / (double)run->identity.batches;
    case FLOW_UNIT_second: return (double)(clock_nanoseconds() - run->began) * 1e-9;
    default: return (double)updates_made(run);
    }
}

static void tell(const Run *run, const FlowAction *action, const char *path) {
    static const char *const units[] = {
        [FLOW_UNIT_epoch] = "epoch", [FLOW_UNIT_step] = "step", [FLOW_UNIT_second] = "second"};
    const char *name = run->settings->program->name;
    char every[SPAN_SIZE], done[SPAN_SIZE];
    write_span(every, settings_number(run->settings, action->every), units[action->unit]);
    write_span(done, trained(run, action->unit), units[action->unit]);
    fprintf(stderr,
            "%s: nothing was saved in %s: train `%s` saves it every %s%s, and ended after %s\n",
            name, path, run->train->name, every,
            action->watch.set ? " when its measure is better than before" : "", done);
}

void unsaved_tell(const Run *run) {
    const FlowAction *action = awaited(run);
    const char *given = run->settings->save_path;
    if (run->saved || run->first_step) return;
    if (action) tell(run, action, given ? given : run_path(run, action));
    else if (given)
        fprintf(stderr,
                "%s: nothing was saved in %s: train `%s` has no `save` of the whole run, which "
                "--save would place there\n",
                run->settings->program->name, given, run->train->name);
}

void unsaved_tell_lost(const Run *run) {
    const char *name = run->settings->program->name, *path = run->saved_path;
    const int64_t since = path ? run->saved_step : run->first_step / run->group;
    const int64_t made = run->learnt / run->group - since;
    if (made < 1) return;
    fprintf(stderr, "%s: what %lld step%s learnt is lost: ", name, (long long)made,
            made == 1 ? "" : "s");
    if (path)
        fprintf(stderr, "%s has step %lld, where --resume=%s goes on\n", path, (long long)since,
                path);
    else if (run->first_step)
        fprintf(stderr, "the file that it went on from has step %lld\n", (long long)since);
    else fprintf(stderr, "nothing that --resume could go on from was saved before\n");
}
