/* Fuse: groups nodes into kernels, each computed by one set of loops.
 *
 * A node is *stored* (an output, or wanted by another kernel), *local* (wanted only by its own
 * kernel) or *inline* (without kernel: leaves, movements, generators, scalars, and what is cheaper
 * to compute again than to load). Nodes are visited in order. One may join the latest kernel of
 * its operands, or a later one, when it finds each operand that this kernel computes at the same
 * point of the loops; otherwise it starts a kernel. Kernel numbers therefore respect the data
 * flow: a kernel reads only what smaller ones store.
 *
 * A kernel runs on one device. What nobody placed goes where its first placed operand is; what
 * crosses to another device is stored.
 *
 * A scan, or an extern, and its parts are a kernel by themselves; its operands are stored. The body is fused like
 * any graph, but each of its results is a node of its own, because it has a place of its own. */
#include "compiler/passes/fuse.h"
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"

#include "compiler/passes/operand.h"

#include <assert.h>

enum {
    INLINE_SIZE_LIMIT = 24, /* nodes computed again at each use */
    INLINE_COST_LIMIT = 4,  /* of one elementwise node that is computed again instead of loaded */
    ROW_LIMIT = 4096,       /* columns of a row that is kept between two loops over it */
    NODES_LIMIT = 256,      /* of one kernel */
    COMPANY_LIMIT = 16,     /* nodes of a kernel that takes another which reads nothing of it */
    OUTPUTS_LIMIT = 16,     /* of one kernel */
    AGAIN_NODE_LIMIT = 6,   /* below a node that is computed again instead of loaded */
    AGAIN_LOAD_LIMIT = 3,   /* values as large as itself that it then reads */
};

/* The loops of a node. */

static Dim one(Dimensions *table) {
    return dim_constant(table, 1);
}

static Dim whole_count(Dimensions *table, const Type *type) {
    return type_count(table, type, 0, type->rank);
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

static Loops elementwise_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    int rank = node->type.rank;
    if (rank < 2)
        return (Loops){KERNEL_rows, one(table), whole_count(table, &node->type), one(table),
                       one(table)};
    return (Loops){KERNEL_rows, one(table), type_count(table, &node->type, 0, rank - 1), one(table),
                   node->type.dims[rank - 1]};
}

static Loops scatter_loops(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const Type *index = &graph_node(graph, node->inputs[0])->type;
    return (Loops){KERNEL_scatter, one(table), whole_count(table, index), node->type.dims[0],
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

/* Are the loops of the class's nodes other than their result asks for? */
static bool has_own_loops(LoopClass class) {
    return class == LOOP_reduce || class == LOOP_contract || class == LOOP_scatter ||
           class == LOOP_row;
}

/* Is it a kernel by itself, which only its parts join? */
static bool starts_alone(Op op) {
    return op == OP_scan || op == OP_extern;
}

Loops kernel_loops(const Graph *graph, const NodeId *nodes, size_t count) {
    NodeId largest = nodes[0];
    int64_t largest_size = 0;
    for (size_t i = 0; i < count; i++) {
        const Node *node = graph_node(graph, nodes[i]);
        LoopClass class = op_info[node->op].class;
        if (has_own_loops(class) || starts_alone(node->op)) return node_loops(graph, node);
        int64_t size = dim_bound(whole_count(graph->dimensions, &node->type));
        if (size > largest_size) largest = nodes[i], largest_size = size;
    }
    return node_loops(graph, graph_node(graph, largest));
}

bool keeps_rows(const Loops *loops) {
    int64_t columns;
    return dim_is_constant(loops->columns, &columns) && columns <= ROW_LIMIT;
}

/* Indices. */

IndexKind native_index(Dimensions *table, const Loops *loops, const Type *type) {
    Dim count = whole_count(table, type);
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
    if (dim_is_one(whole_count(table, operand))) {
        IndexKind native = native_index(table, loops, operand);
        return native == INDEX_other ? INDEX_zero : native;
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
    return dim_is_one(whole_count(graph->dimensions, &graph_node(graph, a->inputs[0])->type));
}

/* Copying into a form with fewer cases. */

/* Of the axes those that lie side by side with the last one. */
static uint32_t last_run(const Type *type, uint32_t axes) {
    int first = 31 - __builtin_clz(axes);
    while (first > 0 && (axes >> (first - 1) & 1 || dim_is_one(type->dims[first - 1]))) first--;
    return axes & ~((1u << first) - 1);
}

/* One reduction after the other; what lies between two is not rounded to a half type. */
static NodeId copy_runs(Graph *to, const Node *node, NodeId operand, uint32_t axes) {
    const Type type = graph_node(to, operand)->type;
    bool widens = is_half(type.element) && last_run(&type, axes) != axes &&
                  (node->op == OP_sum || node->op == OP_prod);
    Type wide = type;
    wide.element = TYPE_f32;
    if (widens) operand = graph_declared(to, OP_cast, operand, wide, node->range);
    while (axes) {
        uint32_t run = last_run(&type, axes);
        operand = graph_reduce(to, node->op, operand, run, node->range);
        axes &= ~run;
    }
    return widens ? graph_declared(to, OP_cast, operand, node->type, node->range) : operand;
}

/* Splits a reduction over axes with others between them; drops one over axes of size 1. */
static NodeId copy_reduction(Graph *to, const Node *node, NodeId operand) {
    const Type type = graph_node(to, operand)->type;
    uint32_t left = 0;
    for (int i = 0; i < type.rank; i++)
        if (node->axes >> i & 1 && !dim_is_one(type.dims[i])) left |= 1u << i;
    if (left) return copy_runs(to, node, operand, left);
    if (op_info[node->op].gives != GIVES_index) return operand;
    NodeId zero = graph_constant(to, node->type.element, 0, node->range);
    return node->type.rank ? graph_declared(to, OP_broadcast, zero, node->type, node->range) : zero;
}

/* Division by one number for all elements becomes multiplication by its reciprocal. */
static NodeId copy_division(Graph *to, const Node *node, NodeId a, NodeId b) {
    Element element = graph_node(to, b)->type.element;
    NodeId unit = graph_constant(to, element, 1, node->range);
    NodeId reciprocal = graph_make(to, OP_divide, unit, b, NODE_NONE, node->range);
    return graph_make(to, OP_multiply, a, reciprocal, NODE_NONE, node->range);
}

/* A cast that only one product reads, which therefore no kernel stores. */
static NodeId own_cast(Graph *to, NodeId id) {
    Node node = *graph_node(to, id);
    vector_push(to->arena, &to->nodes, node);
    return (NodeId)(to->nodes.count - 1);
}

static NodeId copy_product(Graph *to, const Graph *from, NodeId id, const NodeId *map) {
    Node node = *graph_node(from, id);
    Problem problem;
    for (int i = 0; i < 2; i++) node.inputs[i] = map[node.inputs[i]];
    if (widens_both(to, &node))
        for (int i = 0; i < 2; i++) node.inputs[i] = own_cast(to, node.inputs[i]);
    NodeId copy = graph_add(to, node, &problem);
    assert(copy != NODE_NONE && "a product that can't be copied");
    return copy;
}

static Graph *fuse_graph(Arena *arena, const Graph *graph, bool body);

static NodeId copy_node(Graph *to, const Graph *from, NodeId id, const NodeId *map) {
    const Node *node = graph_node(from, id);
    if (node->op == OP_scan)
        return scan_copy(to, node, map[node->inputs[0]],
                         fuse_graph(to->arena, node->scan->body, true));
    if (node->op == OP_matmul) return copy_product(to, from, id, map);
    if (op_info[node->op].class == LOOP_reduce)
        return copy_reduction(to, node, map[node->inputs[0]]);
    if (node->op == OP_divide && graph_node(from, node->inputs[1])->type.rank == 0 &&
        node->type.rank > 0)
        return copy_division(to, node, map[node->inputs[0]], map[node->inputs[1]]);
    return graph_copy_node(to, from, id, map);
}

/* Fusing. */

/* A kernel that still takes nodes. */
typedef struct Open {
    Loops loops;
    bool elementwise; /* has only elementwise nodes at the full index: any loops will do */
    int node_count, output_count;
    Placement placement; /* of its first placed node */
} Open;

typedef struct Fuser {
    Arena *arena;
    Graph *graph;
    bool body; /* of a scan */
    Vector(Open) kernels;
    bool *in_memory; /* must be stored, whatever it costs */
    NodeId *after;   /* what a node that was a hold waits for, or NODE_NONE */
    int *latest;     /* the last kernel that the value depends on, or NO_KERNEL */
    int *size;       /* of inline nodes: how many are computed for one element */
    int *depth;      /* rows kernels: loops over a row that come before the value is known */
    Map by_loops;    /* LoopsKey → 1 + the last kernel with it */
} Fuser;

static Node *node_of(Fuser *fuser, NodeId id) {
    return &fuser->graph->nodes.items[id];
}

static bool is_leaf(Op op) {
    return op == OP_constant || op == OP_input || op == OP_weight;
}

static bool is_elementwise(Op op) {
    return op_info[op].class == LOOP_elementwise;
}

static void want_in_memory(Fuser *fuser, NodeId id) {
    fuser->in_memory[strip_reshapes(fuser->graph, id)] = true;
}

/* A node of its own with the value of id, for a second place that holds it. */
static NodeId raw_copy(Fuser *fuser, NodeId id) {
    Graph *graph = fuser->graph;
    Node node = {.op = OP_stop_gradient,
                 .input_count = 1,
                 .inputs = {id, NODE_NONE, NODE_NONE},
                 .type = graph_node(graph, id)->type,
                 .range = graph_node(graph, id)->range,
                 .placement = graph_node(graph, id)->placement,
                 .kernel = NO_KERNEL};
    vector_push(graph->arena, &graph->nodes, node);
    return (NodeId)(graph->nodes.count - 1);
}

/* Holds become reshapes that change nothing; `after` remembers what they wait for. */
static void release_holds(Fuser *fuser) {
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        bool holds = node->op == OP_hold;
        fuser->after[id] = holds ? node->inputs[1] : NODE_NONE;
        if (!holds) continue;
        node->op = OP_reshape;
        node->input_count = 1;
        node->inputs[1] = NODE_NONE;
    }
}

/* Can't the output be stored right where its value is computed? */
static bool needs_copy(const Fuser *fuser, const Node *source, OutputKind kind, bool shared) {
    bool own = kind == OUTPUT_update || fuser->body;
    return is_leaf(source->op) || (own && (shared || source->op == OP_part));
}

/* Every output gets a node that a kernel stores, every update, or result of a body, one of its
 * own. */
static void separate_outputs(Fuser *fuser) {
    Graph *graph = fuser->graph;
    bool *taken = arena_new_array(fuser->arena, bool, graph->nodes.count + 1);
    size_t known = graph->nodes.count;
    for (int pass = 0; pass < 2; pass++) {
        OutputKind kind = pass ? OUTPUT_result : OUTPUT_update;
        vector_each(Output, output, graph->outputs) {
            if (output->kind != kind) continue;
            NodeId source = strip_reshapes(graph, output->value);
            bool shared = source < known && taken[source];
            if (needs_copy(fuser, graph_node(graph, source), kind, shared))
                output->value = raw_copy(fuser, output->value);
            else taken[source] = true;
        }
    }
}

static bool is_guarded_view(const Graph *graph, const Node *node) {
    return node->op == OP_view &&
           view_is_guarded(graph->dimensions, node->view, &graph_node(graph, node->inputs[0])->type,
                           &node->type);
}

/* What is padded and then seen through windows is padded once. */
static void mark_viewed(Fuser *fuser, const Node *view) {
    NodeId source = strip_reshapes(fuser->graph, view->inputs[0]);
    if (is_guarded_view(fuser->graph, graph_node(fuser->graph, source)))
        fuser->in_memory[source] = true;
}

static void mark_in_memory(Fuser *fuser) {
    Graph *graph = fuser->graph;
    vector_each(Output, output, graph->outputs) want_in_memory(fuser, output->value);
    vector_each(Node, node, graph->nodes) {
        if (node->op == OP_matmul)
            for (int i = 0; i < 2; i++)
                fuser->in_memory[contraction_operand(graph, node, i).node] = true;
        if (node->op == OP_view) mark_viewed(fuser, node);
        if (node->op == OP_check || node->op == OP_gather || op_info[node->op].class == LOOP_row)
            want_in_memory(fuser, node->inputs[0]);
        if (node->op == OP_list) want_in_memory(fuser, node->inputs[1]);
    }
}

/* Devices. */

/* A reshape computes nothing: it is where its operand is. */
static void inherit_placement(Fuser *fuser, Node *node) {
    if (node->op == OP_reshape) node->placement = node_of(fuser, node->inputs[0])->placement;
    for (int i = 0; i < node->input_count && !is_placed(&node->placement); i++)
        node->placement = node_of(fuser, node->inputs[i])->placement;
}

static void store_what_crosses(Fuser *fuser, const Node *node) {
    for (int i = 0; i < node->input_count; i++) {
        NodeId source = strip_reshapes(fuser->graph, node->inputs[i]);
        const Node *from = node_of(fuser, source);
        if (!is_leaf(from->op) && devices_differ(&from->placement, &node->placement))
            fuser->in_memory[source] = true;
    }
}

static void settle_devices(Fuser *fuser) {
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        inherit_placement(fuser, node);
        if (node->op != OP_reshape) store_what_crosses(fuser, node);
    }
}

/* Would the kernel find what it computes itself at the right point of its loops? */
static bool agrees(Fuser *fuser, int kernel, const Loops *loops, NodeId id, IndexKind index) {
    Node *node = node_of(fuser, id);
    Dimensions *table = fuser->graph->dimensions;
    if (fuser->latest[id] < kernel) return true;
    if (node->kernel == kernel)
        return index != INDEX_other && native_index(table, loops, &node->type) == index;
    if (node->kernel != NO_KERNEL) return true;
    for (int i = 0; i < node->input_count; i++) {
        IndexKind inner = needed_index(fuser->graph, loops, node, i, index);
        if (!agrees(fuser, kernel, loops, node->inputs[i], inner)) return false;
    }
    return true;
}

static int operands_latest(Fuser *fuser, const Node *node) {
    int latest = NO_KERNEL;
    for (int i = 0; i < node->input_count; i++)
        if (fuser->latest[node->inputs[i]] > latest) latest = fuser->latest[node->inputs[i]];
    return latest;
}

static int operands_depth(Fuser *fuser, const Node *node, int kernel) {
    int depth = 0;
    for (int i = 0; i < node->input_count; i++) {
        NodeId id = node->inputs[i];
        if (fuser->latest[id] == kernel && fuser->depth[id] > depth) depth = fuser->depth[id];
    }
    return depth;
}

static bool operands_agree(Fuser *fuser, int kernel, const Loops *loops, const Node *node,
                           IndexKind index) {
    for (int i = 0; i < node->input_count; i++) {
        IndexKind inner = op_info[node->op].class == LOOP_reduce
                              ? INDEX_full
                              : needed_index(fuser->graph, loops, node, i, index);
        if (!agrees(fuser, kernel, loops, node->inputs[i], inner)) return false;
    }
    return true;
}

static bool elementwise_fits(Fuser *fuser, int kernel, const Node *node) {
    Loops *loops = &fuser->kernels.items[kernel].loops;
    IndexKind index = native_index(fuser->graph->dimensions, loops, &node->type);
    if (index == INDEX_other) return false;
    if (loops->kind == KERNEL_rows && index == INDEX_full && !keeps_rows(loops) &&
        operands_depth(fuser, node, kernel) > 0)
        return false;
    return operands_agree(fuser, kernel, loops, node, index);
}

static bool same_loops(const Loops *a, const Loops *b) {
    return a->kind == b->kind && a->outer == b->outer && a->rows == b->rows &&
           a->depth == b->depth && a->columns == b->columns;
}

static bool reduction_fits(Fuser *fuser, int kernel, const Node *node) {
    Open *open = &fuser->kernels.items[kernel];
    Loops wanted = node_loops(fuser->graph, node);
    bool same = same_loops(&open->loops, &wanted);
    if (!same && !(open->elementwise && wanted.kind == KERNEL_rows)) return false;
    Dimensions *table = fuser->graph->dimensions;
    const Type *operand = &node_of(fuser, node->inputs[0])->type;
    if (!same && native_index(table, &open->loops, operand) != INDEX_full) return false;
    if (!keeps_rows(&wanted) && operands_depth(fuser, node, kernel) > 0) return false;
    return operands_agree(fuser, kernel, &wanted, node, INDEX_row);
}

static bool fits(Fuser *fuser, int kernel, const Node *node) {
    const Open *open = &fuser->kernels.items[kernel];
    if (open->node_count >= NODES_LIMIT || open->output_count >= OUTPUTS_LIMIT) return false;
    if (devices_differ(&open->placement, &node->placement)) return false;
    if (open->loops.kind == KERNEL_scan || open->loops.kind == KERNEL_external) return false;
    switch (op_info[node->op].class) {
    case LOOP_row:
    case LOOP_contract:
    case LOOP_scatter: return false;
    case LOOP_reduce: return reduction_fits(fuser, kernel, node);
    default: return elementwise_fits(fuser, kernel, node);
    }
}

/* Loops and a device, without padding. */
typedef struct LoopsKey {
    uintptr_t parts[7];
} LoopsKey;

static LoopsKey loops_key(const Loops *loops, const Placement *placement) {
    return (LoopsKey){{loops->kind, (uintptr_t)loops->outer, (uintptr_t)loops->rows,
                       (uintptr_t)loops->depth, (uintptr_t)loops->columns, placement->device,
                       (uintptr_t)placement->index}};
}

static void join(Fuser *fuser, int kernel, NodeId id) {
    Node *node = node_of(fuser, id);
    Open *open = &fuser->kernels.items[kernel];
    bool reduction = op_info[node->op].class == LOOP_reduce;
    fuser->depth[id] = operands_depth(fuser, node, kernel) + reduction;
    if (reduction && open->elementwise) open->loops = node_loops(fuser->graph, node);
    if (reduction ||
        native_index(fuser->graph->dimensions, &open->loops, &node->type) != INDEX_full)
        open->elementwise = false;
    node->kernel = fuser->latest[id] = kernel;
    open->node_count++;
    open->output_count += fuser->in_memory[id];
    if (!is_placed(&open->placement)) open->placement = node->placement;
    LoopsKey key = loops_key(&open->loops, &open->placement);
    map_put_bytes(&fuser->by_loops, &key, sizeof key, (void *)(uintptr_t)(kernel + 1));
}

static void start(Fuser *fuser, NodeId id) {
    Loops loops = node_loops(fuser->graph, node_of(fuser, id));
    LoopClass class = op_info[node_of(fuser, id)->op].class;
    bool elementwise = !has_own_loops(class) && class != LOOP_none;
    vector_push(fuser->arena, &fuser->kernels, (Open){.loops = loops, .elementwise = elementwise});
    join(fuser, (int)fuser->kernels.count - 1, id);
}

/* An independent kernel with the same loops takes the node when nothing newer is needed: it may
 * read the same values. Much company, all weights' first values say, only makes a kernel that
 * equals no other and takes a C compiler long. */
static int independent_kernel(Fuser *fuser, const Node *node) {
    Loops loops = node_loops(fuser->graph, node);
    LoopsKey key = loops_key(&loops, &node->placement);
    uintptr_t found = (uintptr_t)map_get_bytes(&fuser->by_loops, &key, sizeof key);
    return (int)found - 1;
}

static void place(Fuser *fuser, NodeId id) {
    Node *node = node_of(fuser, id);
    int latest = operands_latest(fuser, node);
    if (latest != NO_KERNEL && fits(fuser, latest, node)) {
        join(fuser, latest, id);
        return;
    }
    int other = independent_kernel(fuser, node);
    bool small = other > latest && fuser->kernels.items[other].node_count < COMPANY_LIMIT;
    if (small && fits(fuser, other, node)) join(fuser, other, id);
    else start(fuser, id);
}

static int inline_size(Fuser *fuser, const Node *node) {
    int size = 1;
    for (int i = 0; i < node->input_count; i++)
        if (node_of(fuser, node->inputs[i])->kernel == NO_KERNEL)
            size += fuser->size[node->inputs[i]];
    return size;
}

/* Waits for the kernel that wants it: 0.9 * m of an optimizer belongs to the gradient's tile. */
static bool is_cheap_of_leaves(Fuser *fuser, const Node *node) {
    return is_elementwise(node->op) && op_info[node->op].cost <= INLINE_COST_LIMIT &&
           operands_latest(fuser, node) == NO_KERNEL;
}

static bool stays_inline(Fuser *fuser, NodeId id) {
    const Node *node = node_of(fuser, id);
    if (node->op == OP_input || node->op == OP_weight || node->op == OP_reshape) return true;
    if (node->op == OP_list) return true;
    if (node->op == OP_constant) return !fuser->in_memory[id];
    if (fuser->in_memory[id] || fuser->size[id] > INLINE_SIZE_LIMIT) return false;
    if (is_uniform_sum(fuser->graph, node) || is_widening(fuser->graph, node)) return true;
    LoopClass class = op_info[node->op].class;
    if (class == LOOP_generate || class == LOOP_move || class == LOOP_gather) return true;
    if (is_cheap_of_leaves(fuser, node)) return true;
    return class == LOOP_elementwise &&
           dim_is_one(whole_count(fuser->graph->dimensions, &node->type));
}

static void visit(Fuser *fuser, NodeId id) {
    Node *node = node_of(fuser, id);
    fuser->size[id] = inline_size(fuser, node);
    if (starts_alone(node->op) || node->op == OP_part) {
        if (node->op != OP_part) start(fuser, id);
        else join(fuser, node_of(fuser, node->inputs[0])->kernel, id);
        return;
    }
    if (!stays_inline(fuser, id)) {
        place(fuser, id);
        return;
    }
    fuser->latest[id] = operands_latest(fuser, node);
    NodeId after = fuser->after[id];
    if (after != NODE_NONE && fuser->latest[after] > fuser->latest[id])
        fuser->latest[id] = fuser->latest[after];
    fuser->depth[id] = operands_depth(fuser, node, fuser->latest[id]);
}

/* Computing again instead of storing. */

/* Marks what a kernel other than its own wants. */
static void mark_uses(Fuser *fuser, bool *stored, NodeId id, int kernel) {
    const Node *node = node_of(fuser, id);
    if (node->kernel != NO_KERNEL && node->kernel != kernel) stored[id] = true;
    if (node->kernel != NO_KERNEL) return;
    for (int i = 0; i < node->input_count; i++) mark_uses(fuser, stored, node->inputs[i], kernel);
}

static bool *find_stored(Fuser *fuser) {
    bool *stored = arena_new_array(fuser->arena, bool, fuser->graph->nodes.count + 1);
    memcpy(stored, fuser->in_memory, fuser->graph->nodes.count);
    vector_each(Node, node, fuser->graph->nodes)
        for (int i = 0; i < node->input_count && node->kernel != NO_KERNEL; i++)
            mark_uses(fuser, stored, node->inputs[i], node->kernel);
    return stored;
}

/* What computing a node again takes. */
typedef struct Again {
    Dim count; /* its elements */
    int nodes, load_count;
    NodeId loads[AGAIN_LOAD_LIMIT]; /* of values as large as itself */
} Again;

static bool add_load(Fuser *fuser, Again *again, NodeId id) {
    if (whole_count(fuser->graph->dimensions, &node_of(fuser, id)->type) != again->count)
        return true;
    for (int i = 0; i < again->load_count; i++)
        if (again->loads[i] == id) return true;
    if (again->load_count == AGAIN_LOAD_LIMIT) return false;
    again->loads[again->load_count++] = id;
    return true;
}

static bool is_repeatable(const Node *node) {
    return is_elementwise(node->op) && op_info[node->op].cost <= INLINE_COST_LIMIT;
}

/* Is it made of what lies in memory and a few cheap nodes? */
static bool is_light(Fuser *fuser, const bool *stored, NodeId id, Again *again) {
    const Node *node = node_of(fuser, id);
    if (is_leaf(node->op)) return add_load(fuser, again, id);
    if (node->kernel != NO_KERNEL && stored[id]) return add_load(fuser, again, id);
    bool moves = node->op == OP_reshape || node->op == OP_broadcast ||
                 (node->op == OP_view && !is_guarded_view(fuser->graph, node));
    if (!moves && (!is_repeatable(node) || ++again->nodes > AGAIN_NODE_LIMIT)) return false;
    for (int i = 0; i < node->input_count; i++)
        if (!is_light(fuser, stored, node->inputs[i], again)) return false;
    return true;
}

/* Takes a light node, with what only it wanted, out of its kernel. */
static void release(Fuser *fuser, const bool *stored, NodeId id) {
    Node *node = node_of(fuser, id);
    node->kernel = NO_KERNEL;
    for (int i = 0; i < node->input_count; i++) {
        NodeId below = node->inputs[i];
        if (node_of(fuser, below)->kernel == NO_KERNEL ? !is_leaf(node_of(fuser, below)->op)
                                                       : !stored[below])
            release(fuser, stored, below);
    }
}

/* What views read would be found by much index arithmetic for each element. */
static bool *find_viewed(Fuser *fuser) {
    bool *viewed = arena_new_array(fuser->arena, bool, fuser->graph->nodes.count + 1);
    vector_each(Node, node, fuser->graph->nodes)
        if (node->op == OP_view) viewed[strip_reshapes(fuser->graph, node->inputs[0])] = true;
    return viewed;
}

static void compute_again(Fuser *fuser) {
    bool *stored = find_stored(fuser), *viewed = find_viewed(fuser);
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        if (!stored[id] || fuser->in_memory[id] || viewed[id] || node->kernel == NO_KERNEL ||
            !is_repeatable(node))
            continue;
        Again again = {.count = whole_count(fuser->graph->dimensions, &node->type)};
        bool light = true;
        for (int i = 0; i < node->input_count; i++)
            light = light && is_light(fuser, stored, node->inputs[i], &again);
        if (light) release(fuser, stored, id);
    }
}

/* Numbers the kernels that still have nodes, in the same order. */
static void renumber(Fuser *fuser) {
    int *numbers = arena_new_array(fuser->arena, int, fuser->kernels.count + 1);
    vector_each(Node, node, fuser->graph->nodes)
        if (node->kernel != NO_KERNEL) numbers[node->kernel] = 1;
    int count = 0;
    for (size_t i = 0; i < fuser->kernels.count; i++)
        if (numbers[i]) numbers[i] = count++;
    vector_each(Node, node, fuser->graph->nodes)
        if (node->kernel != NO_KERNEL) node->kernel = numbers[node->kernel];
    fuser->graph->kernel_count = count;
}

/* A C function stores all its results, wanted or not. */
static void add_parts(Graph *graph, NodeId call) {
    const Node node = *graph_node(graph, call);
    for (size_t i = 0; i < node.external->results.count; i++)
        scan_part(graph, call, (int)i, node.range);
}

static Graph *copy_needed(Arena *arena, const Graph *graph) {
    Graph *to = graph_like(arena, graph);
    const bool *needed = graph_needed(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (needed[id] || graph_node(graph, id)->op == OP_weight) {
            to->placement = graph_node(graph, id)->placement;
            map[id] = copy_node(to, graph, id, map);
            if (graph_node(graph, id)->op == OP_extern) add_parts(to, map[id]);
        }
    vector_each(Output, output, graph->outputs)
        graph_output(to, output->kind, output->name, map[output->value],
                     output->kind == OUTPUT_update ? map[output->target] : NODE_NONE);
    return to;
}

static Graph *fuse_graph(Arena *arena, const Graph *graph, bool body) {
    Graph *fused = copy_needed(arena, graph);
    Fuser fuser = {.arena = arena, .graph = fused, .body = body, .by_loops = map_new(arena)};
    separate_outputs(&fuser);
    size_t count = fused->nodes.count + 1;
    fuser.in_memory = arena_new_array(arena, bool, count);
    fuser.after = arena_new_array(arena, NodeId, count);
    fuser.latest = arena_new_array(arena, int, count);
    fuser.size = arena_new_array(arena, int, count);
    fuser.depth = arena_new_array(arena, int, count);
    for (size_t i = 0; i < count; i++) fuser.latest[i] = NO_KERNEL;
    release_holds(&fuser);
    mark_in_memory(&fuser);
    settle_devices(&fuser);
    for (NodeId id = 0; id < fused->nodes.count; id++) visit(&fuser, id);
    compute_again(&fuser);
    renumber(&fuser);
    return fused;
}

Graph *fuse(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    return fuse_graph(arena, graph, false);
}
