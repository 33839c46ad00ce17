/* ring_gate_not_shown, 1 blocks of 160 threads, memory 6400 3840 -3840: no fence between gates and boxes. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_gate_not_shown, 160) {
    ring_product_by(&arguments, GATE_NOT_SHOWN);
}
