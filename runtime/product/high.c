/* Tiles as high as registers allow. */
#define MULTIPLY flow_multiply_high
#define ROWS_OF(sums, vectors) ((sums) / (vectors))
#include "runtime/product/multiply.h"
