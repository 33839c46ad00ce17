/* Call: binding happens before each step, so everything but the fields is settled once. */
#include "runtime/call.h"

#include <stdlib.h>

static FlowStatus bind_option(const FlowInput *input, const FlowOption *option, double number,
                              int64_t *cell) {
    if (number_write(input->type.element, number, cell)) return flow_ok;
    return flow_failure(FLOW_EXIT_usage, "--%s: %.17g is outside of %s", option->name, number,
                        type_name(&(FlowType){.element = input->type.element}).text);
}

/* Where the input's value lies from now on; of fields, until call_bind. */
static const void *input_cell(const Call *call, int i, const RunNumbers *run) {
    switch (call->function->inputs[i].kind) {
    case FLOW_INPUT_step: return &run->step;
    case FLOW_INPUT_seed: return &run->seed;
    case FLOW_INPUT_draw: return &run->draw;
    case FLOW_INPUT_plateau: return &run->plateau;
    case FLOW_INPUT_epoch: return &run->epoch;
    default: return &call->cells[i];
    }
}

static FlowStatus bind_constants(Call *call, const double *numbers, const RunNumbers *run) {
    const FlowOption *options = call->sizes.program->options;
    FlowStatus status = flow_ok;
    for (int i = 0; i < call->function->input_count && !status.exit; i++) {
        const FlowInput *input = &call->function->inputs[i];
        call->inputs[i] = input_cell(call, i, run);
        if (input->kind == FLOW_INPUT_option)
            status =
                bind_option(input, &options[input->index], numbers[input->index], &call->cells[i]);
    }
    return status;
}

FlowStatus call_new(const FlowFunction *function, Sizes sizes, const double *numbers,
                    const RunNumbers *run, Call *call) {
    size_t count = (size_t)function->input_count + 1;
    *call = (Call){.function = function,
                   .sizes = sizes,
                   .inputs = calloc(count, sizeof *call->inputs),
                   .cells = calloc(count, sizeof *call->cells)};
    FlowStatus status =
        call->inputs && call->cells
            ? bind_constants(call, numbers, run)
            : flow_failure(FLOW_EXIT_resource, "no memory for `%s`", function->name);
    if (status.exit) call_free(call);
    return status;
}

void call_free(Call *call) {
    free(call->inputs);
    free(call->cells);
    *call = (Call){0};
}

void call_bind(Call *call, const void *const *fields, int64_t batch) {
    for (int i = 0; i < call->function->input_count; i++) {
        const FlowInput *input = &call->function->inputs[i];
        /* the same again is not stored: other processors have it */
        if (input->kind == FLOW_INPUT_field && call->inputs[i] != fields[input->index])
            call->inputs[i] = fields[input->index];
        if (input->kind == FLOW_INPUT_batch) call->cells[i] = batch;
        if (input->kind == FLOW_INPUT_size)
            call->cells[i] = call->sizes.program->sizes[input->index](batch, call->sizes.values);
    }
}
