/* ring_not_empty, 1 blocks of 160 threads, memory 6400 3840 -3840: a stage is filled again whether it is read or not. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_not_empty, 160) {
    ring_product_by(&arguments, NOT_EMPTY);
}
