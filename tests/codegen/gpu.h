/* Gpu: where $FLOWC_TEST_GPU is set, tests of generated code put all that can run on a GPU on one,
 * which the CPU stands in for (runtime/device/simulated.h); as "driver": on the GPU that
 * CUDA's driver has, with NVRTC, as programs find both. */
#ifndef FLOW_TESTS_GPU_H
#define FLOW_TESTS_GPU_H

#include "compiler/graph/program.h"

bool gpu_is_wanted(void);

/* $FLOWC_TEST_TF32: its products of f32 may round their operands to that. */
bool gpu_rounds_floats(void);

/* Everything of the program is wanted on it. $FLOWC_TEST_TILES: so many tiles of a product are
 * enough, so that small ones have large tiles. */
void gpu_take(Program *program);

/* Compiler arguments for the file with the kernels, and what runs them; $FLOWC_TEST_WARPGROUPS=1:
 * as GPUs of compute capability 9.0 do. */
const char *gpu_sources(Arena *arena, const char *path);

#endif
