/* Operation: calls of primitive ops. Ops are called in the way of their class, but for those of
 * builtins.def. */
#include "compiler/lower/operation.h"

#include "compiler/lower/fact.h"
#include "compiler/lower/fold.h"
#include "compiler/lower/operator.h"

#include <string.h>

/* The value with the range that its element type has by itself. */
static Value bounded_by_type(const Context *context, const Value *value) {
    Dimensions *table = context->lowering->dimensions;
    Element element = value_type(value)->element;
    Value bounded = *value;
    if (bounded.low || (element != TYPE_bool && element != TYPE_u8)) return bounded;
    bounded.low = dim_constant(table, 0);
    bounded.high = dim_constant(table, element == TYPE_bool ? 2 : 256);
    return bounded;
}

Value call_cast(BuiltinCall *call) {
    const Context *context = call->context;
    const Value *a = &call->values[0], *to = &call->values[1];
    if (to->kind != VALUE_element) {
        report(context, E0203, to->range, "cast takes an element type, such as f32, not %s",
               text_of(call, to));
        return value_error;
    }
    if (a->kind != VALUE_tensor) {
        NodeId node = to_node(context, a, to->element, a->range);
        return node == NODE_NONE ? value_error : value_tensor(context->graph, node, call->range);
    }
    if (!tensor_argument(call, 0)) return value_error;
    Node node = {.op = OP_cast, .inputs = {a->node}, .type.element = to->element};
    Value result = add_node(context, node, call->range);
    const Value bounded = bounded_by_type(context, a), *operand = &bounded;
    note_fact(table_of(call), OP_cast, &operand, &result);
    return result;
}

static bool has_undecided(const Context *context, const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (is_undecided(context, type->dims[i])) return true;
    return false;
}

/* A tensor, or a number of the element type that is expected, in another shape. */
static Value lower_shaped(BuiltinCall *call) {
    const Context *context = call->context;
    const Value *a = &call->values[0];
    Element element = a->kind == VALUE_tensor ? value_type(a)->element
                      : context->expected     ? context->expected->element
                                              : TYPE_f32;
    Node node = {.op = call->op, .inputs = {to_node(context, a, element, call->range)}};
    if (node.inputs[0] == NODE_NONE || !shape_argument(call, 1, &node.type)) return value_error;
    const Type *from = &graph_node(context->graph, node.inputs[0])->type;
    bool undecided = has_undecided(context, from) || has_undecided(context, &node.type);
    if (call->op == OP_reshape && undecided) return value_error;
    Value result = add_node(context, node, call->range);
    note_fact(table_of(call), call->op, &a, &result);
    return result;
}

Value call_reshape(BuiltinCall *call) {
    return lower_shaped(call);
}

Value call_broadcast(BuiltinCall *call) {
    return lower_shaped(call);
}

static NodeId total_operand(BuiltinCall *call) {
    const Value *value = &call->values[0];
    bool tensor = value->kind == VALUE_tensor || !is_numeric(value);
    if (!tensor) return to_node(call->context, value, TYPE_f32, call->range);
    if (!tensor_argument(call, 0)) return NODE_NONE;
    if (!call->context->scan) return value->node;
    Diagnostic *d = report(call->context, E0214, call->range, "a total can't be taken in a scan");
    diagnostic_help(d, "carry the sum of the turns, and take its total behind the scan");
    return NODE_NONE;
}

/* The sum over all batches so far, in a measure. */
Value call_total(BuiltinCall *call) {
    const Context *context = call->context;
    NodeId operand = total_operand(call);
    if (operand == NODE_NONE) return value_error;
    return value_tensor(context->graph, total_node(context, operand, call->range), call->range);
}

/* By class. */

static Value lower_elementwise(BuiltinCall *call) {
    int arity = op_info[call->op].arity;
    double numbers[ARITY_LIMIT] = {0};
    const Value *values[ARITY_LIMIT];
    bool known = true;
    for (int i = 0; i < arity; i++) {
        values[i] = &call->values[i];
        known &= known_number(values[i], &numbers[i]);
    }
    if (known && arity < 3) return fold_numbers(call->op, numbers[0], numbers[1], call->range);
    if (arity >= 2 &&
        report_shapes(call->context, values[arity - 2], values[arity - 1], call->range))
        return value_error;
    return apply_op(call->context, call->op, values, arity, op_has_condition(call->op),
                    call->range);
}

/* Matmul: the rows of the left one meet the columns of the right one. */
static bool report_product(const BuiltinCall *call, const Value *a, const Value *b) {
    const Context *context = call->context;
    const Type *left = value_type(a), *right = value_type(b);
    if (left->rank < 2 || right->rank < 2) return false;
    Dim row = left->dims[left->rank - 1], column = right->dims[right->rank - 2];
    if (row == column) return false;
    Arena *arena = context->lowering->arena;
    Diagnostic *d = report(context, E0207, call->range,
                           "a row on the left has %s values, a column on the right %s",
                           dim_text(arena, row), dim_text(arena, column));
    note_operands(context, d, (const Value *const[]){a, b}, 2);
    return true;
}

static Value lower_contraction(BuiltinCall *call) {
    const Value *a = &call->values[0], *b = &call->values[1];
    if (!tensor_argument(call, 0) || !tensor_argument(call, 1) || report_product(call, a, b))
        return value_error;
    return add_node(call->context, (Node){.op = call->op, .inputs = {a->node, b->node}},
                    call->range);
}

/* How ops are called that builtins.def does not speak of. */
static const Builtin by_class[] = {
    [LOOP_elementwise] = {NULL, ARITY_LIMIT, ARITY_LIMIT, {"a", "b", "c"}, lower_elementwise},
    [LOOP_generate] = {NULL, 1, 1, {"shape", "key"}, lower_random},
    [LOOP_reduce] = {NULL, 1, 1, {"x", "axis", "keep"}, lower_reduction},
    [LOOP_row] = {NULL, 1, 1, {"x", "axis"}, lower_row},
    [LOOP_contract] = {NULL, 2, 2, {"a", "b"}, lower_contraction},
};

static Builtin builtin_of_op(Op op) {
    Builtin builtin = by_class[op_info[op].class];
    builtin.name = op_info[op].name;
    if (op_info[op].class != LOOP_elementwise) return builtin;
    builtin.needed = builtin.positions = op_info[op].arity;
    for (int i = op_info[op].arity; i < ARITY_LIMIT; i++) builtin.parameters[i] = NULL;
    return builtin;
}

bool is_operation_name(const char *name) {
    Op op;
    return find_builtin(name) || (op_by_name(name, &op) && !op_info[op].hidden);
}

const char *nearest_operation(const char *name) {
    const char *nearest = nearest_builtin(name);
    for (int op = 0; op < OP_COUNT && !nearest; op++)
        if (!op_info[op].hidden) nearest = nearest_name(name, &op_info[op].name, 1);
    return nearest;
}

bool lower_operation(const Context *context, const Expression *call, const Value *piped,
                     Value *result) {
    if (!is_operation_name(call->name.text)) return false;
    BuiltinCall made = {.context = context, .expression = call, .range = call->range};
    const Builtin *builtin = find_builtin(call->name.text);
    bool is_op = op_by_name(call->name.text, &made.op);
    Builtin of_op;
    if (!builtin && is_op) {
        of_op = builtin_of_op(made.op);
        builtin = &of_op;
    }
    made.builtin = builtin;
    *result = run_builtin(&made, piped);
    return true;
}
