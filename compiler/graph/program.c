/* Program: its functions, in the order in which they are planned and printed; how records of its
 * pipelines come. */
#include "compiler/graph/program.h"

#include <string.h>

FunctionList program_functions(Arena *arena, const Program *program) {
    FunctionList list = {0};
    vector_each(Pipeline *, pipeline, program->pipelines)
        vector_each(Section *, section, (*pipeline)->sections) {
            vector_push(arena, &list, &(*section)->record);
            vector_each(Ordering, order, (*section)->orders)
                if (order->condition.graph) vector_push(arena, &list, &order->condition);
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

/* The first order of the kinds that decide how many records there are, or NULL. */
static const Ordering *first_choice(const Pipeline *pipeline) {
    vector_each(Section *, section, pipeline->sections)
        vector_each(Ordering, order, (*section)->orders)
            if (order->kind == ORDER_take || order->kind == ORDER_filter) return order;
    return NULL;
}

static bool counts_for_ever(const Pipeline *pipeline) {
    return pipeline->source && !strcmp(pipeline->source, "range") && !pipeline->records;
}

const char *origin_text(const Pipeline *pipeline) {
    static const char *const texts[] = {[ORIGIN_input] = "standard input",
                                        [ORIGIN_command] = "the output of a program",
                                        [ORIGIN_connect] = "what a socket sends",
                                        [ORIGIN_listen] = "what clients send",
                                        [ORIGIN_folder] = "the names of files that come"};
    return texts[pipeline->origin.kind];
}

bool reads_a_stream(const Pipeline *pipeline) {
    return pipeline->origin.kind != ORIGIN_files && pipeline->origin.kind != ORIGIN_folder;
}

/* Of numbers without an end nobody looks up the thousandth that passes a filter. */
bool comes_as_it_comes(const Pipeline *pipeline) {
    const Ordering *choice = first_choice(pipeline);
    return pipeline->origin.kind != ORIGIN_files ||
           (counts_for_ever(pipeline) && choice && choice->kind == ORDER_filter);
}

/* The shortest input of a zip ends it. */
static bool has_endless_inputs(const Pipeline *pipeline) {
    bool endless = pipeline->join.inputs.count > 0;
    vector_each(Pipeline *, input, pipeline->join.inputs) endless &= is_endless(*input);
    return endless;
}

bool is_endless(const Pipeline *pipeline) {
    return !first_choice(pipeline) && (counts_for_ever(pipeline) || has_endless_inputs(pipeline));
}
