/* Scan: a loop over a body graph, as nodes.
 *
 *     scan(list)     runs the body `turns` times, each after the other
 *     part(scan) i   result i
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

static inline int scan_operand_count(const Scan *scan) {
    return scan->carried + scan->scanned + scan->shared;
}

static inline int scan_result_count(const Scan *scan) {
    return (int)scan->body->outputs.count;
}

typedef enum OperandKind {
    OPERAND_carried,
    OPERAND_scanned,
    OPERAND_shared,
    OPERAND_turn
} OperandKind;

/* For the number of operands itself, the turn. */
OperandKind scan_operand_kind(const Scan *scan, int operand);

/* "carried.0", "scanned.1", "turn": the input for operand `index` of its kind. */
const char *scan_name(Arena *arena, OperandKind kind, int index);

/* The same for an operand among all of them; for their number, "turn". */
const char *scan_input_name(Arena *arena, const Scan *scan, int operand);

/* The operand that an input of that name stands for, their number for the turn; or -1. */
int scan_operand_of(const Scan *scan, const char *name);

/* The body's input for each operand, then that for the turn; NODE_NONE where it has none. */
const NodeId *scan_inputs(Arena *arena, const Scan *scan);

/* The type of result `part` of the scan. */
Type scan_result_type(const Scan *scan, int part);

/* The type rules of a scan and of its parts. */
Problem scan_infer(const Graph *graph, Node *node);
Problem scan_infer_part(const Scan *scan, Node *node);

/* What is broken in a scan's body beside what graph_verify sees, or NULL. */
const char *scan_verify(Arena *arena, const Scan *scan);

/* Is there such a node in the graph, or in the body of a loop? Passes that would change none give
 * back the graph that they were given. */
typedef bool IsNode(const Graph *graph, const Node *node);
bool graph_has(const Graph *graph, IsNode *is_such);

/* The scan node with other operands' list and another body. */
NodeId scan_copy(Graph *to, const Node *scan, NodeId list, const Graph *body);

#endif
