/* Fuse, parts: a reduction to few values of many elements becomes two: of parts, which threads can
 * share, and of what they gave. How many parts there are follows from the sizes alone, so that any
 * number of threads gives the same bits. */
#include "compiler/passes/fuser.h"

enum {
    ELEMENTS_LEAST = 1 << 15, /* of the operand: less is not worth waiting for each other */
    PART_LEAST = 16,          /* of the reduced elements in a part */
    PART_MOST = 1024,
    ENOUGH = 1 << 10, /* results that threads can share as they are */
    LOOK_DEPTH = 6,   /* of nodes above the operand */
    ROW_LEAST = 24,   /* elements of a row as it lies that is worth a loop */
    ROWS_LEAST = 64,  /* that threads can share */
};

static int64_t as_number(Dim symbol, const void *number) {
    (void)symbol;
    return *(const int64_t *)number;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

/* A number that divides the size, whatever its symbols are, if it is made of no more than their
 * products. */
static int64_t known_divisor(Dim size) {
    int64_t divisor = 0;
    for (int64_t number = 1; number <= 3; number++)
        divisor = common_divisor(dim_evaluate(size, as_number, &number), divisor);
    return divisor;
}

static void note_quotient(Dim dividend, Dim divisor, void *found) {
    (void)dividend, (void)divisor;
    *(bool *)found = true;
}

/* Are these several parts of that size, whatever the symbols are? */
static bool is_split_by(Dimensions *table, Dim reduced, int64_t part) {
    bool quotient = false;
    Dim parts = dim_divide(table, reduced, dim_constant(table, part));
    if (!parts || dim_multiply(table, parts, dim_constant(table, part)) != reduced) return false;
    dim_each_quotient(parts, note_quotient, &quotient);
    return !quotient && !dim_is_one(parts);
}

/* How many of the reduced elements are in a part; 0: they can't be split. */
static int64_t part_of(Dimensions *table, Dim reduced) {
    bool quotient = false;
    dim_each_quotient(reduced, note_quotient, &quotient);
    int64_t known = quotient ? 0 : known_divisor(reduced);
    for (int64_t part = PART_MOST; part >= PART_LEAST && known; part--)
        if (known % part == 0) return is_split_by(table, reduced, part) ? part : 0;
    return 0;
}

/* Is the value, of `count` elements, computed where a product is, whose kernel then stores it? */
static bool follows_product(const Graph *graph, NodeId id, Dim count, int depth) {
    const Node *node = graph_node(graph, strip_reshapes(graph, id));
    const LoopClass class = op_info[node->op].class;
    if (type_elements(graph->dimensions, &node->type) != count) return false;
    if (class == LOOP_contract) return true;
    for (int i = 0; class == LOOP_elementwise && depth && i < node->input_count; i++)
        if (follows_product(graph, node->inputs[i], count, depth - 1)) return true;
    return false;
}

/* Is the value, of `count` elements, made of some that lie elsewhere in what they are read from? */
static bool is_moved(const Graph *graph, NodeId id, Dim count, int depth) {
    const Node *node = graph_node(graph, strip_reshapes(graph, id));
    const Dim elements = type_elements(graph->dimensions, &node->type);
    const LoopClass class = op_info[node->op].class;
    if (dim_is_one(elements)) return false;
    if (elements != count || class == LOOP_move || class == LOOP_gather) return true;
    for (int i = 0; class == LOOP_elementwise && depth && i < node->input_count; i++)
        if (is_moved(graph, node->inputs[i], count, depth - 1)) return true;
    return false;
}

/* A row of one vector is, too. */
static bool is_good_row(int64_t size) {
    return size >= ROW_LEAST || size == COLUMN_RUN;
}

/* How many elements the fewest last axes have that make a row of good length; 0: none do. Where a
 * row of a part is one of these, what is moved is found without a division for each element. */
static int64_t row_of(Dimensions *table, const Type *type, Dim reduced) {
    int64_t row = 1, size;
    for (int i = type->rank - 1; i >= 0 && !is_good_row(row); i--) {
        if (!dim_is_constant(type->dims[i], &size) || size > ROW_LIMIT / row) return 0;
        row *= size;
    }
    const int64_t all = dim_bound(reduced);
    const bool enough = is_good_row(row) && (all == SIZE_UNKNOWN || all / row >= ROWS_LEAST);
    return enough && is_split_by(table, reduced, row) ? row : 0;
}

/* How many elements of a part lie side by side as columns of their own, where there are too few
 * for vectors: so many that vectors are whole. */
static int64_t rows_beside(int64_t part, Dim after) {
    int64_t columns;
    if (!dim_is_constant(after, &columns) || columns == 1 || columns >= COLUMN_RUN) return 1;
    int64_t side = COLUMN_RUN / common_divisor(COLUMN_RUN, columns);
    return part % side == 0 && part / side >= PART_LEAST ? side : 1;
}

/* Is it the sum of one number again and again, which is a product? */
static bool is_uniform(const Graph *graph, NodeId operand) {
    Op op = graph_node(graph, strip_reshapes(graph, operand))->op;
    return op == OP_broadcast || op == OP_constant;
}

/* Products of parts begin at 1 each, near which rounding leans to one side; an index is no sum. */
static bool has_parts(const Node *node, Element element) {
    return node->op != OP_prod && op_info[node->op].gives != GIVES_index && !is_half(element);
}

NodeId reduce_parts(Graph *to, const Node *node, NodeId operand, uint32_t axes) {
    Dimensions *table = to->dimensions;
    Type type = graph_node(to, operand)->type, whole = type;
    int first = __builtin_ctz(axes), last = 32 - __builtin_clz(axes);
    Dim reduced = type_count(table, &type, first, last);
    Dim after = type_count(table, &type, last, type.rank);
    if (!has_parts(node, type.element) || !dim_is_one(type_count(table, &type, 0, first)) ||
        dim_bound(after) > ENOUGH || dim_bound(type_elements(table, &type)) < ELEMENTS_LEAST ||
        is_uniform(to, operand))
        return NODE_NONE;
    const Dim count = type_elements(table, &type);
    const bool moved = !follows_product(to, operand, count, LOOK_DEPTH) &&
                       is_moved(to, operand, count, LOOK_DEPTH);
    int64_t part = dim_is_one(after) && moved ? row_of(table, &type, reduced) : 0;
    if (!part) part = part_of(table, reduced);
    if (!part) return NODE_NONE;
    int64_t side = rows_beside(part, after);
    type.rank = 3;
    type.dims[1] = dim_constant(table, part / side);
    type.dims[0] = dim_divide(table, reduced, dim_constant(table, part));
    type.dims[2] = dim_multiply(table, dim_constant(table, side), after);
    NodeId parts = graph_declared(to, OP_reshape, operand, type, node->range);
    parts = graph_reduce(to, node->op, parts, 1 << 1, node->range);
    if (side > 1) {
        type.dims[0] = dim_multiply(table, type.dims[0], dim_constant(table, side));
        type.dims[1] = after;
        type.rank = 2;
        parts = graph_declared(to, OP_reshape, parts, type, node->range);
    }
    parts = graph_reduce(to, node->op, parts, 1 << 0, node->range);
    for (int i = first; i < last; i++)
        if (axes >> i & 1) whole.dims[i] = dim_constant(table, 1);
    return graph_declared(to, OP_reshape, parts, whole, node->range);
}
