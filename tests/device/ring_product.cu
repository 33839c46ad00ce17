/* ring_product, 1 blocks of 160 threads, memory 6400 3840 -3840: see ring_product.h. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_product, 160) {
    ring_product_by(&arguments, RIGHT);
}
