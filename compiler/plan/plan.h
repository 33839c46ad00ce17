/* Plan: in which order kernels run, where threads wait for each other, where values lie.
 *
 * Weights and states lie first in the program's one allocation, at fixed offsets; behind them all
 * functions share one region of scratch. Kernels split their rows over threads by one formula, so
 * that a thread may go on without waiting to a kernel that reads only what the thread itself has
 * written. Between two barriers lies a phase; values with disjoint phases may share memory. */
#ifndef FLOW_PLAN_H
#define FLOW_PLAN_H

#include "compiler/graph/program.h"
#include "compiler/passes/loops.h"
#include "lang/diagnostic.h"

enum { ALIGNMENT = 64 };

typedef enum PlaceKind {
    PLACE_none,   /* never in memory */
    PLACE_memory, /* of the program, at offset */
    PLACE_input,  /* input `index` of the function */
    PLACE_output, /* output `index` of a record function */
    PLACE_band,   /* value `index` of a band, at offset in a thread's buffer */
} PlaceKind;

/* Where the elements of a node lie. */
typedef struct Place {
    PlaceKind kind;
    size_t offset;
    int index;
} Place;

/* A loop: the kernels of its body run for each turn. The body's input 0 is the turn, input 1 + i
 * operand i; its outputs are the results. */
typedef struct ScanPlan {
    struct FunctionPlan *body;
    bool waits;          /* threads wait for each other between turns */
    NodeId *results;     /* of each result: the part that holds it, or NODE_NONE */
    Place *turn_places;  /* of each result two: where even and odd turns leave a carried value; or
                           a slice that nobody wants */
    size_t memory;       /* of the body's scratch */
    size_t offsets_from; /* of the turn places, in that memory */
} ScanPlan;

/* Of a product on a GPU whose left operand, the weights, is computed on the way, from scores: they
 * have a row for each query and a column for each key (attention.c). */
typedef struct Attention {
    NodeId product;        /* weights times something; the kernel's first node */
    NodeId scores, second; /* products that the weights are made of; second: or NODE_NONE */
    NodeId weights;        /* element by element; forward: what exp is taken of, less `most` */
    const NodeId *made; /* of the product's left operand, in their order, what is made of scores */
    size_t made_count;
    NodeId most, total; /* forward: of each row the largest, and the sum of what exp gives */
    bool forward;       /* a softmax; the kernel leaves these two */
    bool turned;        /* the product's rows are keys, not queries */
    NodeId mask;        /* causal: a choice by whether the query sees the key, or NODE_NONE: */
    int64_t seen;       /* keys behind query + seen weigh nothing */
    double operations;  /* of it all but what follows the product */
} Attention;

/* Of causal scores, and what is made of them, row r sees columns up to r % queries + seen. */
typedef struct Triangle {
    int64_t queries, seen;
    bool columns; /* the kernel computes no others; where it stores a value that is not `partial`,
                     they are 0 */
    bool depth;   /* the others of a product's left operand are 0 */
    bool turned;  /* it has a row for each key, and is 0 up to depth r - seen */
} Triangle;

/* A convolution on the CPU, with windows of 3 x 3 places, that is made by tiles (winograd.c). All
 * are numbers of elements where nothing else is said. */
typedef struct Winograd {
    bool weights;          /* what flows back to them, over all images; else its results */
    int64_t lines, places; /* of an image of results */
    int64_t features;      /* of a place that the windows see */
    NodeId seen;           /* what they see, from `start` on */
    Dim start;
    int64_t line, image;                 /* from one of that to the next */
    int64_t seen_lines, seen_places;     /* of an image of it, around which they see zeros: */
    int64_t lines_before, places_before; /* so many in front */
    bool pads;                           /* these are in no copy */
    int64_t panel;                       /* columns at a time */
    int tiles;                           /* at a time, about */
    int parts;                           /* of the images, whose sums are added up afterwards */
} Winograd;

typedef struct KernelPlan {
    Loops loops;
    Triangle triangle;    /* queries 0: none */
    Winograd *winograd;   /* or NULL */
    ScanPlan *scan;       /* KERNEL_scan; else NULL */
    Attention *attention; /* or NULL */
    int computed_with; /* attention: the kernel that it is nothing without, or NO_KERNEL; one that
                          is taken in is computed there, or in several like that */
    Dim share;         /* what is split over threads, by rows or columns; NULL: nothing is */
    Dim records; /* the share is split by them: each is as much of it; NULL: it is not. Kernels that
                    are alike in these split alike (same_split) */
    int parts;   /* of a contraction's depth, added up by themselves: 1, or more */
    size_t parts_sums; /* where those lie that are not stored yet, part after part */
    int abreast;       /* on a GPU: the kernels of its launch; 0: it is one of its own */
    bool by_columns;   /* contractions of few rows: share is the columns */
    bool in_band;      /* a band of several runs it, for a few of its rows at a time */
    bool again;        /* as codegen writes it for a call once more: reductions of rows are known */
    const NodeId *nodes;
    size_t node_count;
    const NodeId *fused; /* the nodes that fuse gave it, which it is known by */
    size_t fused_count;
    bool barrier; /* before it */
    int phase;
    double operations;
    double bytes;            /* of the values that it reads and writes in memory, each once */
    double far;              /* of them: when it begins, the caches are taken to have lost them */
    Placement wanted, given; /* wanted: DEVICE_any when the program doesn't say */
    const char *held;        /* why the CPU runs it, whatever is wanted; or NULL */
} KernelPlan;

/* How many of `count` each record has; 0: that is no number, or there are no records. */
static inline int64_t count_of_record(Dimensions *table, Dim count, Dim records) {
    Dim each = count && records ? dim_divide(table, count, records) : NULL;
    int64_t number;
    return each && dim_is_constant(each, &number) ? number : 0;
}

static inline bool runs_on_gpu(const KernelPlan *kernel) {
    return kernel->given.device == DEVICE_gpu;
}

/* Has another kernel taken its nodes over (attention.c, winograd.c)? It does nothing then. */
static inline bool is_taken_in(const KernelPlan *kernel) {
    return !kernel->node_count;
}

/* On a GPU, of a kernel that is no loop; where others are in its launch, its part of that. */
static inline double launches_of_kernel(const KernelPlan *kernel) {
    if (is_taken_in(kernel)) return 0;
    if (kernel->abreast) return 1. / kernel->abreast;
    return kernel->parts > 1 ? 2 : 1;
}

/* Operands of a launch that several kernels share, beside those of each kernel. */
enum {
    OPERANDS_OF_MEMBER = 2, /* in front of a kernel's: its first block, its elements */
    OPERANDS_OF_LAUNCH = 2, /* behind all: the blocks, the GPU */
};

/* -1: it isn't known, and the kernel shares no launch. */
static inline int64_t elements_abreast(const KernelPlan *kernel) {
    int64_t rows, columns;
    const bool known = dim_is_constant(kernel->loops.rows, &rows) &&
                       dim_is_constant(kernel->loops.columns, &columns);
    return known ? rows * columns : -1;
}

/* Of a value that only the kernels of a band want: of each row, the bytes. */
typedef struct BandValue {
    NodeId node;
    int64_t row_size;
    size_t offset; /* in the buffer */
} BandValue;

/* What stands between kernels where GPUs are used, as runtime/device/launch.h has it. */
typedef enum TransferKind {
    TRANSFER_begin, /* and end: of a function that uses a GPU */
    TRANSFER_end,
    TRANSFER_copy,   /* the node's value goes from a device to another */
    TRANSFER_result, /* it is on the CPU at the end */
    TRANSFER_move,   /* in one device's memory: `value` becomes the node's, a weight's */
    TRANSFER_need,   /* the node, a weight or its new value, is up to date on a device */
    TRANSFER_owns,   /* it was written there */
    TRANSFER_reduce, /* the node becomes whole on each replica, of what all have of `value` */
    TRANSFER_await,  /* kernels behind it may read all that became whole */
} TransferKind;
typedef struct Transfer {
    TransferKind kind;
    NodeId node, value;
    int from, to; /* devices: -1 is the CPU, EVERY_GPU the replicas, others are numbers of GPUs */
} Transfer;

/* Kernels next to each other in the order, which a thread runs for a few rows of its share at a
 * time, or a GPU in one launch. Most often one kernel, for all of the share. Or a transfer, and no
 * kernel but the one that it does the work of. */
typedef struct Band {
    const Transfer *transfer; /* or NULL */
    const int *kernels;
    int count;
    int64_t rows; /* at a time */
    bool slices;  /* these are one slice of its products each: no two threads have rows of one */
    const int *again; /* kernels of an earlier band whose values are made again first */
    int again_count;
    Vector(BandValue) values;
    size_t room; /* of the buffer */
} Band;

/* The kernels that it calls, those that run again first. */
static inline int calls_of_band(const Band *band) {
    return band->again_count + band->count;
}

static inline int kernel_of_call(const Band *band, int call) {
    return call < band->again_count ? band->again[call] : band->kernels[call - band->again_count];
}

/* A stored value of a function, in scratch. */
typedef struct Buffer {
    NodeId node;
    size_t size, offset;
    int first_phase, last_phase;
    int parts_of; /* 0: the node's value; or 1 + its kernel, whose parts_sums lie there */
} Buffer;

/* A weight that is read after its new value is known: copied when all is done. */
typedef struct LateCopy {
    size_t from, to, size;
} LateCopy;

static inline bool has_triangle(const KernelPlan *kernel) {
    const Triangle *triangle = &kernel->triangle;
    return triangle->columns || triangle->depth || triangle->turned;
}

typedef struct FunctionPlan {
    const Function *function;
    const Graph *graph;
    int64_t batch;       /* the most records of a call */
    KernelPlan *kernels; /* by number */
    int *order;          /* kernel_count numbers of kernels */
    int kernel_count, phase_count;
    Vector(Band) bands; /* the order in parts: what is called */
    Place *places;      /* of each node */
    bool *partial; /* of each node: behind what rows see of a triangle lies anything; or NULL */
    Vector(Buffer) buffers;
    Vector(LateCopy) late;
    size_t scratch_size;
    double bytes; /* that its kernels on the CPU read and write */
    int one_gpu; /* 1 + the GPU that computes all of it (EVERY_GPU: its replicas do), so that nobody
                    has to wait for its end */
    int64_t together; /* of records, on GPUs: the most that are made at a time; else 0 */
} FunctionPlan;

typedef struct Plan {
    Arena *arena;
    const Program *program;
    Vector(FunctionPlan *) functions;
    size_t *storage;     /* offset of each of Program.storage */
    Map storage_by_name; /* to 1 + its place in Program.storage */
    size_t storage_size, memory_size;
} Plan;

/* Plans every function of a program whose graphs fuse has gone over; all lies in arena. */
Plan *plan_program(Arena *arena, const Program *program);

/* The plan of a function of the program. */
const FunctionPlan *plan_of(const Plan *plan, const Function *function);

/* Is the kernel a transfer between replicas? */
static inline bool joins_replicas(const FunctionPlan *plan, const KernelPlan *kernel) {
    return runs_on_gpu(kernel) && op_is_whole(graph_node(plan->graph, kernel->nodes[0])->op);
}

/* The part of a value that each record has: `outer` times so many bytes lie apart, and those of the
 * next record behind each. outer 0: the value is the same for all records; size: all of it. */
typedef struct Portion {
    int64_t outer, size;
} Portion;
Portion portion_of(const FunctionPlan *plan, NodeId node);

/* transfers.c: how many GPUs the program uses, from gpu(0) on; and what is done between its kernels
 * then, once all functions are planned. */
int gpu_count(const Plan *plan);
bool uses_gpu(const FunctionPlan *plan);
void plan_transfers(const Plan *plan);

/* scan.c: the turns of a kernel that is a loop. */
double turns_of(const FunctionPlan *plan, int kernel);

/* What others know of kernels and functions: each adds lines, so many spaces in. */
typedef struct PlanNotes {
    void (*kernel)(const void *context, const FunctionPlan *plan, int kernel, int depth,
                   Text *text);
    void (*function)(const void *context, const FunctionPlan *plan, Text *text);
    const void *context;
} PlanNotes;

/* notes: or NULL. */
void plan_print(const Plan *plan, const PlanNotes *notes, Text *text);

/* "contraction [B, 784, 128]: digits.flow:24 matmul, add", cut after a few operations. */
void kernel_print(const FunctionPlan *plan, int kernel, Text *text);

/* "copies x from cpu to gpu(0)" */
void transfer_print(const FunctionPlan *plan, const Transfer *transfer, Text *text);

const char *bytes_text(Arena *arena, double bytes); /* "1.5 KiB" */

/* demand.c: what a pipeline takes, at the largest sizes, in bytes; with one thread where the step's
 * make the batches. */
typedef struct Demand {
    double record; /* of a record in a batch */
    double batch;
    double scratch; /* of each thread that makes batches */
    double on_gpus; /* of each, on every GPU that it uses */
    double feed;    /* what is read ahead, where records come one after the other */
    int workers;    /* that it asks for; 0: the run decides, down to the step's own threads */
    int slots;      /* batches with so many */
} Demand;
Demand demand_of(const Plan *plan, const Pipeline *pipeline);

/* A part of what a run holds, and all of them. */
typedef struct Charge {
    double size;
    const char *what;
} Charge;
typedef struct Bill {
    Vector(Charge) charges;
    double sum;
    double each; /* of every thread but the first */
} Bill;
Bill bill_of_train(Arena *arena, const Plan *plan, const Train *train);
Bill bill_of_run(Arena *arena, const Plan *plan, const Run *run);

/* Weights, states and the scratch of its function: 0 without one. */
size_t memory_of_run(const Plan *plan, const Run *run);

/* What is not written yet. */
double output_of(const Run *run);

/* What its record functions work in, one at a time. */
size_t record_memory(const Plan *plan, const Pipeline *pipeline);

/* together.c: how many records a function of them makes at a time; how far apart a value's are on a
 * GPU then, and what each thread needs there for all values. */
int64_t records_together(const FunctionPlan *plan);
size_t record_step(const Type *type);
double together_memory(const FunctionPlan *plan);

/* The same of all that makes a pipeline's records and those that they are made of; 0: the CPU alone
 * makes them. */
double pipeline_on_gpus(const Plan *plan, const Pipeline *pipeline);

/* What a GPU that the program uses has to have room for: all of its memory, and what stages take,
 * with as many threads as pipelines ask for, or those: a station for each. */
double memory_on_gpus(const Plan *plan, int threads);

/* Notes the largest values in the program's one memory. */
void plan_note_holders(Arena *arena, const Plan *plan, Diagnostic *d);

/* Reports each train block and each pipeline by itself that takes more than its `memory`. */
void plan_check_memory(Arena *arena, const Plan *plan, Diagnostics *diagnostics);

/* Calls visit for each node that a kernel reads to compute node: those in memory and its own. */
typedef void VisitRead(void *context, NodeId read, IndexKind index);
void each_read(const Graph *graph, int kernel, const Loops *loops, NodeId id, VisitRead *visit,
               void *context);

/* memory.c: gives each buffer its offset from `base` on; returns the end. */
size_t place_buffers(Arena *arena, FunctionPlan *plan, size_t base);

static inline size_t align_size(size_t size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

#endif
