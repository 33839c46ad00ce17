/* Fit: states that are found in the training data. Each pass runs one compiled function over all
 * batches, in the order of the first epoch; what it leaves in memory is saved with the weights, so
 * a resumed run has it. A number that is not finite is looked for record by record: it is in one,
 * most often. */
#include "runtime/run.h"

#include "runtime/device/gpus.h"
#include "runtime/interrupt.h"
#include "runtime/plural.h"
#include "runtime/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_SIZE = 256 };

/* What a pass has to do with. */
typedef struct Pass {
    Run *run;
    Call call;
    char *before; /* what was fitted when it began, one state behind the other */
} Pass;

static bool is_real(FlowElement element) {
    return element == FLOW_f16 || element == FLOW_bf16 || element == FLOW_f32 ||
           element == FLOW_f64;
}

/* The first of the values that is not finite; NULL: there is none. */
static const char *find_fault(FlowElement element, const char *values, size_t bytes) {
    size_t size = flow_element_size(element);
    for (size_t i = 0; is_real(element) && i < bytes / size; i++) {
        double value = number_read(element, values + i * size);
        if (!isfinite(value)) return isnan(value) ? "nan" : "infinite";
    }
    return NULL;
}

/* The first fitted state that has a value that is not finite. */
static const FlowStorage *find_broken(const Run *run, const char **fault) {
    const FlowProgram *program = run->settings->program;
    for (int i = 0; i < program->storage_count; i++) {
        const FlowStorage *storage = &program->storage[i];
        if (!storage->fitted) continue;
        *fault = find_fault(storage->type.element, run->memory + storage->offset,
                            flow_type_size(&storage->type));
        if (*fault) return storage;
    }
    return NULL;
}

/* All fitted states, from memory or into it; returns their bytes. */
static size_t copy_states(const Run *run, char *kept, bool back) {
    const FlowProgram *program = run->settings->program;
    size_t used = 0;
    for (int i = 0; i < program->storage_count; i++) {
        const FlowStorage *storage = &program->storage[i];
        size_t size = storage->fitted ? flow_type_size(&storage->type) : 0;
        char *state = run->memory + storage->offset;
        if (kept && size) memcpy(back ? state : kept + used, back ? kept + used : state, size);
        if (kept && size && back) gpus_leave_part(storage->offset, size);
        used += size;
    }
    return used;
}

static FlowStatus run_on(Pass *pass, const Batch *batch, Stage *stage) {
    Run *run = pass->run;
    step_run(&pass->call, run->memory, batch, stage, &run->team);
    gpus_bring_home();
    return gpus_status();
}

/* The record of the batch alone. */
static Batch record_of(const Run *run, const Batch *batch, int64_t place) {
    const FlowSection *section = stage_section(run->data);
    Batch record = *batch;
    record.records = record.rows = 1;
    for (int i = 0; i < section->output_count; i++)
        record.arrays[i] = (char *)batch->arrays[i] + (size_t)place * batch->row_sizes[i];
    return record;
}

/* ": its `age` is nan", or "". */
static void describe_record(const Run *run, const Batch *record, char *text, size_t size) {
    const FlowSection *section = stage_section(run->data);
    *text = 0;
    for (int i = 0; i < section->output_count && !*text; i++) {
        const char *fault =
            find_fault(section->outputs[i].type.element, record->arrays[i], record->row_sizes[i]);
        if (fault) snprintf(text, size, ": its `%s` is %s", section->outputs[i].name, fault);
    }
}

static FlowStatus explain(Pass *pass, const Batch *batch, const FlowStorage *state,
                          const char *fault) {
    Run *run = pass->run;
    const char *own;
    char where[PLACE_SIZE], which[PLACE_SIZE];
    for (int64_t place = 0; place < batch->records; place++) {
        Batch record = record_of(run, batch, place);
        copy_states(run, pass->before, true);
        FlowStatus status = run_on(pass, &record, NULL);
        if (status.exit) return status;
        if (!find_broken(run, &own)) continue;
        stage_locate(run->data, batch, place, where, sizeof where);
        describe_record(run, &record, which, sizeof which);
        return flow_failure(FLOW_EXIT_data, "%s: with this record `%s` becomes %s%s", where,
                            state->name, fault, which);
    }
    return flow_failure(FLOW_EXIT_data, "train `%s`: `%s` becomes %s while it is fitted",
                        run->train->name, state->name, fault);
}

static FlowStatus fit_batch(Pass *pass) {
    Run *run = pass->run;
    const Batch *batch;
    const char *fault;
    FlowStatus status = stage_take(run->data, &batch);
    if (status.exit) return status;
    status = run_on(pass, batch, run->data);
    const FlowStorage *broken = status.exit ? NULL : find_broken(run, &fault);
    if (broken) status = explain(pass, batch, broken, fault);
    stage_release(run->data);
    return status;
}

static FlowStatus go_over_data(Pass *pass) {
    Run *run = pass->run;
    int64_t batches = stage_batches(run->data);
    FlowStatus status =
        stage_start(run->data, NULL, batches, run_workers(run, run->data), &run->team);
    for (int64_t i = 0; i < batches && !status.exit && !interrupted(); i++)
        status = fit_batch(pass);
    stage_stop(run->data);
    return status.exit || !interrupted() ? status : run_without_steps();
}

static FlowStatus run_pass(Run *run, const FlowFunction *function) {
    Pass pass = {.run = run, .before = malloc(copy_states(run, NULL, false) + 1)};
    if (!pass.before) return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", function->name);
    gpus_bring_home();
    copy_states(run, pass.before, false);
    FlowStatus status = run_bind(run, function, &pass.call);
    if (!status.exit) status = go_over_data(&pass);
    call_free(&pass.call);
    free(pass.before);
    return status;
}

static void announce(const Run *run) {
    int count = run->train->fit_count;
    if (!count || progress_is_off(run->settings->progress)) return;
    fprintf(stderr, "%s: fitting: %d pass%s over %lld record%s\n", run->settings->program->name,
            count, count == 1 ? "" : "es", (long long)stage_records(run->data),
            plural(stage_records(run->data)));
}

FlowStatus run_fits(Run *run) {
    FlowStatus status = flow_ok;
    announce(run);
    for (int i = 0; i < run->train->fit_count && !status.exit; i++)
        status = run_pass(run, run->train->fits[i]);
    return status;
}
