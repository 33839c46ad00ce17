/* Loops: what a kernel goes through, and which element of each value it needs at a point of it. */
#ifndef FLOW_PASSES_LOOPS_H
#define FLOW_PASSES_LOOPS_H

#include "compiler/graph/graph.h"

typedef enum KernelKind {
    KERNEL_rows,    /* each of `rows` rows by itself: elementwise values, reductions of a row */
    KERNEL_columns, /* y[outer, columns] = the reduction of a[outer, depth, columns] */
    KERNEL_row_function, /* each of `rows` rows by one function of `columns` elements */
    KERNEL_contraction,  /* y[outer, rows, columns] = sum(depth) of products */
    KERNEL_scatter,      /* y[depth, columns] = sums of the updates [rows, columns] */
    KERNEL_scan,         /* a scan and its parts: a loop over the kernels of its body */
    KERNEL_external,     /* an extern and its parts: a call of a C function, by one thread */
} KernelKind;

/* Columns are computed in runs of these: FLOW_LANES of the templates. */
enum { COLUMN_RUN = 16 };

/* The loops of a kernel. Dims that a kind has no use for are the constant 1. */
typedef struct Loops {
    KernelKind kind;
    Dim outer, rows, depth, columns;
} Loops;

/* Which element of a value belongs to a point of the loops. */
typedef enum IndexKind {
    INDEX_zero,   /* the only one */
    INDEX_full,   /* row * columns + column */
    INDEX_row,    /* the row's; in columns kernels a row is an (outer, depth) pair */
    INDEX_column, /* the column's */
    INDEX_output, /* columns kernels: outer * columns + column, after the reduction */
    INDEX_other,
    INDEX_record, /* others, but of the row's record alone: only plan/reads.c says so */
} IndexKind;

/* Of y = a b: is b one matrix for all of a, whose leading axes are then rows like others? */
bool contraction_collapses(const Graph *graph, const Node *matmul);

/* The loops that node, a reduction, contraction or elementwise node, asks for by itself. */
Loops node_loops(const Graph *graph, const Node *node);

/* Are the loops of the class's nodes other than their result asks for? */
bool has_own_loops(LoopClass class);

/* Is it a kernel by itself, which only its parts join? */
bool starts_alone(Op op);

/* The loops of a kernel with these nodes: those of its reduction or contraction, if any. */
Loops kernel_loops(const Graph *graph, const NodeId *nodes, size_t count);

/* Are columns known to be whole runs? */
bool are_whole_runs(Dim columns);

/* Results of columns may be computed in groups of so many, which lie side by side: a run, half or a
 * quarter of one, or each by itself. */
int64_t columns_group(const Loops *loops);

/* Of so many columns is a unit that threads share. Eight, the least that one has, are whole
 * groups. */
int64_t columns_unit(const Loops *loops);

/* Are all results, known to be fewer than a run, one such unit? */
bool is_one_unit(const Loops *loops);

/* Is a row so short that values of it may be kept between two loops over it? */
enum { ROW_LIMIT = 8192 /* columns */ };
bool keeps_rows(const Loops *loops);

/* Where a node computed by the kernel lies in its loops; INDEX_other: it does not fit. */
IndexKind native_index(Dimensions *table, const Loops *loops, const Type *type);

/* The element of an operand that the element `index` of a node needs, by the rules of broadcast. */
IndexKind operand_index(Dimensions *table, const Loops *loops, IndexKind index, const Type *node,
                        const Type *operand);

/* The same for operand i of a node that is computed where it is used, whatever its op. */
IndexKind needed_index(const Graph *graph, const Loops *loops, const Node *node, int i,
                       IndexKind index);

/* A node without the reshapes above it: the node that has the same elements in the same order. */
NodeId strip_reshapes(const Graph *graph, NodeId id);

/* True for a sum whose operand is one number broadcast: computed as a product. */
bool is_uniform_sum(const Graph *graph, const Node *node);

/* Does the view have places outside of its operand? */
bool is_guarded_view(const Graph *graph, const Node *node);

#endif
