/* Attention: products on a GPU whose left operand, the weights of some values, is computed tile by
 * tile on the way and never stored (T. Dao, "FlashAttention-2", 2023).
 *
 * Weights are what is computed element by element from one or two products of the same shape, the
 * scores, and of what is known of each row. Forwards they are a softmax: its largest score and its
 * sum grow while the product goes over the keys, and are left for the way back. There weights are
 * computed again from scores, for queries (the gradient of q) or for keys (those of k and v).
 *
 * Fuse has put all of that into kernels of their own, whose nodes become nobody's: who reads them
 * computes them. That holds only if nobody else wants them, so heads, the kernels of the products,
 * are given up until it does. A kernel that is left with no nodes does nothing. passes/attend.c
 * lets the gradient sum over what was weighed. Heads have up to 128 f32, bf16 or f16; in the body
 * of a loop all is as on the CPU. */
#include "compiler/plan/attention.h"

#include "compiler/passes/operand.h"

/* Giving up heads until nobody else wants what they compute on the way. */

static void drop(Finder *finder, Head *head) {
    finder->dropped |= head->good;
    head->good = false;
    if (!head->attention.forward) return;
    finder->left_by[head->attention.most] = finder->left_by[head->attention.total] = 0;
}

static void drop_users(Finder *finder, NodeId weight) {
    vector_each(Head, head, finder->heads)
        if (head->good && head->states[weight] == STATE_weight) drop(finder, head);
}

static Head *head_of_kernel(const Finder *finder, int kernel) {
    vector_each(Head, head, finder->heads)
        if (head->good && head->kernel == kernel) return head;
    return NULL;
}

static bool is_passed_on(const Finder *finder, const Node *node) {
    return node->kernel == NO_KERNEL &&
           (op_info[node->op].class == LOOP_move || is_widening(finder->graph, node));
}

/* Is a weight that another one is made of the one at the same place? */
static bool is_in_place(const Finder *finder, NodeId id) {
    const Node *node = node_at(finder, id);
    while (is_passed_on(finder, node)) {
        if (op_info[node->op].class == LOOP_move && node->op != OP_reshape) return false;
        node = node_at(finder, node->inputs[0]);
    }
    return true;
}

/* May the node have operand i computed on the way? A product of scores reads what is stored. */
static bool may_want(const Finder *finder, NodeId id, int i) {
    const Node *node = node_at(finder, id);
    if (finder->weight[id]) return node->op != OP_matmul && is_in_place(finder, node->inputs[i]);
    if (finder->left_by[id]) return true;
    const Head *head = head_of_kernel(finder, node->kernel);
    return head && head->attention.product == id && i == 0;
}

/* What is wanted by name of a node that moves it. */
static NodeId wanted(const Finder *finder, NodeId id) {
    while (is_passed_on(finder, node_at(finder, id))) id = node_at(finder, id)->inputs[0];
    return id;
}

static void check_users(Finder *finder, const bool *needed) {
    for (NodeId id = 0; id < finder->graph->nodes.count; id++) {
        const Node *node = node_at(finder, id);
        if (!needed[id] || is_passed_on(finder, node)) continue;
        for (int i = 0; i < node->input_count; i++) {
            const NodeId read = wanted(finder, node->inputs[i]);
            if (finder->weight[read] && !may_want(finder, id, i)) drop_users(finder, read);
        }
    }
    vector_each(Output, output, finder->graph->outputs) {
        const NodeId value = wanted(finder, output->value);
        if (finder->weight[value]) drop_users(finder, value);
        if (finder->left_by[value]) drop(finder, &finder->heads.items[finder->left_by[value] - 1]);
    }
}

/* A kernel gives all of its nodes, or it is a head. */
static void check_kernels(Finder *finder) {
    for (int k = 0; k < finder->plan->kernel_count; k++) {
        const KernelPlan *kernel = &finder->plan->kernels[k];
        size_t taken = 0;
        for (size_t i = 0; i < kernel->node_count; i++)
            taken += finder->weight[kernel->nodes[i]] || finder->left_by[kernel->nodes[i]];
        if (!taken || taken == kernel->node_count) continue;
        for (size_t i = 0; i < kernel->node_count; i++) {
            const NodeId id = kernel->nodes[i];
            if (finder->left_by[id]) drop(finder, &finder->heads.items[finder->left_by[id] - 1]);
            else if (finder->weight[id]) drop_users(finder, id);
        }
    }
}

static void find_weights(Finder *finder) {
    for (NodeId id = 0; id < finder->graph->nodes.count; id++) {
        finder->weight[id] = false;
        vector_each(Head, head, finder->heads)
            finder->weight[id] |= head->good && head->states[id] == STATE_weight;
    }
}

/* The kernel that leaves the rows of a softmax that the head's weights are made of. */
static int softmax_of(const Finder *finder, const Head *head) {
    vector_each(Head, forward, finder->heads)
        if (forward->good && forward->attention.forward && forward != head &&
            head->states[forward->attention.scores] == STATE_weight)
            return forward->kernel;
    return NO_KERNEL;
}

/* What is no softmax, nor the gradient of one, is a product of what is stored. */
static void drop_others(Finder *finder) {
    vector_each(Head, head, finder->heads)
        if (!head->attention.forward && softmax_of(finder, head) == NO_KERNEL) drop(finder, head);
}

static void drop_until_unwanted(Finder *finder, const bool *needed) {
    for (finder->dropped = true; finder->dropped;) {
        finder->dropped = false;
        drop_others(finder);
        find_weights(finder);
        check_users(finder, needed);
        check_kernels(finder);
    }
}

/* Taking kernels in. */

static double points_of(const Finder *finder, const Head *head) {
    const Dim outer = finder->plan->kernels[head->kernel].loops.outer;
    const double all =
        (double)dim_bound(outer) * (double)dim_bound(head->queries) * (double)dim_bound(head->keys);
    return head->attention.mask != NODE_NONE ? all / 2 : all;
}

static double depth_of(const Finder *finder, NodeId product) {
    if (product == NODE_NONE) return 0;
    return (double)dim_bound(node_loops(finder->graph, node_at(finder, product)).depth);
}

static double operations_of(const Finder *finder, const Head *head) {
    const Attention *attention = &head->attention;
    const double columns = (double)dim_bound(finder->plan->kernels[head->kernel].loops.columns);
    double each =
        2 * (depth_of(finder, attention->scores) + depth_of(finder, attention->second) + columns);
    for (NodeId id = 0; id < finder->graph->nodes.count; id++) {
        const Node *node = node_at(finder, id);
        if (head->states[id] == STATE_weight && node->op != OP_matmul)
            each += op_info[node->op].cost ? op_info[node->op].cost : 1;
    }
    return each * points_of(finder, head);
}

static void note_made(const Finder *finder, const Head *head, Attention *attention) {
    const size_t count = finder->graph->nodes.count;
    NodeId *made = arena_new_array(finder->planner->arena, NodeId, count + 1);
    for (NodeId id = 0; id < count; id++)
        if (head->states[id] == STATE_weight) made[attention->made_count++] = id;
    attention->made = made;
}

/* The product first, then what else the kernel leaves. */
static void give_nodes(const Finder *finder, const Head *head) {
    KernelPlan *kernel = &finder->plan->kernels[head->kernel];
    NodeId *nodes = arena_new_array(finder->planner->arena, NodeId, kernel->node_count + 2);
    size_t count = 0;
    for (size_t i = 0; i < kernel->node_count; i++) nodes[count++] = kernel->nodes[i];
    if (head->attention.forward) {
        nodes[count++] = head->attention.most;
        nodes[count++] = head->attention.total;
    }
    kernel->nodes = nodes;
    kernel->node_count = count;
    kernel->attention = arena_new_item(finder->planner->arena, Attention);
    *kernel->attention = head->attention;
    kernel->attention->operations = operations_of(finder, head);
    note_made(finder, head, kernel->attention);
    kernel->computed_with = softmax_of(finder, head);
}

static void empty_kernel(const Finder *finder, KernelPlan *kernel) {
    const NodeId first = kernel->nodes[0];
    kernel->node_count = 0;
    vector_each(Head, head, finder->heads) {
        const bool made = head->states[first] == STATE_weight || head->attention.most == first ||
                          head->attention.total == first;
        if (head->good && made && kernel->computed_with == NO_KERNEL)
            kernel->computed_with = head->kernel;
    }
}

static void take_in(Finder *finder) {
    Graph *own = own_graph(finder->planner);
    for (NodeId id = 0; id < own->nodes.count; id++) {
        const int kernel = own->nodes.items[id].kernel;
        const bool goes = finder->weight[id] || finder->left_by[id];
        if (goes && kernel != NO_KERNEL && !is_taken_in(&finder->plan->kernels[kernel]))
            empty_kernel(finder, &finder->plan->kernels[kernel]);
        if (finder->weight[id]) own->nodes.items[id].kernel = NO_KERNEL;
        if (finder->left_by[id])
            own->nodes.items[id].kernel = finder->heads.items[finder->left_by[id] - 1].kernel;
    }
    vector_each(Head, head, finder->heads)
        if (head->good) give_nodes(finder, head);
}

void find_attention(Planner *planner) {
    if (planner->plan->function->of_turn) return;
    Arena *arena = planner->arena;
    const size_t count = planner->graph->nodes.count + 1;
    Finder finder = {.planner = planner,
                     .plan = planner->plan,
                     .graph = planner->graph,
                     .left_by = arena_new_array(arena, int, count),
                     .weight = arena_new_array(arena, bool, count)};
    for (int k = 0; k < planner->plan->kernel_count; k++) add_head(&finder, k);
    if (!finder.heads.count) return;
    drop_until_unwanted(&finder, graph_needed(arena, planner->graph));
    bool good = false;
    vector_each(Head, head, finder.heads) good |= head->good;
    if (good) take_in(&finder);
}
