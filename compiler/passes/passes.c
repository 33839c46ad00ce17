/* Passes: the table and its loop. */
#include "compiler/passes/passes.h"

#include "compiler/passes/pass.h"

const Pass passes[] = {
#define PASS(function, help) {#function, help, function},
#include "compiler/passes/passes.def"
#undef PASS
};
const int pass_count = sizeof passes / sizeof *passes;

/* The function's graph is the new one. That before all passes stays. */
static void replace(Function *function, Graph *graph) {
    Graph *old = function->graph;
    function->graph = graph;
    if (function->lowered && function->lowered != old) graph_forget(old);
}

bool pass_run(const Pass *pass, Program *program, Diagnostics *diagnostics, const char **broken) {
    FunctionList functions = program_functions(program->arena, program);
    vector_each(Function *, function, functions) {
        Graph *graph = pass->run(program->arena, (*function)->graph, diagnostics);
        if (!graph) return false;
        if (graph == (*function)->graph) continue;
        replace(*function, graph);
        const char *fault = graph_verify(program->arena, graph);
        if (!fault) continue;
        *broken =
            arena_format(program->arena, "%s of %s: %s", pass->name, (*function)->name, fault);
        return false;
    }
    return true;
}
