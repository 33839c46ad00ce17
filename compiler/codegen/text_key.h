/* Text key: what the text of a kernel hangs on, as bytes. Kernels of one function whose keys are
 * equal have equal texts but for hints, so that it is written for the first of them alone.
 *
 * That is its loops, and its nodes with those they are computed of, down to values in memory: their
 * operations, types and inputs, and which of their places are one. Sizes, views and names are
 * interned: pointers stand for them. Node i of one kernel is node i of all that are like it. */
#ifndef FLOW_CODEGEN_TEXT_KEY_H
#define FLOW_CODEGEN_TEXT_KEY_H

#include "compiler/plan/plan.h"

/* Of the kernels of a function, one after the other. */
typedef struct TextKeys {
    Arena *arena;
    const FunctionPlan *plan;
    uint32_t *positions; /* of each node of the graph: 1 + that among `nodes`, or 0 */
    Vector(NodeId) nodes, waiting;
    Vector(uint64_t) words; /* the key */
} TextKeys;

TextKeys text_keys_new(Arena *arena, const FunctionPlan *plan);

/* Makes words and nodes those of a kernel. False: its text hangs on more than that. */
bool text_key(TextKeys *keys, int kernel);

/* The first of the nodes that lies in the place that calls pass so; -1: none does. */
int node_of_place(const TextKeys *keys, int64_t value);

#endif
