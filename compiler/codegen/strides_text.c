/* Strides text: columns that a view divides by a number, as what flows back through every second
 * column does. So many of them are a turn of the loop over columns, written out: which of them are
 * between two of the view's elements is known there, and nothing is divided. */
#include "compiler/codegen/writer.h"

enum {
    STRIDE_MOST = 4,  /* columns of a turn, as each is the same text once more */
    TURNS_LEAST = 16, /* of a loop, or tests cost no more */
};

/* May the divisor be the stride? Where the coordinate is not whole, it is rounded down from 0. */
static bool is_divided(const Line *line, int64_t divisor, int guards) {
    if (line->inner != 1 || divisor < 2 || divisor > STRIDE_MOST) return false;
    return guards & GUARD_whole || (line->start >= 0 && line->factor > 0);
}

static void note_stride(Writer *writer, int64_t divisor) {
    vector_each(int64_t, known, writer->strides)
        if (*known == divisor) return;
    vector_push(writer->arena, &writer->strides, divisor);
}

const char *strided_coordinate(Writer *writer, const Type *node, const Coordinate *coordinate,
                               int guards, Index index, int split, const char **whole) {
    const int64_t divisor = coordinate->divisor;
    Line line;
    if (index.kind != INDEX_full || !split || divisor == 1 ||
        !find_line(writer, node, coordinate, split, &line) || !is_divided(&line, divisor, guards))
        return NULL;
    note_stride(writer, divisor);
    if (writer->stride != divisor) return NULL;
    const char *rest = arena_format(writer->arena, "(%lld + %lld * s)", (long long)line.start,
                                    (long long)line.factor);
    *whole = arena_format(writer->arena, "%s %% %lld == 0", rest, (long long)divisor);
    return arena_format(writer->arena, "q * %lld + %s / %lld", (long long)line.factor, rest,
                        (long long)divisor);
}

void take_stride(Writer *writer, const Writer *from, int64_t part) {
    int64_t columns;
    if (from->strides.count != 1 || writer->ranges.count ||
        !dim_is_constant(writer->loops->columns, &columns))
        return;
    const int64_t stride = from->strides.items[0];
    if (columns % stride == 0 && part % stride == 0 && columns / stride >= TURNS_LEAST)
        writer->stride = stride;
}
