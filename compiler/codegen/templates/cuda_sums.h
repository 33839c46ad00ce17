/* cuda_sums.h: PIECE_ROWS rows of the tile's sums, from row piece * PIECE_ROWS on, come to lie one
 * after the other in shared memory. */
#if IN_RING
#define FLOW_SYNC_SUMS() FLOW_SYNC_FIRST(256)
#else
#define FLOW_SYNC_SUMS FLOW_SYNC
#endif
FLOW_SYNC_SUMS();
FLOW_UNROLL for (int n = 0; n < SUMS; n++) {
    const int row = ROW_OF(n) - piece * PIECE_ROWS;
    if (row >= 0 && row < PIECE_ROWS)
        FLOW_PUT((ELEMENT *)tiles, row * SUMS_PITCH + COLUMN_OF(n), sums[n]);
}
FLOW_SYNC_SUMS();
#undef FLOW_SYNC_SUMS
