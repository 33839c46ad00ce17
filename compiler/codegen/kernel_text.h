/* Kernel text: the kernels of a program as C, each text once, and the functions that call them. */
#ifndef FLOW_CODEGEN_KERNEL_TEXT_H
#define FLOW_CODEGEN_KERNEL_TEXT_H

#include "compiler/codegen/writer.h"

/* A kernel of a function as a call of a text that others may call too. */
typedef struct Call {
    int kernel; /* in Kernels.list */
    KernelOperands operands;
} Call;

typedef struct FunctionCalls {
    const FunctionPlan *plan;
    Call *calls; /* of each of plan->bands */
} FunctionCalls;

typedef Vector(const char *) Lines;
typedef Vector(Dim) DimList;

typedef struct SharedKernel {
    const char *name, *text;
    const char *device;       /* its function for GPUs, or "": it runs on the CPU */
    const FunctionPlan *plan; /* of the first call */
    int number;               /* of the first call's kernel */
    Lines lines;              /* of the program, LINES_SHOWN at most */
    int calls;
    int named; /* of them, by name */
} SharedKernel;

typedef struct Kernels {
    Arena *arena, *scratch; /* scratch: of a call that is being added */
    bool exact;             /* of a program built with --exact */
    DimList *sizes;         /* that a run computes: what is copied may be one of them */
    Map by_text;            /* text without hints to 1 + its place in list */
    Vector(SharedKernel) list;
    Vector(FunctionCalls) functions;
} Kernels;

Kernels kernels_new(Arena *arena);

/* Adds those of a function, which can be written then. */
void add_kernels(Kernels *kernels, const FunctionPlan *plan);

/* A comment and the function. */
void write_kernel(Text *text, const SharedKernel *kernel);

/* Those of GPUs as CUDA, a program of its own. False: there are none. */
bool write_device_text(Text *text, const Kernels *kernels);

/* `static const FlowCall PREFIX_calls[]`; nothing for a function without kernels. */
void write_calls(Text *text, const Kernels *kernels, const FunctionPlan *plan, const char *prefix);

/* scan_text.c: a loop over the calls of its body, whose kernels were added. */
KernelOperands write_scan_kernel(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                                 int kernel);

/* band_text.c: the calls of a band's kernels, for some rows after the other. */
KernelOperands write_band_kernel(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                                 const Band *band, const Call *calls);

/* The C that runs those calls on the frame of that name. */
const char *run_text(Arena *arena, const char *frame, const FunctionPlan *plan, const char *prefix);

/* The C that calls the kernels of bands first to last - 1 by name, on a frame of that name, so that
 * they are compiled with what their operands say. */
void write_named_calls(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const char *frame, size_t first, size_t last);

/* The calls and `static void PREFIX(frame, thread, threads)`. */
void write_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                    const char *prefix);

/* record_text.c: `static int64_t PREFIX(memory, sizes, rows, unmet)`, a FlowRecordFunction. */
void write_record_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                           const char *prefix);

/* Where what the CPU does of a record is a function: calls those bands of it, and if it is the last
 * one it checks what has to be checked. */
void write_record_part(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const char *name, size_t first, size_t last);

/* The array `places` of record `row`: its fields and its outputs. */
void write_record_places(Text *text, const FunctionPlan *plan);

/* Bytes of a value as they are in this call, as C. */
const char *record_bytes(Arena *arena, const FunctionPlan *plan, const Type *type);

/* together_text.c: the same function where kernels run on GPUs. */
void write_together_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                             const char *prefix);

/* unused_text.c: a kernel's text without the indices that it computes and nothing speaks of. */
const char *without_unused(Arena *arena, const char *text);

#endif
