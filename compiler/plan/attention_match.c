/* Attention match: is a kernel a product whose left operand may be computed on the way? Its weights
 * are followed back, element by element, to the products that they are made of; a softmax and a
 * causal mask are known by their nodes. */
#include "compiler/plan/attention.h"

#include "compiler/passes/operand.h"

enum { DEPTH_MOST = 128 /* columns of a tile: what a thread has of it fits its registers */ };

static const Node *operand_of(const Finder *finder, const Node *node, int i) {
    return node_at(finder, strip_reshapes(finder->graph, node->inputs[i]));
}

static NodeId id_of(const Finder *finder, const Node *node) {
    return (NodeId)(node - finder->graph->nodes.items);
}

/* Products. */

static bool reads_element(const Finder *finder, NodeId id, Element element) {
    if (id == NODE_NONE) return true;
    const Node *product = node_at(finder, id);
    for (int i = 0; i < 2; i++) {
        const NodeId read = contraction_operand(finder->graph, product, i).node;
        if (node_at(finder, read)->type.element != element) return false;
    }
    return product->type.element == TYPE_f32;
}

/* Are all operands of the same floats or halves? */
static bool reads_alike(const Finder *finder, const Head *head) {
    const Attention *attention = &head->attention;
    const Node *product = node_at(finder, attention->product);
    const NodeId read = contraction_operand(finder->graph, product, 0).node;
    const Element element = node_at(finder, read)->type.element;
    return (element == TYPE_f32 || is_half(element)) &&
           reads_element(finder, attention->product, element) &&
           reads_element(finder, attention->scores, element) &&
           reads_element(finder, attention->second, element);
}

static bool is_narrow(Dim dim) {
    int64_t size;
    return dim_is_constant(dim, &size) && size <= DEPTH_MOST;
}

/* By an int, with some more. */
static bool is_counted(Dim dim) {
    return dim_bound(dim) < INT32_MAX / 2;
}

/* Has the product a row for each query, a column for each key, and little depth? */
static bool gives_scores(const Finder *finder, const Head *head, const Node *product) {
    const Loops *all = &finder->plan->kernels[head->kernel].loops;
    const Loops loops = node_loops(finder->graph, product);
    return loops.outer == all->outer && loops.rows == head->queries && is_counted(loops.rows) &&
           is_counted(loops.columns) && loops.columns == head->keys && is_narrow(loops.depth) &&
           product->type.element == TYPE_f32;
}

static bool is_same_device(const Finder *finder, const Head *head, const Node *node) {
    const Placement *here = &finder->plan->kernels[head->kernel].given;
    const Placement *there = &finder->plan->kernels[node->kernel].given;
    return node->kernel == NO_KERNEL ||
           (there->device == here->device && there->index == here->index);
}

static void note_product(Head *head, NodeId id) {
    Attention *attention = &head->attention;
    if (attention->scores == NODE_NONE) attention->scores = id;
    else if (attention->second == NODE_NONE) attention->second = id;
    else head->good = false;
}

/* What weights are made of. */

static bool is_made(Finder *finder, Head *head, NodeId id);

static bool is_made_of_operands(Finder *finder, Head *head, const Node *node) {
    bool made = false;
    for (int i = 0; i < node->input_count; i++) made |= is_made(finder, head, node->inputs[i]);
    return made;
}

/* Is the node computed from scores, one element from one? */
static bool is_made(Finder *finder, Head *head, NodeId id) {
    id = strip_reshapes(finder->graph, id);
    const Node *node = node_at(finder, id);
    unsigned char *state = &head->states[id];
    if (*state != STATE_unknown) return *state == STATE_weight;
    bool made = node->op == OP_matmul && gives_scores(finder, head, node);
    if (made) note_product(head, id);
    else if (op_info[node->op].class == LOOP_elementwise && !op_is_whole(node->op))
        made = is_made_of_operands(finder, head, node);
    *state = made ? STATE_weight : STATE_apart;
    if (!made) return false;
    Dimensions *table = finder->graph->dimensions;
    const Type *scores = &node_at(finder, head->attention.scores)->type;
    if (type_elements(table, &node->type) != type_elements(table, scores) ||
        !is_same_device(finder, head, node))
        head->good = false;
    return true;
}

/* Without the rounding that the product does itself. */
static NodeId unrounded(const Finder *finder, NodeId id) {
    const Node *node = node_at(finder, id);
    if (node->op == OP_cast && is_half(node->type.element) &&
        node_at(finder, node->inputs[0])->type.element == TYPE_f32)
        return strip_reshapes(finder->graph, node->inputs[0]);
    return id;
}

/* A softmax. */

static bool is_row_of(const Finder *finder, const Node *row, Op op, NodeId of, Dim keys) {
    if (row->op != op || strip_reshapes(finder->graph, row->inputs[0]) != of) return false;
    const Loops loops = node_loops(finder->graph, row);
    return loops.kind == KERNEL_rows && loops.columns == keys;
}

static void match_softmax(const Finder *finder, Head *head) {
    Attention *attention = &head->attention;
    const Node *weights = node_at(finder, attention->weights);
    if (weights->op != OP_divide || attention->turned) return;
    const Node *power = operand_of(finder, weights, 0), *total = operand_of(finder, weights, 1);
    if (power->op != OP_exp || !is_row_of(finder, total, OP_sum, id_of(finder, power), head->keys))
        return;
    const Node *less = operand_of(finder, power, 0);
    if (less->op != OP_subtract) return;
    const NodeId scores = strip_reshapes(finder->graph, less->inputs[0]);
    const Node *most = operand_of(finder, less, 1);
    if (!is_row_of(finder, most, OP_max, scores, head->keys)) return;
    if (finder->left_by[id_of(finder, most)] || finder->left_by[id_of(finder, total)]) return;
    if (!is_same_device(finder, head, most) || !is_same_device(finder, head, total)) return;
    attention->forward = true;
    attention->weights = scores;
    attention->most = id_of(finder, most);
    attention->total = id_of(finder, total);
}

/* Causal scores. */

/* Are scores behind what is seen so low that nothing is left of exp? Each row sees key 0. */
static bool is_masked(const Finder *finder, Head *head, const Node *scores) {
    int64_t seen;
    if (scores->op != OP_select ||
        !is_causal(finder->graph, operand_of(finder, scores, 0), head->queries, head->keys, &seen))
        return false;
    const Node *behind = operand_of(finder, scores, 2);
    if (behind->op != OP_constant || behind->number > -1e29) return false;
    if (head->attention.mask != NODE_NONE && head->attention.mask != id_of(finder, scores))
        return false;
    head->attention.mask = id_of(finder, scores);
    head->attention.seen = seen;
    return true;
}

/* Is the element 0 where that exp is? */
static bool vanishes(const Finder *finder, Head *head, const Node *node) {
    const Node *a = node->input_count ? operand_of(finder, node, 0) : NULL;
    switch (node->op) {
    case OP_constant: return node->number == 0;
    case OP_exp: return a->op == OP_subtract && is_masked(finder, head, operand_of(finder, a, 0));
    case OP_divide:
    case OP_negate:
    case OP_cast: return vanishes(finder, head, a);
    case OP_multiply:
        return vanishes(finder, head, a) || vanishes(finder, head, operand_of(finder, node, 1));
    case OP_select:
        return vanishes(finder, head, operand_of(finder, node, 1)) &&
               vanishes(finder, head, operand_of(finder, node, 2));
    default: return false;
    }
}

static void find_mask(const Finder *finder, Head *head) {
    const Node *weights = node_at(finder, head->attention.weights);
    const bool masked = head->attention.forward ? is_masked(finder, head, weights)
                                                : vanishes(finder, head, weights);
    if (!masked) head->attention.mask = NODE_NONE;
}

/* Heads. */

static bool is_stride(const Digits *digits, Dim size, Dim stride) {
    if (dim_is_one(size)) return true;
    return digits->count == 1 && digits->items[0].size == size && digits->items[0].stride == stride;
}

/* Does the product read all weights, row by row, or column by column? */
static bool reads_weights(const Finder *finder, const Loops *loops, const ContractionOperand *a,
                          bool *turned) {
    Dimensions *table = finder->graph->dimensions;
    *turned = false;
    if (is_in_order(finder->graph, a)) return true;
    int64_t start;
    const Dim one = dim_constant(table, 1), each = dim_multiply(table, loops->rows, loops->depth);
    *turned = dim_is_constant(a->start, &start) && !start &&
              is_stride(&a->first, loops->rows, one) &&
              is_stride(&a->second, loops->depth, loops->rows) && each &&
              is_stride(&a->outer, loops->outer, each) &&
              type_elements(table, &node_at(finder, a->node)->type) ==
                  dim_multiply(table, loops->outer, each);
    return *turned;
}

static Head new_head(const Finder *finder, int k, bool turned) {
    const KernelPlan *kernel = &finder->plan->kernels[k];
    Head head = {.kernel = k,
                 .queries = turned ? kernel->loops.depth : kernel->loops.rows,
                 .keys = turned ? kernel->loops.rows : kernel->loops.depth,
                 .good = true};
    head.attention = (Attention){.product = kernel->nodes[0],
                                 .turned = turned,
                                 .scores = NODE_NONE,
                                 .second = NODE_NONE,
                                 .mask = NODE_NONE,
                                 .most = NODE_NONE,
                                 .total = NODE_NONE};
    head.states =
        arena_new_array(finder->planner->arena, unsigned char, finder->graph->nodes.count + 1);
    return head;
}

/* Is its left operand a kernel's of its own, as weights lie, and are its columns few? */
static bool may_be_head(const Finder *finder, int k, const ContractionOperand *a, bool *turned) {
    const KernelPlan *kernel = &finder->plan->kernels[k];
    const int from = node_at(finder, a->node)->kernel;
    return from != NO_KERNEL && from != k && is_narrow(kernel->loops.columns) &&
           reads_weights(finder, &kernel->loops, a, turned);
}

static void keep_head(Finder *finder, Head head) {
    vector_push(finder->planner->arena, &finder->heads, head);
    if (!head.attention.forward) return;
    finder->left_by[head.attention.most] = (int)finder->heads.count;
    finder->left_by[head.attention.total] = (int)finder->heads.count;
}

void add_head(Finder *finder, int k) {
    const KernelPlan *kernel = &finder->plan->kernels[k];
    if (!runs_on_gpu(kernel) || kernel->loops.kind != KERNEL_contraction) return;
    const Node *product = node_at(finder, kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(finder->graph, product, 0);
    bool turned;
    if (!may_be_head(finder, k, &a, &turned)) return;
    Head head = new_head(finder, k, turned);
    head.attention.weights = unrounded(finder, a.node);
    if (!is_made(finder, &head, a.node) || !head.good || !reads_alike(finder, &head)) return;
    match_softmax(finder, &head);
    find_mask(finder, &head);
    keep_head(finder, head);
}
