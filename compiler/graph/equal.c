/* Equal: open addressing with linear probing over node numbers, at most three quarters full. */
#include "compiler/graph/equal.h"

typedef struct EqualEntry {
    uint32_t hash;
    NodeId node; /* 1 + its number; 0: free */
} EqualEntry;

/* What is not computed is wherever it is needed. */
static bool is_leaf(Op op) {
    return op == OP_constant || op == OP_input || op == OP_weight;
}

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

uint32_t equal_hash(const Node *node) {
    uint64_t hash = mix((uint64_t)node->op << 32 | (uint64_t)node->type.element << 8 |
                            (uint64_t)node->type.rank,
                        bits_of(node->number));
    for (int i = 0; i < node->input_count; i++) hash = mix(hash, node->inputs[i]);
    for (int i = 0; i < node->type.rank; i++) hash = mix(hash, (uintptr_t)node->type.dims[i]);
    hash = mix(hash, (uint64_t)node->axes << 32 | (uint32_t)node->part);
    hash = mix(hash, (uintptr_t)node->view ^ (uintptr_t)node->scan);
    return (uint32_t)mix(hash, (uintptr_t)node->name ^ (uint64_t)node->stream);
}

static bool on_same_device(const Placement *a, const Placement *b) {
    return a->device == b->device && a->index == b->index && a->soft == b->soft;
}

static bool computes_same(const Node *a, const Node *b) {
    if (a->op != b->op || !type_equal(&a->type, &b->type)) return false;
    for (int i = 0; i < a->input_count; i++)
        if (a->inputs[i] != b->inputs[i]) return false;
    return bits_of(a->number) == bits_of(b->number) && a->view == b->view && a->axes == b->axes &&
           a->low == b->low && a->high == b->high && a->stream == b->stream && a->name == b->name &&
           a->scan == b->scan && a->part == b->part && a->external == b->external &&
           (is_leaf(a->op) || on_same_device(&a->placement, &b->placement));
}

NodeId equal_find(const Graph *graph, const Node *node, uint32_t hash) {
    const EqualNodes *table = &graph->equal;
    for (size_t at = hash; table->capacity; at++) {
        const EqualEntry *entry = &table->entries[at & (table->capacity - 1)];
        if (!entry->node) break;
        if (entry->hash == hash && computes_same(graph_node(graph, entry->node - 1), node))
            return entry->node - 1;
    }
    return NODE_NONE;
}

/* At the first free place; equal nodes of a graph that was read from text may both be there. */
static void put(EqualNodes *table, EqualEntry entry) {
    size_t at = entry.hash;
    while (table->entries[at & (table->capacity - 1)].node) at++;
    table->entries[at & (table->capacity - 1)] = entry;
}

/* Room for so many nodes. */
static void grow(Graph *graph, size_t count) {
    EqualNodes old = graph->equal, *table = &graph->equal;
    if (!table->capacity) table->capacity = 64;
    while (4 * count > 3 * table->capacity) table->capacity *= 2;
    table->entries = arena_new_array(graph->arena, EqualEntry, table->capacity);
    for (size_t i = 0; i < old.capacity && graph->nodes.count; i++)
        if (old.entries[i].node) put(table, old.entries[i]);
    if (old.entries) arena_give_back(graph->arena, old.entries);
}

void equal_reserve(Graph *graph, size_t count) {
    if (4 * count > 3 * graph->equal.capacity) grow(graph, count);
}

void equal_note(Graph *graph, uint32_t hash) {
    equal_reserve(graph, graph->nodes.count);
    put(&graph->equal, (EqualEntry){hash, (NodeId)graph->nodes.count});
}
