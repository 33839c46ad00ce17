/* Text key: see text_key.h. */
#include "compiler/codegen/text_key.h"

#include "compiler/codegen/writer.h"

#include <stdlib.h>

enum { NODES_MOST = 256 };

TextKeys text_keys_new(Arena *arena, const FunctionPlan *plan) {
    return (TextKeys){
        .arena = arena,
        .plan = plan,
        .positions = arena_new_array(arena, uint32_t, plan->graph->nodes.count + 1),
    };
}

/* Nodes. */

static void add_node(TextKeys *keys, NodeId id) {
    if (keys->positions[id]) return;
    keys->positions[id] = 1;
    vector_push(keys->arena, &keys->nodes, id);
    vector_push(keys->arena, &keys->waiting, id);
}

/* Is it a value that another kernel has stored? Of what only moves elements, or turns their sign,
 * texts ask for its operand even then. */
static bool ends_at(const Node *node, int kernel) {
    return node->kernel != NO_KERNEL && node->kernel != kernel &&
           op_info[node->op].class != LOOP_move && node->op != OP_negate;
}

static bool is_plain(const Node *node) {
    return node->op != OP_scan && node->op != OP_part && node->op != OP_extern;
}

static int by_number(const void *a, const void *b) {
    const NodeId x = *(const NodeId *)a, y = *(const NodeId *)b;
    return (x > y) - (x < y);
}

/* In the graph's order. */
static bool find_nodes(TextKeys *keys, int kernel) {
    const KernelPlan *planned = &keys->plan->kernels[kernel];
    bool good = true;
    keys->nodes.count = keys->waiting.count = 0;
    for (size_t i = 0; i < planned->node_count; i++) add_node(keys, planned->nodes[i]);
    while (keys->waiting.count && good) {
        const Node *node =
            graph_node(keys->plan->graph, keys->waiting.items[--keys->waiting.count]);
        good = is_plain(node) && keys->nodes.count <= NODES_MOST;
        for (int i = 0; i < node->input_count && !ends_at(node, kernel); i++)
            add_node(keys, node->inputs[i]);
    }
    qsort(keys->nodes.items, keys->nodes.count, sizeof(NodeId), by_number);
    for (size_t i = 0; i < keys->nodes.count; i++)
        keys->positions[keys->nodes.items[i]] = good ? (uint32_t)i + 1 : 0;
    return good;
}

/* Words. */

static void add_word(TextKeys *keys, uint64_t word) {
    vector_push(keys->arena, &keys->words, word);
}

static void add_pointer(TextKeys *keys, const void *pointer) {
    add_word(keys, (uintptr_t)pointer);
}

static void add_pair(TextKeys *keys, int64_t a, int64_t b) {
    add_word(keys, (uint64_t)a << 32 ^ (uint32_t)b);
}

static void add_loops(TextKeys *keys, int number) {
    const KernelPlan *kernel = &keys->plan->kernels[number];
    const Dim sizes[] = {kernel->loops.outer,   kernel->loops.rows, kernel->loops.depth,
                         kernel->loops.columns, kernel->share,      kernel->records};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) add_pointer(keys, sizes[i]);
    add_pair(keys, kernel->loops.kind, kernel->by_columns << 1 | kernel->in_band);
    add_pair(keys, (int64_t)kernel->node_count, (int64_t)keys->nodes.count);
    for (size_t i = 0; i < kernel->node_count; i++)
        add_word(keys, keys->positions[kernel->nodes[i]]);
}

static void add_type(TextKeys *keys, const Type *type) {
    add_pair(keys, type->element, type->rank);
    for (int i = 0; i < type->rank; i++) add_pointer(keys, type->dims[i]);
}

int node_of_place(const TextKeys *keys, int64_t value) {
    for (size_t at = 0; at < keys->nodes.count; at++) {
        const Place place = keys->plan->places[keys->nodes.items[at]];
        if (place.kind != PLACE_none && passed_place(keys->plan, place) == value) return (int)at;
    }
    return -1;
}

static void add_place(TextKeys *keys, size_t at, int kernel) {
    const NodeId id = keys->nodes.items[at];
    const Place place = keys->plan->places[id];
    const int stored_by = graph_node(keys->plan->graph, id)->kernel;
    const bool partial = keys->plan->partial && keys->plan->partial[id];
    const int whose = stored_by == kernel ? 1 : stored_by == NO_KERNEL ? 2 : 3;
    const bool has_place = place.kind != PLACE_none, is_weight = place.index >= 0;
    add_pair(keys, place.kind << 8 | is_weight << 3 | whose << 1 | partial,
             has_place ? node_of_place(keys, passed_place(keys->plan, place)) : -1);
}

static void add_operation(TextKeys *keys, const Node *node) {
    uint64_t number;
    memcpy(&number, &node->number, sizeof number);
    add_pair(keys, node->op, node->input_count);
    for (int i = 0; i < node->input_count; i++)
        add_word(keys, keys->positions[node->inputs[i]]); /* 0: it is no part of this */
    add_word(keys, number);
    add_pointer(keys, node->view);
    add_pair(keys, node->axes, node->gradient_of);
    add_word(keys, (uint64_t)node->low);
    add_word(keys, (uint64_t)node->high);
    add_word(keys, (uint64_t)node->stream);
    if (node->op == OP_check) add_pointer(keys, node->name);
    if (node->op == OP_input) add_word(keys, holds_zeros(keys->plan, node));
}

/* Does it pass more than places of nodes, is its text a GPU's, or does that ask who reads what the
 * kernel makes? */
static bool is_special(const KernelPlan *kernel) {
    return runs_on_gpu(kernel) || kernel->winograd || kernel->scan || kernel->attention ||
           kernel->parts > 1 || has_triangle(kernel) || is_taken_in(kernel) ||
           kernel->loops.kind == KERNEL_row_function;
}

bool text_key(TextKeys *keys, int kernel) {
    if (is_special(&keys->plan->kernels[kernel])) return false;
    const bool found = find_nodes(keys, kernel);
    keys->words.count = 0;
    if (found) add_loops(keys, kernel);
    for (size_t at = 0; at < keys->nodes.count && found; at++) {
        const Node *node = graph_node(keys->plan->graph, keys->nodes.items[at]);
        add_operation(keys, node);
        add_type(keys, &node->type);
        add_place(keys, at, kernel);
    }
    vector_each(NodeId, id, keys->nodes) keys->positions[*id] = 0;
    return found;
}
