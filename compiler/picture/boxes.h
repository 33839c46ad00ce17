/* Boxes: what a picture shows, before it is known where. */
#ifndef FLOW_PICTURE_BOXES_H
#define FLOW_PICTURE_BOXES_H

#include "compiler/graph/graph.h"

typedef enum BoxKind { BOX_input, BOX_weight, BOX_kernel, BOX_node, BOX_output } BoxKind;

typedef Vector(NodeId) NodeIds;

typedef struct Box {
    BoxKind kind;
    const char *title; /* "" for a node's own box */
    NodeIds members;   /* what it computes, in order; with what is computed wherever it is used */
} Box;

/* What one box reads of another. */
typedef struct Arrow {
    int from, to; /* boxes */
    NodeIds values;
} Arrow;

typedef struct Boxes {
    Arena *arena;
    const Graph *graph;
    Vector(Box) boxes;
    Vector(Arrow) arrows; /* in order of `to` */
    int *owner;           /* of each node: the box that stores it; -1: none does */
    bool *leaves;         /* of each node: is it read outside its box? */
} Boxes;

Boxes *boxes_new(Arena *arena, const Graph *graph);

/* "matmul", "maximum 0", "sum over 1": the op with what it has beside its operands. */
const char *node_summary(Arena *arena, const Graph *graph, NodeId id);

/* "f32[B, 784], at most 196 KiB" */
const char *value_summary(Arena *arena, const Graph *graph, NodeId id);

#endif
