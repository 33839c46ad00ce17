/* Trial. */
#include "tests/fuzz/programs/trial.h"

#include "compiler/graph/build.h"
#include "tests/codegen/elements.h"
#include "tests/codegen/threads.h"
#include "tests/fuzz/programs/bound.h"
#include "tests/fuzz/programs/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREAD_LIMIT = 7, STEP = 3, SEED = 11 };

typedef struct Trial {
    Arena *arena;
    const FlowProgram *compiled;
    const FlowFunction *run;
    const Function *function;
    const Graph *graph; /* before it was fused */
    RunSizes sizes;
    const double **given;
    Evaluation exact;
    double **errors;
} Trial;

/* Numbers. */

static int64_t count_of(const Type *type, const RunSizes *sizes) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= run_size(type->dims[i], sizes);
    return count;
}

/* Few multiples of 1/8; of rough ones any number of about that size. */
static double element_value(Element element, bool rough, uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    int64_t bits = (int64_t)(*state >> 40);
    switch (element_info[element].class) {
    case CLASS_boolean: return (double)(bits & 1);
    case CLASS_integer: return (double)(element == TYPE_u8 ? bits % 8 : bits % 15 - 7);
    default:
        return rough ? element_round(element, (double)bits * 0x1p-22 - 2)
                     : (double)(bits % 33 - 16) / 8;
    }
}

static const Input *input_named(const Function *function, const char *name) {
    vector_each(Input, input, function->inputs)
        if (!strcmp(input->name, name)) return input;
    return NULL;
}

/* "net3/w5": a letter and a number at the end. */
static const char *last_name(const char *name) {
    for (const char *at = name; *at; at++)
        if (*at == '/' || *at == '.') name = at + 1;
    return name;
}

/* What an input that is no field is. */
static double known_value(const Program *program, const Input *input, const RunSizes *sizes) {
    switch (input->kind) {
    case INPUT_step: return STEP;
    case INPUT_seed:
    case INPUT_draw: return SEED;
    case INPUT_batch: return (double)sizes->batch;
    case INPUT_size: return (double)run_size(program->sizes.items[input->index], sizes);
    default: return 1;
    }
}

static const double *leaf_values(Arena *arena, const Program *program, const Function *function,
                                 const Node *node, const RunSizes *sizes) {
    const char *name = last_name(node->name);
    int64_t count = count_of(&node->type, sizes);
    double *values = arena_new_array(arena, double, count);
    uint64_t state = (uint64_t)atoll(name + 1) * 977 + 1;
    for (int64_t i = 0; i < count; i++)
        values[i] = element_value(node->type.element, is_rough_letter(*name), &state);
    const Input *input = node->op == OP_input ? input_named(function, node->name) : NULL;
    if (input && input->kind != INPUT_field) *values = known_value(program, input, sizes);
    return values;
}

static const double **given_values(Arena *arena, const Program *program, const Function *function,
                                   const Graph *graph, const RunSizes *sizes) {
    const double **given = arena_new_array(arena, const double *, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op == OP_input || node->op == OP_weight)
            given[id] = leaf_values(arena, program, function, node, sizes);
    }
    return given;
}

/* Of a whole batch bounded dimensions are as large as they can be, of others a little smaller. */
static RunSizes sizes_of(Arena *arena, const Program *program, int64_t batch) {
    int64_t *bounded = arena_new_array(arena, int64_t, program->bounds.count + 1);
    for (size_t i = 0; i < program->bounds.count; i++) {
        int64_t bound = dim_bound(program->bounds.items[i].symbol);
        bounded[i] = batch == BATCH || bound < 3 ? bound : bound - 2;
    }
    return (RunSizes){batch, bounded};
}

/* Running. */

static size_t storage_offset(const FlowProgram *compiled, const char *name) {
    for (int i = 0; i < compiled->storage_count; i++)
        if (!strcmp(compiled->storage[i].name, name)) return compiled->storage[i].offset;
    abort();
}

static void *input_place(const Trial *trial, const Node *node, const void **inputs) {
    for (int i = 0; i < trial->run->input_count; i++) {
        if (strcmp(trial->run->inputs[i].name, node->name) != 0) continue;
        size_t size = (size_t)count_of(&node->type, &trial->sizes) * sizeof(double);
        return (void *)(inputs[i] = arena_allocate(trial->arena, size));
    }
    abort();
}

static char *run(const Trial *trial, int threads) {
    size_t size = (trial->compiled->memory_size + 64) / 64 * 64;
    char *memory = aligned_alloc(64, size);
    memset(memory, 0xff, size);
    const void **inputs =
        arena_new_array(trial->arena, const void *, trial->function->inputs.count + 1);
    for (NodeId id = 0; id < trial->graph->nodes.count; id++) {
        const Node *node = graph_node(trial->graph, id);
        if (!trial->given[id]) continue;
        void *place = node->op == OP_weight ? memory + storage_offset(trial->compiled, node->name)
                                            : input_place(trial, node, inputs);
        elements_encode(node->type.element, trial->given[id], count_of(&node->type, &trial->sizes),
                        place);
    }
    _Alignas(64) char barrier[256] = {0};
    FlowFrame frame = {.memory = memory,
                       .inputs = inputs,
                       .batch = trial->sizes.batch,
                       .barrier = (FlowBarrier *)barrier,
                       .sizes = trial->sizes.bounded};
    run_on_threads(trial->run, &frame, threads);
    return memory;
}

/* Comparing. */

static double magnitude(const Evaluation *evaluation, NodeId id) {
    double largest = 0;
    for (int64_t i = 0; i < evaluation->counts[id]; i++)
        if (fabs(evaluation->values[id][i]) > largest) largest = fabs(evaluation->values[id][i]);
    return largest;
}

static bool element_agrees(const Trial *trial, const Output *output, int64_t i, double found,
                           bool told) {
    double wanted = trial->exact.values[output->value][i];
    double allowed = trial->errors[output->value][i];
    if (allowed == INFINITY || fabs(found - wanted) <= allowed) return true;
    if (told)
        printf("%s, %s: element %lld is %.9g and should be within %.3g of %.9g\n",
               trial->function->name, output->name, (long long)i, found, allowed, wanted);
    return false;
}

static bool values_agree(const Trial *trial, const Output *output, const char *place, bool told,
                         Findings *findings) {
    const Type *type = &graph_node(trial->graph, output->value)->type;
    double vague = 1e-2 * magnitude(&trial->exact, output->value) + 1e-4;
    int64_t count = count_of(type, &trial->sizes);
    findings->elements += count;
    for (int64_t i = 0; i < count; i++) {
        findings->vague += trial->errors[output->value][i] > vague;
        if (!element_agrees(trial, output, i, element_decode(type->element, place, i), told))
            return false;
    }
    return true;
}

static bool same_bits(const Trial *trial, const Output *output, const char *one, const char *other,
                      bool told) {
    const Type *type = &graph_node(trial->graph, output->value)->type;
    size_t size = (size_t)count_of(type, &trial->sizes) * (size_t)element_info[type->element].size;
    if (!memcmp(one, other, size)) return true;
    if (told) printf("%s, %s: threads change bits\n", trial->function->name, output->name);
    return false;
}

static size_t output_offset(const Trial *trial, const Output *output, int *result) {
    if (output->kind == OUTPUT_result) return trial->run->results[(*result)++].offset;
    return storage_offset(trial->compiled, graph_node(trial->graph, output->target)->name);
}

/* memory: after a run; first: after that with one thread, or NULL: this is it. */
static bool outputs_agree(const Trial *trial, const char *memory, const char *first, bool told,
                          Findings *findings) {
    int result = 0;
    vector_each(Output, output, trial->graph->outputs) {
        size_t offset = output_offset(trial, output, &result);
        bool agrees = first ? same_bits(trial, output, memory + offset, first + offset, told)
                            : values_agree(trial, output, memory + offset, told, findings);
        if (!agrees) return false;
    }
    return true;
}

static bool threads_agree(const Trial *trial, bool told, Findings *findings) {
    static const int teams[] = {2, THREAD_LIMIT};
    char *first = run(trial, 1);
    bool agrees = outputs_agree(trial, first, NULL, told, findings);
    for (size_t i = 0; i < sizeof teams / sizeof *teams && agrees; i++) {
        char *memory = run(trial, teams[i]);
        agrees = outputs_agree(trial, memory, first, told, findings);
        free(memory);
    }
    free(first);
    return agrees;
}

void trial_run(const Variant *variant, int index, int64_t batch, bool told, Findings *findings) {
    Arena *arena = arena_new();
    const Function *function = &variant->program->exports.items[index].function;
    const Graph *graph = function->lowered;
    RunSizes sizes = sizes_of(arena, variant->program, batch);
    const double **given = given_values(arena, variant->program, function, graph, &sizes);
    Trial trial = {.arena = arena,
                   .compiled = variant->compiled,
                   .run = &variant->compiled->exports[index],
                   .function = function,
                   .graph = graph,
                   .sizes = sizes,
                   .given = given,
                   .exact = graph_evaluate_sized(arena, graph, given, batch, sizes.bounded, true)};
    trial.errors = bound_errors(arena, graph, &trial.exact, &sizes);
    if (!threads_agree(&trial, told, findings)) findings->differs = true;
    arena_free(arena);
}
