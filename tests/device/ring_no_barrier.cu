/* ring_no_barrier, 1 blocks of 160 threads, memory 6400 3840 -3840: what others still read is written. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_no_barrier, 160) {
    ring_product_by(&arguments, NO_BARRIER);
}
