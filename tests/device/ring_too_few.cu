/* ring_too_few, 1 blocks of 160 threads, memory 6400 3840 -3840: fewer bytes are expected than come. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_too_few, 160) {
    ring_product_by(&arguments, TOO_FEW);
}
