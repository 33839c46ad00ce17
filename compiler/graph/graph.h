/* Graph: what is computed, as an append-only array of nodes whose inputs come before them.
 *
 * Adding a node infers its type, simplifies, folds constants and returns an equal node that is
 * already there. The wanted device is part of what is equal: the same value wanted on two devices
 * is two nodes. Constants, inputs and weights are not computed and are one node for all devices; a
 * weight keeps the device it was declared for. Nodes never change (but for `kernel`, which fuse
 * sets in a graph of its own); a pass reads one graph and builds another. Nodes that no output
 * needs do no harm: passes copy what is needed. One graph is built by one thread. */
#ifndef FLOW_GRAPH_H
#define FLOW_GRAPH_H

#include "compiler/graph/placement.h"
#include "compiler/ops/ops.h"

typedef uint32_t NodeId;
#define NODE_NONE UINT32_MAX
enum { NODE_LIMIT = 1 << 20, NO_KERNEL = -1 };

typedef struct Node {
    Op op;
    int input_count; /* set by graph_add */
    NodeId inputs[ARITY_LIMIT];
    Type type;               /* given for ops with GIVES_declared, inferred for all others */
    double number;           /* constant: the value */
    const View *view;        /* view: where its elements are in the operand; one for equal ones */
    uint32_t axes;           /* reductions: bit i is dimension i */
    int64_t low, high;       /* check: low <= a < high */
    int64_t stream;          /* random: which sequence, unique to the call site */
    const char *name;        /* input, weight; check: the field it speaks of */
    const struct Scan *scan; /* scan: what it runs (scan.h) */
    int part;                /* part: which result of the scan or the extern */
    const struct External *external; /* extern: the C function (external.h) */
    Range range;                     /* where in the program; not part of equality */
    Range library;                   /* where in the library, when `range` called it */
    Op gradient_of;      /* helps to compute the gradient of such a node; OP_constant: of none */
    Placement placement; /* the wanted device; graph_add fills in the graph's */
    int kernel;          /* the kernel that stores it, or NO_KERNEL: computed wherever it is used */
} Node;

typedef enum OutputKind {
    OUTPUT_result, /* what a call leaves behind: loss, metric, an export's result */
    OUTPUT_update, /* the new value of a weight node */
} OutputKind;

typedef struct Output {
    OutputKind kind;
    const char *name; /* of the result, or of the weight */
    NodeId value;
    NodeId target; /* update: the weight node */
} Output;

/* The updates among the outputs that were seen, by their targets (graph_update). */
typedef struct UpdateIndex {
    Map places; /* target to 1 + the place of the output */
    size_t seen;
} UpdateIndex;

/* How a function is to be computed. */
typedef struct GraphWishes {
    Element product; /* a half type: products read their operands rounded to it; else as they are */
    bool tf32;      /* products of f32 may round their operands to it, where a GPU then is faster */
    bool recompute; /* the way back computes again what it needs of the way there */
    bool exact;     /* nothing is computed in a way that is faster and not as exact */
    int replicas;   /* GPUs that each compute a share of the batch; 0: one device has all of it */
} GraphWishes;

/* Which nodes there are, by what they compute (equal.h). */
typedef struct EqualNodes {
    struct EqualEntry *entries;
    size_t capacity; /* a power of two, or 0 */
} EqualNodes;

/* What is computed of `held` is so once `after` is known. */
typedef struct Hold {
    NodeId held, after;
} Hold;

typedef struct Graph {
    Arena *arena;
    Dimensions *dimensions;
    const char *name; /* "fit.step" */
    Dim batch;        /* the symbol that counts the records of a call, or NULL */
    Vector(Node) nodes;
    Vector(Output) outputs;
    UpdateIndex updates;
    EqualNodes equal;
    struct Interned *interned; /* names and views; graphs made like another one share them */
    Placement placement;       /* of nodes that are added without one */
    Op gradient_of;            /* the same */
    GraphWishes wishes;
    int kernel_count;   /* after fuse */
    Vector(Hold) holds; /* after fuse, which makes reshapes of the nodes */
} Graph;

Graph *graph_new(Arena *arena, Dimensions *dimensions, const char *name);

/* An empty one with the same name, batch and wishes, and room for as many nodes and some more. */
Graph *graph_like(Arena *arena, const Graph *graph);

/* Gives back the memory of its nodes: nothing reads the graph any more. */
void graph_forget(Graph *graph);

/* Room for so many nodes in all. */
void graph_reserve(Graph *graph, size_t count);

/* NODE_NONE when the node can't be; *problem then says why. Past NODE_LIMIT the problem is
 * E0217. */
NodeId graph_add(Graph *graph, Node node, Problem *problem);

/* The same for nodes that are right by construction; asserts that they are. */
NodeId graph_must_add(Graph *graph, Node node);
NodeId graph_make(Graph *graph, Op op, NodeId a, NodeId b, NodeId c, Range range);
NodeId graph_constant(Graph *graph, Element element, double value, Range range);
NodeId graph_reduce(Graph *graph, Op op, NodeId a, uint32_t axes, Range range);
NodeId graph_declared(Graph *graph, Op op, NodeId a, Type type, Range range); /* reshape, cast… */
NodeId graph_zeros(Graph *graph, Type type, Range range);

void graph_output(Graph *graph, OutputKind kind, const char *name, NodeId value, NodeId target);

/* The output that is the new value of a weight's node, or NULL. */
Output *graph_update(Graph *graph, NodeId target);

/* All outputs are taken away. */
void graph_forget_outputs(Graph *graph);

/* Copies node with its inputs renamed by map[old] into another graph; map must cover the inputs. */
NodeId graph_copy_node(Graph *to, const Graph *from, NodeId id, const NodeId *map);

/* The outputs of `from`, whose nodes are map[…] in `to`. */
void graph_copy_outputs(Graph *to, const Graph *from, const NodeId *map);

/* The graph anew: each node is what `rewrite` makes of it, or a copy where that is NODE_NONE. */
typedef NodeId RewriteNode(Graph *to, const Graph *from, const Node *node, const NodeId *map);
Graph *graph_rewrite(Arena *arena, const Graph *graph, RewriteNode *rewrite);

/* The same for any device; nodes that differ in nothing else become one. It may be the graph. */
const Graph *graph_unplaced(Arena *arena, const Graph *graph);

/* Could a gradient of the node reach that operand? Yes where ops.def has no rule at all: what needs
 * one there is reported. */
bool passes_gradient(const Node *node, int operand);

/* Is some output the new value of a weight or a state? */
bool graph_has_updates(const Graph *graph);

/* For each node: is it needed by an output? The array lies in arena. */
const bool *graph_needed(Arena *arena, const Graph *graph);

static inline const Node *graph_node(const Graph *graph, NodeId id) {
    return &graph->nodes.items[id];
}

/* text, checks, meaning. */

/* Readable text, which graph_parse reads back. */
void graph_print(const Graph *graph, Text *text);

/* The same but for where in the program nodes come from. */
void graph_print_meaning(const Graph *graph, Text *text);

/* NULL on errors, which stand in diagnostics. */
Graph *graph_parse(Arena *arena, const Source *source, Diagnostics *diagnostics);

/* NULL, or what is broken in a graph that a pass built: a defect of the compiler. */
const char *graph_verify(Arena *arena, const Graph *graph);

/* The oracle: every node's value, computed one element at a time in double precision (then
 * rounded to the element type unless exact). values[id] has room from `arena`; inputs and weights
 * are taken from `given[id]`, which must be set for them. batch: the value of graph->batch. */
typedef struct Evaluation {
    double **values;  /* nodes.count; NULL for nodes no output needs */
    int64_t *counts;  /* elements of each */
    int failed_check; /* 0, or 1 + the node of the first check that failed */
} Evaluation;
Evaluation graph_evaluate(Arena *arena, const Graph *graph, const double *const *given,
                          int64_t batch, bool exact);

/* The same with values of the bounded dimensions, by their number, where graph_evaluate takes the
 * largest. */
Evaluation graph_evaluate_sized(Arena *arena, const Graph *graph, const double *const *given,
                                int64_t batch, const int64_t *sizes, bool exact);

#endif
