/* Scan: a loop over a body graph, as nodes.
 *
 *     list(list(list(none, a), b), c)   its operands; none is the constant false
 *     scan(list)                        runs the body `turns` times, each after the other
 *     part(scan) i                      result i
 *
 * Operands are, in this order: the first values of what is carried from turn to turn; arrays with
 * the turns as first axis, of which turn t reads slice t; values that every turn reads. Results
 * are the last carried values, then arrays with the turns as first axis that turn t gave slice t.
 *
 * The body's inputs are named for the operands, "carried.0", "scanned.0", "shared.0", and "turn"
 * is t, an i32; those it does not need may be missing. Its results are the carried values after
 * the turn, then the slices that are stacked. It has no weights, updates or checks. Backwards, t
 * goes from the last turn to the first. */
#ifndef FLOW_GRAPH_SCAN_H
#define FLOW_GRAPH_SCAN_H

#include "compiler/graph/graph.h"

typedef struct Scan {
    const Graph *body;
    Dim turns;
    int carried, scanned, shared; /* operands of each kind */
    bool backwards;
} Scan;

/* Is it a list of operands, what takes one, or a result of that? */
static inline bool has_list_form(Op op) {
    return op == OP_list || op == OP_scan || op == OP_extern || op == OP_part;
}

static inline int scan_operand_count(const Scan *scan) {
    return scan->carried + scan->scanned + scan->shared;
}

static inline int scan_result_count(const Scan *scan) {
    return (int)scan->body->outputs.count;
}

/* The operands of a scan or an extern, in an array in arena. */
const NodeId *scan_operands(Arena *arena, const Graph *graph, NodeId scan);

/* How many operands there are in a list. */
int scan_list_size(const Graph *graph, NodeId list);

/* "carried.0", …; for the number of operands itself, "turn". */
const char *scan_input_name(Arena *arena, const Scan *scan, int operand);

/* The operand that an input of that name stands for, their number for the turn; or -1. */
int scan_operand_of(const Scan *scan, const char *name);

/* The body's input for each operand, then that for the turn; NODE_NONE where it has none. */
const NodeId *scan_inputs(Arena *arena, const Scan *scan);

/* The type of result `part` of the scan. */
Type scan_result_type(const Scan *scan, int part);

/* The type rule of list, scan, extern and part. */
Problem scan_infer(const Graph *graph, Node *node);

/* What is broken in a scan's body beside what graph_verify sees, or NULL. */
const char *scan_verify(Arena *arena, const Scan *scan);

/* The scan node with other operands' list and another body. */
NodeId scan_copy(Graph *to, const Node *scan, NodeId list, const Graph *body);

NodeId scan_part(Graph *graph, NodeId scan, int part, Range range);

/* Putting a scan together. Nodes are added to `body`; then come its results. */
typedef struct ScanBuilder {
    Graph *outside, *body;
    Dim turns;
    bool backwards;
    Range range;
    Vector(NodeId) carried, scanned, shared; /* in outside */
    Vector(NodeId) carried_inputs, scanned_inputs, shared_inputs;
    Vector(NodeId) next, stacked; /* in body */
} ScanBuilder;

ScanBuilder scan_begin(Graph *outside, const char *name, Dim turns, bool backwards, Range range);

/* Inputs of the body. An array or a value that is there already gets no second one. */
NodeId scan_turn(ScanBuilder *builder);
NodeId scan_carry(ScanBuilder *builder, NodeId first);
NodeId scan_slice(ScanBuilder *builder, NodeId array);
NodeId scan_share(ScanBuilder *builder, NodeId value);

/* Results of the body: the next value of what was carried in the same order; a slice. */
void scan_next(ScanBuilder *builder, NodeId value);
void scan_stack(ScanBuilder *builder, NodeId value);

/* Gives the body its results. */
void scan_end_body(ScanBuilder *builder);

/* The scan node in `outside`, with this body, which may be a later form of the builder's. */
NodeId scan_end(ScanBuilder *builder, const Graph *body);

#endif
