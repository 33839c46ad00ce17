/* wrong_fragment, 3 blocks of 32 threads, memory 6400 3840 -3840: lanes have two pieces of a matrix in each other's place. */
#include "tests/device/tensor_product.h"

FLOW_GLOBAL(wrong_fragment, 32) {
    tensor_product_by(arguments.operands, 2);
}
