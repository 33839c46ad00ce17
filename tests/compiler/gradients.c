/* Gradients of whole graphs, those of tests/passes, against finite differences. */
#include "tests/graphs/check.h"
#include "tests/graphs/values.h"

#include <stdio.h>

static int run_file(const char *path) {
    Arena *arena = arena_new();
    Diagnostics *problems = diagnostics_new(arena);
    const char *problem = NULL;
    const Source *source = source_read(arena, path, &problem);
    Graph *graph = source ? graph_parse(arena, source, problems) : NULL;
    diagnostics_print(problems, stdout, false);
    begin_checks(path);
    if (problem) printf("%s: %s\n", path, problem);
    if (graph) check_gradients(graph, random_values(arena, graph, (Domain){"any", 0}, 1));
    int failed = finish_checks() + !graph;
    arena_free(arena);
    return failed;
}

static const char *const whole_graphs[] = {
    "tests/passes/product.graph",     "tests/passes/shared_loss.graph",
    "tests/passes/independent.graph", "tests/passes/integers.graph",
    "tests/passes/twice.graph",       "tests/passes/contraction.graph",
    "tests/passes/mlp.graph",         "tests/passes/scan.graph",
    "tests/passes/scan_two.graph",    "tests/passes/scan_nested.graph",
    "tests/passes/scan_twice.graph",  "tests/passes/scan_counter.graph",
};

/* The graphs named, or all of these. */
int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) failed += run_file(argv[i]);
    for (size_t i = 0; argc == 1 && i < sizeof whole_graphs / sizeof *whole_graphs; i++)
        failed += run_file(whole_graphs[i]);
    return failed != 0;
}
