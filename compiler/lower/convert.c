/* Convert: compile-time values to nodes, sizes, numbers and settings. */
#include "compiler/lower/lowering.h"

#include "compiler/graph/movement.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_whole(double number) {
    return number == floor(number) && fabs(number) <= 9007199254740992.0;
}

NodeId input_node(const Context *context, const char *name, InputKind kind, int index, Type type,
                  Type record_type, Range range) {
    Problem problem;
    Function *function = context->function;
    if (context->scan) {
        const Context *outside = context->scan->outside;
        NodeId outer = input_node(outside, name, kind, index, type, record_type, range);
        if (outer == NODE_NONE) return outer;
        return inside_scan(context, value_tensor(outside->graph, outer, range)).node;
    }
    range = users_place(context, range);
    Node node = {.op = OP_input, .name = name, .type = type, .range = range};
    NodeId id = graph_add(context->graph, node, &problem);
    if (id == NODE_NONE) {
        report(context, problem.code, range, "%s", problem.text);
        return id;
    }
    vector_each(Input, input, function->inputs)
        if (input->kind == kind && input->index == index && input->type.element == type.element)
            return id;
    vector_push(context->lowering->arena, &function->inputs,
                (Input){.name = graph_node(context->graph, id)->name,
                        .kind = kind,
                        .index = index,
                        .type = record_type});
    return id;
}

static NodeId run_number_node(const Context *context, const RunNumber *number, Element element,
                              Range range) {
    Type type = type_scalar(number->element);
    NodeId input = input_node(context, number->input, number->kind, 0, type, type, range);
    return graph_declared(context->graph, OP_cast, input, type_scalar(element), range);
}

static NodeId option_node(const Context *context, const Value *value, Element element) {
    const RunNumber *number = run_number(value);
    if (number) return run_number_node(context, number, element, value->range);
    const Option *option = &context->lowering->program->options.items[value->index];
    Type type = type_scalar(element);
    const char *name =
        arena_format(context->lowering->arena, "%s:%s", option->name, element_info[element].name);
    return input_node(context, name, INPUT_option, value->index, type, type, value->range);
}

static NodeId batch_node(const Context *context, int64_t factor, Range range) {
    Graph *graph = context->graph;
    Type type = type_scalar(TYPE_i64);
    NodeId batch = input_node(context, "batch", INPUT_batch, 0, type, type, range);
    return graph_make(graph, OP_multiply, batch,
                      graph_constant(graph, TYPE_i64, (double)factor, range), NODE_NONE, range);
}

/* Its place among the sizes that are wanted as numbers. */
static int size_number(Lowering *lowering, Dim size) {
    Program *program = lowering->program;
    for (size_t i = 0; i < program->sizes.count; i++)
        if (program->sizes.items[i] == size) return (int)i;
    vector_push(lowering->arena, &program->sizes, size);
    return (int)program->sizes.count - 1;
}

static void find_unsettled(Dim symbol, void *found) {
    if (!dim_is_batch(symbol) && dim_bounded_number(symbol) < 0) *(bool *)found = true;
}

/* What makes records is given their fields alone, and no sizes: of 0, 1, …, size, the last one. */
static NodeId last_number(const Context *context, Dim size, Range range) {
    Graph *graph = context->graph;
    Problem problem;
    const Dim count = dim_add(graph->dimensions, size, dim_constant(graph->dimensions, 1));
    if (!count) {
        report(context, E0216, range, "the size %s is too large",
               dim_text(context->lowering->arena, size));
        return NODE_NONE;
    }
    const Type type = {.element = TYPE_i64, .rank = 1, .dims = {count}};
    const NodeId numbers =
        graph_add(graph, (Node){.op = OP_iota, .type = type, .range = range}, &problem);
    assert(numbers != NODE_NONE && "a line of numbers that can't be");
    const View view = {.rank = 1, .coordinates = {coordinate_along(size, -1)}};
    return graph_view(graph, numbers, &view, type_scalar(TYPE_i64), range);
}

/* A size of the batch and bounded dimensions, known when the program runs. */
static NodeId size_node(const Context *context, Dim size, Element element, Range range) {
    Lowering *lowering = context->lowering;
    Graph *graph = context->graph;
    Dim factor = graph->batch ? dim_divide(lowering->dimensions, size, graph->batch) : NULL;
    int64_t count = 1;
    bool unsettled = false, multiple = factor && dim_is_constant(factor, &count);
    dim_each_symbol(size, find_unsettled, &unsettled);
    if (unsettled && !context->checking) {
        report(context, E0206, range, "the size %s is not known when the program runs",
               dim_text(lowering->arena, size));
        return NODE_NONE;
    }
    Type type = type_scalar(TYPE_i64);
    NodeId all;
    if (multiple || unsettled) {
        all = batch_node(context, count, range);
    } else if (context->function->of_record) {
        all = last_number(context, size, range);
        if (all == NODE_NONE) return all;
    } else {
        const char *name =
            arena_format(lowering->arena, "size:%s", dim_text(lowering->arena, size));
        all = input_node(context, name, INPUT_size, size_number(lowering, size), type, type, range);
    }
    return graph_declared(graph, OP_cast, all, type_scalar(element), range);
}

/* Does the element type hold the number? Floating-point types hold every one, rounded. */
static bool holds(Element element, double number) {
    const ElementInfo *info = &element_info[element];
    if (info->class == CLASS_floating) return true;
    if (!is_whole(number)) return false;
    if (info->class == CLASS_boolean) return number == 0 || number == 1;
    int bits = 8 * info->size - (element != TYPE_u8);
    double end = ldexp(1, bits);
    return number < end && number >= (element == TYPE_u8 ? 0 : -end);
}

static NodeId number_node(const Context *context, double number, Element element, Range range) {
    Problem problem;
    if (!holds(element, number)) {
        const char *name = element_info[element].name;
        Diagnostic *d = report(context, E0203, range,
                               "%.15g does not fit into %s, which is what is "
                               "needed here",
                               number, name);
        if (!is_whole(number)) diagnostic_help(d, "cast the %s to f32: `cast(…, f32)`", name);
        return NODE_NONE;
    }
    Node node = {.op = OP_constant,
                 .number = number,
                 .type = type_scalar(element),
                 .range = users_place(context, range)};
    NodeId id = graph_add(context->graph, node, &problem);
    if (id == NODE_NONE) report(context, problem.code, range, "%s", problem.text);
    return id;
}

double fixed_number(const Context *context, const Value *option) {
    Option *fixed = &context->lowering->program->options.items[option->index];
    fixed->fixed = true;
    return fixed->number;
}

const char *fixed_string(const Context *context, const Value *string) {
    if (string->index) context->lowering->program->options.items[string->index - 1].fixed = true;
    return string->string;
}

void report_foreign(const Context *context, Range range) {
    const Frame *frame = context->frame;
    while (frame && frame->declaration) frame = frame->caller;
    if (frame)
        report(context, E0214, range, "a first value can't depend on what flows through the model");
    else report(context, E0214, range, "this is computed elsewhere and can't be used here");
}

static void find_open(Dim symbol, void *found) {
    const char *name = dim_symbol_name(symbol);
    if (name && name[0] == '?') *(bool *)found = true;
}

bool has_one_shape(const Context *context, const Value *tensor, Range range) {
    const Type *type = value_type(tensor);
    bool open = false;
    int at = 0;
    for (; at < type->rank && !open; at++) dim_each_symbol(type->dims[at], find_open, &open);
    if (!open) return true;
    Arena *arena = context->lowering->arena;
    Diagnostic *d = report(context, E0206, range, "%s: the size %s is known only from each record",
                           type_text(arena, type), dim_text(arena, type->dims[at - 1]));
    Range origin = graph_node(tensor->graph, tensor->node)->range;
    if (origin.source && origin.begin != range.begin)
        diagnostic_note(d, origin, "it comes from here");
    diagnostic_help(d, "`resize` gives it a size");
    return false;
}

static NodeId tensor_node(const Context *context, const Value *value, Element element,
                          Range range) {
    const char *have = element_info[value_type(value)->element].name;
    if (value->graph != context->graph) {
        report_foreign(context, range);
        return NODE_NONE;
    }
    if (!has_one_shape(context, value, range)) return NODE_NONE;
    if (value_type(value)->element == element) return value->node;
    Diagnostic *d =
        report(context, E0203, range, "expects %s, receives %s", element_info[element].name, have);
    diagnostic_help(d, "`cast(…, %s)`", element_info[element].name);
    return NODE_NONE;
}

/* A column becomes a number of the element type; other fields have to be asked for by type. */
static NodeId field_node(const Context *context, const Value *field, Element element, Range range) {
    if (field->form >= FORM_columns && field->form <= FORM_feature) {
        Type type = field->form == FORM_columns ? field->field->type : type_scalar(element);
        type.element = element;
        Value typed = type_field(context, field, type, range);
        return typed.kind == VALUE_error ? NODE_NONE : tensor_node(context, &typed, element, range);
    }
    Diagnostic *d = report(context, E0203, range, "expects a tensor, receives %s",
                           value_text(context->lowering->arena, field));
    help_untyped(d, field);
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
    case VALUE_field: return field_node(context, value, element, range);
    case VALUE_items:
        if (value->items.count && !value->items.names)
            return stack_values(context, value, element, range);
        break;
    default: break;
    }
    report(context, E0203, range, "expects a tensor, receives %s",
           value_text(context->lowering->arena, value));
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
    if (context->checking && value->kind == VALUE_size) return false; /* a call will tell */
    if (context->fixing && value->kind == VALUE_option && !run_number(value)) {
        *number = fixed_number(context, value);
        return true;
    }
    bool late =
        value->kind == VALUE_tensor || value->kind == VALUE_size || value->kind == VALUE_option;
    report(context, late ? E0206 : E0203, range, "expects a number%s, receives %s",
           late ? " known at compile time" : "", value_text(context->lowering->arena, value));
    return false;
}

/* "E/2 is 3.5": how the fraction came about, if it is short. */
static void report_fraction(const Context *context, double number, Range range) {
    enum { SHOWN = 40 };
    const char *text = range_text(context, range);
    bool written = range.end - range.begin <= SHOWN && strchr(text, '/') && !strchr(text, '\n');
    if (written) report(context, E0209, range, "`%s` is %.15g, and a size is whole", text, number);
    else report(context, E0211, range, "%.15g is no whole size", number);
}

bool is_count(const Context *context, const Value *value, Range range) {
    bool plain = value->kind != VALUE_number || !value->unit;
    if (plain || (strchr("kMG", value->unit[0]) && !value->unit[1])) return true;
    bool bytes = strstr(value->unit, "iB") != NULL;
    Diagnostic *d = report(context, E0203, range, "a count can't be %s: the unit is `%s`",
                           bytes ? "an amount of memory" : "a time", value->unit);
    diagnostic_help(d, "counts have the units k (1000), M and G");
    return false;
}

Dim to_size(const Context *context, const Value *value, Range range) {
    double number;
    if (value->kind == VALUE_size) return value->size;
    if (!is_count(context, value, range)) return NULL;
    if (!to_number(context, value, range, &number)) return NULL;
    if (!isfinite(number)) report(context, E0211, range, "a size can't be divided by zero");
    else if (number > (double)DIMENSION_LIMIT)
        report(context, E0216, range, "a size is at most 2^40, not %.15g", number);
    else if (!is_whole(number)) report_fraction(context, number, range);
    else if (number < 0) report(context, E0211, range, "a size can't be %.15g", number);
    else return dim_constant(context->lowering->dimensions, (int64_t)number);
    return NULL;
}

Setting to_setting(const Context *context, const Value *value, Range range, double least) {
    Setting setting = {-1, least};
    if (value->kind == VALUE_option && !run_number(value)) {
        setting.option = value->index;
        setting.value = context->lowering->program->options.items[value->index].number;
    } else if (!to_number(context, value, range, &setting.value)) {
        return setting;
    }
    if (!is_count(context, value, range)) return setting;
    if (!is_whole(setting.value) || setting.value < least)
        report(context, E0211, range, "expects a whole number of at least %.15g, receives %.15g",
               least, setting.value);
    return setting;
}
