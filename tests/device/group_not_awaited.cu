/* group_not_awaited, 1 blocks of 128 threads, memory 6400 3840 -3840: the last products may be under way. */
#include "tests/device/group_product.h"

FLOW_GLOBAL(group_not_awaited, 128) {
    group_product_by(arguments.operands, NOT_AWAITED);
}
