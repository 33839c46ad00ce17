/* Turn: see turned.h. */
#include "runtime/product/turned.h"

#define KERNEL floats
#define ELEMENT float
#include "runtime/product/lanes.h"
#include "runtime/product/turn.h"

void flow_turn_float(const float *from, int64_t stride, int64_t depth, int64_t columns,
                     float *panel, int64_t width) {
    floats_turn(from, stride, depth, columns, panel, width);
}

#undef KERNEL
#undef ELEMENT
#define KERNEL doubles
#define ELEMENT double
#include "runtime/product/lanes.h"
#include "runtime/product/turn.h"

void flow_turn_double(const double *from, int64_t stride, int64_t depth, int64_t columns,
                      double *panel, int64_t width) {
    doubles_turn(from, stride, depth, columns, panel, width);
}
