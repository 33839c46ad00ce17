/* ring_beyond, 1 blocks of 160 threads, memory 6400 3840 -3840: a box goes beyond the tiles. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_beyond, 160) {
    ring_product_by(&arguments, BEYOND);
}
