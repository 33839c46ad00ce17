/* Across: rows of what lies in memory as columns, put in order, and rows put beside each other as
 * columns; compiled ahead for each kind of processor. One by one, each element would take a line of
 * the caches. Elements have as many bytes as the name says; memory is the caller's, and no two
 * parts of it overlap. */
#ifndef FLOW_ACROSS_H
#define FLOW_ACROSS_H

#include "runtime/product/tile.h"

#include <stdint.h>

/* across: puts row i of `count` ones, whose column c is from[c * stride + i], at to + i * apart.
 * beside: puts `count` rows, 1 to `lanes`, beside each other: element j of row i, which is
 * from[i * columns + j], at to[j * lanes + i]. Lanes that are left have the last row once more. */
#define FLOW_MOVES_ACROSS(across, beside)                                                   \
    void across(void *to, int64_t apart, const void *from, int64_t stride, int64_t columns, \
                int64_t count);                                                             \
    void beside(void *to, int64_t lanes, const void *from, int64_t columns, int64_t count);

#define flow_across_1 FLOW_AHEAD(flow_across_1)
#define flow_across_2 FLOW_AHEAD(flow_across_2)
#define flow_across_4 FLOW_AHEAD(flow_across_4)
#define flow_across_8 FLOW_AHEAD(flow_across_8)
#define flow_beside_1 FLOW_AHEAD(flow_beside_1)
#define flow_beside_2 FLOW_AHEAD(flow_beside_2)
#define flow_beside_4 FLOW_AHEAD(flow_beside_4)
#define flow_beside_8 FLOW_AHEAD(flow_beside_8)
FLOW_MOVES_ACROSS(flow_across_1, flow_beside_1)
FLOW_MOVES_ACROSS(flow_across_2, flow_beside_2)
FLOW_MOVES_ACROSS(flow_across_4, flow_beside_4)
FLOW_MOVES_ACROSS(flow_across_8, flow_beside_8)

#endif
