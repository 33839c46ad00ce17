/* cuda_attention.h: inside a kernel of 256 threads, with the parameters of gpu_attention_text.c:
 * begins a product whose left operand, the weights, is computed on the way from products itself
 * and never stored (T. Dao, "FlashAttention-2", 2023).
 *
 * Scores have a row for each query and a column for each key. TILE_ROWS of the results are a
 * block's, 16 of them a warp's: queries, or, TURNED, keys. Those of the other kind come by in tiles
 * of ACROSS, and ABREAST blocks share a multiprocessor. Scores are products of own_0, which has the
 * block's rows, and come_0; SECOND: there is another product of the same shape, of own_1 and
 * come_1. Weights times come_n, n = WEIGHED, are summed up: a thread's are sums[n] of row ROW_OF(n)
 * and column COLUMN_OF(n), as tensor cores leave them, and scores[n] lie likewise. CAUSAL: keys
 * behind query + SEEN weigh nothing.
 *
 * FORWARD: the weights are exp(score - most), most being the largest score of the row so far; what
 * was summed up before is made smaller when a larger one comes. */
#define FLOW_DEEP(depth) (((depth) + 15) / 16 * 16)
#define ROW_OF(n) (own_row + (n) % 4 / 2 * 8)
#define COLUMN_OF(n) ((n) / 4 * 8 + lane % 4 * 2 + (n) % 2)
enum {
    TILE_COLUMNS = FLOW_DEEP(COLUMNS),
    SUMS = TILE_COLUMNS / 2,
    SUMS_PITCH = TILE_COLUMNS + 8,
    PIECE_ROWS = 32,
    DEEP_0 = FLOW_DEEP(DEPTH_0),
    DEEP_1 = FLOW_DEEP(DEPTH_1),
    DEEP_2 = TILE_COLUMNS,
};
const int64_t tiles_down = (ROWS + TILE_ROWS - 1) / TILE_ROWS;
const int64_t slice = FLOW_BLOCK / tiles_down, tile = FLOW_BLOCK % tiles_down;
/* The longest ones first. */
const int64_t first_row = (CAUSAL && !TURNED ? tiles_down - 1 - tile : tile) * TILE_ROWS;
const int64_t first_column = 0;
const int lane = (int)FLOW_THREAD % 32, own_row = (int)FLOW_THREAD / 32 * 16 + lane / 4;
#if TENSOR && FLOW_TENSOR_CORES
#include "cuda_attention_mma.h"
#else
#include "cuda_attention_fma.h"
#endif
enum { SCORES = ACROSS / 2, START_1 = ACROSS * PITCH_0, START_2 = START_1 + ACROSS * PITCH_1 };
const int64_t first_come = CAUSAL && TURNED && first_row > SEEN
                               ? (first_row - SEEN) / ACROSS *ACROSS
                               : 0;
const int64_t last_come = CAUSAL && !TURNED && first_row + TILE_ROWS + SEEN < COMING
                              ? first_row + TILE_ROWS + SEEN
                              : COMING;
const bool is_whole =
    (ROWS) % TILE_ROWS == 0 && (COMING) % ACROSS == 0; /* no tile reaches beyond */
float sums[SUMS] = {0};
#if FORWARD
float most[2] = {-__builtin_inff(), -__builtin_inff()}, total[2] = {0};
#endif
