/* Library: a program's exports with their weights, in one allocation made at the start. It shares
 * the compiled functions and the arithmetic mode of training, so results agree. What it does with
 * GPUs it is given, so that a library without has none of that. */
#include "runtime/bounds.h"
#include "runtime/call.h"
#include "runtime/cpus.h"
#include "runtime/denormal.h"
#include "runtime/device/guest.h"
#include "runtime/format/safetensors.h"
#include "runtime/helpers.h"
#include "runtime/least.h"
#include "runtime/memory.h"
#include "runtime/vocabularies.h"

#include <stdlib.h>
#include <string.h>

struct FlowLibrary {
    const FlowProgram *program;
    const FlowGuest *guest_calls; /* or NULL */
    char *memory;
    double *numbers;            /* the options' defaults */
    int64_t *sizes;             /* of the call: one for each bound */
    RunNumbers run;             /* all 0 */
    Call *calls;                /* one an export */
    int64_t *durations;         /* one an export, for helpers_run */
    Helpers *helpers;           /* or NULL */
    Vocabularies *vocabularies; /* or NULL */
    Guest *guest;               /* what it has of GPUs, or NULL */
};

static FlowStatus load_vocabularies(FlowLibrary *library, const Safetensors *file,
                                    const char *path) {
    const FlowProgram *program = library->program;
    FlowStatus status = vocabularies_read(library->vocabularies, file, path);
    for (int i = 0; i < program->vocabulary_count && !status.exit; i++)
        if (!vocabularies_metadata(library->vocabularies, i).value)
            status = flow_failure(FLOW_EXIT_data, "%s: it has no vocabulary `%s`", path,
                                  program->vocabularies[i].name);
    return status;
}

static FlowStatus load_weights(FlowLibrary *library, const char *path) {
    const FlowProgram *program = library->program;
    Safetensors *file;
    if (!program->storage_count && !program->vocabulary_count) return flow_ok;
    FlowStatus status = safetensors_open(path, &file);
    if (!status.exit) status = load_vocabularies(library, file, path);
    for (int i = 0; i < program->storage_count && !status.exit; i++)
        status = safetensors_read(file, &program->storage[i],
                                  library->memory + program->storage[i].offset);
    safetensors_close(file);
    return status;
}

static FlowStatus bind_exports(FlowLibrary *library) {
    const FlowProgram *program = library->program;
    FlowStatus status = flow_ok;
    for (int i = 0; i < program->export_count && !status.exit; i++)
        status = call_new(&program->exports[i], (Sizes){program, library->sizes}, library->numbers,
                          &library->run, &library->calls[i]);
    return status;
}

static FlowStatus prepare(FlowLibrary *library, const char *weights) {
    const FlowProgram *program = library->program;
    library->memory = memory_zeroed(program->memory_size);
    library->numbers = calloc((size_t)program->option_count + 1, sizeof *library->numbers);
    library->calls = calloc((size_t)program->export_count + 1, sizeof *library->calls);
    library->durations = calloc((size_t)program->export_count + 1, sizeof *library->durations);
    library->sizes = calloc((size_t)program->bound_count + 1, sizeof *library->sizes);
    if (program->vocabulary_count)
        library->vocabularies = vocabularies_new(program->vocabularies, program->vocabulary_count);
    if (program->vocabulary_count && !library->vocabularies)
        return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", program->name);
    if (!library->memory || !library->numbers || !library->calls || !library->durations ||
        !library->sizes)
        return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", program->name);
    for (int i = 0; i < program->option_count; i++)
        library->numbers[i] = program->options[i].number;
    FlowStatus status = bind_exports(library);
    if (!status.exit) status = load_weights(library, weights);
    if (!status.exit && library->guest_calls)
        status = library->guest_calls->open(program, library->memory, &library->guest);
    return status;
}

FlowStatus flow_library_create(const FlowProgram *program, const FlowGuest *guest,
                               const char *weights, FlowLibrary **out) {
    FlowLibrary *library = *out = calloc(1, sizeof *library);
    if (!library) return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", program->name);
    library->program = program;
    library->guest_calls = guest;
    FlowStatus status = prepare(library, weights);
    if (!status.exit) return status;
    flow_library_destroy(library);
    *out = NULL;
    return status;
}

void flow_library_destroy(FlowLibrary *library) {
    if (!library) return;
    helpers_free(library->helpers);
    if (library->guest) library->guest_calls->close(library->guest);
    for (int i = 0; library->calls && i < library->program->export_count; i++)
        call_free(&library->calls[i]);
    free(library->calls);
    free(library->durations);
    free(library->numbers);
    free(library->sizes);
    free(library->memory);
    vocabularies_free(library->vocabularies);
    free(library);
}

/* More than there are processors would wait for each other by turns. */
int flow_library_threads(FlowLibrary *library, int threads) {
    const int most = least(cpus_now(), TEAM_LIMIT);
    if (threads <= 0 || threads > most) threads = most;
    helpers_free(library->helpers);
    memset(library->durations, 0,
           (size_t)library->program->export_count * sizeof *library->durations);
    library->helpers = threads > 1 ? helpers_new(threads) : NULL;
    return library->helpers ? helpers_threads(library->helpers) : 1;
}

static void copy_results(const FlowLibrary *library, const Call *call, void *const *results) {
    for (int i = 0; i < call->function->result_count; i++) {
        const FlowResult *result = &call->function->results[i];
        FlowType type = type_at(&result->type, call->sizes);
        memcpy(results[i], library->memory + result->offset, flow_type_size(&type));
    }
}

static FlowExit set_sizes(FlowLibrary *library, const int64_t *sizes) {
    const FlowProgram *program = library->program;
    for (int i = 0; i < program->bound_count; i++) library->sizes[i] = sizes[i];
    return sizes_check((Sizes){program, library->sizes}).exit;
}

/* Do all values of the call's arguments lie where the program says? */
static bool arguments_fit(const Call *call, const void *const *arguments) {
    for (int i = 0; i < call->function->input_count; i++) {
        const FlowInput *input = &call->function->inputs[i];
        if (input->kind != FLOW_INPUT_field || (!input->low && !input->high)) continue;
        FlowType type = type_at(&input->type, call->sizes);
        size_t size = flow_element_size(type.element), count = flow_type_size(&type) / size;
        const char *values = arguments[input->index];
        for (size_t j = 0; j < count; j++) {
            double value = number_read(type.element, values + j * size);
            if (!(value >= (double)input->low && value < (double)input->high)) return false;
        }
    }
    return true;
}

/* False: a GPU has failed. */
static bool compute(FlowLibrary *library, Call *call) {
    bool good = true;
    FlowFrame frame = {
        .memory = library->memory, .inputs = call->inputs, .batch = 1, .sizes = library->sizes};
    unsigned mode = denormals_to_zero();
    if (library->guest) good = library->guest_calls->run(library->guest, call, &frame);
    else if (library->helpers)
        helpers_run(library->helpers, call->function, &frame,
                    &library->durations[call - library->calls]);
    else call->function->run(&frame, 0, 1);
    denormals_restore(mode);
    return good;
}

FlowExit flow_library_run(FlowLibrary *library, int index, const int64_t *sizes,
                          const void *const *arguments, void *const *results) {
    Call *call = &library->calls[index];
    FlowExit exit = set_sizes(library, sizes);
    if (exit) return exit;
    if (!arguments_fit(call, arguments)) return FLOW_EXIT_data;
    call_bind(call, arguments, 1);
    if (!compute(library, call)) return FLOW_EXIT_resource;
    copy_results(library, call, results);
    return FLOW_EXIT_ok;
}

const char *flow_library_message(const FlowLibrary *library) {
    return library->guest ? library->guest_calls->message(library->guest) : "";
}

int32_t flow_library_category(const FlowLibrary *library, int vocabulary, const char *text) {
    return vocabularies_find(library->vocabularies, vocabulary, text);
}

const char *flow_library_text(const FlowLibrary *library, int vocabulary, int32_t category) {
    return vocabularies_text(library->vocabularies, vocabulary, category);
}
