/* tile.h: how large the tiles of a contraction are: for its templates, and for who tells of them.
 * All are numbers where their arguments are. And what differs with the processor. */
#ifndef FLOW_TILE_H
#define FLOW_TILE_H

#include <stdint.h>

#define FLOW_LEAST(a, b) ((a) < (b) ? (int64_t)(a) : (int64_t)(b))

/* Vectors of a tile that fit the processor's registers for them. */
#define FLOW_SUMS_OF(registers) ((registers) == 32 ? 24 : 12)

/* Vectors of a row. */
#define FLOW_ACROSS(columns, lanes) (((columns)-1) / (lanes) + 1)

/* matmul.c: wide where there are few rows, and where there are 32 registers: for each depth 6 x 4
 * take 10 loads, 12 x 2 take 14, which matters most where two threads share a core; unless a panel
 * of b so wide, as deep as the product or a part of it, is more than a nearest cache holds, so that
 * each tile had to fetch it again. Columns that threads split come in blocks of two vectors; where
 * a tile of eight would leave nothing for the second of two threads, one of four makes them half as
 * long, and one thread a hundredth longer. */
#define FLOW_NEAR_PANEL 32768 /* bytes */
#define FLOW_TILE_OF_ROW(across, by_columns) \
    FLOW_LEAST(across, (by_columns) && (across) / 4 == 2 ? 4 : 8)
/* vector: the bytes of one. */
#define FLOW_TILE_WIDER(depth, across, vector, sums, by_columns) \
    ((sums) == 24 && !(by_columns) && (across) % 4 == 0 &&       \
     FLOW_LEAST(depth, 512) * 4 * (vector) <= FLOW_NEAR_PANEL)
#define FLOW_TILE_VECTORS(rows, depth, across, vector, sums, by_columns)  \
    ((int)((rows) == 1     ? FLOW_TILE_OF_ROW(across, by_columns)         \
           : (rows) < 4    ? FLOW_LEAST(across, 4)                        \
           : (rows) < 8    ? FLOW_LEAST(across, 3)                        \
           : (across) == 3 ? 3                                            \
           : FLOW_TILE_WIDER(depth, across, vector, sums, by_columns) ? 4 \
                                                                      : FLOW_LEAST(across, 2)))
/* Lower where more than a fifth of few rows would be left over for low tiles, and where there is
 * little to add up and none would be: what follows the sums then has registers, too. An update of
 * one value needs few, and is higher where that leaves no more over. */
#define FLOW_TILE_LEAVES(rows, most) ((rows) > (most) && (rows) % (most)*5 > (rows))
#define FLOW_TILE_HIGHER(rows) ((rows) >= 14 && (rows) % 14 <= (rows) % 12)
#define FLOW_TILE_MOST(rows, depth, updates_one, most)                                         \
    ((most) == 12 && (updates_one) && FLOW_TILE_HIGHER(rows) ? 14                              \
     : (most) == 12 &&                                                                         \
             (FLOW_TILE_LEAVES(rows, 12) || (!(updates_one) && (depth) <= 64 && (rows) > 12 && \
                                             (rows) % 12 != 0 && (rows) % 8 == 0))             \
         ? 8                                                                                   \
     : (most) == 24 && FLOW_TILE_LEAVES(rows, 24) ? 16                                         \
                                                  : (most))
#define FLOW_TILE_ROWS(rows, depth, updates_one, sums, vectors) \
    ((int)FLOW_LEAST(rows, FLOW_TILE_MOST(rows, depth, updates_one, (sums) / (vectors))))

/* matmul.c where it leaves out zeros: low, since the fewer rows a tile has, the more of its depths
 * are zero; as wide as eight vectors, if the nearest cache holds what is read of such a panel of b:
 * of digits that is half, and by a tile a quarter. Where a part may be what it holds that is so. */
#define FLOW_ZEROS_PART(width) (2 * FLOW_NEAR_PANEL / (width)) /* width: bytes */
#define FLOW_ZEROS_FITS(depth, vector) \
    (FLOW_LEAST(depth, 65536) * 8 * (vector) <= 4 * FLOW_NEAR_PANEL)
/* So many tiles have their depths listed together, in lists that leave room in that cache. */
#define FLOW_ZEROS_TILES(depth) ((depth) > 2048 ? 2 : (depth) < 256 ? 16 : 4096 / (depth))
/* With several updates half as many, so that registers hold the sums of two tiles: half as wide, or
 * half as high. */
#define FLOW_ZEROS_SUMS(sums, updates) ((sums) == 24 && (updates) <= 1 ? 16 : 8)
#define FLOW_ZEROS_VECTORS(along, depth, across, vector, sums, by_columns, updates) \
    ((int)((by_columns) ? FLOW_LEAST(across, 2)                                     \
           : (sums) == 24 && (updates) <= 1 && (across) % 8 == 0 &&                 \
                   ((along) || FLOW_ZEROS_FITS(depth, vector))                      \
               ? 8                                                                  \
           : (across) % 4 == 0 ? 4                                                  \
           : (across) % 3 == 0 ? 3                                                  \
                               : FLOW_LEAST(across, 2)))
#define FLOW_ZEROS_ROWS(rows, sums, vectors, updates) \
    ((int)FLOW_LEAST(rows, FLOW_ZEROS_SUMS(sums, updates) / (vectors)))

/* few_columns.c: do lanes that are rows take fewer operations than lanes that are columns? To turn
 * the sums of as many rows as there are lanes takes some six for each row and vector of columns.
 * Threads share rows, and of more than 12 columns not even one vector of rows fits 12 registers.
 * Sizes are cut off, so that their products fit a number. */
#define FLOW_TURNING(columns, lanes) ((columns) == 1 ? 0 : 6 * (lanes)*FLOW_ACROSS(columns, lanes))
#define FLOW_FEW_BY_ROWS(rows, depth, columns, lanes) \
    (FLOW_ACROSS(rows, lanes) * ((depth) * (columns) + FLOW_TURNING(columns, lanes)))
#define FLOW_FEW_BY_COLUMNS(rows, depth, columns, lanes) \
    ((rows) * (depth)*FLOW_ACROSS(columns, lanes))
#define FLOW_SMALL(size) ((size) < 65536 ? (size) : 65536)
#define FLOW_FEW_COLUMNS(rows, depth, columns, lanes)                        \
    ((columns) <= 12 && ((columns) == 1 || (rows) >= 2 * (lanes)) &&         \
     FLOW_FEW_BY_ROWS(FLOW_SMALL(rows), FLOW_SMALL(depth), columns, lanes) < \
         FLOW_FEW_BY_COLUMNS(FLOW_SMALL(rows), FLOW_SMALL(depth), columns, lanes))
/* Its vectors of rows of a tile. */
#define FLOW_ROW_VECTORS(rows, columns, lanes, sums) \
    ((rows) < 2 * (lanes) ? 1                        \
                          : (int)FLOW_LEAST(FLOW_LEAST((rows) / (lanes), (sums) / (columns)), 8))

/* windows.c: as high as registers allow: runs of rows, or the pieces of a run, all of one height
 * but the last. */
#define FLOW_WINDOW_VECTORS(across) ((int)((across) == 3 ? 3 : FLOW_LEAST(across, 2)))
#define FLOW_WINDOW_MOST(sums, vectors) \
    ((int)(((sums) != 24 ? (sums) : (vectors) == 1 ? 30 : 28) / (vectors)))
#define FLOW_WINDOW_FITS(run, runs, most, times) \
    ((runs) % (times) == 0 && (times) * (run) <= (most))
#define FLOW_WINDOW_RUNS(run, runs, most)       \
    (FLOW_WINDOW_FITS(run, runs, most, 9)   ? 9 \
     : FLOW_WINDOW_FITS(run, runs, most, 7) ? 7 \
     : FLOW_WINDOW_FITS(run, runs, most, 5) ? 5 \
     : FLOW_WINDOW_FITS(run, runs, most, 4) ? 4 \
     : FLOW_WINDOW_FITS(run, runs, most, 3) ? 3 \
     : FLOW_WINDOW_FITS(run, runs, most, 2) ? 2 \
                                            : 1)
#define FLOW_WINDOW_PIECES(run, most) (((run)-1) / (most) + 1)
#define FLOW_WINDOW_ROWS(run, times, most) \
    ((int)((times) > 1 ? (times) * (run) : ((run)-1) / FLOW_WINDOW_PIECES(run, most) + 1))

/* winograd.h: of a line of so many tiles, the segments that are made at a time, or of short ones
 * several lines; so many rows of their products, or of features, are a tile of sums. */
#define FLOW_SEGMENT(line, tiles) (((line)-1) / (((line)-1) / (tiles) + 1) + 1)
#define FLOW_GROUP_LINES(line, tiles) ((int)((line) > (tiles) ? 1 : (tiles) / (line)))
#define FLOW_GROUP(line, tiles) ((int)(FLOW_GROUP_LINES(line, tiles) * FLOW_SEGMENT(line, tiles)))
#define FLOW_GROUP_ROWS(group, most) (((group)-1) / (((group)-1) / (most) + 1) + 1)
#define FLOW_FEATURE_ROWS(most) ((most) >= 16 ? 16 : (most) >= 8 ? 8 : 4)

/* Of what differs with the processor's vectors, the one that this is compiled for. */
#if defined __AVX512F__
#define FLOW_OF_VECTORS(avx512, avx, sse, neon) avx512
#elif defined __AVX__
#define FLOW_OF_VECTORS(avx512, avx, sse, neon) avx
#elif defined __aarch64__
#define FLOW_OF_VECTORS(avx512, avx, sse, neon) neon
#else
#define FLOW_OF_VECTORS(avx512, avx, sse, neon) sse
#endif
/* The name of what is compiled ahead for each of them. */
#define FLOW_NAMES_AHEAD(name, suffix) name##suffix
#define FLOW_NAME_AHEAD(name, suffix) FLOW_NAMES_AHEAD(name, suffix)
#define FLOW_AHEAD(name) FLOW_NAME_AHEAD(name, FLOW_OF_VECTORS(_v4, _v3, _v1, _neon))
#endif
