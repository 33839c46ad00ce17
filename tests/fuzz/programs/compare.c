/* Compare. */
#include "tests/fuzz/programs/compare.h"

#include "compiler/codegen/program_text.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "lang/format.h"
#include "runtime/flow.h"
#include "tests/fuzz/programs/generate.h"

#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREAD_LIMIT = 7, VARIANTS = 2, STEP = 3, SEED = 11 };

static const char *const flags[VARIANTS] = {"-O0", "-O3 -march=native"};

typedef struct Comparison {
    Arena *arena;
    bool told;
    Program *program;
    Verdict *verdicts;
} Comparison;

/* Reading. */

typedef Vector(Source *) Sources;

static Sources read_library(Arena *arena) {
    Sources library = {0};
    glob_t found = {0};
    const char *why;
    if (glob("lang/std/*.flow", 0, NULL, &found)) return library;
    for (size_t i = 0; i < found.gl_pathc; i++)
        vector_push(arena, &library, source_read(arena, found.gl_pathv[i], &why));
    globfree(&found);
    return library;
}

static Program *lower(Arena *arena, const Text *text) {
    Sources library = read_library(arena);
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "made.flow", text_string(text), text->size);
    const Module *module =
        module_load(arena, source, library.items, library.count, NULL, diagnostics);
    Program *program = lower_program(arena, module, "made", NULL, 0, diagnostics);
    const char *broken = NULL;
    if (!diagnostics->list.count) pass_run(&passes[0], program, diagnostics, &broken);
    diagnostics_print(diagnostics, stdout, false);
    if (broken) printf("broken by %s\n", broken);
    return diagnostics->list.count || broken ? NULL : program;
}

static bool format_is_stable(Arena *arena, const Text *text) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "made.flow", text_string(text), text->size);
    const Text *once = format(arena, source, diagnostics);
    const Text *twice =
        once ? format(arena, source_from_text(arena, "again.flow", once->bytes, once->size),
                      diagnostics)
             : NULL;
    if (twice && !strcmp(text_string(once), text_string(twice))) return true;
    printf("formatting again changes it\n");
    return false;
}

/* Without the comments that say where a node comes from. */
static const char *text_of(Arena *arena, const Graph *graph) {
    Text text = text_new(arena), plain = text_new(arena);
    graph_print(graph, &text);
    for (const char *line = text_string(&text); *line; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "\n");
        for (size_t i = 0; i + 2 < size; i++)
            if (!memcmp(line + i, " # ", 3)) size = i;
        while (size && line[size - 1] == ' ') size--;
        text_add_bytes(&plain, line, size);
        text_add(&plain, "\n");
    }
    return text_string(&plain);
}

static bool reads_back(Arena *arena, const Graph *graph) {
    const char *text = text_of(arena, graph);
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "made.graph", text, strlen(text));
    const Graph *again = graph_parse(arena, source, diagnostics);
    if (again && !strcmp(text, text_of(arena, again))) return true;
    diagnostics_print(diagnostics, stdout, false);
    printf("this graph is not read back as it is written:\n%s", text);
    return false;
}

/* Variants: the steps as functions of a library. */

static bool may_be_stored(const Node *node) {
    return op_info[node->op].class != LOOP_none && op_info[node->op].class != LOOP_move;
}

/* The graph with every value as a result, or with a few. */
static Graph *with_results(Arena *arena, const Graph *graph, bool all, Function *function) {
    Graph *copy = graph_new(arena, graph->dimensions, graph->name);
    copy->batch = graph->batch;
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count);
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (needed[id]) map[id] = graph_copy_node(copy, graph, id, map);
    vector_each(Output, output, graph->outputs)
        graph_output(copy, output->kind, output->name, map[output->value],
                     output->kind == OUTPUT_update ? map[output->target] : NODE_NONE);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id] || !may_be_stored(node) || !(all || id % 11 == 5)) continue;
        graph_output(copy, OUTPUT_result, arena_format(arena, "%%%u", id), map[id], NODE_NONE);
        vector_push(arena, &function->results, node->type);
    }
    return copy;
}

static Program *variant_of(Comparison *comparison, bool all) {
    Arena *arena = comparison->arena;
    Program *variant = arena_new_item(arena, Program);
    *variant = *comparison->program;
    memset(&variant->trains, 0, sizeof variant->trains);
    memset(&variant->exports, 0, sizeof variant->exports);
    memset(&variant->pipelines, 0, sizeof variant->pipelines);
    vector_each(Train, train, comparison->program->trains) {
        Export export = {.function = train->step};
        memset(&export.function.results, 0, sizeof export.function.results);
        vector_each(Type, type, train->step.results)
            vector_push(arena, &export.function.results, *type);
        export.function.graph = with_results(arena, train->step.graph, all, &export.function);
        export.function.lowered = export.function.graph;
        vector_push(arena, &variant->exports, export);
    }
    return variant;
}

/* Compiling both variants at once. */

static bool write_variant(Comparison *comparison, Program *variant, const char *path) {
    const char *broken = NULL;
    Diagnostics *diagnostics = diagnostics_new(comparison->arena);
    for (int i = 1; i < pass_count; i++)
        if (!pass_run(&passes[i], variant, diagnostics, &broken)) return false;
    Text text = text_new(comparison->arena);
    write_program(&text, plan_program(comparison->arena, variant), false, NULL);
    FILE *file = fopen(path, "w");
    return file && fputs(text_string(&text), file) >= 0 && !fclose(file);
}

static const char *compile_command(Arena *arena, const char *folder, int variant) {
    const char *cc = getenv("CC");
    return arena_format(
        arena,
        "%s %s -std=gnu11 -w -fPIC -shared -pthread -fwrapv -ffp-contract=fast -fno-math-errno "
        "-fno-trapping-math -I. -Iruntime -Icompiler/ops -Icompiler/codegen/templates "
        "%s/%d.c runtime/barrier.c -o %s/%d.so -lm",
        cc ? cc : "gcc", flags[variant], folder, variant, folder, variant);
}

static bool load(Comparison *comparison, Program **variants, void **libraries) {
    Arena *arena = comparison->arena;
    char folder[] = "/tmp/flowc-programs-XXXXXX";
    if (!mkdtemp(folder)) return false;
    bool sound = true;
    for (int i = 0; i < VARIANTS; i++)
        sound &= write_variant(comparison, variants[i], arena_format(arena, "%s/%d.c", folder, i));
    sound = sound && !system(arena_format(arena, "%s & one=$!; %s; two=$?; wait $one && exit $two",
                                          compile_command(arena, folder, 0),
                                          compile_command(arena, folder, 1)));
    for (int i = 0; i < VARIANTS && sound; i++) {
        libraries[i] = dlopen(arena_format(arena, "%s/%d.so", folder, i), RTLD_NOW | RTLD_LOCAL);
        sound = libraries[i] != NULL;
    }
    if (!sound) printf("cannot be compiled: %s\n", folder);
    return sound && !system(arena_format(arena, "rm -r %s", folder));
}

/* Numbers. */

static int64_t symbol_size(Dim symbol, const void *batch) {
    (void)symbol;
    return *(const int64_t *)batch;
}

static int64_t count_of(const Type *type, int64_t batch) {
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= dim_evaluate(type->dims[i], symbol_size, &batch);
    return count;
}

static double element_value(Element element, uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    int64_t bits = (int64_t)(*state >> 40);
    switch (element_info[element].class) {
    case CLASS_boolean: return (double)(bits & 1);
    case CLASS_integer: return (double)(bits % 15 - 7);
    default: return (double)(bits % 33 - 16) / 8;
    }
}

static const Input *input_named(const Function *function, const char *name) {
    vector_each(Input, input, function->inputs)
        if (!strcmp(input->name, name)) return input;
    return NULL;
}

static const double *leaf_values(Arena *arena, const Function *function, const Node *node,
                                 int64_t batch, uint64_t *state) {
    int64_t count = count_of(&node->type, BATCH);
    double *values = arena_new_array(arena, double, count);
    const Input *input = node->op == OP_input ? input_named(function, node->name) : NULL;
    for (int64_t i = 0; i < count; i++) values[i] = element_value(node->type.element, state);
    if (input && input->kind == INPUT_step) *values = STEP;
    if (input && input->kind == INPUT_seed) *values = SEED;
    if (input && input->kind == INPUT_batch) *values = (double)batch;
    return values;
}

/* The same for each graph that has the same leaves in the same order. */
static const double **given_values(Arena *arena, const Function *function, const Graph *graph,
                                   int64_t batch) {
    const double **given = arena_new_array(arena, const double *, graph->nodes.count + 1);
    uint64_t state = 1;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op == OP_input || node->op == OP_weight)
            given[id] = leaf_values(arena, function, node, batch, &state);
    }
    return given;
}

static void encode(Element element, const double *from, int64_t count, void *to) {
    for (int64_t i = 0; i < count; i++) switch (element) {
        case TYPE_bool:
        case TYPE_u8: ((uint8_t *)to)[i] = (uint8_t)from[i]; break;
        case TYPE_i32: ((int32_t *)to)[i] = (int32_t)from[i]; break;
        case TYPE_i64: ((int64_t *)to)[i] = (int64_t)from[i]; break;
        case TYPE_f32: ((float *)to)[i] = (float)from[i]; break;
        case TYPE_f64: ((double *)to)[i] = from[i]; break;
        default: abort();
        }
}

static double decode(Element element, const void *from, int64_t i) {
    switch (element) {
    case TYPE_bool:
    case TYPE_u8: return ((const uint8_t *)from)[i];
    case TYPE_i32: return ((const int32_t *)from)[i];
    case TYPE_i64: return (double)((const int64_t *)from)[i];
    case TYPE_f32: return ((const float *)from)[i];
    case TYPE_f64: return ((const double *)from)[i];
    default: abort();
    }
}

/* Whether rounding could turn a value around: then a difference is no news. */

static double difference(const Evaluation *exact, const Evaluation *rounded, NodeId id) {
    double largest = 0;
    for (int64_t i = 0; i < exact->counts[id]; i++) {
        double one = exact->values[id][i] - rounded->values[id][i];
        if (!isfinite(one)) return INFINITY;
        if (fabs(one) > largest) largest = fabs(one);
    }
    return largest;
}

static double magnitude(const Evaluation *evaluation, NodeId id) {
    double largest = 0;
    for (int64_t i = 0; i < evaluation->counts[id]; i++)
        if (fabs(evaluation->values[id][i]) > largest) largest = fabs(evaluation->values[id][i]);
    return largest;
}

static bool needs_exact_operands(const Graph *graph, const Node *node) {
    const OpInfo *info = &op_info[node->op];
    const Type *operand = node->input_count ? &graph_node(graph, node->inputs[0])->type : NULL;
    if (!operand || element_info[operand->element].class != CLASS_floating) return false;
    if (node->op == OP_cast) return element_info[node->type.element].class != CLASS_floating;
    if (info->class != LOOP_elementwise && info->class != LOOP_reduce) return false;
    bool jumps =
        info->domain && (!strcmp(info->domain, "apart") || !strcmp(info->domain, "nonzero"));
    return info->gives == GIVES_boolean || info->gives == GIVES_index ||
           (jumps && node->op != OP_divide);
}

static bool is_sensitive(const Graph *graph, const Evaluation *exact, const Evaluation *rounded) {
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!exact->values[id] || node->op == OP_input || node->op == OP_weight) continue;
        if (difference(exact, rounded, id) > 1e-3 * (1e-3 + magnitude(exact, id))) return true;
        for (int i = 0; i < node->input_count && needs_exact_operands(graph, node); i++)
            if (difference(exact, rounded, node->inputs[i]) > 0) return true;
    }
    return false;
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
    for (int i = 0; i < threads; i++) workers[i] = (Worker){function, frame, i, threads};
    for (int i = 1; i < threads; i++)
        if (pthread_create(&handles[i], NULL, work, &workers[i])) abort();
    work(&workers[0]);
    for (int i = 1; i < threads; i++) pthread_join(handles[i], NULL);
}

static size_t storage_offset(const FlowProgram *compiled, const char *name) {
    for (int i = 0; i < compiled->storage_count; i++)
        if (!strcmp(compiled->storage[i].name, name)) return compiled->storage[i].offset;
    abort();
}

/* One step of one program in one variant. */
typedef struct Trial {
    Arena *arena;
    const FlowProgram *compiled;
    const FlowFunction *run;
    const Function *function;
    const Graph *graph;
    const double *const *given;
    int64_t batch;
} Trial;

static void *input_place(const Trial *trial, const Node *node, const void **inputs) {
    for (size_t i = 0; i < trial->function->inputs.count; i++) {
        if (strcmp(trial->function->inputs.items[i].name, node->name)) continue;
        size_t size = (size_t)count_of(&node->type, BATCH) * sizeof(double);
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
        encode(node->type.element, trial->given[id], count_of(&node->type, trial->batch), place);
    }
    _Alignas(64) char barrier[256] = {0};
    FlowFrame frame = {.memory = memory,
                       .inputs = inputs,
                       .batch = trial->batch,
                       .barrier = (FlowBarrier *)barrier};
    run_team(trial->run, &frame, threads);
    return memory;
}

/* Comparing. */

static bool is_near(Element element, double found, double wanted, double allowed) {
    if (element_info[element].class != CLASS_floating) return found == wanted;
    return fabs(found - wanted) <= allowed;
}

static size_t output_offset(const Trial *trial, const Output *output, int *result) {
    if (output->kind == OUTPUT_result) return trial->run->results[(*result)++].offset;
    return storage_offset(trial->compiled, graph_node(trial->graph, output->target)->name);
}

static bool outputs_agree(const Trial *trial, const Evaluation *exact, const Evaluation *rounded,
                          const char *memory, const char *first, bool told) {
    int result = 0;
    vector_each(Output, output, trial->graph->outputs) {
        const Type *type = &graph_node(trial->graph, output->value)->type;
        size_t offset = output_offset(trial, output, &result);
        int64_t count = count_of(type, trial->batch);
        double allowed = 5e-5 * magnitude(exact, output->value) + 1e-6 +
                         50 * difference(exact, rounded, output->value);
        for (int64_t i = 0; i < count; i++) {
            double found = decode(type->element, memory + offset, i);
            double wanted = rounded->values[output->value][i];
            if (is_near(type->element, found, wanted, allowed)) continue;
            if (told)
                printf("%s, %s: element %lld is %.9g and should be %.9g\n", trial->function->name,
                       output->name, (long long)i, found, wanted);
            return false;
        }
        size_t size = (size_t)count * (size_t)element_info[type->element].size;
        if (!memcmp(memory + offset, first + offset, size)) continue;
        if (told) printf("%s, %s: threads change bits\n", trial->function->name, output->name);
        return false;
    }
    return true;
}

static bool threads_agree(const Trial *trial, const Evaluation *exact, const Evaluation *rounded,
                          bool told) {
    static const int teams[] = {1, 2, THREAD_LIMIT};
    bool agrees = true;
    char *first = run(trial, teams[0]);
    for (size_t i = 0; i < sizeof teams / sizeof *teams && agrees; i++) {
        char *memory = i ? run(trial, teams[i]) : first;
        agrees = outputs_agree(trial, exact, rounded, memory, first, told);
        if (i) free(memory);
    }
    free(first);
    return agrees;
}

/* graph: of the variant, before it was fused. */
static Verdict compare_variant(const Comparison *comparison, const FlowProgram *compiled,
                               const Function *function, const Graph *graph, size_t index,
                               int64_t batch) {
    Arena *arena = arena_new();
    const double **given = given_values(arena, function, graph, batch);
    Evaluation exact = graph_evaluate(arena, graph, given, batch, true);
    Evaluation rounded = graph_evaluate(arena, graph, given, batch, false);
    Trial trial = {arena, compiled, &compiled->exports[index], function, graph, given, batch};
    Verdict verdict = VERDICT_agrees;
    if (is_sensitive(graph, &exact, &rounded)) verdict = VERDICT_skipped;
    else if (!threads_agree(&trial, &exact, &rounded, comparison->told)) verdict = VERDICT_differs;
    arena_free(arena);
    return verdict;
}

static void compare_all(Comparison *comparison, Program **variants, void **libraries) {
    for (int v = 0; v < VARIANTS; v++) {
        const FlowProgram *compiled = dlsym(libraries[v], "flow_program");
        for (size_t i = 0; i < variants[v]->exports.count; i++) {
            const Function *function = &variants[v]->exports.items[i].function;
            for (int64_t batch = BATCH; batch > 0; batch -= 3) {
                Verdict verdict =
                    compare_variant(comparison, compiled, function, function->lowered, i, batch);
                if (verdict > comparison->verdicts[i]) comparison->verdicts[i] = verdict;
            }
        }
        dlclose(libraries[v]);
    }
}

bool compare_programs(const Text *text, int count, bool told, Verdict *verdicts) {
    Arena *arena = arena_new();
    Comparison comparison = {.arena = arena, .told = told, .verdicts = verdicts};
    memset(verdicts, 0, sizeof *verdicts * (size_t)count);
    bool sound = format_is_stable(arena, text) && (comparison.program = lower(arena, text));
    if (sound)
        vector_each(Train, train, comparison.program->trains)
            sound &= reads_back(arena, train->step.graph);
    if (sound) {
        void *libraries[VARIANTS];
        Program *variants[] = {variant_of(&comparison, true), variant_of(&comparison, false)};
        sound = load(&comparison, variants, libraries);
        if (sound) compare_all(&comparison, variants, libraries);
    }
    arena_free(arena);
    return sound;
}
