/* Table text: inside codegen/, what the files share that write a program's constant tables. */
#ifndef FLOW_CODEGEN_TABLE_TEXT_H
#define FLOW_CODEGEN_TABLE_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/kernel_text.h"

typedef struct Printer {
    Arena *arena;
    Text *text;
    const Plan *plan;
    const Program *program;
    Kernels kernels;
    bool trains;
    DimList sizes;     /* that a run computes: FlowProgram.sizes */
    Generated *others; /* where kernels may go, or NULL */
    Map records;       /* the text of a record function to its name */
    int record_count;
} Printer;

/* C literals. */
const char *string_text(Printer *printer, const char *string);
const char *number_text(Printer *printer, double value);

/* size_text.c */

/* "28"; a size that a run computes is added to the list, and what is written is its place. */
const char *size_initialiser(Arena *arena, DimList *sizes, Dim size);

/* "{FLOW_f32, 2, {28, 28}}", of a record; or of what a batch has, with as many records as a run
 * finds in it. */
const char *type_initialiser(Arena *arena, DimList *sizes, const Type *type);
const char *batch_type_initialiser(Arena *arena, DimList *sizes, const Type *type);

/* Its place among the sizes that a run computes. */
int run_size_number(Arena *arena, DimList *sizes, Dim size);

/* The program's `sizes`, `bounds`, and `misfit`, a function; is there one? */
void print_bounds(Printer *printer);
void print_sizes(Printer *printer);
bool print_misfit(Printer *printer);

/* pipeline_text.c: the pipelines p0, p1, … */
void print_pipelines(Printer *printer);
size_t pipeline_number(const Program *program, const Pipeline *pipeline);

/* function_text.c: the functions f0, f1, … */
void print_functions(Printer *printer);
/* -1: it is not in the program. */
int function_number(Printer *printer, const Function *function);

/* "{name, run, inputs, their count, results, their count, trace, work, its count}" */
const char *function_initialiser(Printer *printer, const Function *function, bool traced);

/* train_text.c: the tables `trains` and `runs`. */
void print_trains(Printer *printer);
void print_runs(Printer *printer);

#endif
