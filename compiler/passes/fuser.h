/* Fuser: inside the fuse pass, what is known while nodes are put into kernels. */
#ifndef FLOW_PASSES_FUSER_H
#define FLOW_PASSES_FUSER_H

#include "compiler/passes/loops.h"
#include "lang/base/map.h"

/* Of one elementwise node that is computed again instead of loaded. */
enum { INLINE_COST_LIMIT = 4 };

/* A kernel that still takes nodes. */
typedef struct Open {
    Loops loops;
    bool alone;       /* takes none but parts */
    bool elementwise; /* has only elementwise nodes at the full index: any loops will do */
    int node_count, output_count;
    Placement placement; /* of its first placed node */
} Open;

typedef struct Fuser {
    Arena *arena;
    Graph *graph;
    bool body; /* of a scan */
    Vector(Open) kernels;
    const bool *needed;
    bool *in_memory; /* must be stored, whatever it costs */
    NodeId *after;   /* what a node that was a hold waits for, or NODE_NONE */
    int *latest;     /* the last kernel that the value depends on, or NO_KERNEL */
    int *size;       /* of inline nodes: how many are computed for one element */
    bool *reads;     /* it is computed of what lies in memory, not of numbers alone */
    NodeId *reader;  /* who alone reads a node, or NODE_NONE */
    int *depth;      /* rows kernels: loops over a row that come before the value is known */
    Map by_loops;    /* LoopsKey → 1 + the last kernel with it */
} Fuser;

static inline Node *node_of(Fuser *fuser, NodeId id) {
    return &fuser->graph->nodes.items[id];
}

static inline bool is_leaf(Op op) {
    return op == OP_constant || op == OP_input || op == OP_weight;
}

static inline bool is_elementwise(Op op) {
    return op_info[op].class == LOOP_elementwise;
}

/* fuse_copy.c: what the outputs need, in a form with fewer cases. body: of a scan, which is fused
 * by itself. */
Graph *fuse_copy(Arena *arena, const Graph *graph, Graph *(*body)(Arena *, const Graph *));

/* fuse_few.c: the reduction of the operand over those axes as elementwise nodes. NODE_NONE: they
 * are too many, or it is cheaper as it is. */
NodeId reduce_few(Graph *to, const Node *node, NodeId operand, uint32_t axes);

/* fuse_parts.c: the reduction of the operand over those axes, which lie side by side, as one of
 * parts and one of their results. NODE_NONE: it is small, or no number of parts is known. */
NodeId reduce_parts(Graph *to, const Node *node, NodeId operand, uint32_t axes);

/* fuse_memory.c. */

/* Every output gets a node that a kernel stores, every update, or result of a body, one of its
 * own. Adds nodes. */
void separate_outputs(Fuser *fuser);

/* Marks what must be stored: outputs, what products, views and places that are data read, what
 * crosses from one device to another. Nodes get the device of what they read. */
void mark_in_memory(Fuser *fuser);

/* fuse_again.c: takes nodes out of their kernels that are cheaper to compute again than to load. */
void compute_again(Fuser *fuser);

#endif
