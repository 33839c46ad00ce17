/* Ops: the table and its type rules. */
#include "compiler/ops/ops.h"

#include <stdlib.h>
#include <string.h>

const OpInfo op_info[OP_COUNT] = {
#define OP(name, formula, ...) [OP_##name] = {#name, #formula, __VA_ARGS__},
#include "compiler/ops/ops.def"
#undef OP
};

bool op_by_name(const char *name, Op *op) {
    for (int i = 0; i < OP_COUNT; i++)
        if (!strcmp(op_info[i].name, name)) {
            *op = (Op)i;
            return true;
        }
    return false;
}

const char *op_gradient(Op op, int operand, size_t *size) {
    const char *rule = op_info[op].gradient;
    for (int i = 0; rule && i < operand; i++) {
        rule = strchr(rule, ';');
        if (rule) rule++;
    }
    if (!rule) return NULL;
    *size = strcspn(rule, ";");
    return strspn(rule, " \n") < *size ? rule : NULL;
}

static const Problem no_problem = {0};

static Problem problem(Dimensions *table, ErrorCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static Problem problem(Dimensions *table, ErrorCode code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Problem result = {code, arena_format_list(table->arena, format, arguments)};
    va_end(arguments);
    return result;
}

static bool takes(Takes rule, Element element) {
    ElementClass class = element_info[element].class;
    switch (rule) {
    case TAKES_any: return true;
    case TAKES_number: return class != CLASS_boolean;
    case TAKES_integer: return class == CLASS_integer;
    case TAKES_floating: return class == CLASS_floating;
    case TAKES_boolean: return class == CLASS_boolean;
    }
    return false;
}

static const char *takes_text(Takes rule) {
    static const char *const texts[] = {"values", "numbers", "integers", "floating-point numbers",
                                        "bool"};
    return texts[rule];
}

bool broadcast_shapes(Dimensions *table, const Type *a, const Type *b, Type *result, int *at) {
    int rank = a->rank > b->rank ? a->rank : b->rank;
    Dim one = dim_constant(table, 1);
    result->rank = rank;
    for (int i = 0; i < rank; i++) {
        int in_a = i - (rank - a->rank), in_b = i - (rank - b->rank);
        Dim from_a = in_a < 0 ? one : a->dims[in_a], from_b = in_b < 0 ? one : b->dims[in_b];
        *at = i;
        if (from_a != from_b && from_a != one && from_b != one) return false;
        result->dims[i] = from_a == one ? from_b : from_a;
    }
    return true;
}

static Problem infer_elementwise(Dimensions *table, Op op, const Operands *operands, Type *y) {
    int first = op_has_condition(op);
    if (first && operands->types[0]->element != TYPE_bool)
        return problem(table, E0402, "the condition of %s is bool, not %s", op_info[op].name,
                       element_info[operands->types[0]->element].name);
    Type shape = *operands->types[0];
    for (int i = 1; i < operands->count; i++) {
        const Type *other = operands->types[i];
        if (i > first && other->element != operands->types[first]->element)
            return problem(table, E0203, "%s and %s don't mix; use cast(…)",
                           element_info[operands->types[first]->element].name,
                           element_info[other->element].name);
        Type wider = {0};
        int at;
        if (!broadcast_shapes(table, &shape, other, &wider, &at))
            return problem(table, E0207, "%s and %s don't fit together",
                           type_text(table->arena, &shape), type_text(table->arena, other));
        shape = wider;
    }
    Element declared = y->element;
    *y = shape;
    y->element = op_info[op].gives == GIVES_declared  ? declared
                 : op_info[op].gives == GIVES_boolean ? TYPE_bool
                                                      : operands->types[first]->element;
    return no_problem;
}

/* The axes lie side by side, axes of size 1 aside. */
static bool is_run(Dimensions *table, const Type *a, uint32_t axes) {
    bool begun = false, ended = false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] == dim_constant(table, 1)) continue;
        bool within = axes >> i & 1;
        if (within && ended) return false;
        ended = ended || (begun && !within);
        begun = begun || within;
    }
    return true;
}

static Problem infer_reduce(Dimensions *table, Op op, const Operands *operands, Type *y) {
    const Type *a = operands->types[0];
    if (operands->axes >> a->rank)
        return problem(table, E0208, "%s has no such axis", type_text(table->arena, a));
    if (op_info[op].gives == GIVES_index && !is_run(table, a, operands->axes))
        return problem(table, E0208, "%s goes over one axis, or several side by side",
                       op_info[op].name);
    *y = *a;
    for (int i = 0; i < a->rank; i++)
        if (operands->axes >> i & 1) y->dims[i] = dim_constant(table, 1);
    if (op_info[op].gives == GIVES_index) y->element = TYPE_i32;
    return no_problem;
}

static Problem infer_row(Dimensions *table, Op op, const Type *a, Type *y) {
    if (a->rank < 1)
        return problem(table, E0208, "%s goes along an axis; a number has none", op_info[op].name);
    *y = *a;
    if (op_info[op].gives == GIVES_index) y->element = TYPE_i32;
    return no_problem;
}

static Problem infer_matmul(Dimensions *table, const Operands *operands, Type *y) {
    const Type *a = operands->types[0], *b = operands->types[1];
    Arena *arena = table->arena;
    if (a->rank < 2 || b->rank < 2)
        return problem(table, E0208, "matmul takes matrices, not %s and %s", type_text(arena, a),
                       type_text(arena, b));
    if (a->element != b->element)
        return problem(table, E0203, "%s and %s don't mix; use cast(…)", type_text(arena, a),
                       type_text(arena, b));
    if (a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return problem(table, E0207, "the rows of %s and the columns of %s differ",
                       type_text(arena, a), type_text(arena, b));
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank - 2; i++) same = a->dims[i] == b->dims[i];
    if (!same && b->rank != 2)
        return problem(table, E0207, "the leading dimensions of %s and %s differ",
                       type_text(arena, a), type_text(arena, b));
    *y = *a;
    y->dims[a->rank - 1] = b->dims[b->rank - 1];
    return no_problem;
}

static Problem infer_reshape(Dimensions *table, const Type *a, Type *y) {
    Dim before = type_elements(table, a), after = type_elements(table, y);
    y->element = a->element;
    if (before && before == after) return no_problem;
    return problem(table, E0207, "%s can't become %s: the number of values differs",
                   type_text(table->arena, a), type_text(table->arena, y));
}

static bool is_coordinate(const Coordinate *coordinate, int rank) {
    if (coordinate->divisor < 1 || coordinate->divisor > FACTOR_LIMIT) return false;
    for (int i = 0; i < RANK_LIMIT; i++) {
        if (i >= rank && coordinate->factors[i]) return false;
        if (llabs(coordinate->factors[i]) > FACTOR_LIMIT) return false;
    }
    return coordinate->start != NULL;
}

static Problem infer_view(Dimensions *table, const Operands *operands, Type *y) {
    const Type *a = operands->types[0];
    y->element = a->element;
    if (!operands->view || operands->view->rank != a->rank)
        return problem(table, E0208, "a view of %s takes %d coordinates",
                       type_text(table->arena, a), a->rank);
    for (int i = 0; i < a->rank; i++)
        if (!is_coordinate(&operands->view->coordinates[i], y->rank))
            return problem(table, E0208, "coordinate %d of a view has no such factor or divisor",
                           i);
    return no_problem;
}

static Problem infer_broadcast(Dimensions *table, const Type *a, Type *y) {
    Type result = {0};
    int at;
    y->element = a->element;
    if (broadcast_shapes(table, a, y, &result, &at) && shape_equal(&result, y)) return no_problem;
    return problem(table, E0207, "%s can't be stretched to %s", type_text(table->arena, a),
                   type_text(table->arena, y));
}

static Problem check_index(Dimensions *table, Op op, const Type *index) {
    if (element_info[index->element].class == CLASS_integer) return no_problem;
    return problem(table, E0402, "the index of %s is an integer, not %s", op_info[op].name,
                   element_info[index->element].name);
}

static Problem infer_gather(Dimensions *table, const Operands *operands, Type *y) {
    const Type *a = operands->types[0], *index = operands->types[1];
    Problem found = check_index(table, OP_gather, index);
    if (found.text) return found;
    if (a->rank < 1) return problem(table, E0208, "gather takes rows of a tensor, not of a number");
    if (index->rank + a->rank - 1 > RANK_LIMIT)
        return problem(table, E0208, "a tensor has at most %d dimensions", RANK_LIMIT);
    *y = (Type){.element = a->element, .rank = index->rank + a->rank - 1};
    for (int i = 0; i < y->rank; i++)
        y->dims[i] = i < index->rank ? index->dims[i] : a->dims[i - index->rank + 1];
    return no_problem;
}

/* The result is declared: one row for each of the places there are. */
static Problem infer_scatter(Dimensions *table, const Operands *operands, Type *y) {
    const Type *index = operands->types[0], *updates = operands->types[1];
    Problem found = check_index(table, OP_scatter_add, index);
    if (found.text) return found;
    bool fits = y->rank >= 1 && updates->rank == index->rank + y->rank - 1;
    for (int i = 0; fits && i < updates->rank; i++)
        fits =
            updates->dims[i] == (i < index->rank ? index->dims[i] : y->dims[i - index->rank + 1]);
    y->element = updates->element;
    if (fits) return no_problem;
    return problem(table, E0207, "%s can't be added to rows of %s at places %s",
                   type_text(table->arena, updates), type_text(table->arena, y),
                   type_text(table->arena, index));
}

static Problem infer_gradient(Dimensions *table, const Operands *operands, Type *y) {
    *y = *operands->types[1];
    if (operands->types[0]->rank == 0) return no_problem;
    return problem(table, E0208, "a gradient is taken of a single number, not of %s",
                   type_text(table->arena, operands->types[0]));
}

/* The random generator makes 24 random bits, the digits of an f32. */
static Problem infer_generate(Dimensions *table, Op op, const Type *y) {
    if (op == OP_iota && y->element == TYPE_bool)
        return problem(table, E0402, "iota makes numbers, not bool; use cast(…)");
    if (op == OP_iota || y->element == TYPE_f32) return no_problem;
    return problem(table, E0402, "%s makes f32, not %s; use cast(…)", op_info[op].name,
                   element_info[y->element].name);
}

static Problem infer_by_class(Dimensions *table, Op op, const Operands *operands, Type *y) {
    switch (op) {
    case OP_matmul: return infer_matmul(table, operands, y);
    case OP_hold: *y = *operands->types[0]; return no_problem;
    case OP_reshape: return infer_reshape(table, operands->types[0], y);
    case OP_view: return infer_view(table, operands, y);
    case OP_broadcast: return infer_broadcast(table, operands->types[0], y);
    case OP_gather: return infer_gather(table, operands, y);
    case OP_scatter_add: return infer_scatter(table, operands, y);
    case OP_gradient: return infer_gradient(table, operands, y);
    default: break;
    }
    switch (op_info[op].class) {
    case LOOP_elementwise: return infer_elementwise(table, op, operands, y);
    case LOOP_reduce: return infer_reduce(table, op, operands, y);
    case LOOP_row: return infer_row(table, op, operands->types[0], y);
    case LOOP_generate: return infer_generate(table, op, y);
    default: return no_problem; /* declared */
    }
}

static Problem check_operands(Dimensions *table, Op op, const Operands *operands) {
    const OpInfo *info = &op_info[op];
    if (operands->count != info->arity)
        return problem(table, E0204, "%s takes %d operands, not %d", info->name, info->arity,
                       operands->count);
    for (int i = 0; i < operands->count; i++)
        if (!takes(info->takes, operands->types[i]->element))
            return problem(table, E0402, "%s takes %s, not %s", info->name, takes_text(info->takes),
                           type_text(table->arena, operands->types[i]));
    return no_problem;
}

Problem op_infer(Dimensions *table, Op op, const Operands *operands, Type *result) {
    Problem found = check_operands(table, op, operands);
    if (!found.text) found = infer_by_class(table, op, operands, result);
    const char *excess = found.text ? NULL : type_excess(table, result);
    if (!excess) return found;
    return problem(table, E0216, "%s %s", type_text(table->arena, result), excess);
}
