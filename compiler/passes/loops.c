/* Loops: those of each kind of node, and the index of each operand inside them. */
#include "compiler/passes/loops.h"

#include <string.h>

enum {
    SHARED_LEAST = 8, /* units of what threads share: FLOW_SHARE_BLOCK */
    ROWS_LEAST = 64,  /* that threads share well: some blocks of eight */
};

static Dim one(Dimensions *table) {
    return dim_constant(table, 1);
}

/* First and past-the-last axis that is reduced and longer than 1. */
static void reduced_range(const Node *node, const Type *operand, int *first, int *last) {
    *first = *last = 0;
    for (int i = 0; i < operand->rank; i++) {
        if (!(node->axes >> i & 1) || dim_is_one(operand->dims[i])) continue;
        if (*last == 0) *first = i;
        *last = i + 1;
    }
}

static Loops reduction_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const Type *operand = &graph_node(graph, node->inputs[0])->type;
    int first, last;
    reduced_range(node, operand, &first, &last);
    Dim before = type_count(table, operand, 0, first);
    Dim reduced = type_count(table, operand, first, last);
    Dim after = type_count(table, operand, last, operand->rank);
    if (dim_is_one(after)) return (Loops){KERNEL_rows, one(table), before, one(table), reduced};
    return (Loops){KERNEL_columns, before, one(table), reduced, after};
}

bool contraction_collapses(const Graph *graph, const Node *matmul) {
    return graph_node(graph, matmul->inputs[1])->type.rank == 2;
}

static Loops contraction_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const Type *a = &graph_node(graph, node->inputs[0])->type;
    const Type *b = &graph_node(graph, node->inputs[1])->type;
    bool collapses = contraction_collapses(graph, node);
    return (Loops){KERNEL_contraction,
                   collapses ? one(table) : type_count(table, a, 0, a->rank - 2),
                   collapses ? type_count(table, a, 0, a->rank - 1) : a->dims[a->rank - 2],
                   a->dims[a->rank - 1], b->dims[b->rank - 1]};
}

/* Without last axes of 1, of which each element would be a row: the axis before them is one, if
 * that leaves enough rows for threads to share. */
static int rank_of_rows(Dimensions *table, const Type *type) {
    int rank = type->rank;
    while (rank > 2 && dim_is_one(type->dims[rank - 1]) &&
           dim_bound(type_count(table, type, 0, rank - 2)) >= ROWS_LEAST)
        rank--;
    return rank;
}

static Loops elementwise_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const int rank = rank_of_rows(table, &node->type);
    if (rank < 2)
        return (Loops){KERNEL_rows, one(table), type_elements(table, &node->type), one(table),
                       one(table)};
    return (Loops){KERNEL_rows, one(table), type_count(table, &node->type, 0, rank - 1), one(table),
                   node->type.dims[rank - 1]};
}

static Loops scatter_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const Type *index = &graph_node(graph, node->inputs[0])->type;
    return (Loops){KERNEL_scatter, one(table), type_elements(table, index), node->type.dims[0],
                   type_count(table, &node->type, 1, node->type.rank)};
}

static Loops row_function_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    int last = node->type.rank - 1;
    return (Loops){KERNEL_row_function, one(table), type_count(table, &node->type, 0, last),
                   one(table), node->type.dims[last]};
}

static Loops no_loops(Dimensions *table, KernelKind kind) {
    return (Loops){kind, one(table), one(table), one(table), one(table)};
}

Loops node_loops(const Graph *graph, const Node *node) {
    if (node->op == OP_scan) return no_loops(graph->dimensions, KERNEL_scan);
    if (node->op == OP_extern) return no_loops(graph->dimensions, KERNEL_external);
    switch (op_info[node->op].class) {
    case LOOP_reduce: return reduction_loops(graph, node);
    case LOOP_contract: return contraction_loops(graph, node);
    case LOOP_scatter: return scatter_loops(graph, node);
    case LOOP_row: return row_function_loops(graph, node);
    default: return elementwise_loops(graph, node);
    }
}

bool has_own_loops(LoopClass class) {
    return class == LOOP_reduce || class == LOOP_contract || class == LOOP_scatter ||
           class == LOOP_row;
}

bool starts_alone(Op op) {
    return op == OP_scan || op == OP_extern || op_is_whole(op);
}

Loops kernel_loops(const Graph *graph, const NodeId *nodes, size_t count) {
    NodeId largest = nodes[0];
    int64_t largest_size = 0;
    for (size_t i = 0; i < count; i++) {
        const Node *node = graph_node(graph, nodes[i]);
        LoopClass class = op_info[node->op].class;
        if (has_own_loops(class) || starts_alone(node->op)) return node_loops(graph, node);
        int64_t size = dim_bound(type_elements(graph->dimensions, &node->type));
        if (size > largest_size) largest = nodes[i], largest_size = size;
    }
    return node_loops(graph, graph_node(graph, largest));
}

bool are_whole_runs(Dim columns) {
    int64_t count;
    return dim_is_constant(columns, &count) && count % COLUMN_RUN == 0;
}

int64_t columns_group(const Loops *loops) {
    int64_t count, group = COLUMN_RUN;
    if (!dim_is_constant(loops->columns, &count)) return 1;
    while (count % group) group /= 2;
    return group >= COLUMN_RUN / 4 ? group : 1;
}

bool is_one_unit(const Loops *loops) {
    int64_t count;
    return dim_is_one(loops->outer) && dim_is_constant(loops->columns, &count) &&
           count < COLUMN_RUN;
}

int64_t columns_unit(const Loops *loops) {
    const int64_t group = columns_group(loops);
    if (is_one_unit(loops)) return dim_bound(loops->columns);
    return group > SHARED_LEAST ? group / SHARED_LEAST : 1;
}

bool keeps_rows(const Loops *loops) {
    int64_t columns;
    return dim_is_constant(loops->columns, &columns) && columns <= ROW_LIMIT;
}

/* Indices. */

IndexKind native_index(Dimensions *table, const Loops *loops, const Type *type) {
    Dim count = type_elements(table, type);
    if (loops->kind == KERNEL_scatter || loops->kind == KERNEL_row_function) return INDEX_other;
    if (loops->kind == KERNEL_columns) {
        Dim outputs = dim_multiply(table, loops->outer, loops->columns);
        return count == outputs ? INDEX_output : INDEX_other;
    }
    Dim rows = dim_multiply(table, loops->outer, loops->rows);
    Dim full = rows ? dim_multiply(table, rows, loops->columns) : NULL;
    if (count == full) return INDEX_full;
    return loops->kind == KERNEL_rows && count == rows ? INDEX_row : INDEX_other;
}

/* Rank without leading ones; *dims points at the first other. */
static int significant(const Type *type, const Dim **dims) {
    int skip = 0;
    while (skip < type->rank && dim_is_one(type->dims[skip])) skip++;
    *dims = type->dims + skip;
    return type->rank - skip;
}

static bool same_elements(const Type *a, const Type *b) {
    const Dim *a_dims, *b_dims;
    int a_rank = significant(a, &a_dims), b_rank = significant(b, &b_dims);
    return a_rank == b_rank && !memcmp(a_dims, b_dims, sizeof *a_dims * (size_t)a_rank);
}

/* The operand repeats along the node's last axes only: returns how many, or -1. */
static int repeated_last(const Type *node, const Type *operand) {
    if (node->rank != operand->rank) return -1;
    int last = operand->rank;
    while (last > 0 && dim_is_one(operand->dims[last - 1])) last--;
    for (int i = 0; i < last; i++)
        if (node->dims[i] != operand->dims[i]) return -1;
    return operand->rank - last;
}

/* The operand is the node's last axes: returns true when their elements are `columns`. */
static bool is_last(Dimensions *table, Dim columns, const Type *node, const Type *operand) {
    const Dim *dims;
    int rank = significant(operand, &dims);
    for (int i = 0; i < rank; i++)
        if (dims[i] != node->dims[node->rank - rank + i]) return false;
    return type_count(table, node, node->rank - rank, node->rank) == columns;
}

IndexKind operand_index(Dimensions *table, const Loops *loops, IndexKind index, const Type *node,
                        const Type *operand) {
    if (dim_is_one(type_elements(table, operand))) {
        IndexKind native = native_index(table, loops, operand);
        if (native == INDEX_other) return INDEX_zero;
        return index == INDEX_other || index == INDEX_zero ? index : native; /* behind a view */
    }
    if (same_elements(node, operand)) return index;
    if (index != INDEX_full) return INDEX_other;
    int repeated = repeated_last(node, operand);
    if (repeated > 0 &&
        type_count(table, node, node->rank - repeated, node->rank) == loops->columns)
        return INDEX_row;
    return is_last(table, loops->columns, node, operand) ? INDEX_column : INDEX_other;
}

/* The index that element of a gather needs: one for each run of `rest` elements. */
static IndexKind gather_index(Dimensions *table, const Loops *loops, IndexKind index,
                              const Node *node, const Type *operand) {
    Dim rest = type_count(table, &node->type, operand->rank, node->type.rank);
    if (dim_is_one(rest)) return index;
    return index == INDEX_full && rest == loops->columns ? INDEX_row : INDEX_other;
}

IndexKind needed_index(const Graph *graph, const Loops *loops, const Node *node, int i,
                       IndexKind index) {
    const Type *operand = &graph_node(graph, node->inputs[i])->type;
    switch (node->op) {
    case OP_view: return INDEX_other;
    case OP_reshape: return index;
    case OP_gather:
        return i == 0 ? INDEX_other : gather_index(graph->dimensions, loops, index, node, operand);
    default: return operand_index(graph->dimensions, loops, index, &node->type, operand);
    }
}

/* Views. */

NodeId strip_reshapes(const Graph *graph, NodeId id) {
    while (graph_node(graph, id)->op == OP_reshape && graph_node(graph, id)->kernel == NO_KERNEL)
        id = graph_node(graph, id)->inputs[0];
    return id;
}

bool is_uniform_sum(const Graph *graph, const Node *node) {
    if (node->op != OP_sum) return false;
    const Node *a = graph_node(graph, strip_reshapes(graph, node->inputs[0]));
    if (a->op == OP_constant) return true;
    if (a->op != OP_broadcast || a->kernel != NO_KERNEL) return false;
    return dim_is_one(type_elements(graph->dimensions, &graph_node(graph, a->inputs[0])->type));
}

bool is_guarded_view(const Graph *graph, const Node *node) {
    return node->op == OP_view &&
           view_is_guarded(graph->dimensions, node->view, &graph_node(graph, node->inputs[0])->type,
                           &node->type);
}
