/* ring_early, 1 blocks of 160 threads, memory 6400 3840 -3840: the gate is waited for as if it had opened once more. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_early, 160) {
    ring_product_by(&arguments, EARLY);
}
