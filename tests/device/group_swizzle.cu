/* group_swizzle, 1 blocks of 128 threads, memory 6400 3840 -3840: a matrix is named with another swizzle than it has. */
#include "tests/device/group_product.h"

FLOW_GLOBAL(group_swizzle, 128) {
    group_product_by(arguments.operands, OTHER_SWIZZLE);
}
