/* Sums by thirds become results, a few rows at a time. */
#include "runtime/product/thirds_work.h"

#ifdef FLOW_HAS_THIRDS

enum { PIECE = 512 }; /* sums, or a row of them */

/* So many rows, from one of them on. */
static FLOW_WIDE void finish_rows(const Work *work, const Finishing *of, int64_t first,
                                  int64_t rows) {
    const FlowProduct *product = work->product;
    const float *sums = of->sums + first * of->stride;
    const int64_t row = of->row + first;
    if (product->finish) {
        product->finish(product->context, sums, of->stride, work->named + row, of->column, rows,
                        of->columns);
        return;
    }
    float *to = product->sums + row * product->columns + of->column;
    for (int64_t m = 0; m < rows; m++, to += product->columns, sums += of->stride)
        for (int64_t n = 0; n < of->columns; n += LANES)
            thirds_store(to + n, *(const VECTOR *)(sums + n), of->columns - n);
}

static int64_t rows_of_piece(const Finishing *finishing) {
    return finishing->columns < PIECE ? PIECE / finishing->columns : 1;
}

int64_t flow_thirds_pieces(const Finishing *finishing) {
    return finishing->rows ? parts_of(finishing->rows, rows_of_piece(finishing)) : 0;
}

void flow_thirds_finish_piece(const Work *work, const Finishing *finishing, int64_t piece) {
    const int64_t rows = rows_of_piece(finishing), first = piece * rows;
    finish_rows(work, finishing, first, smaller(finishing->rows - first, rows));
}

void flow_thirds_finish(const Work *work, const Finishing *finishing) {
    if (finishing->rows) finish_rows(work, finishing, 0, finishing->rows);
}

#endif
