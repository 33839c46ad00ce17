/* GPU tile: how a product is cut up for a GPU, the only place that says it. Inside codegen/.
 *
 * Halves go through tensor cores: by mma.sync (sm_80 and later), on sm_90 by wgmma in tiles of
 * 128 x 64 and more, whose code is compiled for sm_90a; there operands that are tensors of up to
 * five dimensions come as boxes (gpu_ring_text.c, templates/cuda_ring.h), in up to 192 KiB of
 * shared memory. With `precision = tf32` f32 go by mma.sync. All else is multiplied and added one
 * by one. The sums come to shared memory, and what follows is done on them row by row. Of a deep
 * product with few tiles, parts of the depth are added up apart, and joined in their order by a
 * second kernel (plan/parts.c). */
#ifndef FLOW_CODEGEN_GPU_TILE_H
#define FLOW_CODEGEN_GPU_TILE_H

#include "compiler/codegen/writer.h"

/* How an operand lies. */
typedef struct GpuSide {
    bool is_tensor; /* whose boxes a GPU brings by itself: gpu_ring_text.c */
    bool by_depth;  /* its elements follow each other along the depth */
    int vector;     /* so many, which lie at a multiple of 16 bytes, are loaded at once, or 1 */
} GpuSide;

typedef struct GpuTile {
    bool tensor;         /* by tensor cores, where there are */
    const char *product; /* what tensor cores multiply: "bf16", "tf32" of floats that they round */
    int group_columns;   /* of four warps, where these multiply together (cuda_wgmma.h), or 0 */
    int rows, columns;   /* of a block of GPU_THREADS threads: powers of two from 32 to 128 */
    int parts;           /* of the depth, that are added up apart (plan/parts.c) */
    bool small;          /* places in both operands fit in 32 bits */
    Element stored;      /* of both operands */
    GpuSide a, b;
    int ring, ring_columns; /* stages, where boxes of both are brought (cuda_ring.h), or 0; of its
                               tile */
} GpuTile;

/* So many tiles, about one for each multiprocessor of a large GPU, are not made smaller to have
 * more. Tests set it. */
extern int gpu_tiles_enough;

GpuTile gpu_tile(const Writer *writer);

/* How many elements of an operand's lines are loaded at once: as 16 bytes hold, or one. */
int gpu_vector(const Writer *writer, const ContractionOperand *operand, const Digits *lines,
               const Digits *depths);

/* Blocks of a multiprocessor that share its memory and registers. */
int gpu_ring_abreast(const GpuTile *tile);

/* Bytes of a block's shared memory that the ring takes. */
int gpu_ring_size(const GpuTile *tile);

/* gpu_ring_text.c: those of cuda_ring.h; and writer->ring's text, of so many blocks. */
void write_gpu_ring(Writer *writer, Text *text, const GpuTile *tile, const char *blocks);

/* The macros that cuda_matmul.h takes beside those of write_contraction_parameters. */
void write_gpu_tile(const GpuTile *tile, Text *text);

#endif
