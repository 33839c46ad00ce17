/* Where operands lie in the arguments of kernels, for tests/runtime/simulated.c. */
#include "cuda.h"

const int64_t operands_offset = offsetof(FlowArguments, operands),
              maps_offset = offsetof(FlowArguments, maps);
