/* group_changed, 1 blocks of 128 threads, memory 6400 3840 -3840: what products read is written before they are waited for. */
#include "tests/device/group_product.h"

FLOW_GLOBAL(group_changed, 128) {
    group_product_by(arguments.operands, CHANGED);
}
