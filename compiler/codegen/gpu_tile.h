/* GPU tile: how a product is cut up for a GPU, the only place that says it. Inside codegen/. */
#ifndef FLOW_CODEGEN_GPU_TILE_H
#define FLOW_CODEGEN_GPU_TILE_H

#include "compiler/codegen/writer.h"

/* How an operand lies. */
typedef struct GpuSide {
    bool by_depth; /* its elements follow each other along the depth */
    int vector;    /* so many, which lie at a multiple of 16 bytes, are loaded at once, or 1 */
} GpuSide;

typedef struct GpuTile {
    bool tensor;       /* by tensor cores, where there are */
    int group_columns; /* of four warps, where these multiply together (cuda_wgmma.h), or 0 */
    int rows, columns; /* of a block of GPU_THREADS threads: powers of two from 32 to 128 */
    int parts;         /* of the depth, that are added up apart (plan/parts.c) */
    bool small;        /* places in both operands fit in 32 bits */
    Element stored;    /* of both operands */
    GpuSide a, b;
} GpuTile;

/* So many tiles, about one for each multiprocessor of a large GPU, are not made smaller to have
 * more. Tests set it. */
extern int gpu_tiles_enough;

GpuTile gpu_tile(const Writer *writer);

/* How many elements of an operand's lines are loaded at once: as 16 bytes hold, or one. */
int gpu_vector(const Writer *writer, const ContractionOperand *operand, const Digits *lines,
               const Digits *depths);

/* The macros that cuda_matmul.h takes beside those of write_contraction_parameters. */
void write_gpu_tile(const GpuTile *tile, Text *text);

#endif
