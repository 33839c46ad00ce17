/* Scan builder: putting a scan together. Nodes are added to `body`; then come its results. */
#ifndef FLOW_GRAPH_SCAN_BUILDER_H
#define FLOW_GRAPH_SCAN_BUILDER_H

#include "compiler/graph/scan.h"

/* The operands of one kind: values in the graph outside, and the inputs of the body for them. */
typedef struct ScanOperands {
    Vector(NodeId) values, inputs;
} ScanOperands;

typedef struct ScanBuilder {
    Graph *outside, *body;
    Dim turns;
    bool backwards;
    Range range;
    ScanOperands carried, scanned, shared;
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
