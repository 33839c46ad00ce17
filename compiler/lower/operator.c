/* Operator: `a + b` and its like, and every elementwise op, at compile time or as a node. */
#include "compiler/lower/operator.h"

#include "compiler/lower/fact.h"
#include "compiler/lower/fold.h"

#include <math.h>
#include <string.h>

/* What an op says about its operands: a cast often helps. */
static Diagnostic *report_problem(const Context *context, const Node *node, const Problem *problem,
                                  Range range) {
    Diagnostic *d = report(context, problem->code, range, "%s", problem->text);
    if (problem->code == E0402 && op_info[node->op].takes == TAKES_floating)
        diagnostic_help(d, "`cast(…, f32)` makes floating-point numbers of others");
    if (problem->code == E0402 && op_info[node->op].takes == TAKES_boolean)
        diagnostic_help(d, "a comparison makes bool: `x != 0`");
    if (problem->code == E0402 && strstr(problem->text, "not bool"))
        diagnostic_help(d, "`cast(…, f32)` makes 0 and 1 of it, `select(c, a, b)` chooses by it");
    return d;
}

static void name_place(const Context *context, Node *node, Range range) {
    node->range = users_place(context, range);
    if (node->range.source != range.source) node->library = range;
}

Value add_node(const Context *context, Node node, Range range) {
    Problem problem;
    name_place(context, &node, range);
    NodeId id = graph_add(context->graph, node, &problem);
    if (id != NODE_NONE) return value_tensor(context->graph, id, range);
    report_problem(context, &node, &problem, range);
    return value_error;
}

void note_operands(const Context *context, Diagnostic *d, const Value *const *values, int count) {
    for (int i = 0; i < count; i++)
        if (values[i]->kind == VALUE_tensor && values[i]->range.source)
            diagnostic_note(d, values[i]->range, "this is %s",
                            value_text(context->lowering->arena, values[i]));
}

/* The type that numbers take beside these operands: the first tensor's. */
static Element common_element(const Value *const *values, int count) {
    for (int i = 0; i < count; i++)
        if (values[i]->kind == VALUE_tensor) return value_type(values[i])->element;
    return TYPE_f32;
}

/* Numbers of the run that take the type of what they meet: options, and sums of them. */

static const Input *option_input(const Context *context, const Node *node) {
    vector_each(Input, input, context->function->inputs)
        if (node->op == OP_input && input->kind == INPUT_option && !strcmp(input->name, node->name))
            return input;
    return NULL;
}

static bool keeps_whole(Op op) {
    return op == OP_add || op == OP_subtract || op == OP_multiply || op == OP_negate ||
           op == OP_maximum || op == OP_minimum;
}

/* The scalar `id` as the element type would have it; NODE_NONE: it is more than options and whole
 * numbers. */
static NodeId option_scalar(const Context *context, NodeId id, Element element, Range range) {
    const Node node = *graph_node(context->graph, id);
    const Input *input = context->function ? option_input(context, &node) : NULL;
    if (input) {
        Value option = {.kind = VALUE_option, .range = range, .index = input->index};
        bool whole = context->lowering->program->options.items[input->index].kind == OPTION_integer;
        return whole ? to_node(context, &option, element, range) : NODE_NONE;
    }
    if (node.op == OP_constant && node.number == floor(node.number) && fabs(node.number) < 0x1p31)
        return graph_constant(context->graph, element, node.number, range);
    NodeId inputs[ARITY_LIMIT] = {NODE_NONE, NODE_NONE, NODE_NONE};
    for (int i = 0; keeps_whole(node.op) && i < node.input_count; i++) {
        inputs[i] = option_scalar(context, node.inputs[i], element, range);
        if (inputs[i] == NODE_NONE) return NODE_NONE;
    }
    return keeps_whole(node.op)
               ? graph_make(context->graph, node.op, inputs[0], inputs[1], inputs[2], node.range)
               : NODE_NONE;
}

/* The value in the integer type of the other operand, where that is all that keeps them apart. */
static Value meeting(const Context *context, const Value *value, const Value *other) {
    if (value->kind != VALUE_tensor || other->kind != VALUE_tensor) return *value;
    const Type *type = value_type(value);
    Element element = value_type(other)->element;
    bool number = !type->rank && element_info[type->element].class == CLASS_floating &&
                  element_info[element].class == CLASS_integer;
    if (!number || value->graph != context->graph) return *value;
    NodeId id = option_scalar(context, value->node, element, value->range);
    return id == NODE_NONE ? *value : value_tensor(context->graph, id, value->range);
}

Value apply_op(const Context *context, Op op, const Value *const *given, int count, int conditions,
               Range range) {
    Node node = {.op = op};
    Value met[ARITY_LIMIT];
    const Value *values[ARITY_LIMIT];
    for (int i = 0; i < count; i++) values[i] = given[i];
    for (int i = conditions; i < count && count - conditions == 2; i++) {
        met[i] = meeting(context, given[i], given[2 * conditions + 1 - i]);
        values[i] = &met[i];
    }
    bool logical = op_info[op].takes == TAKES_boolean;
    Element element = logical ? TYPE_bool : common_element(values + conditions, count - conditions);
    for (int i = 0; i < count; i++) {
        if (values[i]->kind == VALUE_error) return value_error;
        Element wanted = i < conditions ? TYPE_bool : element;
        if (values[i]->kind == VALUE_tensor) wanted = value_type(values[i])->element;
        node.inputs[i] =
            to_node(context, values[i], wanted, values[i]->range.source ? values[i]->range : range);
        if (node.inputs[i] == NODE_NONE) return value_error;
        if (values[i]->kind == VALUE_tensor && values[i]->graph != context->graph)
            return value_error;
    }
    Problem problem;
    name_place(context, &node, range);
    NodeId id = graph_add(context->graph, node, &problem);
    if (id != NODE_NONE) {
        Value result = value_tensor(context->graph, id, range);
        note_fact(context->lowering->dimensions, op, values, &result);
        return result;
    }
    Diagnostic *d = report_problem(context, &node, &problem, range);
    if (problem.code == E0203) note_operands(context, d, values + conditions, count - conditions);
    return value_error;
}

bool report_shapes(const Context *context, const Value *a, const Value *b, Range range) {
    if (a->kind != VALUE_tensor || b->kind != VALUE_tensor) return false;
    Type result = {0};
    int at;
    Arena *arena = context->lowering->arena;
    if (broadcast_shapes(context->lowering->dimensions, value_type(a), value_type(b), &result, &at))
        return false;
    Diagnostic *d = report(context, E0207, range, "%s and %s don't fit together",
                           value_text(arena, a), value_text(arena, b));
    note_operands(context, d, (const Value *const[]){a, b}, 2);
    return true;
}

bool is_numeric(const Value *value) {
    return value_is_number(value) || value->kind == VALUE_tensor;
}

static bool is_plain_number(const Value *value) {
    return value->kind == VALUE_number || value->kind == VALUE_size;
}

static bool is_list(const Value *value) {
    return value->kind == VALUE_items && !value->items.names;
}

static const Op operator_ops[] = {
    [OPERATOR_add] = OP_add,
    [OPERATOR_subtract] = OP_subtract,
    [OPERATOR_multiply] = OP_multiply,
    [OPERATOR_divide] = OP_divide,
    [OPERATOR_power] = OP_power,
    [OPERATOR_equal] = OP_equal,
    [OPERATOR_not_equal] = OP_not_equal,
    [OPERATOR_less] = OP_less,
    [OPERATOR_less_equal] = OP_less_equal,
    [OPERATOR_greater] = OP_less,
    [OPERATOR_greater_equal] = OP_less_equal,
    [OPERATOR_and] = OP_and,
    [OPERATOR_or] = OP_or,
    [OPERATOR_not] = OP_not,
    [OPERATOR_negate] = OP_negate,
};

static bool is_swapped(Operator sign) {
    return sign == OPERATOR_greater || sign == OPERATOR_greater_equal;
}

/* `and` and `or` take no numbers. */
static bool report_no_truth(const Context *context, Operator sign, const Value *a, const Value *b,
                            Range range) {
    bool logical = sign == OPERATOR_and || sign == OPERATOR_or;
    if (!logical || (!is_plain_number(a) && !is_plain_number(b))) return false;
    Diagnostic *d =
        report(context, E0203, range, "`%s` takes true or false, not %s", operator_text(sign),
               value_text(context->lowering->arena, is_plain_number(a) ? a : b));
    diagnostic_help(d, "compare it: `… == 1`");
    return true;
}

static bool is_operand(const Value *value) {
    return is_numeric(value) || value->kind == VALUE_field;
}

static bool is_list_of_numbers(const Value *value) {
    if (!is_list(value)) return false;
    for (size_t i = 0; i < value->items.count; i++)
        if (!is_plain_number(&value->items.values[i])) return false;
    return true;
}

/* stack takes tensors. */
static void help_with_lists(Diagnostic *d, const Value *a, const Value *b) {
    const Value *list = is_list(b) ? b : is_list(a) ? a : NULL;
    if (list && is_list_of_numbers(list))
        diagnostic_help(d, "`let x: f32[%zu] = […]` makes a tensor x of numbers",
                        list->items.count);
    else if (list) diagnostic_help(d, "`stack([…])` makes a tensor of a list");
}

static bool report_no_operands(const Context *context, Operator sign, const Value *a,
                               const Value *b, Range range) {
    Arena *arena = context->lowering->arena;
    if (is_operand(a) && is_operand(b)) return false;
    Diagnostic *d = report(context, E0203, range, "`%s` takes numbers or tensors, not %s and %s",
                           operator_text(sign), value_text(arena, a), value_text(arena, b));
    help_with_lists(d, a, b);
    return true;
}

Value lower_binary(const Context *context, Operator sign, const Value *a, const Value *b,
                   Range range) {
    Value result;
    Op op = operator_ops[sign];
    if (a->kind == VALUE_error || b->kind == VALUE_error) return value_error;
    if (report_no_truth(context, sign, a, b, range)) return value_error;
    const Value *values[] = {is_swapped(sign) ? b : a, is_swapped(sign) ? a : b};
    if (fold_binary(context, op, values[0], values[1], range, &result)) return result;
    if (report_no_operands(context, sign, a, b, range) || report_shapes(context, a, b, range))
        return value_error;
    return apply_op(context, op, values, 2, 0, range);
}

Value lower_unary(const Context *context, Operator sign, const Value *a, Range range) {
    double number;
    Op op = operator_ops[sign];
    if (a->kind == VALUE_error) return value_error;
    if (known_number(a, &number)) return fold_numbers(op, number, 0, range);
    if (is_operand(a)) return apply_op(context, op, &a, 1, 0, range);
    report(context, E0203, range, "`%s` takes a number or tensor, not %s", operator_text(sign),
           value_text(context->lowering->arena, a));
    return value_error;
}
