/* Program: its functions, in the order in which they are planned and printed. */
#include "compiler/graph/program.h"

FunctionList program_functions(Arena *arena, const Program *program) {
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
        vector_each(Function *, fit, train->fits) vector_push(arena, &list, *fit);
        if (train->accumulate.graph) vector_push(arena, &list, &train->accumulate);
        vector_each(Action, action, train->actions)
            if (action->function) vector_push(arena, &list, action->function);
    }
    vector_each(Run, run, program->runs)
        if (run->function) vector_push(arena, &list, run->function);
    vector_each(Export, export, program->exports) vector_push(arena, &list, &export->function);
    return list;
}
