/* cuda_matmul.h: inside a kernel of 256 threads, and of those of cuda_ring.h, with the parameters
 * of contraction_text.c and gpu_tile.c: adds up a tile of results. A thread's are sums[n] of row
 * ROW_OF(n) and column COLUMN_OF(n) of the tile, over this part of the depth. cuda_sums.h hands
 * them over, some rows of the tile at a time. Blocks that run together have tiles of eight rows of
 * tiles, column by column, which read much of the same. */
const int64_t tiles_down = (ROWS + TILE_ROWS - 1) / TILE_ROWS;
const int64_t tiles_across = (COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS;
const int64_t slices = FLOW_BLOCK / (tiles_down * tiles_across);
const int64_t slice = PARTS > 1 ? slices % (OUTER) : slices;
const int64_t part_depth = PARTS > 1 ? (DEPTH + PARTS * 64 - 1) / (PARTS * 64) * 64 : DEPTH;
const int64_t part = PARTS > 1 ? slices / (OUTER) : 0, first_depth = part * part_depth;
const INDEX last_depth =
    (INDEX)(first_depth + part_depth < DEPTH ? first_depth + part_depth : DEPTH);
const int64_t tile = FLOW_BLOCK % (tiles_down * tiles_across);
const int64_t above = tile / (8 * tiles_across) * 8, beside = tile % (8 * tiles_across);
const int64_t high = tiles_down - above < 8 ? tiles_down - above : 8;
const int64_t first_row = (above + beside % high) * TILE_ROWS;
const int64_t first_column = beside / high * TILE_COLUMNS;
enum {
    SUMS = TILE_ROWS * TILE_COLUMNS / 256,
    SUMS_PITCH = TILE_COLUMNS + 8,
    PIECE_ROWS = IN_RING || TILE_ROWS < 4096 / TILE_COLUMNS ? TILE_ROWS : 4096 / TILE_COLUMNS,
};
#if IN_RING
#include "cuda_ring.h"
#elif TENSOR_GROUP && FLOW_WARPGROUPS
#include "cuda_wgmma.h"
#elif TENSOR && FLOW_TENSOR_CORES
#include "cuda_mma.h"
#else
#include "cuda_fma.h"
#endif
