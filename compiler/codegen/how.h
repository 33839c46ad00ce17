/* How: in words, what a kernel becomes: its loops or its template, and the template's tiles. */
#ifndef FLOW_CODEGEN_HOW_H
#define FLOW_CODEGEN_HOW_H

#include "compiler/plan/plan.h"
#include "runtime/product/product.h"

/* In which numbers a kernel computes most, as FlowArithmetic of the runtime has them, but for
 * FLOW_ELSEWHERE; and tf32, which GPUs alone have. */
typedef enum Arithmetic {
    ARITHMETIC_single,
    ARITHMETIC_double,
    ARITHMETIC_halves,
    ARITHMETIC_thirds, /* FLOW_THIRDS_PRODUCTS of halves for one */
    ARITHMETIC_tf32,
} Arithmetic;
Arithmetic arithmetic_of(const FunctionPlan *plan, int kernel);

/* "matmul.c, tiles of 12 x 32 (AVX-512), 6 x 16 (AVX), 6 x 8 (SSE), 12 x 8 (NEON)": rows and
 * columns of tiles. */
void how_print(const FunctionPlan *plan, int kernel, Text *text);

/* "; 8 blocks of 8 rows for the threads", at most. */
void share_print(const FunctionPlan *plan, int kernel, Text *text);

/* The same of the processor that the program is compiled for, as a C string; of products alone,
 * `""` of other kernels. */
const char *how_literal(Arena *arena, const FunctionPlan *plan, int kernel);

#endif
