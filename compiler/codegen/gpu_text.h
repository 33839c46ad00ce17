/* GPU text: a kernel as CUDA, or as what stands in for it on the CPU, from the same lines of values
 * as its C. Inside codegen/.
 *
 * What goes through loops there is done by threads here: of elementwise work each has an element or
 * a few, of rows each lane of a warp (or of a block, where rows are long) has every 32nd column, of
 * columns each has a part of one, of products a piece of a tile (gpu_tile.h). What is loaded in one
 * loop over a row stays for the next where registers have room; the rest is computed again. Sums
 * are in a fixed order.
 */
#ifndef FLOW_CODEGEN_GPU_TEXT_H
#define FLOW_CODEGEN_GPU_TEXT_H

#include "compiler/codegen/definitions.h"
#include "compiler/codegen/writer.h"

enum { GPU_THREADS = 256, GPU_WARP = 32 };

/* The function for the device, and its call for the program, under one name, as WriteKernel. */
typedef struct GpuText {
    Text device, host;
} GpuText;
KernelOperands write_gpu_kernel(GpuText *text, const FunctionPlan *plan, int kernel);

/* The same of a band that is one launch: gpu_abreast_text.c. */
KernelOperands write_gpu_abreast(GpuText *text, const FunctionPlan *plan, const Band *band);

/* gpu_replicas_text.c: the kernels by which replicas put together what each has. */
void write_gpu_joins(Text *text, const Plan *plan);

/* So many threads of elementwise work, as a large GPU has at once, are not made fewer so that each
 * has more elements. Tests set it. */
extern int gpu_threads_enough;

/* In words: "a warp for each row". */
const char *gpu_form(Arena *arena, const FunctionPlan *plan, int kernel);
const char *gpu_rows_form(const Writer *writer);
const char *gpu_columns_form(const Writer *writer);
const char *gpu_contraction_form(const Writer *writer);
const char *gpu_attention_form(const Writer *writer);

/* Of each kind, in gpu_KIND_text.c: writes the function; returns how many blocks it needs, as C of
 * `batch` and `sizes`. */
typedef const char *WriteGpuKernel(Writer *writer, Text *text);
WriteGpuKernel write_gpu_rows, write_gpu_columns, write_gpu_contraction, write_gpu_scatter,
    write_gpu_row_function;

/* gpu_attention_text.c: the same of a product whose left operand is computed on the way. */
WriteGpuKernel write_gpu_attention;

/* Of products: the loops over the sums of a tile, `sum` of the type of that name, with what the
 * writer's lines do with each of them. */
void write_gpu_sums(Writer *writer, Text *text, const char *type);

/* gpu_ahead_text.c: the writer's lines of rows and columns and what they store, for AHEAD elements
 * u of a thread: an enumerator of the caller's, `count` or, in a smaller tile, less. head: lines by
 * which element u is found, or passed by; own: those of its `sum`, for which loads don't wait.
 * kept: loads of which the thread has the elements from an earlier call, and after this one those
 * of this; NULL: there is one call. */
void write_gpu_ahead(Writer *writer, Text *text, int depth, const char *head, const char *own,
                     int count, Definitions *kept);

/* Of an element: its lines, and its loads with those that are kept; -1: they can't be done apart.
 * And how many elements a thread should have: a power of two, at most `most`, whose loads wait in
 * so many registers. */
typedef struct GpuLines {
    int count, loads;
} GpuLines;
GpuLines gpu_lines(const Writer *writer, const Definitions *kept);
int gpu_ahead(const Writer *writer, int most, int registers);

/* The start of a kernel's function, and its end. write_gpu_start: of one that comes before it, with
 * the end of its name, and of its text nothing but sizes and operands. */
void write_gpu_start(Writer *writer, Text *text, const char *suffix);
void write_gpu_head(Writer *writer, Text *text);
void write_gpu_tail(Writer *writer, Text *text);

/* The function that launches it, with all its operands. */
void write_gpu_host(Writer *writer, Text *text, const char *blocks);

/* So many blocks that each of `count` things, as C, is one's; each: of a block. */
const char *gpu_blocks(Writer *writer, const char *count, int each);

/* gpu_reduction_text.c: a result `yN` of each thread, with the best element `zN` where it is an
 * index. */

/* Before the loop. */
void declare_gpu_result(Writer *writer, Text *text, int depth, NodeId reduction);

/* Adds the element whose number, as C, this is: to writer->stores. */
void add_gpu_element(Writer *writer, NodeId reduction, const char *number);

/* Puts the results of a warp together: all its lanes have that of all. */
void join_gpu_lanes(Writer *writer, Text *text, int depth, NodeId reduction);

/* Arrays of a block with a result for each of so many threads: declares them; puts this thread's at
 * `place` of them; takes the one that lies at `place` instead; adds it. */
void share_gpu_result(Writer *writer, Text *text, NodeId reduction, int threads);
void put_gpu_result(Writer *writer, Text *text, int depth, NodeId reduction, const char *place);
void get_gpu_result(Writer *writer, Text *text, int depth, NodeId reduction, const char *place);
void add_gpu_result(Writer *writer, Text *text, int depth, NodeId reduction, const char *place);

#endif
