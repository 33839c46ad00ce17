/* Random: the generator of kernel.h for the evaluator, so that both give the same bits. It is alone
 * here because kernel.h and math.h exclude each other. */
#include "compiler/graph/build.h"
#include "compiler/ops/kernel.h"

double(random_uniform)(double seed, int64_t stream, int64_t index) {
    return flow_random_uniform((int64_t)seed, stream, index);
}

double(random_normal)(double seed, int64_t stream, int64_t index) {
    return flow_random_normal((int64_t)seed, stream, index);
}
