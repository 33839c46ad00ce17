/* Compiled: the generated code of graphs, loaded into this process. */
#include "tests/codegen/compiled.h"

#include "compiler/codegen/program_text.h"
#include "compiler/graph/program.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/passes.h"
#include "runtime/flow.h"
#include "tests/codegen/elements.h"
#include "tests/codegen/gpu.h"
#include "tests/codegen/runtime.h"
#include "tests/codegen/threads.h"
#include "tests/codegen/upper.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREAD_LIMIT = 3 };

struct Compiled {
    void *library;
    const FlowProgram *program;
    const Graph *const *graphs;
};

/* A program around the graphs. */

bool may_be_zeros(const char *name) {
    return !strncmp(name, "zeros", strlen("zeros"));
}

static bool has_storage(const Program *program, const char *name) {
    vector_each(Storage, storage, program->storage)
        if (!strcmp(storage->name, name)) return true;
    return false;
}

static void add_leaf(Program *program, Function *function, const Node *node) {
    if (node->op == OP_input)
        vector_push(program->arena, &function->inputs,
                    (Input){.name = node->name,
                            .kind = INPUT_field,
                            .index = (int)function->inputs.count,
                            .type = node->type,
                            .zeros = may_be_zeros(node->name)});
    if (node->op == OP_weight && !has_storage(program, node->name))
        vector_push(program->arena, &program->storage,
                    (Storage){.name = node->name, .type = node->type});
}

static void add_export(Program *program, const Graph *graph, size_t index) {
    Arena *arena = program->arena;
    Export export = {.function = {.name = arena_format(arena, "run%zu", index)}};
    vector_each(Node, node, graph->nodes) add_leaf(program, &export.function, node);
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result)
            vector_push(arena, &export.function.results, graph_node(graph, output->value)->type);
    export.function.graph = (Graph *)graph;
    export.function.graph->wishes.tf32 = gpu_rounds_floats();
    for (int i = 0; i < pass_count; i++) /* there are no gradients any more */
        if (passes[i].run != differentiate)
            export.function.graph = passes[i].run(arena, export.function.graph, NULL);
    vector_push(arena, &program->exports, export);
}

static Program *program_of(Arena *arena, const Graph *const *graphs, size_t count) {
    Program *program = arena_new_item(arena, Program);
    program->arena = arena;
    program->dimensions = graphs[0]->dimensions;
    program->name = "test";
    if (gpu_is_wanted()) gpu_take(program);
    for (size_t i = 0; i < count; i++) add_export(program, graphs[i], i);
    return program;
}

/* Compiling. */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) {
        perror(path);
        exit(3);
    }
}

static void *load(Arena *arena, const char *text, const char *device) {
    char folder[] = "/tmp/flowc-test-XXXXXX";
    if (!mkdtemp(folder)) return NULL;
    const char *cc = getenv("CC"), *flags = getenv("FLOWC_TEST_FLAGS"), *longer = getenv("LONG");
    const char *target = getenv("FLOWC_TEST_TARGET");
    if (!cc) cc = "gcc";
    if (!flags) flags = longer && *longer ? "-O3" : "-O1";
    const char *program = arena_format(arena, "%s/program.c", folder);
    write_file(program, text);
    const char *kernels = arena_format(arena, "%s/program.cu", folder);
    if (*device) write_file(kernels, device);
    char *command = arena_format(
        arena,
        "%s %s %s %s -Wall -Wextra -Wno-unused-function -Wno-type-limits -o %s/program.so %s %s %s",
        cc, target ? target : "-march=native", flags, compile_words(arena, cc), folder, program,
        *device ? gpu_sources(arena, kernels) : "", runtime_words(arena, program));
    void *library = NULL;
    if (system(command)) printf("does not compile: %s/program.c\n", folder);
    else library = dlopen(arena_format(arena, "%s/program.so", folder), RTLD_NOW | RTLD_LOCAL);
    if (library && getenv("FLOWC_TEST_KEEP")) printf("kept: %s\n", folder);
    else if (library && system(arena_format(arena, "rm -r %s", folder))) return NULL;
    if (!library && dlerror()) printf("cannot be loaded: %s\n", folder);
    return library;
}

/* The program's text, which is the same each time; and that of its kernels for GPUs. */
static const char *text_of(Arena *arena, const Program *program, Text *device) {
    Text text = text_new(arena), again = text_new(arena), device_again = text_new(arena);
    write_program(&text, plan_program(arena, program), false, NULL, device);
    write_program(&again, plan_program(arena, program), false, NULL, &device_again);
    if (!strcmp(text_string(&text), text_string(&again)) &&
        !strcmp(text_string(device), text_string(&device_again)))
        return text_string(&text);
    printf("two runs of the compiler differ\n");
    return NULL;
}

Compiled *compile_graphs(Arena *arena, const Graph *const *graphs, size_t count) {
    Compiled *compiled = arena_new_item(arena, Compiled);
    Text device = text_new(arena);
    const char *text = text_of(arena, program_of(arena, graphs, count), &device);
    compiled->graphs = graphs;
    compiled->library = text ? load(arena, text, text_string(&device)) : NULL;
    if (compiled->library) compiled->program = dlsym(compiled->library, "flow_program");
    return compiled->program ? compiled : NULL;
}

void compiled_unload(Compiled *compiled) {
    dlclose(compiled->library);
}

/* Numbers. */

/* Units in the last place of 1, and the smallest number. */
static double unit_of(Element element) {
    switch (element) {
    case TYPE_bf16: return 0x1p-7;
    case TYPE_f16: return 0x1p-10;
    case TYPE_f32: return 0x1p-23;
    default: return 0x1p-52;
    }
}

static double smallest_of(Element element) {
    switch (element) {
    case TYPE_bf16: return 0x1p-133;
    case TYPE_f16: return 0x1p-24;
    case TYPE_f32: return 0x1p-149;
    default: return 0x1p-1074;
    }
}

static double element_bound(Element element, double wanted) {
    return (is_half(element) ? 1 : 4) * unit_of(element) * fabs(wanted) + smallest_of(element);
}

/* Halves are added in f32 and rounded once. */
static double sum_bound(Element element, double wanted, double scale) {
    double once = is_half(element) ? unit_of(element) * fabs(wanted) : 0;
    const double each = element == TYPE_f64 ? 1e-12 : gpu_rounds_floats() ? 1e-3 : 3e-5;
    return once + each * (fabs(wanted) + scale);
}

/* scale: the size of the largest result if they are sums, else 0. */
static bool is_near(Element element, double found, double wanted, double scale) {
    if (isnan(wanted) || isnan(found)) return isnan(wanted) && isnan(found);
    if (isinf(wanted)) return found == wanted;
    if (element_info[element].class != CLASS_floating) return found == wanted;
    double bound = scale > 0 ? sum_bound(element, wanted, scale) : element_bound(element, wanted);
    return fabs(found - wanted) <= bound;
}

/* Running. */

static int64_t symbol_size(Dim symbol, const void *context) {
    if (dim_is_batch(symbol) || dim_bound(symbol) == SIZE_UNKNOWN) return *(const int64_t *)context;
    return dim_bound(symbol);
}

static int64_t count_of(const Type *type, int64_t batch) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= dim_evaluate(type->dims[i], symbol_size, &batch);
    return count;
}

static size_t storage_offset(const FlowProgram *program, const char *name) {
    for (int i = 0; i < program->storage_count; i++)
        if (!strcmp(program->storage[i].name, name)) return program->storage[i].offset;
    abort();
}

/* Where an output of an export lies in memory. */
static size_t output_offset(const Compiled *compiled, size_t export, size_t index) {
    const Graph *graph = compiled->graphs[export];
    const Output *output = &graph->outputs.items[index];
    if (output->kind == OUTPUT_update)
        return storage_offset(compiled->program, graph_node(graph, output->target)->name);
    int result = 0;
    for (size_t i = 0; i < index; i++)
        if (graph->outputs.items[i].kind == OUTPUT_result) result++;
    return compiled->program->exports[export].results[result].offset;
}

/* The memory after a run by so many threads. */
static char *run(const Compiled *compiled, size_t export, const double *const *values,
                 int64_t batch, int threads) {
    const FlowProgram *program = compiled->program;
    const Graph *graph = compiled->graphs[export];
    size_t size = program->memory_size ? program->memory_size : 64;
    char *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    memset(memory, 0xff, size);
    const void **inputs = calloc(graph->nodes.count + 1, sizeof *inputs);
    int input = 0;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op != OP_input && node->op != OP_weight) continue;
        int64_t count = count_of(&node->type, batch);
        void *place = node->op == OP_weight
                          ? memory + storage_offset(program, node->name)
                          : malloc((size_t)(count * element_info[node->type.element].size));
        if (node->op == OP_input) inputs[input++] = place;
        elements_encode(node->type.element, values[id], count, place);
    }
    _Alignas(64) char barrier[256] = {0};
    FlowFrame frame = {
        .memory = memory, .inputs = inputs, .batch = batch, .barrier = (FlowBarrier *)barrier};
    run_on_threads(&program->exports[export], &frame, threads);
    for (int i = 0; i < input; i++) free((void *)inputs[i]);
    free(inputs);
    return memory;
}

/* Comparing. */

static double largest_of(const double *values, int64_t count) {
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i]) && fabs(values[i]) > largest) largest = fabs(values[i]);
    return largest;
}

static bool output_agrees(const Type *type, const char *name, const char *found,
                          const double *wanted, int64_t count, double scale) {
    for (int64_t i = 0; i < count; i++) {
        double value = element_decode(type->element, found, i);
        if (is_near(type->element, value, wanted[i], scale)) continue;
        printf("%s: element %lld is %.9g and should be %.9g\n", name, (long long)i, value,
               wanted[i]);
        return false;
    }
    return true;
}

/* memory: after a run; first: after the run by one thread. */
static bool outputs_agree(const Compiled *compiled, size_t export, const Evaluation *evaluation,
                          const char *memory, const char *first, int64_t batch,
                          Closeness closeness) {
    const Graph *graph = compiled->graphs[export];
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const Output *output = &graph->outputs.items[i];
        const Type *type = &graph_node(graph, output->value)->type;
        const double *wanted = evaluation->values[output->value];
        size_t offset = output_offset(compiled, export, i);
        int64_t count = count_of(type, batch);
        double scale = closeness == CLOSE_as_sums ? largest_of(wanted, count) : 0;
        if (!output_agrees(type, output->name, memory + offset, wanted, count, scale)) return false;
        if (memcmp(memory + offset, first + offset,
                   (size_t)(count * element_info[type->element].size))) {
            printf("%s: bits differ between numbers of threads\n", output->name);
            return false;
        }
    }
    return true;
}

bool runs_as_evaluated(const Compiled *compiled, size_t index, const double *const *values,
                       int64_t batch, Closeness closeness) {
    Arena *arena = arena_new();
    Evaluation evaluation = graph_evaluate(arena, compiled->graphs[index], values, batch, false);
    bool agrees = true;
    char *first = NULL;
    int most = gpu_is_wanted() ? 1 : THREAD_LIMIT; /* it has blocks and threads of its own */
    for (int threads = 1; threads <= most && agrees; threads++) {
        char *memory = run(compiled, index, values, batch, threads);
        bool used = upper_halves_are_used();
        if (used) printf("the upper halves of vectors are left in use\n");
        if (!first) first = memory;
        agrees =
            outputs_agree(compiled, index, &evaluation, memory, first, batch, closeness) && !used;
        if (memory != first) free(memory);
    }
    free(first);
    arena_free(arena);
    return agrees;
}

bool compiled_agrees(const Graph *graph, const double *const *values, const int64_t *batches) {
    Arena *arena = arena_new();
    Compiled *compiled = compile_graphs(arena, &graph, 1);
    bool agrees = compiled != NULL;
    for (; agrees && *batches; batches++)
        agrees = runs_as_evaluated(compiled, 0, values, *batches, CLOSE_as_sums);
    if (compiled) compiled_unload(compiled);
    arena_free(arena);
    return agrees;
}
