/* Tiles of 8 rows, of which fewer may be left over than of 12. */
#define MULTIPLY flow_multiply_low
#define ROWS_OF(sums, vectors) FLOW_LEAST(8, (sums) / (vectors))
#include "runtime/product/multiply.h"
