/* ring_tiles_not_shown, 1 blocks of 160 threads, memory 6400 3840 -3840: no fence between writes and boxes. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_tiles_not_shown, 160) {
    ring_product_by(&arguments, TILES_NOT_SHOWN);
}
