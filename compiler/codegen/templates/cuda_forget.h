/* cuda_forget.h: takes the parameters of a contraction on a GPU back. */
#include "forget.h"
#undef TENSOR
#undef PARTS
#undef TILE_ROWS
#undef TILE_COLUMNS
#undef INDEX
#undef MULTIPLY
#undef A_BY_DEPTH
#undef A_VECTOR
#undef B_BY_DEPTH
#undef B_VECTOR
#undef TILES_COUNT
#undef TILES
#undef ROW_OF
#undef COLUMN_OF
