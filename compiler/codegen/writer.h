/* Writer: inside codegen/, the text of one kernel while it is written.
 *
 * Sets of lines grow while values are asked for: those computed once a call, once a row, once a run
 * of it and once a column. A value is written where it is first wanted, at the outermost loop its
 * index allows, and is found by name afterwards. Everything lives as long as the arena.
 *
 * Nothing in the text says which call of the kernel it was written for: places and numbers that
 * may differ come from the call's operands, and names are numbered by first use in the kernel. */
#ifndef FLOW_CODEGEN_WRITER_H
#define FLOW_CODEGEN_WRITER_H

#include "compiler/codegen/marked_text.h"
#include "compiler/passes/operand.h"
#include "compiler/plan/plan.h"

/* LEVEL_run: of a vector of columns in a row (in_runs). */
typedef enum Level { LEVEL_call, LEVEL_row, LEVEL_run, LEVEL_column, LEVEL_count } Level;

/* An element's place in its value, as C. */
typedef struct Index {
    IndexKind kind;
    Level level;
    const char *text;
    const char *row;   /* it is this row of the loops' columns, and column c; NULL: not known */
    const char *begin; /* it is this place, and c more; NULL: not known */
    const struct Seen *seen;     /* it is where a view finds an element; NULL: not known */
    const struct Spread *spread; /* several columns share it; NULL: not known */
    const char *test, *place;    /* where the test is true it is that place; NULL: not known */
} Index;

/* Where a node has an element at `index` whose operand has one for several columns. */
typedef struct Spread {
    const Type *node, *operand;
    Index index;
} Spread;

/* A place that is `start` and a column: c, or a number that several columns share and that is less
 * than there are columns. start.text NULL: it is none. */
typedef struct InRow {
    Index start;
    const char *column;
} InRow;

/* Where a view finds its element at `index` in its operand. Where there is none, coordinates that
 * tell so are 0. */
typedef struct Seen {
    const Node *view;
    Index index, inside; /* inside.text: NULL, or when there is one */
    InRow place;         /* of the element */
} Seen;

/* The value of a node at an index, or (node NODE_NONE) an index computed from text. */
typedef struct Variable {
    NodeId node;
    const char *index, *name;
    Level level;
    int scope;        /* of its level: it is known in this one only */
    const char *type; /* NULL: int64_t */
    int previous;     /* variable of the same node, or -1 */
} Variable;

/* A node that the text speaks of; its number is its place among them. */
typedef struct Mention {
    NodeId node;
    int variable; /* the latest with its value, or -1 */
} Mention;

/* What a call passes to its kernel: a place, or a number that only this call has. */
typedef struct KernelOperand {
    bool is_place;
    int64_t value; /* of a place: its offset in memory, or ~index of an input */
    bool is_real;  /* the bits of a double */
} KernelOperand;

typedef Vector(KernelOperand) KernelOperands;

typedef struct Pointer {
    int operand;
    Element element;
    const char *name;
    size_t step;         /* where records are made together on a GPU: from one's to the next's */
    bool written, whole; /* whole: read at each element of the loops */
    bool widened;        /* read from a group */
    bool apart;          /* read by a tile at other elements than its own */
} Pointer;

/* A value that the kernel stores unless it is not finite. */
typedef struct Kept {
    NodeId node;
    const char *place, *good, *step; /* as C: where it lies; is the step a good one; the same, or 2
                                        where the guard is open, as C's keep takes it */
} Kept;

/* Of vectors of a tile: a stored value, and the C of its new value. */
typedef struct Result {
    NodeId node;
    const char *value;
} Result;

/* Of narrow rows: what fills buffers: a line for an element of a row, or where a whole one lies. */
typedef struct Fill {
    NodeId node;             /* of long rows: it has this node's value */
    const char *name, *line; /* name: of the buffer or the index that it is of */
    const char *type;        /* of the buffer's elements; NULL: an index */
    const char *of_row;      /* what all columns of a row have, or NULL */
    bool whole;              /* the line is where a row lies, which is copied */
    bool repeats;            /* the buffer's rows are all the same, and filled element by element */
} Fill;

/* Of rows that are read across: a buffer of some in order. */
typedef struct Turned {
    const char *name, *declaration;
} Turned;

/* Of a view that reads across: what the next column adds to a place, and of how many rows, in a
 * run, each adds 1; base: the place in column 0, as C of a row. */
typedef struct Across {
    int64_t stride, run;
    const char *base;
} Across;

/* Of a product on a GPU whose operands come by a ring. */
typedef struct GpuRing {
    const char *kernel; /* the end of the name of the kernel that has it; NULL: there is none */
    int abreast;        /* blocks that share a multiprocessor */
    const char *text;   /* the FlowRing, as C */
} GpuRing;

typedef struct Writer {
    Arena *arena;
    Dimensions *table;
    const FunctionPlan *plan;
    const Graph *graph;
    const KernelPlan *kernel;
    const Loops *loops;
    int number;                  /* of the kernel, or NO_KERNEL */
    const char *columns, *depth; /* of loops, as C */
    Text lines[LEVEL_count], stores, body;
    int scopes[LEVEL_count];
    Vector(Variable) variables;
    Vector(Pointer) pointers;
    KernelOperands operands;
    Vector(Mention) mentions;
    Map mentioned;    /* NodeId to 1 + its place in mentions */
    int latest_index; /* variable that is an index, or -1 */
    int variable_count;
    bool flat;         /* all rows are one loop */
    bool passes_sizes; /* of its loops, each call for itself */
    bool widens;       /* which reads elements of one byte from groups that are widened */
    bool lanes;        /* of the innermost loop are rows, and buffers hold several rows */
    bool in_runs;      /* which is a vector of columns from s on, whole ones in any row: */
    int64_t run_lanes; /* of so many; 1: there are none */
    bool narrow;       /* which is one of several rows, and finds what is not its own in buffers */
    Vector(Fill) fills;
    bool wide;      /* rows are long ones, of several that lie side by side: */
    int64_t apart;  /* column c is q * apart + s, and the innermost loop over s; 0: over c */
    bool uses_rows; /* the row or the column by itself is wanted, not only the element */
    int *depths;    /* of kernel->nodes: loops over the row that come before the value is known */
    bool *buffered; /* of kernel->nodes: kept for a later loop over the row */
    int stage;      /* the loop over the row that is being written */
    bool turns;     /* rows that are read across come from buffers */
    Vector(Turned) turned;
    Vector(int64_t) cuts;           /* columns at which a test was found to change */
    Vector(int64_t) ranges;         /* of columns, each a loop: their ends; none: one loop */
    int64_t range_first, range_end; /* of the loop that is being written; equal: not known */
    Vector(int64_t) strides;        /* by which views were found to take columns apart */
    int64_t stride;                 /* column c is q * stride + s; 0: none */
    Vector(Kept) kept;
    bool logs;    /* what is kept is stored first */
    bool vectors; /* what a column computes are vectors of a tile, in registers */
    bool refused; /* which something can't be */
    Vector(Result) results;
    const char *go_to; /* a function of tiles, see tile_text.c */
    GpuRing ring;
    const char *abreast;      /* blocks that are to share a multiprocessor, as C; or NULL */
    const char *parts_blocks; /* of the GPU's kernel that runs before this one, as C; or NULL */
    bool gpu;                 /* each thread has an element, or is a lane of a row: gpu_text.c */
} Writer;

/* writer.c: variables, pointers, lines. */

/* kernel: NO_KERNEL for loops of one's own; kernel, loops and columns are then not set, and
 * operands are written out. What is written is marked (marked_text.h). */
Writer new_writer(Arena *arena, const FunctionPlan *plan, int kernel);

const Node *node_of(const Writer *writer, NodeId id);
bool is_reduction(const Writer *writer, NodeId id);
bool is_stored(const Writer *writer, NodeId id);

/* Is it a reduction that an earlier call of the kernel has stored? */
bool is_known(const Writer *writer, NodeId id);

/* Its place in kernel->nodes, which has it. */
size_t place_in_kernel(const Writer *writer, NodeId id);

/* The node's number in this text: in names like `t3`. */
unsigned number_of(Writer *writer, NodeId id);

/* A dimension as C, of the variables `batch` (the records of the call) and `sizes` (the values of
 * bounded dimensions). */
const char *dim_expression(Arena *arena, Dim dim);
bool has_bounded(Dim dim);

/* Can a call pass it, as flow_size takes it? Then *operand is set. */
bool operand_of_size(Dim dim, int64_t *operand);

/* Declares those two from the frame. */
extern const char sizes_line[];

/* The product of axes first to last - 1. */
const char *count_expression(Writer *writer, const Type *type, int first, int last);

/* The variable with that value that is known at the level, or NULL. */
const char *find_variable(const Writer *writer, NodeId node, Level level, const char *index);

/* A new variable with that value, at the level of its index. */
const char *define_variable(Writer *writer, NodeId node, Index index, const char *type,
                            const char *expression);

/* The variable with that index, new or known. */
Index define_index(Writer *writer, Level level, const char *expression);

/* So many equal values that lie side by side. */
const char *define_row(Writer *writer, const char *type, int64_t count, const char *value);

/* The C of a number that each call of the kernel has for itself. */
const char *number_operand(Writer *writer, int64_t number);

/* The C of a number or a size in the lines of a call, which may be another one in each: kernels
 * that differ in nothing else are one. */
const char *passed_number(Writer *writer, int64_t number);
const char *passed_real(Writer *writer, double number); /* to flow_number */
const char *passed_size(Writer *writer, Dim size);

/* In blocks of how much of the kernel's share threads split it. */
const char *share_block(Writer *writer);

/* From here on, columns are such a size. */
void pass_columns(Writer *writer);

/* The same, and the rows that threads share, of a kernel of the CPU whose loops are so long that
 * nothing depends on their sizes being numbers. */
void pass_loops(Writer *writer);

/* The C of the place of a stored value, as flow_at takes it. */
const char *place_number(Writer *writer, NodeId id);

/* The C of the address of a stored value or leaf. */
const char *address_of(Writer *writer, NodeId id);
const char *address_of_place(Writer *writer, Place place);

/* What a call passes for a place. */
int64_t passed_place(const FunctionPlan *plan, Place place);

/* The C of the operand that the place is. */
const char *operand_of_place(Writer *writer, Place place);

/* The pointer to a stored value or leaf; written: the kernel writes there. Values in the same
 * place have one pointer. */
const char *pointer_to(Writer *writer, NodeId id, bool written);
void declare_pointers(Writer *writer, Text *text);

/* How many inputs another function has: values of a band are passed behind them. */
int input_count(const FunctionPlan *plan);

/* How many fields a record function has: its outputs are passed behind them. */
int field_count(const FunctionPlan *plan);

/* Adds lines, each after `depth` steps of indentation; move_lines: all of `from`. */
void add_lines(Text *text, const char *lines, int depth);
void move_lines(Writer *writer, Text *from, Text *to, int depth);

/* places_text.c: are row variables places alone? Those of several rows may then be found first,
 * vectors of them. */
bool has_places(const Writer *writer);

/* Finds them in a loop that begins with `head`, and keeps those that `users` speak of as elements
 * `index` of arrays of `size`, from where the lines of a row take them now. */
void place_rows(Writer *writer, const Text *users, const char *head, const char *index,
                const char *size, int depth, Text *text);

/* Does the text speak of the variable? */
bool has_name(const Text *text, const char *name);
bool line_has_name(const char *line, const char *name);

/* Variables of this level and those inside it are forgotten. */
void next_scope(Writer *writer, Level level);

/* The start of a kernel's function, up to the thread's share first .. last - 1; and its end. */
void write_head(Writer *writer, Text *text);
void write_tail(Writer *writer, Text *text);

/* index_text.c. */

Index plain_index(Writer *writer, IndexKind kind);

/* The element of operand `i` that the node's element at `index` needs. */
Index operand_index_text(Writer *writer, const Node *node, int i, Index index);

/* Column c modulo a number, as C, if that is the index of this name: it repeats along a row; or
 * NULL. */
const char *rest_of_column(const Writer *writer, const char *index);

/* The same for a view: the element of its operand; inside->text: NULL, or when there is one, which
 * may be NOWHERE in the range of columns that is written. */
#define NOWHERE "0"
Index view_index(Writer *writer, const Node *node, Index index, Index *inside);

/* That place, or where there is none another one of the operand. */
Index index_inside(Writer *writer, Index place, Index inside);

/* Does all of a row, or of a run of it (in_runs), lie in one row of the operand, or outside of it?
 * Then: where its elements lie, and when there is one. */
bool view_row(Writer *writer, const Node *node, Index index, InRow *row, Index *inside);

/* Is there an element for each column, one beside the other? */
bool has_all_columns(const InRow *place);

/* Does the view, which has no test anywhere, read across the rows of the loops? */
bool view_across(Writer *writer, const Node *view, Index index, Across *across);

/* across_text.c: the element of a view without a test, from a buffer. NULL: it is not read across,
 * or not from memory. And what declares the buffers, before the rows. */
const char *element_across(Writer *writer, const Node *view, Index index);
void declare_turned(const Writer *writer, Text *text);

/* cuts_text.c: which of the guards of a view's coordinate the range of columns leaves open, and
 * never: does another of them hold nowhere in it? split: the first of the node's axes that are
 * columns, or 0. Where tests change is added to the cuts. */
int guards_in_range(Writer *writer, const Type *node, const Coordinate *coordinate, Dim size,
                    int guards, Index index, int split, bool *never);

/* Makes ranges of the cuts that a writer of the same kernel has found, if they are few. */
void take_cuts(Writer *writer, const Writer *from);

/* The same file: a coordinate start + factor * (c / inner) of a view, of which all is known but
 * column c. false: it is none. */
typedef struct Line {
    int64_t start, factor, inner;
} Line;

bool find_line(Writer *writer, const Type *node, const Coordinate *coordinate, int split,
               Line *line);

/* strides_text.c: a view's coordinate whose divisor is the stride of the columns: divided, by q and
 * s; *whole: whether it can be, a number for each s. NULL: it is none. Its divisor is added to the
 * strides. */
const char *strided_coordinate(Writer *writer, const Type *node, const Coordinate *coordinate,
                               int guards, Index index, int split, const char **whole);

/* Takes the stride that a writer of the same kernel has found, if it is the only one. */
void take_stride(Writer *writer, const Writer *from, int64_t part);

/* row_function_text.c: what the function of an order takes behind the columns, with a comma: how
 * many of its first places are read. "" for another function. */
const char *places_argument(const Writer *writer, NodeId id);

/* gather_text.c: the element of a gather. */
const char *gathered_value(Writer *writer, const Node *node, Index index);

/* stages.c. */

/* Fills depths and buffered; returns the last stage. */
int find_stages(Writer *writer);

/* Where a node of the kernel lies in its loops. */
IndexKind own_index(const Writer *writer, NodeId id);

/* Does the loop of this stage feed the reduction at that place of the kernel's nodes? */
bool is_fed(const Writer *writer, size_t at);

/* reduction_text.c: results that grow while loops go on, each in an array `yN`. */

/* Declares `size` of them and gives the first `count` what the reduction begins with. */
void declare_results(Writer *writer, Text *text, NodeId reduction, const char *size,
                     const char *place, const char *count);

/* Adds an element, the one with that number, to the result at a place, both as C. */
void write_reduction_step(Writer *writer, NodeId reduction, const char *place, const char *number);

/* Adds result j of part `k + half` to that of part `k`; size: of a part. */
void write_partial_results(Writer *writer, NodeId reduction, const char *size);

/* A new variable with the result at a place. */
const char *result_value(Writer *writer, NodeId reduction, Index index, const char *place);

/* short_rows_text.c: is the kernel one whose rows are taken several at a time? */
bool has_short_rows(const Writer *writer);

/* narrow_rows_text.c. */

/* Makes the lines of all stored values, as many narrow rows are one loop. False: they are not
 * narrow, or more than loads depends on where an element is; the writer is of no use then. */
bool make_narrow_rows(Writer *writer);

/* Writes the loops over rows `first` up to `last`, both as C. */
void write_narrow_rows(Writer *writer, Text *text, const char *first, const char *last);

/* The element of the buffer that the expression, which loads a value of the node, fills; index: of
 * that value. */
const char *narrow_value(Writer *writer, NodeId id, Index index, const char *expression);

/* The element of a buffer of that type whose rows are copies of what lies at `row`. */
const char *narrow_copy(Writer *writer, const char *type, const char *row);

/* Do the buffers' fills speak of the variable? */
bool in_fills(const Writer *writer, const char *name);

/* wide_rows_text.c. */

/* Makes *writer the writer of loops over long rows, its body written, for the kernel that one is
 * for whose rows are not one loop. False: its rows make no longer ones; *writer is of no use
 * then. */
bool make_wide_rows(const Writer *flat, Writer *writer);
void write_wide_rows(Writer *writer, Text *text);

/* The node's element from a buffer that has it for each column of a long row, or for each lane of a
 * vector of its places, where the index repeats along the row; NULL: it does not. */
const char *repeated_value(Writer *writer, NodeId id, Index index);

/* narrow_vectors_text.c: a narrow row as one vector. Of how many lanes; may it be one? */
int narrow_lanes(const Writer *writer);
bool has_narrow_vectors(const Writer *writer);

/* Writes what is done with row r, whose places are known; the lines stay the writer's. */
void write_narrow_vectors(const Writer *writer, Text *text);

/* tile_text.c: what follows a product is computed on its tile of sums while that is in registers,
 * vector by vector, and nothing else is stored. */

/* Makes the lines of all stored values, and writes the functions of them that matmul.c calls. The
 * writer is as before but for what it knows of the call. False: not all can be vectors; the writer
 * is of no use then. */
bool write_tile(Writer *writer, Text *text);

/* Of the writer's vectors: a node's type, a load, what stores one, and an op's formula; a load or
 * an op that can't be refuses. */
const char *vector_type(const Node *node);
const char *vector_load(Writer *writer, NodeId id, Index index);
const char *vector_store(Writer *writer, NodeId id, const char *value);
const char *vector_formula(Writer *writer, const Node *node, const char *const *operands);
const char *vector_keep(Writer *writer, const char *const *operands);

/* keep_text.c. */

/* The C of the value of a keep, whose operands are given as C. One that the kernel stores is noted
 * in `kept`, and what finds its faults is added to `stores`. */
const char *kept_value(Writer *writer, NodeId id, const char *const *operands);

/* May all that is kept be stored first? The loop is then one over `j` below `count`, of at most
 * FLOW_LOG elements that lie side by side. */
bool logs_kept(const Writer *writer);

/* May it, in loops of any length? */
bool can_log_kept(const Writer *writer);

/* Before that loop: the logs and `worst`. After it: what puts back. first: the place of its first
 * element, as C. */
void declare_logs(Writer *writer, Text *text, int depth);
void use_logs(Writer *writer, Text *text, int depth, const char *first);

/* Does what use_logs writes speak of the variable? */
bool in_logs(const Writer *writer, const char *name);

/* Flags of what was held back, around the loops that store; scope: what stands before the names of
 * variables there. */
void declare_faults(Writer *writer, Text *text);
void tell_faults(Writer *writer, Text *text, const char *guard, const char *scope);

/* stream_text.c: values so large that no cache has their start when their end is stored. Loops
 * leave them in buffers `oN`, which are then stored past the caches. */

/* Does the kernel store the value so? Any value? */
bool is_streamed(const Writer *writer, NodeId id);
bool streams(const Writer *writer);

/* Of a run of elements from `first` on: buffers; stores, and wishes for what will be read soon. */
void declare_streamed(Writer *writer, Text *text, const char *count);
void write_streamed(Writer *writer, Text *text, const char *first, const char *count);

/* At row r, of large values: asks for what is read and stored of a later row. */
void write_asks(Writer *writer, Text *text);

/* The same from that column on, a vector. */
void write_asks_below(const Writer *writer, Text *text, const char *column);

/* widen_text.c. */

/* Does the kernel's one loop compute with four bytes? What it reads of one is then widened. */
bool widens(const Writer *writer);

/* Is element `index` of a stored value read from a widened group? */
bool is_widened(const Writer *writer, NodeId id, const char *index);

/* Element j of a group, as C. */
const char *widened_load(Writer *writer, const char *pointer);

/* Is any value widened? Then this is the loop. */
bool has_widened(const Writer *writer);
void write_widened_loop(Writer *writer, Text *text);

/* value_text.c. */

/* Element `index` of a stored value, and what stores a value there, as C: f16 and bf16 are
 * converted. */
const char *load_text(Writer *writer, NodeId id, const char *index);
const char *store_text(Writer *writer, NodeId id, const char *index, const char *value);

/* A new variable with the expression's value, rounded to the node's type. */
const char *define_value(Writer *writer, NodeId node, Index index, const char *expression);

/* The op's formula of ops.def with C for a, b, c, y, index and stream. */
const char *formula_text(Writer *writer, const Node *node, const char *const *operands,
                         const char *y, const char *index);

/* The C of the node's element: a variable or a literal. */
const char *value_of(Writer *writer, NodeId id, Index index);

/* Adds to writer->stores. */
void store_value(Writer *writer, NodeId id, Index index);

/* The same for every stored value of the kernel. */
void store_values(Writer *writer, IndexKind kind);

/* For `initial` in ops.def: what a reduction begins with; an index is -1 until there was an
 * element. */
const char *first_value(const Node *reduction);
bool gives_index(const Node *reduction);

/* contraction_text.c: what a product is for its template. */
typedef struct Contraction {
    const char *template;         /* "matmul.c" */
    bool halves;                  /* of bf16 */
    int size;                     /* of what is added up, in bytes */
    int64_t rows, columns, depth; /* at most */
    int64_t run, runs;            /* windows.c: rows in a run, runs that are evenly spaced */
    bool padded;                  /* windows.c: padding is left out */
    const Winograd *winograd;     /* or NULL */
    bool triangle;                /* what no row sees is, too */
    bool thirds;                  /* matrix tiles multiply it by thirds, where there are some */
    bool by_columns;              /* threads split the columns */
    bool leaves_zeros;            /* tiles leave out depths at which a is zero */
    bool zeros_along;             /* whose depths are adjacent */
    int updates;                  /* so many values are, and nothing else is stored; else 0 */
} Contraction;

typedef struct Tile {
    int rows, columns;
} Tile;

Contraction contraction_of(Arena *arena, const FunctionPlan *plan, int kernel);

/* padding_text.c: of a product of windows of an image that was padded with zeros, which of its
 * lines are no padding. */
typedef struct Padding {
    int64_t first, count;     /* lines of the image: the first may be negative; none: not known */
    int64_t line, lines;      /* rows of the product that begin in one, and how often */
    int64_t by_row, by_depth; /* how many the next `line` rows, or the next run of depths, go on */
} Padding;

Padding padding_of(const Writer *writer, const ContractionOperand *a);

/* The same of the places in a line: row m of a run sees in place t of its `taps` that of number
 * m * by_row + t; from `first` on, `count` are no padding. */
typedef struct Sides {
    int64_t first, count; /* none: not known */
    int64_t taps, by_row;
} Sides;

Sides sides_of(const Writer *writer, const ContractionOperand *a);

/* triangle_text.c: how many of `all` columns a row of the kernel sees, all three as C; the macros
 * by which templates of products ask; after a row that stored what it sees, zeros in the rest. */
const char *seen_columns(Writer *writer, const char *row, const char *all);
void write_triangle(Writer *writer, Text *text);
void write_unseen(Writer *writer, Text *text, const char *row, const char *seen);

/* Adds a #define a line. */
typedef struct Macro {
    const char *name, *value;
} Macro;
void write_macros(Text *text, const Macro *macros, size_t count);

/* The macros that the templates take, and the C of the address of operand 0 or 1. */
void write_contraction_parameters(Writer *writer, Text *text);
const char *contraction_address(Writer *writer, int which);

/* tile_text.c: is an update stored where the old value lies? One that is late is not. */
bool lies_on_old(const Writer *writer, NodeId keep);

/* zeros_rule.c: is the node an input that may be zero in many places? May tiles of the product
 * leave out depths at which all their rows of that operand are zero? Does an update leave all that
 * it stores as it was where the product is zero? */
bool holds_zeros(const FunctionPlan *plan, const Node *node);
bool leaves_zeros(const Writer *writer, const ContractionOperand *a);
bool zeros_change_nothing(const Writer *writer);

/* thirds_rule.c: do matrix tiles multiply the kernel by thirds, where there are some? */
bool takes_thirds(const FunctionPlan *plan, int kernel);

/* product_text.c: does a kernel multiply matrices of floats, no windows, where rows and depths of a
 * are at most so many digits each? Is it a product that was compiled ahead? And of such a one the
 * lines that make its FlowProduct, `product`. sums: a pointer to where they go, or NULL. */
bool multiplies_floats(const FunctionPlan *plan, int kernel, int runs);
bool is_compiled_ahead(const FunctionPlan *plan, int kernel);
void define_product(Writer *writer, const char *sums);

/* What digits of a loop's index add, as C of the index `name`; the address of an operand's first
 * element; what makes a float or an integer of a stored element `a`. */
const char *offset_expression(Writer *writer, const Digits *digits, const char *name);
const char *operand_address(Writer *writer, const ContractionOperand *operand);
const char *load_macro(Arena *arena, Element element);

/* Where vectors have so many bytes, and there are so many registers. */
Tile contraction_tile(const Contraction *contraction, int vector, int registers);
Tile zeros_tile(const Contraction *contraction, int vector, int registers); /* of leaves_zeros */

/* rows_text.c: "one loop", "16 rows at a time". */
const char *rows_form(Arena *arena, const FunctionPlan *plan, int kernel);

/* columns_text.c: the same of a columns kernel. */
const char *columns_form(Arena *arena, const FunctionPlan *plan, int kernel);

/* A kernel as a function, marked. Returns what its call passes. Each is in a file of its own,
 * KIND_text.c. */
typedef KernelOperands WriteKernel(Text *text, const FunctionPlan *plan, int kernel);
WriteKernel write_rows_kernel, write_short_rows_kernel, write_columns_kernel,
    write_contraction_kernel, write_row_function_kernel, write_external_kernel,
    write_scatter_kernel;

#endif
