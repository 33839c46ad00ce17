/* tensor_product, 3 blocks of 32 threads, memory 6400 3840 -3840: see tensor_product.h. */
#include "tests/device/tensor_product.h"

FLOW_GLOBAL(tensor_product, 32) {
    tensor_product_by(arguments.operands, 1);
}
