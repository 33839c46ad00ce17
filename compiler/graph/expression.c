/* Expression: an interpreter that leaves nodes behind. */
#include "compiler/graph/expression.h"

#include "compiler/graph/movement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct Builder {
    Graph *graph;
    const Environment *environment;
} Builder;

/* The op of an operator; `swapped`: a > b is b < a. */
typedef struct Spelling {
    Op op;
    bool swapped;
} Spelling;

static const Spelling spellings[] = {
    [OPERATOR_add] = {OP_add, false},
    [OPERATOR_subtract] = {OP_subtract, false},
    [OPERATOR_multiply] = {OP_multiply, false},
    [OPERATOR_divide] = {OP_divide, false},
    [OPERATOR_power] = {OP_power, false},
    [OPERATOR_equal] = {OP_equal, false},
    [OPERATOR_not_equal] = {OP_not_equal, false},
    [OPERATOR_less] = {OP_less, false},
    [OPERATOR_less_equal] = {OP_less_equal, false},
    [OPERATOR_greater] = {OP_less, true},
    [OPERATOR_greater_equal] = {OP_less_equal, true},
    [OPERATOR_and] = {OP_and, false},
    [OPERATOR_or] = {OP_or, false},
    [OPERATOR_not] = {OP_not, false},
    [OPERATOR_negate] = {OP_negate, false},
};

static NodeId build(const Builder *builder, const Expression *expression, Element element);

static void wrong(const char *what) {
    (void)what;
    assert(!"an expression of the op table is wrong");
    abort();
}

static const Type *type_of(const Builder *builder, NodeId id) {
    return &graph_node(builder->graph, id)->type;
}

static NodeId make(const Builder *builder, Op op, NodeId a, NodeId b, NodeId c) {
    return graph_make(builder->graph, op, a, b, c, builder->environment->range);
}

static NodeId declared(const Builder *builder, Op op, NodeId a, Type type) {
    return graph_declared(builder->graph, op, a, type, builder->environment->range);
}

static NodeId look_up(const Builder *builder, const char *name) {
    vector_each(Binding, binding, builder->environment->bindings)
        if (!strcmp(binding->name, name)) return binding->node;
    wrong(name);
    return NODE_NONE;
}

/* A literal, which has the type of what it meets. */
static bool is_literal(const Expression *expression) {
    if (expression->kind == EXPRESSION_unary) return is_literal(expression->left);
    return expression->kind == EXPRESSION_number;
}

/* Builds all, literals last, and those with the element type of the others. */
static void build_alike(const Builder *builder, Expression *const *expressions, int count,
                        Element element, NodeId *nodes) {
    for (int i = 0; i < count; i++) {
        if (is_literal(expressions[i])) continue;
        nodes[i] = build(builder, expressions[i], element);
        element = type_of(builder, nodes[i])->element;
    }
    for (int i = 0; i < count; i++)
        if (is_literal(expressions[i])) nodes[i] = build(builder, expressions[i], element);
}

static NodeId build_binary(const Builder *builder, const Expression *expression, Element element) {
    Spelling spelling = spellings[expression->operator];
    Expression *const sides[2] = {expression->left, expression->right};
    NodeId nodes[2];
    build_alike(builder, sides, 2, element, nodes);
    return make(builder, spelling.op, nodes[spelling.swapped], nodes[!spelling.swapped], 0);
}

/* rows(x, a). */
static NodeId build_rows(const Builder *builder, const Expression *call, Element element) {
    NodeId x = build(builder, call->arguments.items[0].value, element);
    NodeId a = build(builder, call->arguments.items[1].value, element);
    Type type = *type_of(builder, x), flat = {.element = type.element, .rank = 2};
    flat.dims[0] = type_count(builder->graph->dimensions, &type, 0, type.rank - 1);
    flat.dims[1] = type.dims[type.rank - 1];
    bool keep = type_of(builder, a)->rank != 2 || !flat.dims[0];
    return keep ? x : declared(builder, OP_reshape, x, flat);
}

/* cast(x, a), reshape(x, a), broadcast(x, a). */
static NodeId build_like(const Builder *builder, Op op, const Expression *call, Element element) {
    NodeId x = build(builder, call->arguments.items[0].value, element);
    Type like = *type_of(builder, build(builder, call->arguments.items[1].value, element));
    Type type = op == OP_cast ? *type_of(builder, x) : like;
    type.element = op == OP_cast ? like.element : type_of(builder, x)->element;
    return declared(builder, op, x, type);
}

/* scatter_add(i, x, a). */
static NodeId build_scatter(const Builder *builder, const Expression *call, Element element) {
    NodeId nodes[3];
    for (int i = 0; i < 3; i++) nodes[i] = build(builder, call->arguments.items[i].value, element);
    Node node = {.op = OP_scatter_add,
                 .inputs = {nodes[0], nodes[1]},
                 .type = *type_of(builder, nodes[2]),
                 .range = builder->environment->range};
    Problem problem;
    NodeId id = graph_add(builder->graph, node, &problem);
    if (id == NODE_NONE) wrong(problem.text);
    return id;
}

static NodeId build_op(const Builder *builder, Op op, const Expression *call, Element element) {
    Expression *arguments[ARITY_LIMIT];
    NodeId nodes[ARITY_LIMIT] = {0};
    int count = op_info[op].arity, first = op_has_condition(op);
    if (call->arguments.count != (size_t)count) wrong(call->name.text);
    for (int i = 0; i < count; i++) arguments[i] = call->arguments.items[i].value;
    if (first) nodes[0] = build(builder, arguments[0], element);
    build_alike(builder, arguments + first, count - first, element, nodes + first);
    if (op_info[op].class != LOOP_reduce) return make(builder, op, nodes[0], nodes[1], nodes[2]);
    return graph_reduce(builder->graph, op, nodes[0], builder->environment->axes,
                        builder->environment->range);
}

static NodeId build_transpose(const Builder *builder, const Expression *call, Element element) {
    NodeId x = build(builder, call->arguments.items[0].value, element);
    return graph_transpose(builder->graph, x, builder->environment->range);
}

/* adjoint(x, a). */
static NodeId build_adjoint(const Builder *builder, const Expression *call, Element element) {
    NodeId x = build(builder, call->arguments.items[0].value, element);
    Type a = *type_of(builder, build(builder, call->arguments.items[1].value, element));
    return graph_adjoint(builder->graph, builder->environment->view, x, a,
                         builder->environment->range);
}

static NodeId build_call(const Builder *builder, const Expression *call, Element element) {
    Op op = OP_COUNT;
    if (!strcmp(call->name.text, "rows")) return build_rows(builder, call, element);
    if (!strcmp(call->name.text, "transpose")) return build_transpose(builder, call, element);
    if (!strcmp(call->name.text, "adjoint")) return build_adjoint(builder, call, element);
    if (!op_by_name(call->name.text, &op)) wrong(call->name.text);
    if (op == OP_scatter_add) return build_scatter(builder, call, element);
    bool like = op == OP_cast || op == OP_reshape || op == OP_broadcast;
    return (like ? build_like : build_op)(builder, op, call, element);
}

static NodeId build(const Builder *builder, const Expression *expression, Element element) {
    const Environment *environment = builder->environment;
    switch (expression->kind) {
    case EXPRESSION_number:
        return graph_constant(builder->graph, element, expression->number, environment->range);
    case EXPRESSION_name: return look_up(builder, expression->name.text);
    case EXPRESSION_unary: {
        NodeId a = build(builder, expression->left, element);
        return make(builder, spellings[expression->operator].op, a, 0, 0);
    }
    case EXPRESSION_binary: return build_binary(builder, expression, element);
    case EXPRESSION_call: return build_call(builder, expression, element);
    default: break;
    }
    wrong("expression");
    return NODE_NONE;
}

NodeId expression_build(Graph *graph, const Expression *expression,
                        const Environment *environment) {
    return build(&(Builder){graph, environment}, expression, environment->element);
}
