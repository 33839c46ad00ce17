/* Passes: the table and its loop. */
#include "compiler/passes/passes.h"

#include "compiler/passes/pass.h"

const Pass passes[] = {
#define PASS(function, help) {#function, help, function},
#include "compiler/passes/passes.def"
#undef PASS
};
const int pass_count = sizeof passes / sizeof *passes;

FunctionList program_functions(Arena *arena, Program *program) {
    FunctionList list = {0};
    vector_each(Pipeline *, pipeline, program->pipelines)
        vector_each(Section *, section, (*pipeline)->sections) {
            vector_push(arena, &list, &(*section)->record);
            vector_each(Ordering, order, (*section)->orders)
                if (order->kind == ORDER_filter) vector_push(arena, &list, &order->condition);
        }
    vector_each(Train, train, program->trains) {
        vector_push(arena, &list, &train->initialise);
        vector_push(arena, &list, &train->step);
        if (train->accumulate.graph) vector_push(arena, &list, &train->accumulate);
        vector_each(Action, action, train->actions)
            if (action->function) vector_push(arena, &list, action->function);
    }
    vector_each(Run, run, program->runs)
        if (run->function) vector_push(arena, &list, run->function);
    vector_each(Export, export, program->exports) vector_push(arena, &list, &export->function);
    return list;
}

bool pass_run(const Pass *pass, Program *program, Diagnostics *diagnostics, const char **broken) {
    FunctionList functions = program_functions(program->arena, program);
    vector_each(Function *, function, functions) {
        Graph *graph = pass->run(program->arena, (*function)->graph, diagnostics);
        if (!graph) return false;
        (*function)->graph = graph;
        const char *fault = graph_verify(program->arena, graph);
        if (!fault) continue;
        *broken =
            arena_format(program->arena, "%s of %s: %s", pass->name, (*function)->name, fault);
        return false;
    }
    return true;
}
