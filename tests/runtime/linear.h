/* Linear: a program as the compiler would write it, small enough to write by hand. It
 * learns four linear functions of 16 pixels by gradient descent with momentum; each thread
 * owns some of the outputs, so the results are the same for any number of threads. */
#ifndef FLOW_TEST_LINEAR_H
#define FLOW_TEST_LINEAR_H

#include "runtime/flow.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { INPUTS = 16, OUTPUTS = 4, BATCH = 32, TEST_BATCH = 50 };

/* The plan: where everything lies in memory. */
enum {
    W = 0,           /* f32[4, 16] */
    MOMENTUM = 256,  /* f32[4, 16] */
    LOSSES = 512,    /* f32[4], of each output */
    LOSS = 576,      /* f32 */
    ACCURACY = 640,  /* f32 */
    GUESSES = 704,   /* f32[50, 4] */
    GUESS = GUESSES, /* f32[4], of the first record */
    MEMORY_SIZE = 704 + 50 * 16,
};

enum { OPTION_epochs, OPTION_rate, OPTION_nan_step, OPTION_batch };

static float *at(const FlowFrame *frame, size_t offset) {
    return (float *)(frame->memory + offset);
}

static void linear_initialise(const FlowFrame *frame, int thread, int threads) {
    uint64_t state = (uint64_t) * (const int64_t *)frame->inputs[0];
    (void)threads;
    for (int i = 0; i < OUTPUTS * INPUTS && thread == 0; i++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        at(frame, W)[i] = (float)(state >> 40) / 0x1p24f - 0.5f;
        at(frame, MOMENTUM)[i] = 0;
    }
}

static void guess(const FlowFrame *frame, int output) {
    const float *x = frame->inputs[0], *w = at(frame, W) + output * INPUTS;
    for (int64_t n = 0; n < frame->batch; n++) {
        float sum = 0;
        for (int i = 0; i < INPUTS; i++) sum += w[i] * x[n * INPUTS + i];
        at(frame, GUESSES)[n * OUTPUTS + output] = sum;
    }
}

static float error_of(const FlowFrame *frame, int64_t n, int output) {
    const int32_t *y = frame->inputs[1];
    return at(frame, GUESSES)[n * OUTPUTS + output] - (y[n] == output ? 1.0f : 0.0f);
}

static void measure(const FlowFrame *frame, int output) {
    float sum = 0;
    for (int64_t n = 0; n < frame->batch; n++)
        sum += error_of(frame, n, output) * error_of(frame, n, output);
    at(frame, LOSSES)[output] = sum / (float)frame->batch;
}

static void learn(const FlowFrame *frame, int output, float rate) {
    const float *x = frame->inputs[0];
    float *w = at(frame, W) + output * INPUTS, *momentum = at(frame, MOMENTUM) + output * INPUTS;
    for (int i = 0; i < INPUTS; i++) {
        float slope = 0;
        for (int64_t n = 0; n < frame->batch; n++)
            slope += error_of(frame, n, output) * x[n * INPUTS + i];
        momentum[i] = 0.9f * momentum[i] + slope / (float)frame->batch;
        w[i] -= rate * momentum[i];
    }
}

/* By the first thread alone. */
static void sum_up(const FlowFrame *frame) {
    const int32_t *y = frame->inputs[1];
    int right = 0;
    *at(frame, LOSS) = 0;
    for (int j = 0; j < OUTPUTS; j++) *at(frame, LOSS) += at(frame, LOSSES)[j];
    for (int64_t n = 0; n < frame->batch; n++) {
        const float *g = at(frame, GUESSES) + n * OUTPUTS;
        int best = 0;
        for (int j = 1; j < OUTPUTS; j++)
            if (g[j] > g[best]) best = j;
        right += best == y[n];
    }
    *at(frame, ACCURACY) = (float)right / (float)frame->batch;
}

/* Lets tests stop a run where they want to: signals do not cut it short. */
static void pause_if_asked(void) {
    const char *microseconds = getenv("LINEAR_PAUSE");
    int64_t left = microseconds ? atoi(microseconds) * INT64_C(1000) : 0;
    struct timespec pause = {left / 1000000000, left % 1000000000};
    while (left && nanosleep(&pause, &pause)) continue;
}

static void linear_step(const FlowFrame *frame, int thread, int threads) {
    float rate = *(const float *)frame->inputs[2];
    int64_t step = *(const int64_t *)frame->inputs[3],
            nan_step = *(const int64_t *)frame->inputs[4];
    for (int j = thread; j < OUTPUTS; j += threads) {
        guess(frame, j);
        measure(frame, j);
        learn(frame, j, rate);
    }
    flow_barrier(frame, thread, threads);
    if (thread) return;
    sum_up(frame);
    if (step == nan_step) *at(frame, LOSS) = __builtin_nanf("");
    pause_if_asked();
}

static void linear_evaluate(const FlowFrame *frame, int thread, int threads) {
    for (int j = thread; j < OUTPUTS; j += threads) {
        guess(frame, j);
        measure(frame, j);
    }
    flow_barrier(frame, thread, threads);
    if (!thread) sum_up(frame);
}

static void linear_export(const FlowFrame *frame, int thread, int threads) {
    for (int j = thread; j < OUTPUTS; j += threads) guess(frame, j);
}

static int64_t linear_record(char *memory, const int64_t *sizes, const FlowRows *rows,
                             FlowUnmet *unmet) {
    (void)memory, (void)sizes;
    for (int64_t row = 0; row < rows->count; row++) {
        const uint8_t *image = rows->fields[row * rows->stride];
        const int32_t *label = rows->fields[row * rows->stride + 1];
        float *x = (float *)rows->outputs[0] + row * INPUTS;
        for (int i = 0; i < INPUTS; i++) x[i] = (float)image[i] * (1.0f / 255);
        ((int32_t *)rows->outputs[1])[row] = *label;
        *unmet = (FlowUnmet){0, true, .whole = *label};
        if (*label < 0 || *label >= OUTPUTS) return row;
    }
    return rows->count;
}

static const FlowField linear_fields[] = {
    {.name = "image", .path = "images.gz", .type = {FLOW_u8, 2, {4, 4}}},
    {.name = "label", .path = "labels.gz", .type = {FLOW_i32, 0, {0}}},
};

static const FlowField linear_test_fields[] = {
    {.name = "image", .path = "test-images.gz", .type = {FLOW_u8, 2, {4, 4}}},
    {.name = "label", .path = "test-labels.gz", .type = {FLOW_i32, 0, {0}}},
};

static const FlowField linear_outputs[] = {
    {.name = "x", .path = NULL, .type = {FLOW_f32, 1, {INPUTS}}},
    {.name = "y", .path = NULL, .type = {FLOW_i32, 0, {0}}},
};

static const FlowCheck linear_checks[] = {{"`y` must lie in 0..4", "linear.flow:19", 1}};

static const FlowOrder linear_orders[] = {
    {.kind = FLOW_ORDER_shuffle, .number = 7, .each_epoch = true},
};

static const FlowSection linear_data_section = {
    .window = 1,
    .stride = 1,
    .fields = linear_fields,
    .field_count = 2,
    .orders = linear_orders,
    .order_count = 1,
    .record = linear_record,
    .checks = linear_checks,
    .outputs = linear_outputs,
    .output_count = 2,
};

static const FlowPipeline linear_data = {
    .name = "digits",
    .line = "linear.flow:15",
    .source = &flow_source_idx,
    .sections = &linear_data_section,
    .section_count = 1,
    .batch = BATCH,
};

static const FlowSection linear_test_data_section = {
    .window = 1,
    .stride = 1,
    .fields = linear_test_fields,
    .field_count = 2,
    .record = linear_record,
    .checks = linear_checks,
    .outputs = linear_outputs,
    .output_count = 2,
};

static const FlowPipeline linear_test_data = {
    .name = "digits",
    .line = "linear.flow:25",
    .source = &flow_source_idx,
    .sections = &linear_test_data_section,
    .section_count = 1,
    .batch = TEST_BATCH,
};

static const FlowInput linear_seed_input[] = {
    {.name = "seed", .kind = FLOW_INPUT_seed, .index = 0, .type = {FLOW_i64, 0, {0}}}};

static const FlowInput linear_step_inputs[] = {
    {.name = "x", .kind = FLOW_INPUT_field, .index = 0, .type = {FLOW_f32, 1, {INPUTS}}},
    {.name = "y", .kind = FLOW_INPUT_field, .index = 1, .type = {FLOW_i32, 0, {0}}},
    {.name = "rate", .kind = FLOW_INPUT_option, .index = OPTION_rate, .type = {FLOW_f32, 0, {0}}},
    {.name = "step", .kind = FLOW_INPUT_step, .index = 0, .type = {FLOW_i64, 0, {0}}},
    {.name = "nan_step",
     .kind = FLOW_INPUT_option,
     .index = OPTION_nan_step,
     .type = {FLOW_i64, 0, {0}}},
};

static const FlowResult linear_results[] = {
    {.name = "loss", .offset = LOSS, .type = {.element = FLOW_f32}},
    {.name = "accuracy", .offset = ACCURACY, .type = {.element = FLOW_f32}},
};

static const FlowFunction linear_initialise_function = {
    "initialise", linear_initialise, linear_seed_input, 1, NULL, 0, NULL, NULL, 0, false};
static const FlowFunction linear_step_function = {
    "step", linear_step, linear_step_inputs, 5, linear_results, 2, NULL, NULL, 0, false};
static const FlowFunction linear_evaluate_function = {
    "evaluate", linear_evaluate, linear_step_inputs, 2, linear_results, 2, NULL, NULL, 0, false};

static const FlowAction linear_actions[] = {
    {.every = {-1, 7},
     .unit = FLOW_UNIT_step,
     .kind = FLOW_ACTION_save,
     .path = "linear.safetensors"},
    {.every = {-1, 1},
     .unit = FLOW_UNIT_epoch,
     .kind = FLOW_ACTION_evaluate,
     .function = &linear_evaluate_function,
     .pipeline = &linear_test_data},
    {.every = {-1, 1},
     .unit = FLOW_UNIT_epoch,
     .kind = FLOW_ACTION_save,
     .path = "linear.safetensors"},
};

static const FlowTrain linear_trains[] = {
    {.name = "fit",
     .initialise = &linear_initialise_function,
     .step = &linear_step_function,
     .data = &linear_data,
     .epochs = {OPTION_epochs, 0},
     .seed = {-1, 5},
     .steps = {-1, 0x1p53},
     .actions = linear_actions,
     .action_count = 3},
    {.name = "again",
     .initialise = &linear_initialise_function,
     .step = &linear_step_function,
     .data = &linear_data,
     .epochs = {OPTION_epochs, 0},
     .seed = {-1, 5},
     .steps = {-1, 0x1p53},
     .actions = NULL,
     .action_count = 0},
};

static const FlowOption linear_options[] = {
    [OPTION_epochs] = {"epochs", "passes over the images", FLOW_OPTION_integer, 3, NULL, false},
    [OPTION_rate] = {"rate", "learning rate", FLOW_OPTION_real, 0.01, NULL, false},
    [OPTION_nan_step] = {"nan_step", "where the loss becomes nan", FLOW_OPTION_integer, -1, NULL,
                         false},
    [OPTION_batch] = {"batch_size", "images per step", FLOW_OPTION_integer, BATCH, NULL, true},
};

static const FlowStorage linear_storage[] = {
    {.name = "linear/w", .type = {FLOW_f32, 2, {OUTPUTS, INPUTS}}, .offset = W},
    {.name = "momentum/linear/w", .type = {FLOW_f32, 2, {OUTPUTS, INPUTS}}, .offset = MOMENTUM},
};

static const FlowProgram linear_program = {
    .name = "linear",
    .folder = "data",
    .fingerprint = "0123abcd",
    .options = linear_options,
    .option_count = 4,
    .storage = linear_storage,
    .storage_count = 2,
    .memory_size = MEMORY_SIZE,
    .trains = linear_trains,
    .train_count = 1,
};

/* The library of it: no options, and of the storage the weights alone. */

static const FlowInput linear_export_inputs[] = {
    {.name = "x", .kind = FLOW_INPUT_field, .index = 0, .type = {FLOW_f32, 1, {INPUTS}}}};
static const FlowResult linear_export_results[] = {
    {.name = "scores", .offset = GUESS, .type = {FLOW_f32, 1, {OUTPUTS}}}};
static const FlowFunction linear_exports[] = {{"score", linear_export, linear_export_inputs, 1,
                                               linear_export_results, 1, NULL, NULL, 0, false}};

static const FlowProgram linear_library = {
    .name = "linear",
    .folder = "",
    .fingerprint = "0123abcd",
    .storage = linear_storage,
    .storage_count = 1,
    .memory_size = MEMORY_SIZE,
    .exports = linear_exports,
    .export_count = 1,
};

#endif
