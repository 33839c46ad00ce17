/* Variant. */
#include "tests/fuzz/programs/variant.h"

#include "compiler/codegen/program_text.h"
#include "compiler/passes/passes.h"
#include "tests/codegen/gpu.h"
#include "tests/codegen/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What takes the least time to give code that is as it was written, for this machine. */
static const char plain_compiler[] = "$(command -v clang-19 || command -v clang || echo gcc)";

/* With $FLOWC_TEST_TARGET all is compiled for that, by $CC. */
static const char *compiler_of(Way way) {
    const char *cc = getenv("CC");
    if (way != WAY_users && !getenv("FLOWC_TEST_TARGET")) return plain_compiler;
    return cc ? cc : "gcc";
}

/* Graphs. */

static bool may_be_stored(const Node *node) {
    return op_info[node->op].class != LOOP_none && op_info[node->op].class != LOOP_move;
}

/* The graph with every value as a result, or with a few. */
static Graph *with_results(Arena *arena, const Graph *graph, bool all, Function *function) {
    Graph *copy = graph_like(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count);
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (needed[id]) map[id] = graph_copy_node(copy, graph, id, map);
    graph_copy_outputs(copy, graph, map);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id] || !may_be_stored(node) || !(all || id % 11 == 5)) continue;
        graph_output(copy, OUTPUT_result, arena_format(arena, "%%%u", id), map[id], NODE_NONE);
        vector_push(arena, &function->results, node->type);
    }
    return copy;
}

static Export export_of(Arena *arena, const Train *train, bool all) {
    Export export = {.function = train->step};
    memset(&export.function.results, 0, sizeof export.function.results);
    vector_each(Type, type, train->step.results)
        vector_push(arena, &export.function.results, *type);
    export.function.graph = with_results(arena, train->step.graph, all, &export.function);
    export.function.lowered = export.function.graph;
    return export;
}

Variant variant_new(Arena *arena, const Program *program, Way way, const bool *chosen) {
    Variant variant = {.way = way,
                       .program = arena_new_item(arena, Program),
                       .trains = arena_new_array(arena, int, program->trains.count + 1)};
    Program *made = variant.program;
    *made = *program;
    if (way == WAY_fused && gpu_is_wanted()) gpu_take(made);
    memset(&made->trains, 0, sizeof made->trains);
    memset(&made->exports, 0, sizeof made->exports);
    memset(&made->pipelines, 0, sizeof made->pipelines);
    for (size_t i = 0; i < program->trains.count; i++) {
        if (!chosen[i]) continue;
        variant.trains[made->exports.count] = (int)i;
        vector_push(arena, &made->exports,
                    export_of(arena, &program->trains.items[i], way == WAY_plain));
    }
    return variant;
}

/* Compiling. */

static bool write_file(const char *path, const Text *text) {
    FILE *file = fopen(path, "w");
    return file && fputs(text_string(text), file) >= 0 && !fclose(file);
}

static bool write_variant(Arena *arena, Program *program, const char *path) {
    const char *broken = NULL;
    Diagnostics *diagnostics = diagnostics_new(arena);
    for (int i = 1; i < pass_count; i++)
        if (!pass_run(&passes[i], program, diagnostics, &broken)) {
            printf("broken by %s\n", broken ? broken : passes[i].name);
            return false;
        }
    Text text = text_new(arena), device = text_new(arena);
    write_program(&text, plan_program(arena, program), false, NULL, &device);
    return write_file(path, &text) && write_file(arena_format(arena, "%su", path), &device);
}

static const char *compile_command(Arena *arena, const char *folder, const Variant *variant) {
    const char *path = arena_format(arena, "%s/%d.c", folder, variant->way);
    const char *compiler = compiler_of(variant->way), *target = getenv("FLOWC_TEST_TARGET");
    return arena_format(
        arena, "%s %s %s %s -w -o %s/%d.so %s %s %s", compiler, target ? target : "-march=native",
        variant->way == WAY_users ? "-O3" : "-O0", compile_words(arena, compiler), folder,
        variant->way, path,
        variant->program->gpus ? gpu_sources(arena, arena_format(arena, "%su", path)) : "",
        runtime_words(arena, path));
}

/* All at once; fails if one fails. */
static bool compile_all(Arena *arena, const char *folder, const Variant *variants, int count,
                        bool told) {
    Text command = text_new(arena);
    for (int i = 0; i < count; i++)
        text_format(&command, "%s %s & jobs=\"$jobs $!\"; ",
                    compile_command(arena, folder, &variants[i]), told ? "" : "2>/dev/null");
    text_add(&command, "for job in $jobs; do wait $job || exit 1; done");
    return !system(text_string(&command));
}

static bool open_library(Arena *arena, const char *folder, Variant *variant) {
    const char *path = arena_format(arena, "%s/%d.so", folder, variant->way);
    variant->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    variant->compiled = variant->library ? dlsym(variant->library, "flow_program") : NULL;
    return variant->compiled != NULL;
}

bool variants_load(Arena *arena, Variant *variants, int count, bool told) {
    char folder[] = "/tmp/flowc-programs-XXXXXX";
    if (!mkdtemp(folder)) return false;
    bool sound = true;
    for (int i = 0; i < count; i++)
        sound &= write_variant(arena, variants[i].program,
                               arena_format(arena, "%s/%d.c", folder, variants[i].way));
    sound = sound && compile_all(arena, folder, variants, count, told);
    for (int i = 0; i < count && sound; i++) sound = open_library(arena, folder, &variants[i]);
    if (!sound && told) printf("cannot be compiled: %s\n", folder);
    bool kept = !sound && told;
    return (kept || !system(arena_format(arena, "rm -r %s", folder))) && sound;
}

void variant_close(Variant *variant) {
    if (variant->library) dlclose(variant->library);
}
