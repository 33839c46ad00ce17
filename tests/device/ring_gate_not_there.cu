/* ring_gate_not_there, 1 blocks of 160 threads, memory 6400 3840 -3840: no barrier between the making of gates and their use. */
#include "tests/device/ring_product.h"

FLOW_GLOBAL(ring_gate_not_there, 160) {
    ring_product_by(&arguments, GATE_NOT_THERE);
}
