/* ring_given_early, 1 blocks of 160 threads, memory 6400 3840 -3840: a stage is given back before it is read for the last time. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_given_early, 160) {
    ring_product_by(&arguments, GIVEN_EARLY);
}
