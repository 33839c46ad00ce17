/* group_not_shown, 1 blocks of 128 threads, memory 6400 3840 -3840: no fence between writes and products. */
#include "tests/device/group_product.h"

FLOW_GLOBAL(group_not_shown, 128) {
    group_product_by(arguments.operands, NOT_SHOWN);
}
