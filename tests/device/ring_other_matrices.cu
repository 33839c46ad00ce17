/* ring_other_matrices, 1 blocks of 160 threads, memory 6400 3840 -3840: one of four warps multiplies another matrix. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_other_matrices, 160) {
    ring_product_by(&arguments, OTHER_MATRICES);
}
