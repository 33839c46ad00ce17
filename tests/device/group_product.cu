/* group_product, 1 blocks of 128 threads, memory 6400 3840 -3840: see group_product.h. */
#include "tests/device/group_product.h"

FLOW_GLOBAL(group_product, 128) {
    group_product_by(arguments.operands, RIGHT);
}
