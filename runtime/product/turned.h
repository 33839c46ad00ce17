/* Turned: rows of a panel that were columns, compiled ahead for each kind of processor. */
#ifndef FLOW_TURNED_H
#define FLOW_TURNED_H

#include "runtime/product/tile.h"

#include <stdint.h>

#define flow_turn_float FLOW_AHEAD(flow_turn_float)
#define flow_turn_double FLOW_AHEAD(flow_turn_double)

/* Writes `depth` rows of a panel, no more than a vector has lanes, one every `width` elements, each
 * of them a vector: of columns whose depths are adjacent, one column every `stride`; what lies
 * behind `columns` is zero. */
void flow_turn_float(const float *from, int64_t stride, int64_t depth, int64_t columns,
                     float *panel, int64_t width);
void flow_turn_double(const double *from, int64_t stride, int64_t depth, int64_t columns,
                      double *panel, int64_t width);

#endif
