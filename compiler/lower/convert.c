/* Convert: compile-time values to nodes, sizes, numbers and settings. */
#include "compiler/lower/lowering.h"

#include <math.h>

static bool is_whole(double number) {
    return number == floor(number) && fabs(number) <= 9007199254740992.0;
}

NodeId input_node(const Context *context, const char *name, InputKind kind, int index, Type type,
                  Type record_type, Range range) {
    Problem problem;
    Function *function = context->function;
    range = users_place(context, range);
    Node node = {.op = OP_input, .name = name, .type = type, .range = range};
    NodeId id = graph_add(context->graph, node, &problem);
    vector_each(Input, input, function->inputs)
        if (input->kind == kind && input->index == index && input->type.element == type.element)
            return id;
    vector_push(context->lowering->arena, &function->inputs,
                (Input){graph_node(context->graph, id)->name, kind, index, record_type});
    return id;
}

static NodeId step_node(const Context *context, Element element, Range range) {
    Type type = type_scalar(TYPE_i64);
    NodeId step = input_node(context, "step", INPUT_step, 0, type, type, range);
    return graph_declared(context->graph, OP_cast, step, type_scalar(element), range);
}

static NodeId option_node(const Context *context, const Value *value, Element element) {
    if (value->index == STEP_INDEX) return step_node(context, element, value->range);
    const Option *option = &context->lowering->program->options.items[value->index];
    Type type = type_scalar(element);
    const char *name = arena_format(context->lowering->arena, "%s:%s", option->name,
                                    element_info[element].name);
    return input_node(context, name, INPUT_option, value->index, type, type, value->range);
}

/* A multiple of the batch, counted when the program runs. */
static NodeId size_node(const Context *context, Dim size, Element element, Range range) {
    Lowering *lowering = context->lowering;
    Graph *graph = context->graph;
    Dim factor = graph->batch ? dim_divide(lowering->dimensions, size, graph->batch) : NULL;
    int64_t count = 1;
    if ((!factor || !dim_is_constant(factor, &count)) && !context->checking) {
        report(context, E0206, range, "the size %s is not known when the program runs",
               dim_text(lowering->arena, size));
        return NODE_NONE;
    }
    Type type = type_scalar(TYPE_i64);
    NodeId batch = input_node(context, "batch", INPUT_batch, 0, type, type, range);
    NodeId all = graph_make(graph, OP_multiply, batch,
                            graph_constant(graph, TYPE_i64, (double)count, range), NODE_NONE, range);
    return graph_declared(graph, OP_cast, all, type_scalar(element), range);
}

static NodeId number_node(const Context *context, double number, Element element, Range range) {
    if (element_info[element].class != CLASS_floating && !is_whole(number)) {
        report(context, E0203, range, "%.15g is no %s", number, element_info[element].name);
        return NODE_NONE;
    }
    return graph_constant(context->graph, element, number, users_place(context, range));
}

static NodeId tensor_node(const Context *context, const Value *value, Element element, Range range) {
    const char *have = element_info[value_type(value)->element].name;
    if (value->graph != context->graph) {
        report(context, E0214, range, "a value of the step can't be used here");
        return NODE_NONE;
    }
    if (value_type(value)->element == element) return value->node;
    Diagnostic *d = report(context, E0203, range, "expects %s, receives %s",
                           element_info[element].name, have);
    diagnostic_help(d, "cast(…, %s)", element_info[element].name);
    return NODE_NONE;
}

NodeId to_node(const Context *context, const Value *value, Element element, Range range) {
    int64_t constant;
    if (value->kind == VALUE_error) return NODE_NONE;
    if (!context->graph || !context->function) {
        report(context, E0206, range, "tensors don't exist here");
        return NODE_NONE;
    }
    switch (value->kind) {
    case VALUE_number:
    case VALUE_truth: return number_node(context, value->number, element, range);
    case VALUE_size:
        return dim_is_constant(value->size, &constant)
                   ? number_node(context, (double)constant, element, range)
                   : size_node(context, value->size, element, range);
    case VALUE_option: return option_node(context, value, element);
    case VALUE_tensor: return tensor_node(context, value, element, range);
    default: break;
    }
    Diagnostic *d = report(context, E0203, range, "expects a tensor, receives %s",
                           value_text(context->lowering->arena, value));
    if (value->kind == VALUE_field)
        diagnostic_help(d, "say its type first: `|> : u8[28, 28]`, or give it to a function that does");
    return NODE_NONE;
}

bool to_number(const Context *context, const Value *value, Range range, double *number) {
    int64_t constant;
    if (value->kind == VALUE_error) return false;
    *number = value->number;
    if (value->kind == VALUE_number || value->kind == VALUE_truth) return true;
    if (value->kind == VALUE_size && dim_is_constant(value->size, &constant)) {
        *number = (double)constant;
        return true;
    }
    report(context, E0206, range, "expects a number known at compile time, receives %s",
           value_text(context->lowering->arena, value));
    return false;
}

Dim to_size(const Context *context, const Value *value, Range range) {
    double number;
    if (value->kind == VALUE_size) return value->size;
    if (!to_number(context, value, range, &number)) return NULL;
    if (!is_whole(number)) {
        report(context, E0209, range, "%.15g is no whole size", number);
        return NULL;
    }
    if (number < 0 || number > (double)DIMENSION_LIMIT) {
        report(context, E0216, range, "a size lies between 0 and 2^40, not at %.15g", number);
        return NULL;
    }
    return dim_constant(context->lowering->dimensions, (int64_t)number);
}

Setting to_setting(const Context *context, const Value *value, Range range, double least) {
    Setting setting = {-1, least};
    if (value->kind == VALUE_option && value->index != STEP_INDEX) {
        setting.option = value->index;
        setting.value = context->lowering->program->options.items[value->index].number;
    } else if (!to_number(context, value, range, &setting.value)) {
        return setting;
    }
    if (!is_whole(setting.value) || setting.value < least)
        report(context, E0211, range, "expects a whole number of at least %.15g, receives %.15g",
               least, setting.value);
    return setting;
}
