/* Cuts text: the columns at which a view's test changes, as where a row ends in another tensor that
 * was put behind it. Between two cuts a loop over columns needs no such test. */
#include "compiler/codegen/writer.h"

#include <stdlib.h>

enum {
    MOST_CUTS = 3,    /* as each makes a loop more of the same text */
    RANGE_LEAST = 16, /* columns between two on the average, or loops cost more than tests */
};

bool find_line(Writer *writer, const Type *node, const Coordinate *coordinate, int split,
               Line *line) {
    int axis = -1;
    for (int j = 0; j < node->rank; j++) {
        if (!coordinate->factors[j] || dim_is_one(node->dims[j])) continue;
        if (axis >= 0 || j < split) return false;
        axis = j;
    }
    if (axis < 0 || !dim_is_one(type_count(writer->table, node, split, axis))) return false;
    line->factor = coordinate->factors[axis];
    return dim_is_constant(coordinate->start, &line->start) &&
           dim_is_constant(type_count(writer->table, node, axis + 1, node->rank), &line->inner);
}

/* a / b, b > 0, rounded up. */
static int64_t divided_up(int64_t a, int64_t b) {
    return a / b + (a % b > 0);
}

/* The least c at which the coordinate is at least `value`, for a positive factor; for a negative
 * one, at which it is less. */
static int64_t crossing(const Line *line, int64_t value) {
    const int64_t away = value - line->start;
    return line->inner * (line->factor > 0 ? divided_up(away, line->factor)
                                           : -divided_up(away, -line->factor) + 1);
}

static void note_cut(Writer *writer, int64_t cut) {
    int64_t columns;
    if (!dim_is_constant(writer->loops->columns, &columns) || cut <= 0 || cut >= columns) return;
    vector_each(int64_t, known, writer->cuts)
        if (*known == cut) return;
    vector_push(writer->arena, &writer->cuts, cut);
}

/* Is the coordinate at least `value` in the range of columns that is written? 1 or 0: in all of it,
 * or in none; -1: here and there. */
static int is_at_least(Writer *writer, const Line *line, int64_t value) {
    const int64_t cut = crossing(line, value);
    const int rises = line->factor > 0;
    note_cut(writer, cut);
    if (writer->range_end <= writer->range_first) return -1;
    if (writer->range_first >= cut) return rises;
    return writer->range_end <= cut ? !rises : -1;
}

int guards_in_range(Writer *writer, const Type *node, const Coordinate *coordinate, Dim size,
                    int guards, Index index, int split, bool *never) {
    Line line;
    int64_t count;
    *never = false;
    if (index.kind != INDEX_full || !split || coordinate->divisor != 1 ||
        !dim_is_constant(size, &count) || !find_line(writer, node, coordinate, split, &line))
        return guards;
    const int low = guards & GUARD_low ? is_at_least(writer, &line, 0) : 1;
    const int high = guards & GUARD_high ? is_at_least(writer, &line, count) : 0;
    *never = low == 0 || high == 1;
    if (low == 1) guards &= ~GUARD_low;
    if (high == 0) guards &= ~GUARD_high;
    return guards;
}

static int by_size(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void take_cuts(Writer *writer, const Writer *from) {
    int64_t columns;
    const size_t count = from->cuts.count;
    if (!count || count > MOST_CUTS || !dim_is_constant(writer->loops->columns, &columns) ||
        columns < RANGE_LEAST * (int64_t)(count + 1))
        return;
    vector_each(int64_t, cut, from->cuts) vector_push(writer->arena, &writer->ranges, *cut);
    qsort(writer->ranges.items, count, sizeof *writer->ranges.items, by_size);
    vector_push(writer->arena, &writer->ranges, columns);
}
