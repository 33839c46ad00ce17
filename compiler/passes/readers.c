/* Readers: see readers.h. */
#include "compiler/passes/readers.h"

const Output *record_result(const Graph *graph, int index) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result && !index--) return output;
    return NULL;
}

Input *input_of_field(const Function *function, int index) {
    vector_each(Input, input, function->inputs)
        if (input->kind == INPUT_field && input->index == index) return input;
    return NULL;
}

bool is_read_otherwise(const Program *program, const Pipeline *pipeline) {
    vector_each(Pipeline *, other, program->pipelines)
        vector_each(Pipeline *, input, (*other)->join.inputs)
            if (*input == pipeline) return true;
    vector_each(Run, run, program->runs)
        if (run->pipeline == pipeline) return true;
    vector_each(Stage, stage, pipeline->stages)
        if (stage->kind == STAGE_sink) return true;
    return false;
}

FunctionList find_readers(Arena *arena, const Program *program, const Pipeline *pipeline) {
    FunctionList readers = {0};
    vector_each(Train, train, program->trains) {
        if (train->data == pipeline) {
            vector_push(arena, &readers, &train->step);
            if (train->accumulate.graph) vector_push(arena, &readers, &train->accumulate);
            vector_each(Function *, fit, train->fits) vector_push(arena, &readers, *fit);
        }
        vector_each(Action, action, train->actions)
            if (action->pipeline == pipeline && action->function)
                vector_push(arena, &readers, action->function);
    }
    return readers;
}
