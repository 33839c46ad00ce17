/* External: `extern fn`, a C function that is called as if it were written here.
 *
 * It gets pointers to its operands, then each name that stands in a shape of its signature, in
 * order of first appearance, then pointers to its results. */
#include "compiler/graph/external.h"

#include "compiler/graph/list.h"
#include "compiler/lower/lowering.h"

#include <string.h>

/* What a declaration may not have. text NULL: nothing is wrong. */
typedef struct Fault {
    Range range;
    const char *text, *help;
} Fault;

static Fault fault_of_dimensions(const TypeTree *type) {
    for (size_t i = 0; i < type->dimensions.count; i++) {
        const Expression *dimension = type->dimensions.items[i];
        if (dimension->kind == EXPRESSION_ellipsis)
            return (Fault){dimension->range, "a C function can't be told what `...` stands for",
                           "name each dimension"};
        if (dimension->kind == EXPRESSION_name && dimension->name.text[0] == '?')
            return (Fault){dimension->range, "a C function takes records of one shape",
                           "name the dimension without `?`"};
    }
    return (Fault){0};
}

static Fault fault_of_type(const TypeTree *type) {
    Element element;
    if (type->broken) return (Fault){0};
    if (!type->element.text)
        return (Fault){type->range, "a C function takes tensors, no records",
                       "a parameter for each field"};
    if (!element_by_name(type->element.text, &element))
        return (Fault){type->element.range,
                       "a C function takes and gives tensors of one element type",
                       "a type such as f32[B, E]"};
    return fault_of_dimensions(type);
}

static Fault fault_of_result(const TypeTree *type) {
    if (type->element.text && type->low)
        return (Fault){type->range, "nothing is known of the values that a C function gives",
                       "declare it without `in`, and `clamp` what it gives"};
    if (type->element.text || type->broken) return fault_of_type(type);
    for (size_t i = 0; i < type->fields.count; i++) {
        const TypeTree *field = type->fields.items[i].type;
        Fault fault = field->element.text ? fault_of_result(field) : fault_of_type(field);
        if (fault.text) return fault;
    }
    return (Fault){0};
}

static Fault fault_of_parameter(const Parameter *parameter) {
    if (parameter->type) return fault_of_type(parameter->type);
    return (Fault){parameter->name.range, "a parameter of a C function has a type", NULL};
}

static Fault fault_of(const Declaration *declaration) {
    for (size_t i = 0; i < declaration->parameters.count; i++) {
        Fault fault = fault_of_parameter(&declaration->parameters.items[i]);
        if (fault.text) return fault;
    }
    return fault_of_result(declaration->result);
}

void check_external(const Context *context, const Declaration *declaration) {
    const char *name = external_name_problem(declaration->name.text);
    if (name)
        report(context, E0214, declaration->name.range, "`%s` can't be a C function: it %s",
               declaration->name.text, name);
    Fault fault = fault_of(declaration);
    if (!fault.text) return;
    Diagnostic *d = report(context, E0214, fault.range, "%s", fault.text);
    if (fault.help) diagnostic_help(d, "%s", fault.help);
}

/* Sizes. */

typedef struct Sizes {
    const Context *context;
    Map known; /* names that were passed */
    External *external;
} Sizes;

static void add_name(Sizes *sizes, const Expression *name) {
    const Context *context = sizes->context;
    if (map_get(&sizes->known, name->name.text)) return;
    map_put(&sizes->known, name->name.text, sizes);
    Value value = lower_expression(context, name);
    Dim size = to_size(context, &value, name->range);
    if (size) vector_push(context->lowering->arena, &sizes->external->sizes, size);
}

static void add_names(Sizes *sizes, const Expression *expression) {
    if (!expression) return;
    if (expression->kind == EXPRESSION_name) add_name(sizes, expression);
    add_names(sizes, expression->left);
    add_names(sizes, expression->right);
}

static void add_names_of_type(Sizes *sizes, const TypeTree *type) {
    vector_each(Expression *, dimension, type->dimensions) add_names(sizes, *dimension);
    add_names(sizes, type->low);
    add_names(sizes, type->high);
    vector_each(const FieldType, field, type->fields) add_names_of_type(sizes, field->type);
}

static void add_sizes(const Context *context, const Declaration *declaration, External *external) {
    Context fixing = *context;
    fixing.fixing = true;
    Sizes sizes = {&fixing, map_new(context->lowering->arena), external};
    vector_each(const Parameter, parameter, declaration->parameters)
        add_names_of_type(&sizes, parameter->type);
    add_names_of_type(&sizes, declaration->result);
}

/* Operands and results. */

static bool add_operand(const Context *context, const Parameter *parameter, NodeId *list) {
    Element element;
    const Binding *binding = scope_find(context->scope, parameter->name.text);
    if (!binding || !element_by_name(parameter->type->element.text, &element)) return false;
    NodeId node = to_node(context, &binding->value, element, binding->value.range);
    if (node == NODE_NONE) return false;
    *list = list_add(context->graph, *list, node, parameter->name.range);
    return true;
}

static bool add_result(const Context *context, const TypeTree *declared, External *external) {
    Type type;
    if (!resolve_type(context, declared, &type)) return false;
    vector_push(context->lowering->arena, &external->results, type);
    return true;
}

static bool add_results(const Context *context, const TypeTree *declared, External *external) {
    if (declared->element.text) return add_result(context, declared, external);
    vector_each(const FieldType, field, declared->fields)
        if (!add_result(context, field->type, external)) return false;
    return true;
}

static Value part_value(const Context *context, NodeId call, int part) {
    Range range = graph_node(context->graph, call)->range;
    return value_tensor(context->graph, list_part(context->graph, call, part, range), range);
}

static Value result_value(const Context *context, const TypeTree *declared, NodeId call) {
    if (declared->element.text) return part_value(context, call, 0);
    Items items = items_new(context->lowering->arena, declared->fields.count);
    for (size_t i = 0; i < items.count; i++) {
        items.names[i] = declared->fields.items[i].name.text;
        items.values[i] = part_value(context, call, (int)i);
    }
    return (Value){.kind = VALUE_items, .range = declared->range, .items = items};
}

Value lower_external(const Context *context, const Declaration *declaration) {
    if (fault_of(declaration).text || external_name_problem(declaration->name.text))
        return value_error;
    bool called = context->frame->call.source;
    Range range = users_place(context, called ? context->frame->call : declaration->name.range);
    External *external = arena_new_item(context->lowering->arena, External);
    external->name = declaration->name.text;
    external->declared = declaration->name.range;
    if (!context->graph) {
        report(context, E0206, range, "a C function is called when the program runs, not before");
        return value_error;
    }
    NodeId list = list_none(context->graph, range);
    vector_each(const Parameter, parameter, declaration->parameters)
        if (!add_operand(context, parameter, &list)) return value_error;
    if (!add_results(context, declaration->result, external)) return value_error;
    add_sizes(context, declaration, external);
    Value call = add_node(
        context, (Node){.op = OP_extern, .inputs = {list}, .external = external, .range = range},
        range);
    return call.kind == VALUE_error ? call : result_value(context, declaration->result, call.node);
}
