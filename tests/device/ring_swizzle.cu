/* ring_swizzle, 1 blocks of 160 threads, memory 6400 3840 -3840: a matrix is named with another swizzle than boxes have. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_swizzle, 160) {
    ring_product_by(&arguments, OTHER_SWIZZLE);
}
