/* Operation: operators, primitive ops called by name, and arithmetic at compile time. */
#include "compiler/lower/lowering.h"

#include "compiler/graph/build.h"
#include "compiler/graph/movement.h"
#include "compiler/lower/fact.h"
#include "compiler/lower/movement.h"

#include <math.h>
#include <string.h>

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

static bool is_swapped(Operator operator) {
    return operator== OPERATOR_greater || operator== OPERATOR_greater_equal;
}

/* At compile time. */

static bool is_known(const Value *value, double *number) {
    int64_t constant;
    if (value->kind == VALUE_size) {
        if (!dim_is_constant(value->size, &constant)) return false;
        *number = (double)constant;
        return true;
    }
    *number = value->number;
    return value->kind == VALUE_number || value->kind == VALUE_truth;
}

static Value fold(Op op, double a, double b, Range range) {
    Node node = {.op = op, .type = type_scalar(TYPE_f64)};
    Value value = value_number(op_evaluate(&node, (double[]){a, b, 0}, true), range);
    if (op_info[op].gives == GIVES_boolean || op_info[op].takes == TAKES_boolean)
        value.kind = VALUE_truth;
    return value;
}

/* The dimension a value is, without a report; NULL when it is none. */
static Dim as_size(const Context *context, const Value *value) {
    double number;
    if (value->kind == VALUE_size) return value->size;
    if (value->kind != VALUE_number) return NULL;
    number = value->number;
    bool whole = number == floor(number) && fabs(number) <= (double)DIMENSION_LIMIT;
    return whole ? dim_constant(context->lowering->dimensions, (int64_t)number) : NULL;
}

/* Arithmetic of sizes with symbols in them. NULL: it is none that stays a size. */
static Dim fold_sizes(const Context *context, Operator operator, Dim a, Dim b) {
    Dimensions *table = context->lowering->dimensions;
    int64_t divisor;
    switch (operator) {
    case OPERATOR_add: return dim_add(table, a, b);
    case OPERATOR_subtract: return dim_subtract(table, a, b);
    case OPERATOR_multiply: return dim_multiply(table, a, b);
    case OPERATOR_divide:
        return context->checking || dim_is_constant(b, &divisor) ? dim_divide(table, a, b) : NULL;
    default: return NULL;
    }
}

static int64_t largest(Dim symbol, const void *context) {
    (void)context;
    return dim_bound(symbol);
}

typedef struct Remainder {
    int64_t value, dividend, divisor;
} Remainder;

static void note_remainder(Dim dividend, Dim divisor, void *context) {
    Remainder *remainder = context;
    if (remainder->value || !dim_is_bounded(dividend)) return;
    remainder->dividend = dim_evaluate(dividend, largest, NULL);
    remainder->divisor = dim_evaluate(divisor, largest, NULL);
    if (remainder->divisor) remainder->value = remainder->dividend % remainder->divisor;
}

static void note_bounded(Dim symbol, void *number) {
    if (dim_bounded_number(symbol) >= 0) *(int *)number = dim_bounded_number(symbol);
}

/* A run has the largest sizes if it is not told others, so at least these come out whole. */
static bool divides_at_bound(const Context *context, Dim size, Range range) {
    Remainder remainder = {0};
    dim_each_quotient(size, note_remainder, &remainder);
    if (!remainder.value) return true;
    int number = 0;
    dim_each_symbol(size, note_bounded, &number);
    const Bound *bound = &context->lowering->program->bounds.items[number];
    Diagnostic *d = report(context, E0209, range,
                           "%s is not whole at the largest size: %lld does not divide by %lld",
                           dim_text(context->lowering->arena, size), (long long)remainder.dividend,
                           (long long)remainder.divisor);
    diagnostic_note(d, bound->range, "`%s` is bounded here", bound->name);
    return false;
}

/* Strings compare, lists are joined by `+`. */
static bool fold_others(const Context *context, Operator operator, const Value * a, const Value *b,
                        Range range, Value *result) {
    bool compares = operator== OPERATOR_equal || operator== OPERATOR_not_equal;
    if (a->kind == VALUE_string && b->kind == VALUE_string && compares) {
        bool equal = !strcmp(a->string, b->string);
        *result = (Value){
            .kind = VALUE_truth, .range = range, .number = equal == (operator== OPERATOR_equal)};
        return true;
    }
    bool lists = a->kind == VALUE_items && b->kind == VALUE_items && !a->items.names &&
                 !b->items.names && operator== OPERATOR_add;
    if (!lists) return false;
    Vector(Value) joined = {0};
    for (size_t i = 0; i < a->items.count; i++)
        vector_push(context->lowering->arena, &joined, a->items.values[i]);
    for (size_t i = 0; i < b->items.count; i++)
        vector_push(context->lowering->arena, &joined, b->items.values[i]);
    *result =
        (Value){.kind = VALUE_items, .range = range, .items = {joined.count, NULL, joined.items}};
    return true;
}

static bool fold_binary(const Context *context, Operator operator, const Value * a, const Value *b,
                        Range range, Value *result) {
    double x, y;
    if (fold_others(context, operator, a, b, range, result)) return true;
    if (is_known(a, &x) && is_known(b, &y)) {
        bool swapped = is_swapped(operator);
        *result = fold(operator_ops[operator], swapped ? y : x, swapped ? x : y, range);
        return true;
    }
    Dim p = as_size(context, a), q = as_size(context, b);
    if (!p || !q) return false;
    if (p == q && (operator== OPERATOR_equal || operator== OPERATOR_not_equal)) {
        *result =
            (Value){.kind = VALUE_truth, .range = range, .number = operator== OPERATOR_equal };
        return true;
    }
    Dim size = fold_sizes(context, operator, p, q);
    if (size && operator== OPERATOR_divide && !divides_at_bound(context, size, range)) {
        *result = value_error;
        return true;
    }
    bool undecided = context->checking && op_info[operator_ops[operator]].gives == GIVES_boolean;
    if (!size && !undecided) return false;
    *result = undecided ? value_error : value_size(size, range);
    return true;
}

/* In a graph. */

/* What an op says about its operands: a cast often helps. */
static Diagnostic *report_problem(const Context *context, const Node *node, const Problem *problem,
                                  Range range) {
    Diagnostic *d = report(context, problem->code, range, "%s", problem->text);
    if (problem->code == E0402 && op_info[node->op].takes == TAKES_floating)
        diagnostic_help(d, "`cast(…, f32)` makes floating-point numbers of others");
    if (problem->code == E0402 && op_info[node->op].takes == TAKES_boolean)
        diagnostic_help(d, "a comparison makes bool: `x != 0`");
    return d;
}

Value add_node(const Context *context, Node node, Range range) {
    Problem problem;
    node.range = users_place(context, range);
    NodeId id = graph_add(context->graph, node, &problem);
    if (id != NODE_NONE) return value_tensor(context->graph, id, range);
    report_problem(context, &node, &problem, range);
    return value_error;
}

static void note_operands(const Context *context, Diagnostic *d, const Value *const *values,
                          int count) {
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

/* An elementwise node over values; the first `conditions` of them are bool. */
static Value apply(const Context *context, Op op, const Value *const *values, int count,
                   int conditions, Range range) {
    Node node = {.op = op};
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
    node.range = users_place(context, range);
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

/* A mismatch of shapes names both ends. */
static bool report_shapes(const Context *context, const Value *a, const Value *b, Range range) {
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

/* Matmul: the rows of the left one meet the columns of the right one. */
static bool report_product(const Context *context, const Value *a, const Value *b, Range range) {
    const Type *left = value_type(a), *right = value_type(b);
    if (left->rank < 2 || right->rank < 2) return false;
    Dim row = left->dims[left->rank - 1], column = right->dims[right->rank - 2];
    if (row == column) return false;
    Arena *arena = context->lowering->arena;
    Diagnostic *d =
        report(context, E0207, range, "a row on the left has %s values, a column on the right %s",
               dim_text(arena, row), dim_text(arena, column));
    note_operands(context, d, (const Value *const[]){a, b}, 2);
    return true;
}

static bool is_numeric(const Value *value) {
    return value->kind == VALUE_number || value->kind == VALUE_size || value->kind == VALUE_truth ||
           value->kind == VALUE_option || value->kind == VALUE_tensor;
}

static bool is_plain_number(const Value *value) {
    return value->kind == VALUE_number || value->kind == VALUE_size;
}

static bool is_list(const Value *value) {
    return value->kind == VALUE_items && !value->items.names;
}

Value lower_binary(const Context *context, Operator operator, const Value * a, const Value *b,
                   Range range) {
    Value result;
    if (a->kind == VALUE_error || b->kind == VALUE_error) return value_error;
    bool logical = operator== OPERATOR_and || operator== OPERATOR_or;
    if (logical && (is_plain_number(a) || is_plain_number(b))) {
        Diagnostic *d = report(context, E0203, range, "`%s` takes true or false, not %s",
                               operator_text(operator),
                               value_text(context->lowering->arena, is_plain_number(a) ? a : b));
        diagnostic_help(d, "compare it: `… == 1`");
        return value_error;
    }
    if (fold_binary(context, operator, a, b, range, &result)) return result;
    bool known = is_numeric(a) || a->kind == VALUE_field;
    if (!known || !(is_numeric(b) || b->kind == VALUE_field)) {
        Diagnostic *d =
            report(context, E0203, range, "`%s` takes numbers or tensors, not %s and %s",
                   operator_text(operator), value_text(context->lowering->arena, a),
                   value_text(context->lowering->arena, b));
        if (is_list(a) || is_list(b)) diagnostic_help(d, "`stack([…])` makes a tensor of a list");
        return value_error;
    }
    if (report_shapes(context, a, b, range)) return value_error;
    const Value *values[] = {a, b};
    if (is_swapped(operator)) {
        values[0] = b;
        values[1] = a;
    }
    return apply(context, operator_ops[operator], values, 2, 0, range);
}

Value lower_unary(const Context *context, Operator operator, const Value * a, Range range) {
    double number;
    if (a->kind == VALUE_error) return value_error;
    if (is_known(a, &number)) return fold(operator_ops[operator], number, 0, range);
    if (!is_numeric(a) && a->kind != VALUE_field) {
        report(context, E0203, range, "`%s` takes a number or tensor, not %s",
               operator_text(operator), value_text(context->lowering->arena, a));
        return value_error;
    }
    return apply(context, operator_ops[operator], &a, 1, 0, range);
}

/* Calls. */

/* What a call was given: positions, then names. */
typedef struct Given {
    const Context *context;
    const Expression *call;
    Vector(Value) positions;
    bool broken; /* something was reported */
} Given;

static Given collect(const Context *context, const Expression *call, const Value *piped) {
    Arena *arena = context->lowering->arena;
    Given given = {.context = context, .call = call};
    if (piped) vector_push(arena, &given.positions, *piped);
    vector_each(Argument, argument, call->arguments) {
        if (argument->name.text) continue;
        Value value =
            argument->value->kind == EXPRESSION_ellipsis
                ? (Value){.kind = VALUE_items, .range = argument->value->range, .string = "..."}
                : lower_expression(context, argument->value);
        given.broken |= value.kind == VALUE_error;
        vector_push(arena, &given.positions, value);
    }
    vector_each(Value, value, given.positions) given.broken |= value->kind == VALUE_error;
    return given;
}

/* Is it `...`? Its sizes are those of the signature. */
static bool is_rest(const Value *value) {
    return value->kind == VALUE_items && value->string;
}

static bool expect_count(Given *given, size_t least, size_t most) {
    if (given->broken) return false;
    size_t count = given->positions.count;
    if (count >= least && count <= most) return true;
    Diagnostic *d =
        report(given->context, E0204, given->call->range, "`%s` takes %zu argument%s, receives %zu",
               given->call->name.text, most, most == 1 ? "" : "s", count);
    if (count == 2 &&
        (!strcmp(given->call->name.text, "max") || !strcmp(given->call->name.text, "min")))
        diagnostic_help(d, "the larger of two values is maximum(a, b), the smaller minimum(a, b)");
    return false;
}

/* A named argument among those that are allowed; NULL when it was not given. */
static const Expression *named(const Given *given, const char *name) {
    vector_each(Argument, argument, given->call->arguments)
        if (argument->name.text && !strcmp(argument->name.text, name)) return argument->value;
    return NULL;
}

static bool only_names(Given *given, const char *const *names, size_t count) {
    vector_each(Argument, argument, given->call->arguments) {
        bool known = !argument->name.text;
        for (size_t i = 0; i < count && !known; i++) known = !strcmp(argument->name.text, names[i]);
        if (known) continue;
        Diagnostic *d =
            report(given->context, E0204, argument->name.range, "`%s` has no argument `%s`",
                   given->call->name.text, argument->name.text);
        help_nearest(d, nearest_name(argument->name.text, names, count));
        given->broken = true;
    }
    return !given->broken;
}

/* `sum([1, 2, 3])`: the list becomes a tensor. */
static bool list_argument(Given *given, size_t index) {
    Value *value = &given->positions.items[index];
    Range range = value->range.source ? value->range : given->call->range;
    NodeId node = to_node(given->context, value, list_element(value), range);
    if (node != NODE_NONE) *value = value_tensor(given->context->graph, node, range);
    return node != NODE_NONE;
}

static bool tensor_argument(Given *given, size_t index) {
    const Value *value = &given->positions.items[index];
    if (value->kind == VALUE_tensor && value->graph == given->context->graph)
        return has_one_shape(given->context, value,
                             value->range.source ? value->range : given->call->range);
    if (value->kind == VALUE_tensor) {
        report_foreign(given->context, value->range);
        return false;
    }
    if (value->kind == VALUE_items && value->items.count && !value->items.names)
        return list_argument(given, index);
    Diagnostic *d =
        report(given->context, E0203, value->range.source ? value->range : given->call->range,
               "`%s` takes a tensor, not %s", given->call->name.text,
               value_text(given->context->lowering->arena, value));
    if (value->kind == VALUE_field)
        diagnostic_help(d, "say its type first: `%s |> : u8[28, 28]`", field_name(value));
    return false;
}

static bool add_axis(Given *given, const Value *value, int rank, uint32_t *axes, Range range) {
    double axis;
    if (!to_number(given->context, value, range, &axis)) return false;
    if (axis != floor(axis) || axis < -rank || axis >= rank) {
        Diagnostic *d = report(given->context, E0211, range,
                               "there is no axis %.15g: the tensor has %d "
                               "dimension%s",
                               axis, rank, rank == 1 ? "" : "s");
        if (rank) diagnostic_help(d, "axes count from 0, or from the last, which is -1");
        return false;
    }
    *axes |= 1u << (int)(axis < 0 ? axis + rank : axis);
    return true;
}

/* One axis, a list of them or all. */
static bool to_axes(Given *given, const Value *value, int rank, uint32_t *axes, Range range) {
    *axes = value->kind == VALUE_all ? (1u << rank) - 1 : 0;
    if (value->kind == VALUE_all) return true;
    if (value->kind != VALUE_items) return add_axis(given, value, rank, axes, range);
    for (size_t i = 0; i < value->items.count; i++)
        if (!add_axis(given, &value->items.values[i], rank, axes, range)) return false;
    return true;
}

static bool find_axes(Given *given, int rank, uint32_t *axes) {
    const Expression *expression = named(given, "axis");
    Value value = {.kind = VALUE_all};
    if (expression) value = lower_expression(given->context, expression);
    return to_axes(given, &value, rank, axes, expression ? expression->range : given->call->range);
}

static Value drop_axes(const Context *context, Value value, uint32_t axes, Range range) {
    const Type *type = value_type(&value);
    Type kept = type_scalar(type->element);
    for (int i = 0; i < type->rank; i++)
        if (!(axes >> i & 1)) kept.dims[kept.rank++] = type->dims[i];
    return add_node(context, (Node){.op = OP_reshape, .inputs = {value.node}, .type = kept}, range);
}

static Value lower_reduction(Given *given, Op op, Range range) {
    static const char *const names[] = {"axis", "keep"};
    const Context *context = given->context;
    if (!expect_count(given, 1, 1) || !only_names(given, names, 2) || !tensor_argument(given, 0))
        return value_error;
    const Value *a = &given->positions.items[0];
    Type type = *value_type(a);
    uint32_t axes;
    if (!find_axes(given, type.rank, &axes)) return value_error;
    double keep = 0;
    const Expression *expression = named(given, "keep");
    if (expression) {
        Value value = lower_expression(context, expression);
        if (!to_number(context, &value, expression->range, &keep)) return value_error;
    }
    Value result = add_node(context, (Node){.op = op, .inputs = {a->node}, .axes = axes}, range);
    if (result.kind != VALUE_error && !keep) result = drop_axes(context, result, axes, range);
    note_fact(context->lowering->dimensions, op, &a, &result);
    if (op_info[op].gives == GIVES_index && result.kind != VALUE_error) {
        result.low = dim_constant(context->lowering->dimensions, 0);
        result.high = dim_constant(context->lowering->dimensions, 1);
        for (int i = 0; i < type.rank; i++)
            if (axes >> i & 1)
                result.high =
                    dim_multiply(context->lowering->dimensions, result.high, type.dims[i]);
    }
    return result;
}

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

/* True or false, known now; absent: false. False after reporting. */
static bool find_flag(Given *given, const char *name, bool *flag) {
    double number = 0;
    const Expression *expression = named(given, name);
    Value value = {.kind = VALUE_truth};
    if (expression) value = lower_expression(given->context, expression);
    if (!to_number(given->context, &value, given->call->range, &number)) return false;
    *flag = number != 0;
    return true;
}

/* The axis that a row op goes along: the last where none is named. False after reporting. */
static bool find_row_axis(Given *given, int rank, int *axis) {
    const Expression *expression = named(given, "axis");
    Value value = value_number(-1, given->call->range);
    uint32_t axes = 0;
    if (expression) value = lower_expression(given->context, expression);
    if (rank &&
        !add_axis(given, &value, rank, &axes, expression ? expression->range : given->call->range))
        return false;
    *axis = axes ? __builtin_ctz(axes) : 0;
    return true;
}

/* Rows op along the last axis; another one changes places with that before and after. */
static Value lower_rows(const Context *context, Op op, NodeId a, int axis, Range range) {
    Graph *graph = context->graph;
    int last = graph_node(graph, a)->type.rank - 1;
    if (axis >= last) return add_node(context, (Node){.op = op, .inputs = {a}}, range);
    Range place = users_place(context, range);
    NodeId rows = graph_exchange(graph, a, axis, last, place);
    Value result = add_node(context, (Node){.op = op, .inputs = {rows}}, range);
    if (result.kind != VALUE_error)
        result.node = graph_exchange(graph, result.node, axis, last, place);
    return result;
}

/* Of each row of an axis. */
static Value lower_row(Given *given, Op op, Range range) {
    static const char *const names[] = {"axis", "descending"};
    const Context *context = given->context;
    bool descending = false;
    int axis = 0;
    if (!expect_count(given, 1, 1) || !only_names(given, names, op == OP_argsort ? 2 : 1) ||
        !tensor_argument(given, 0) || !find_flag(given, "descending", &descending))
        return value_error;
    const Value *a = &given->positions.items[0];
    if (!find_row_axis(given, value_type(a)->rank, &axis)) return value_error;
    Value result =
        lower_rows(context, descending ? OP_argsort_descending : op, a->node, axis, range);
    if (result.kind == VALUE_error || op_info[op].gives != GIVES_index) return result;
    result.low = dim_constant(context->lowering->dimensions, 0);
    result.high = value_type(&result)->dims[axis];
    return result;
}

static Value lower_cast(Given *given, Range range) {
    const Context *context = given->context;
    if (!expect_count(given, 2, 2) || !only_names(given, NULL, 0)) return value_error;
    const Value *a = &given->positions.items[0], *to = &given->positions.items[1];
    if (to->kind != VALUE_element) {
        report(context, E0203, to->range, "cast takes an element type, such as f32, not %s",
               value_text(context->lowering->arena, to));
        return value_error;
    }
    Value result;
    if (a->kind != VALUE_tensor) {
        NodeId node = to_node(context, a, to->element, a->range);
        return node == NODE_NONE ? value_error : value_tensor(context->graph, node, range);
    }
    if (!tensor_argument(given, 0)) return value_error;
    result = add_node(
        context, (Node){.op = OP_cast, .inputs = {a->node}, .type.element = to->element}, range);
    const Value bounded = bounded_by_type(context, a), *operand = &bounded;
    note_fact(context->lowering->dimensions, OP_cast, &operand, &result);
    return result;
}

/* The shape a list of sizes, or one size, says. */
static bool to_shape(const Context *context, const Value *value, Range range, Type *type) {
    Context fixing = *context;
    fixing.fixing = true;
    size_t count = value->kind == VALUE_items ? value->items.count : 1;
    if (count > RANK_LIMIT) {
        report(context, E0208, range, "a tensor has at most %d dimensions", RANK_LIMIT);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const Value *item = value->kind == VALUE_items ? &value->items.values[i] : value;
        Range place = item->range.source ? item->range : range;
        Dim size = to_size(&fixing, item, place);
        if (!size || !is_dimension(context, size, place)) return false;
        type->dims[type->rank++] = size;
    }
    return true;
}

/* Checked by itself, 2*(E/2) is not seen to be E: a call will tell. */
static bool is_undecided(const Context *context, const Node *node) {
    const Type *from = &graph_node(context->graph, node->inputs[0])->type;
    Arena *arena = context->lowering->arena;
    return context->checking &&
           (strchr(type_text(arena, from), '/') || strchr(type_text(arena, &node->type), '/'));
}

/* Reshape, broadcast: a tensor and a shape. */
static Value lower_shaped(Given *given, Op op, Range range) {
    const Context *context = given->context;
    if (!expect_count(given, 2, 2) || !only_names(given, NULL, 0)) return value_error;
    const Value *a = &given->positions.items[0], *shape = &given->positions.items[1];
    Element element = a->kind == VALUE_tensor ? value_type(a)->element
                      : context->expected     ? context->expected->element
                                              : TYPE_f32;
    Node node = {.op = op, .inputs = {to_node(context, a, element, range)}};
    if (node.inputs[0] == NODE_NONE || !to_shape(context, shape, shape->range, &node.type))
        return value_error;
    if (op == OP_reshape && is_undecided(context, &node)) return value_error;
    Value result = add_node(context, node, range);
    note_fact(context->lowering->dimensions, op, &a, &result);
    return result;
}

static int64_t stream_key(const Context *context) {
    uint64_t hash = 0xcbf29ce484222325u;
    const char *path = context->frame ? context->frame->path : "";
    for (; *path; path++) hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
    uintptr_t count = 0;
    if (context->frame) {
        count = (uintptr_t)map_get(&context->frame->callees, "random numbers") + 1;
        map_put(&context->frame->callees, "random numbers", (void *)count);
    }
    if (context->frame) hash ^= context->frame->repetition * 0xd6e8feb86659fd93u;
    return (int64_t)((hash ^ count * 0x9e3779b97f4a7c15u) >> 1);
}

/* The seed, changed by `key = …`: other numbers for each key. */
static NodeId keyed_seed(Given *given, Range range) {
    const Context *context = given->context;
    const double spread = 2654435769.0 * 1048583; /* odd, below 2^53 */
    const Expression *key = named(given, "key");
    NodeId seed = seed_node(context, range);
    if (!key) return seed;
    Value value = lower_expression(context, key);
    NodeId node = to_node(context, &value, TYPE_i64, key->range);
    if (node == NODE_NONE) return node;
    if (graph_node(context->graph, node)->type.rank) {
        report(context, E0208, key->range, "a key is one number, not %s",
               value_text(context->lowering->arena, &value));
        return NODE_NONE;
    }
    NodeId far = graph_make(context->graph, OP_multiply, node,
                            graph_constant(context->graph, TYPE_i64, spread, range), NODE_NONE,
                            users_place(context, range));
    return graph_make(context->graph, OP_add, seed, far, NODE_NONE, users_place(context, range));
}

/* Random_uniform, random_normal, iota: a shape and, of random ones, a key. */
static Value lower_generator(Given *given, Op op, Range range) {
    static const char *const names[] = {"key"};
    const Context *context = given->context;
    if (!expect_count(given, 1, 1) || !only_names(given, names, op != OP_iota)) return value_error;
    if (!context->graph || !context->function) {
        report(context, E0206, range, "tensors don't exist here");
        return value_error;
    }
    const Value *shape = &given->positions.items[0];
    Node node = {.op = op, .type.element = op == OP_iota ? TYPE_i32 : TYPE_f32};
    if (!to_shape(context, shape, shape->range, &node.type)) return value_error;
    if (op == OP_iota) {
        Value result = add_node(context, node, range);
        Dimensions *table = context->lowering->dimensions;
        result.low = dim_constant(table, 0);
        result.high = type_elements(table, &node.type);
        return result;
    }
    node.inputs[0] = keyed_seed(given, range);
    if (node.inputs[0] == NODE_NONE) return value_error;
    node.stream = stream_key(context);
    return add_node(context, node, range);
}

static Value lower_tensors(Given *given, Op op, Range range) {
    const Context *context = given->context;
    if (!expect_count(given, (size_t)op_info[op].arity, (size_t)op_info[op].arity) ||
        !only_names(given, NULL, 0))
        return value_error;
    for (size_t i = 0; i < given->positions.count; i++)
        if (!tensor_argument(given, i)) return value_error;
    const Value *first = given->positions.items;
    if (op == OP_matmul && report_product(context, &first[0], &first[1], range)) return value_error;
    Node node = {.op = op};
    for (size_t i = 0; i < given->positions.count; i++)
        node.inputs[i] = given->positions.items[i].node;
    Value result = add_node(context, node, range);
    note_fact(context->lowering->dimensions, op, &first, &result);
    return result;
}

/* gather(x, index, axis = 0). */
static Value gather_rows(Given *given, Range range) {
    static const char *const names[] = {"axis"};
    if (!expect_count(given, 2, 2) || !only_names(given, names, 1) || !tensor_argument(given, 0))
        return value_error;
    const Value *a = &given->positions.items[0], *index = &given->positions.items[1];
    const Expression *expression = named(given, "axis");
    Value axis = expression ? lower_expression(given->context, expression) : value_number(0, range);
    uint32_t axes = 0;
    Range place = expression ? expression->range : range;
    if (!add_axis(given, &axis, value_type(a)->rank, &axes, place)) return value_error;
    return lower_gather(given->context, a, index, __builtin_ctz(axes), range);
}

/* scatter_add(index, updates, size). */
static Value scatter_rows(Given *given, Range range) {
    if (!expect_count(given, 3, 3) || !only_names(given, NULL, 0) || !tensor_argument(given, 1))
        return value_error;
    const Value *values = given->positions.items;
    Dim size = to_size(given->context, &values[2], values[2].range);
    if (!size || !is_dimension(given->context, size, values[2].range)) return value_error;
    return lower_scatter_add(given->context, &values[0], &values[1], size, range);
}

static Value lower_elementwise(Given *given, Op op, Range range) {
    const Context *context = given->context;
    size_t arity = (size_t)op_info[op].arity;
    double numbers[ARITY_LIMIT] = {0};
    bool known = true;
    const Value *values[ARITY_LIMIT];
    if (!expect_count(given, arity, arity) || !only_names(given, NULL, 0)) return value_error;
    for (size_t i = 0; i < arity; i++) {
        values[i] = &given->positions.items[i];
        known &= is_known(values[i], &numbers[i]);
    }
    if (known && arity < 3) return fold(op, numbers[0], numbers[1], range);
    if (arity >= 2 && report_shapes(context, values[arity - 2], values[arity - 1], range))
        return value_error;
    return apply(context, op, values, (int)arity, op == OP_select, range);
}

static Dim size_along(Dimensions *table, const Type *type, uint32_t axes) {
    Dim count = dim_constant(table, 1);
    for (int i = 0; i < type->rank && count; i++)
        if (axes >> i & 1) count = dim_multiply(table, count, type->dims[i]);
    return count;
}

/* Size(x, axis = …), all axes if nothing is said. */
static Value lower_tensor_size(Given *given, Range range) {
    const Expression *axis = named(given, "axis");
    Value along = {.kind = VALUE_all};
    uint32_t axes;
    if (axis) along = lower_expression(given->context, axis);
    if (given->positions.count == 2) along = given->positions.items[1];
    const Type *type = value_type(&given->positions.items[0]);
    if (along.kind == VALUE_error || !tensor_argument(given, 0) ||
        !to_axes(given, &along, type->rank, &axes, range))
        return value_error;
    Dim count = size_along(given->context->lowering->dimensions, type, axes);
    if (count) return value_size(count, range);
    report(given->context, E0216, range, "the number of values passes 2^40");
    return value_error;
}

/* Size(x), size(x, axis), size(...), size(list): how many values. */
static Value lower_size(Given *given, Range range) {
    static const char *const names[] = {"axis"};
    const Context *context = given->context;
    Dimensions *table = context->lowering->dimensions;
    if (!expect_count(given, 1, 2) || !only_names(given, names, 1)) return value_error;
    const Value *value = &given->positions.items[0];
    if (value->kind == VALUE_tensor) return lower_tensor_size(given, range);
    Dim count = dim_constant(table, 1);
    const Binding *rest = is_rest(value) ? scope_find(context->scope, "...") : NULL;
    if (value->kind == VALUE_items && !is_rest(value)) {
        count = dim_constant(table, (int64_t)value->items.count);
    } else if (rest) {
        for (size_t i = 0; i < rest->value.items.count && count; i++)
            count = dim_multiply(table, count, rest->value.items.values[i].size);
    } else {
        report(context, E0203, range, "size takes a tensor, a list or `...`, not %s",
               is_rest(value) ? "`...` of a signature without it"
                              : value_text(context->lowering->arena, value));
        return value_error;
    }
    if (count) return value_size(count, range);
    report(context, E0216, range, "the number of values passes 2^40");
    return value_error;
}

/* Total(x): the sum over all batches so far, in a measure. */
static Value lower_total(Given *given, Range range) {
    const Context *context = given->context;
    if (!expect_count(given, 1, 1) || !only_names(given, NULL, 0)) return value_error;
    const Value *value = &given->positions.items[0];
    if (value->kind != VALUE_tensor && is_numeric(value)) {
        NodeId node = to_node(context, value, TYPE_f32, range);
        if (node == NODE_NONE) return value_error;
        return value_tensor(context->graph, total_node(context, node, range), range);
    }
    if (!tensor_argument(given, 0)) return value_error;
    if (context->scan) {
        Diagnostic *d = report(context, E0214, range, "a total can't be taken in a scan");
        diagnostic_help(d, "carry the sum of the turns, and take its total behind the scan");
        return value_error;
    }
    return value_tensor(context->graph, total_node(context, value->node, range), range);
}

static Value lower_op(Given *given, Op op) {
    Range range = given->call->range;
    if (given->broken) return value_error;
    switch (op) {
    case OP_cast: return lower_cast(given, range);
    case OP_reshape:
    case OP_broadcast: return lower_shaped(given, op, range);
    case OP_gather: return gather_rows(given, range);
    case OP_scatter_add: return scatter_rows(given, range);
    default: break;
    }
    switch (op_info[op].class) {
    case LOOP_reduce: return lower_reduction(given, op, range);
    case LOOP_row: return lower_row(given, op, range);
    case LOOP_generate: return lower_generator(given, op, range);
    case LOOP_elementwise: return lower_elementwise(given, op, range);
    default: return lower_tensors(given, op, range);
    }
}

bool is_operation_name(const char *name) {
    Op op;
    return is_movement_name(name) || !strcmp(name, "size") || !strcmp(name, "total") ||
           (op_by_name(name, &op) && !op_info[op].hidden);
}

bool lower_operation(const Context *context, const Expression *call, const Value *piped,
                     Value *result) {
    Op op;
    bool size = !strcmp(call->name.text, "size"), total = !strcmp(call->name.text, "total");
    if (lower_movement(context, call, piped, result)) return true;
    if (!is_operation_name(call->name.text)) return false;
    op_by_name(call->name.text, &op);
    Context inner = *context;
    inner.expected = NULL;
    Given given = collect(&inner, call, piped);
    given.context = context;
    *result = given.broken ? value_error
              : size       ? lower_size(&given, call->range)
              : total      ? lower_total(&given, call->range)
                           : lower_op(&given, op);
    return true;
}
