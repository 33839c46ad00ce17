/* Codegen: every *.graph named on the command line, compiled and run with random numbers, for a
 * whole batch, one record less, and one record. Gradients are taken first. */
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"
#include "tests/codegen/compiled.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static double random_value(Element element, uint64_t *state) {
    uint32_t bits = random_bits(state);
    if (is_half(element)) return (double)(bits >> 24) / 64 - 1; /* which needs no rounding */
    if (element == TYPE_u8) return bits >> 8 & 255;
    if (element == TYPE_i8) return (int8_t)(bits >> 8);
    switch (element_info[element].class) {
    case CLASS_boolean: return bits >> 8 & 1;
    case CLASS_integer: return bits >> 8 & 7;
    default: break;
    }
    const double number = (double)bits / 2147483648.0 * 2 - 1 + 1.0 / 1024;
    return element == TYPE_f64 ? number : (float)number;
}

/* Of inputs named so a third of each row, and runs of 16, are zeros of both signs; or all, or none
 * of them. */
static bool is_zero_there(const Node *node, int64_t i) {
    if (!may_be_zeros(node->name) || !strcmp(node->name, "zeros, none")) return false;
    if (!strncmp(node->name, "zeros, all", strlen("zeros, all"))) return true;
    const int64_t last = dim_bound(node->type.dims[node->type.rank - 1]), row = i / last,
                  column = i % last;
    return column % 3 == 0 || (row * 5 + column / 16 * 3) % 4;
}

static const double *const *random_values(Arena *arena, const Graph *graph) {
    const double **values = arena_new_array(arena, const double *, graph->nodes.count + 1);
    uint64_t state = 1;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op != OP_input && node->op != OP_weight) continue;
        int64_t count = type_size_bound(&node->type) / element_info[node->type.element].size;
        double *numbers = arena_new_array(arena, double, count);
        for (int64_t i = 0; i < count; i++) {
            numbers[i] = random_value(node->type.element, &state);
            if (is_zero_there(node, i)) numbers[i] = i % 2 ? 0. : -0.;
        }
        values[id] = numbers;
    }
    return values;
}

static bool check_file(const char *path) {
    Arena *arena = arena_new();
    const char *problem;
    Source *source = source_read(arena, path, &problem);
    Diagnostics *diagnostics = diagnostics_new(arena);
    Graph *graph = source ? graph_parse(arena, source, diagnostics) : NULL;
    if (graph) graph = differentiate(arena, graph, diagnostics);
    diagnostics_print(diagnostics, stdout, false);
    int64_t batch = graph && graph->batch ? dim_bound(graph->batch) : 1;
    int64_t batches[] = {batch, batch - 1, batch > 2, 0};
    bool passed = graph && compiled_agrees(graph, random_values(arena, graph), batches);
    if (!passed) printf("FAILED %s\n", path);
    arena_free(arena);
    return passed;
}

/* The graphs named, or all of tests/codegen and the loops of tests/passes: run from the top of the
 * repository. */
int main(int argc, char **argv) {
    glob_t found = {0};
    if (argc == 1 && !glob("tests/codegen/*.graph", 0, NULL, &found) &&
        !glob("tests/passes/scan*.graph", GLOB_APPEND, NULL, &found)) {
        argc = 1 + (int)found.gl_pathc;
        argv = found.gl_pathv - 1;
    }
    int failed = argc == 1; /* nothing to test is a failure too */
    for (int i = 1; i < argc; i++) failed += !check_file(argv[i]);
    printf("codegen: %d graphs, %d failed\n", argc - 1, failed);
    return failed != 0;
}
