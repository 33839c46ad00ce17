/* Compiled: the generated code of one graph, loaded into this process. */
#include "tests/codegen/compiled.h"

#include "compiler/codegen/program_text.h"
#include "compiler/graph/build.h"
#include "compiler/graph/program.h"
#include "compiler/passes/pass.h"
#include "runtime/flow.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREAD_LIMIT = 3 };

/* A program around the graph. */

static Program *program_of(Arena *arena, const Graph *graph) {
    Program *program = arena_new_item(arena, Program);
    program->arena = arena;
    program->dimensions = graph->dimensions;
    program->name = "test";
    Export export = {.function = {.name = "run", .graph = (Graph *)graph}};
    vector_each(Node, node, graph->nodes) {
        if (node->op == OP_input) {
            int index = (int)export.function.inputs.count;
            vector_push(
                arena, &export.function.inputs,
                (Input){
                    .name = node->name, .kind = INPUT_field, .index = index, .type = node->type});
        }
        if (node->op == OP_weight)
            vector_push(arena, &program->storage,
                        (Storage){.name = node->name, .type = node->type});
    }
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result)
            vector_push(arena, &export.function.results, graph_node(graph, output->value)->type);
    vector_push(arena, &program->exports, export);
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

static void *load(Arena *arena, const char *text) {
    char folder[] = "/tmp/flowc-test-XXXXXX";
    if (!mkdtemp(folder)) return NULL;
    const char *cc = getenv("CC"), *flags = getenv("FLOWC_TEST_FLAGS");
    write_file(arena_format(arena, "%s/program.c", folder), text);
    char *command = arena_format(
        arena,
        "%s %s -std=gnu11 -Wall -Wextra -Wno-unused-function -fPIC -shared -pthread -fwrapv "
        "-ffp-contract=fast -fno-math-errno -fno-trapping-math -I. -Iruntime -Icompiler/ops "
        "-Icompiler/codegen/templates %s/program.c runtime/barrier.c -o %s/program.so -lm",
        cc ? cc : "gcc", flags ? flags : "-O2 -march=native", folder, folder);
    void *library = NULL;
    if (system(command)) printf("does not compile: %s/program.c\n", folder);
    else library = dlopen(arena_format(arena, "%s/program.so", folder), RTLD_NOW | RTLD_LOCAL);
    if (library && getenv("FLOWC_TEST_KEEP")) printf("kept: %s\n", folder);
    else if (library && system(arena_format(arena, "rm -r %s", folder))) return NULL;
    if (!library && dlerror()) printf("cannot be loaded: %s\n", folder);
    return library;
}

/* Numbers. */

/* Sign, exponent and fraction as IEEE 754 lays them out: f16 has 10 bits of fraction, bf16 7. */
static double half_value(Element element, uint16_t bits) {
    int fraction_bits = element == TYPE_f16 ? 10 : 7, last = (1 << (15 - fraction_bits)) - 1;
    int exponent = bits >> fraction_bits & last, fraction = bits & ((1 << fraction_bits) - 1);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == last) return fraction ? NAN : sign * INFINITY;
    if (exponent) fraction += 1 << fraction_bits;
    else exponent = 1;
    return sign * ldexp(fraction, exponent - last / 2 - fraction_bits);
}

/* The bits whose value is the number's, rounded. */
static uint16_t half_bits(Element element, double number) {
    double rounded = element_round(element, number);
    uint32_t low = 0, high = 0x8000;
    if (isnan(rounded)) return 0x7fff;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (half_value(element, (uint16_t)middle) <= fabs(rounded)) low = middle;
        else high = middle;
    }
    return (uint16_t)(low | (signbit(rounded) ? 0x8000 : 0));
}

static void encode(Element element, const double *from, int64_t count, void *to) {
    for (int64_t i = 0; i < count; i++) switch (element) {
        case TYPE_bool:
        case TYPE_u8: ((uint8_t *)to)[i] = (uint8_t)from[i]; break;
        case TYPE_i8: ((int8_t *)to)[i] = (int8_t)from[i]; break;
        case TYPE_i32: ((int32_t *)to)[i] = (int32_t)from[i]; break;
        case TYPE_i64: ((int64_t *)to)[i] = (int64_t)from[i]; break;
        case TYPE_f16: ((uint16_t *)to)[i] = half_bits(element, from[i]); break;
        case TYPE_bf16: ((uint16_t *)to)[i] = half_bits(element, from[i]); break;
        case TYPE_f32: ((float *)to)[i] = (float)from[i]; break;
        default: ((double *)to)[i] = from[i];
        }
}

static double decode(Element element, const void *from, int64_t i) {
    switch (element) {
    case TYPE_bool:
    case TYPE_u8: return ((const uint8_t *)from)[i];
    case TYPE_i8: return ((const int8_t *)from)[i];
    case TYPE_i32: return ((const int32_t *)from)[i];
    case TYPE_i64: return (double)((const int64_t *)from)[i];
    case TYPE_f16: return half_value(element, ((const uint16_t *)from)[i]);
    case TYPE_bf16: return half_value(element, ((const uint16_t *)from)[i]);
    case TYPE_f32: return ((const float *)from)[i];
    default: return ((const double *)from)[i];
    }
}

static bool is_near(Element element, double found, double wanted, double scale) {
    if (isnan(wanted) || isnan(found)) return isnan(wanted) && isnan(found);
    if (isinf(wanted)) return found == wanted;
    if (element_info[element].class != CLASS_floating) return found == wanted;
    double relative = element == TYPE_bf16  ? 1.0 / 128
                      : element == TYPE_f16 ? 1.0 / 1024
                      : element == TYPE_f32 ? 3e-5
                                            : 1e-12;
    return fabs(found - wanted) <= relative * (fabs(wanted) + scale);
}

/* Running. */

typedef struct Worker {
    const FlowFunction *function;
    const FlowFrame *frame;
    int thread, threads;
} Worker;

static void *work(void *context) {
    const Worker *worker = context;
    worker->function->run(worker->frame, worker->thread, worker->threads);
    return NULL;
}

static void run_team(const FlowFunction *function, const FlowFrame *frame, int threads) {
    pthread_t handles[THREAD_LIMIT];
    Worker workers[THREAD_LIMIT];
    for (int i = 0; i < threads; i++) {
        workers[i] = (Worker){function, frame, i, threads};
        if (pthread_create(&handles[i], NULL, work, &workers[i])) abort();
    }
    for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
}

static int64_t symbol_size(Dim symbol, const void *context) {
    if (dim_is_batch(symbol) || dim_bound(symbol) == SIZE_UNKNOWN) return *(const int64_t *)context;
    return dim_bound(symbol);
}

static int64_t count_of(const Type *type, int64_t batch) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= dim_evaluate(type->dims[i], symbol_size, &batch);
    return count;
}

/* Where an output lies in memory. */
static size_t output_offset(const FlowProgram *program, const Graph *graph, size_t index) {
    const Output *output = &graph->outputs.items[index];
    if (output->kind == OUTPUT_update) {
        const char *name = graph_node(graph, output->target)->name;
        for (int i = 0; i < program->storage_count; i++)
            if (!strcmp(program->storage[i].name, name)) return program->storage[i].offset;
        abort();
    }
    int result = 0;
    for (size_t i = 0; i < index; i++)
        if (graph->outputs.items[i].kind == OUTPUT_result) result++;
    return program->exports[0].results[result].offset;
}

static char *run(Arena *arena, const FlowProgram *program, const Graph *graph,
                 const double *const *values, int64_t batch, int threads) {
    size_t size = program->memory_size ? program->memory_size : 64;
    char *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    memset(memory, 0xff, size);
    const void **inputs = arena_new_array(arena, const void *, graph->nodes.count + 1);
    int input = 0, weight = 0;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op != OP_input && node->op != OP_weight) continue;
        int64_t count = count_of(&node->type, batch);
        void *place = node->op == OP_weight
                          ? memory + program->storage[weight++].offset
                          : malloc((size_t)(count * element_info[node->type.element].size));
        if (node->op == OP_input) inputs[input++] = place;
        encode(node->type.element, values[id], count, place);
    }
    _Alignas(64) char barrier[256] = {0};
    FlowFrame frame = {memory, inputs, batch, (FlowBarrier *)barrier, NULL};
    run_team(&program->exports[0], &frame, threads);
    for (int i = 0; i < input; i++) free((void *)inputs[i]);
    return memory;
}

/* Comparing. */

static bool output_agrees(const Graph *graph, const Output *output, const char *found,
                          const double *wanted, int64_t batch) {
    const Type *type = &graph_node(graph, output->value)->type;
    double scale = 0;
    int64_t count = count_of(type, batch);
    for (int64_t i = 0; i < count; i++)
        if (isfinite(wanted[i]) && fabs(wanted[i]) > scale) scale = fabs(wanted[i]);
    for (int64_t i = 0; i < count; i++) {
        double value = decode(type->element, found, i);
        if (is_near(type->element, value, wanted[i], scale)) continue;
        printf("%s: element %lld is %.9g and should be %.9g\n", output->name, (long long)i, value,
               wanted[i]);
        return false;
    }
    return true;
}

static bool outputs_agree(const FlowProgram *program, const Graph *graph,
                          const Evaluation *evaluation, const char *memory, const char *first,
                          int64_t batch) {
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const Output *output = &graph->outputs.items[i];
        const Type *type = &graph_node(graph, output->value)->type;
        size_t offset = output_offset(program, graph, i);
        size_t size = (size_t)(count_of(type, batch) * element_info[type->element].size);
        if (!output_agrees(graph, output, memory + offset, evaluation->values[output->value],
                           batch))
            return false;
        if (memcmp(memory + offset, first + offset, size)) {
            printf("%s: bits differ between numbers of threads\n", output->name);
            return false;
        }
    }
    return true;
}

bool compiled_agrees(const Graph *graph, const double *const *values, int64_t batch) {
    Arena *arena = arena_new();
    Program *program = program_of(arena, graph);
    Graph *fused = fuse(arena, graph, NULL);
    program->exports.items[0].function.graph = fused;
    Text text = text_new(arena), again = text_new(arena);
    write_program(&text, plan_program(arena, program), false, NULL);
    write_program(&again, plan_program(arena, program), false, NULL);
    bool agrees = !strcmp(text_string(&text), text_string(&again));
    if (!agrees) printf("two runs of the compiler differ\n");
    void *library = load(arena, text_string(&text));
    const FlowProgram *compiled = library ? dlsym(library, "flow_program") : NULL;
    agrees = agrees && compiled;
    if (agrees) {
        Evaluation evaluation = graph_evaluate(arena, graph, values, batch, false);
        char *first = NULL;
        for (int threads = 1; threads <= THREAD_LIMIT && agrees; threads++) {
            char *memory = run(arena, compiled, graph, values, batch, threads);
            agrees =
                outputs_agree(compiled, graph, &evaluation, memory, first ? first : memory, batch);
            if (first) free(memory);
            else first = memory;
        }
        free(first);
    }
    if (library) dlclose(library);
    arena_free(arena);
    return agrees;
}
