/* Planner: inside plan/, what is known of a function while it is planned. */
#ifndef FLOW_PLAN_PLANNER_H
#define FLOW_PLAN_PLANNER_H

#include "compiler/plan/plan.h"

/* A kernel that must run later; data: because it reads what this one stores. */
typedef struct Edge {
    int kernel;
    bool data;
} Edge;

typedef Vector(Edge) Edges;

/* How threads split something: each has a part of so many rows, columns or whole records. */
typedef struct Split {
    Dim count; /* NULL: across parts, or in several ways */
    bool columns, records;
} Split;

static inline Split split_of(const KernelPlan *kernel) {
    const bool records = kernel->records != NULL;
    return (Split){records ? kernel->records : kernel->share, kernel->by_columns, records};
}

static inline bool same_split(Split a, Split b) {
    return a.count == b.count && a.columns == b.columns && a.records == b.records;
}

/* What is known of the threads' accesses to a value or a weight since the last barrier. */
typedef struct Access {
    int write_phase, read_phase; /* -1: never */
    Split write, read;
} Access;

/* What a kernel's nodes read, once it was asked for: `count` of Planner.reads from `first` on. They
 * hold for those nodes of the kernel. */
typedef struct KernelRead {
    NodeId node, read; /* the kernel's node, and what it reads */
    IndexKind index;
} KernelRead;
typedef struct KernelReads {
    const NodeId *nodes; /* NULL: not known yet */
    size_t node_count, first, count;
} KernelReads;

typedef struct Planner {
    Arena *arena;
    const Plan *program_plan;
    FunctionPlan *plan;
    const Graph *graph;
    bool *stored;
    NodeId *target; /* of each node: the weight it is the new value of, or NODE_NONE */
    NodeId *update; /* of each weight node: its new value, or NODE_NONE */
    bool *late;     /* of each weight node: is copied at the end */
    Access *accesses;
    Vector(KernelRead) reads;
    KernelReads *reads_of; /* of each kernel */
    Edges *users;          /* the same */
    int *waits;            /* of each kernel: how many must run before */
    int *data_waits;
    int counts, *counted; /* of operands, made so far; of each node the last one that has it */
    int *last_use;        /* of each node: phase */
    int kernel, phase;    /* while visiting */
    bool needs_barrier;
    bool launched; /* the last kernel of the order runs on a GPU */
    NodeId node;
} Planner;

static inline const Node *node_of(const Planner *planner, NodeId id) {
    return graph_node(planner->graph, id);
}

/* reads.c: calls visit for each value that the kernel reads, with planner->kernel and planner->node
 * set. */
void visit_kernel(Planner *planner, int kernel, VisitRead *visit, void *context);

/* The same once more where what its nodes read has come to be of other kernels. */
void forget_reads(Planner *planner, int kernel);

/* kernels.c: what each kernel is, what it stores, and which weights are updated in place. */
void find_kernels(Planner *planner);

/* Gives the plan a graph of its own, whose nodes are the same, but may come to be of other
 * kernels. */
Graph *own_graph(Planner *planner);

/* At most, where a kernel is launched; those of random numbers that no node of its own makes are
 * not counted. */
int launch_operands(Planner *planner, int kernel);

/* attention.c: products whose left operand is computed on the way take in the kernels that do. */
void find_attention(Planner *planner);

/* triangle.c: which kernels leave out what no row sees of causal scores. */
void find_triangles(Planner *planner);

/* Does a row of the condition, one for each query, hold for keys up to its own number + *seen? */
bool is_causal(const Graph *graph, const Node *condition, Dim queries, Dim keys, int64_t *seen);

/* The part of the kernel's points that its rows see, of 1. */
double seen_share(const KernelPlan *kernel);

/* winograd.c: which kernels are convolutions that are made by tiles, and take in copies with
 * padding; and the operations of one. */
void find_convolutions(Planner *planner);
double winograd_operations(const KernelPlan *kernel);

/* parts.c: into how many parts the depth of a product is cut, if it may be, and memory for their
 * sums. */
bool may_have_parts(const Planner *planner, const KernelPlan *kernel);
void find_parts(const Planner *planner, KernelPlan *kernel);
void buffer_parts(Planner *planner, int kernel);

/* records.c: which kernels are split over threads by records. */
void find_records(Planner *planner);

/* schedule.c: in which order kernels run, and before which of them threads wait. */
void order_kernels(Planner *planner);

/* bands.c: which kernels are run a few rows at a time, and which values then need no memory. */
void find_bands(Planner *planner);

/* abreast.c: which kernels a GPU does in one launch; may one wait for that, so that others come
 * before? */
void join_launches(Planner *planner);
bool may_wait(const Planner *planner, int kernel);

/* place.c: where every value lies; scratch begins at base. */
void place_all(Planner *planner, size_t base);

/* estimate.c: the operations and bytes of each kernel. */
void estimate_kernels(Planner *planner);

#endif
