/* Padding text: which depths of a contraction of windows see zeros alone, since the lines of an
 * image that they stand for are padding.
 *
 * An operand that was padded lies in memory with its zeros. A digit of its rows and the first one
 * of its depth give the line of the image; both are numbers, and so are the lines that are no
 * padding. Places in a line that are padding are known likewise, by the last digit of the rows and
 * the second of the depth. Left out where weights are updated alone: there is no 0 * infinity, and
 * a step that has one is not made anyway. */
#include "compiler/codegen/writer.h"

#include <string.h>

/* How many lines of `line` elements the digit goes on; 0: it goes elsewhere. */
static int64_t pitch_of(const Digit *digit, int64_t line, int64_t lines) {
    int64_t stride;
    if (!dim_is_constant(digit->stride, &stride) || stride % line || stride <= 0) return 0;
    return stride / line < lines ? stride / line : 0;
}

/* How the rows go on from line to line, all of one image: by their last digit but one, or by the
 * last, which is all of several lines. */
static bool find_lines(const Digits *rows, int64_t line, int64_t lines, Padding *padding) {
    const Digit *last = rows->items + rows->count - 1;
    int64_t size, stride;
    if (!dim_is_constant(last->size, &size) || !dim_is_constant(last->stride, &stride))
        return false;
    bool several =
        stride > 0 && line % stride == 0 && size > line / stride && size % (line / stride) == 0;
    padding->line = several ? line / stride : size;
    padding->lines = several ? size * stride / line : 0;
    padding->by_row = several ? 1 : rows->count > 1 ? pitch_of(last - 1, line, lines) : 0;
    return padding->by_row && (several || dim_is_constant((last - 1)->size, &padding->lines)) &&
           (padding->lines - 1) * padding->by_row < lines;
}

/* Does each slice begin at the line where the first one does? */
static bool keeps_line(const Digits *outer, int64_t line, int64_t lines) {
    for (int i = 0; i < outer->count; i++) {
        int64_t stride, size;
        if (!dim_is_constant(outer->items[i].stride, &stride)) return false;
        const bool in_line =
            dim_is_constant(outer->items[i].size, &size) && (size - 1) * stride < line;
        if (!in_line && stride % (line * lines)) return false;
    }
    return true;
}

/* An axis that a view has padded: so many places of so many elements each. Rows and depths begin
 * with element `rest` of place `begin`; counted from that place, the first one that is no padding,
 * and how many there are to the last one. */
typedef struct PaddedAxis {
    int64_t place, places, begin, rest, first, count;
} PaddedAxis;

static bool find_padded(const Writer *writer, const ContractionOperand *a, int axis,
                        PaddedAxis *padded) {
    const Node *view = node_of(writer, a->node);
    const Type *inner = &node_of(writer, view->inputs[0])->type;
    const Coordinate *from = &view->view->coordinates[axis];
    int64_t start, before, inside;
    if (!dim_is_constant(type_count(writer->table, &view->type, axis + 1, view->type.rank),
                         &padded->place) ||
        !dim_is_constant(view->type.dims[axis], &padded->places) ||
        !dim_is_constant(a->start, &start) || !dim_is_constant(from->start, &before) ||
        !dim_is_constant(inner->dims[axis], &inside))
        return false;
    Coordinate along = coordinate_along(from->start, axis);
    along.divisor = from->divisor;
    padded->begin = start / padded->place % padded->places;
    padded->rest = start % padded->place;
    padded->first = -before - padded->begin;
    padded->count = (inside - 1) * from->divisor + 1;
    return !memcmp(&along, from, sizeof along) && padded->count < padded->places;
}

/* The lines of axis `axis`. */
static bool find_axis(const Writer *writer, const ContractionOperand *a, int axis,
                      Padding *padding) {
    PaddedAxis lines;
    if (!find_padded(writer, a, axis, &lines)) return false;
    padding->first = lines.first;
    padding->count = lines.count;
    padding->by_depth = pitch_of(&a->second.items[0], lines.place, lines.places);
    return padding->by_depth && keeps_line(&a->outer, lines.place, lines.places) &&
           find_lines(&a->first, lines.place, lines.places, padding);
}

/* Is it an image that was padded with zeros? */
static bool is_padded(const Writer *writer, const ContractionOperand *a) {
    const Node *view = node_of(writer, a->node);
    return view->op == OP_view && view->view->fill == 0 && a->first.count && a->second.count == 2 &&
           view->view->rank == view->type.rank && graph_has_updates(writer->graph);
}

Padding padding_of(const Writer *writer, const ContractionOperand *a) {
    static const Padding none = {.line = 1, .lines = 1, .by_row = 1, .by_depth = 1};
    Padding padding;
    const Node *view = node_of(writer, a->node);
    if (!is_padded(writer, a)) return none;
    for (int axis = 0; axis < view->type.rank; axis++)
        if (find_axis(writer, a, axis, &padding)) return padding;
    return none;
}

/* Does each step, or each but the last, go from line to line? */
static bool goes_by_lines(const Digits *digits, int64_t line, bool with_last) {
    for (int i = 0; i < digits->count - !with_last; i++) {
        int64_t stride;
        if (!dim_is_constant(digits->items[i].stride, &stride) || stride % line) return false;
    }
    return true;
}

/* The places along axis `axis`, each of so many elements that follow one another. */
static bool find_places(const Writer *writer, const ContractionOperand *a, int axis, Sides *sides) {
    const Digit *row = a->first.items + a->first.count - 1, *depth = &a->second.items[1];
    PaddedAxis line;
    int64_t by_row, rows, by_depth, depths;
    if (!find_padded(writer, a, axis, &line) || !dim_is_constant(row->stride, &by_row) ||
        !dim_is_constant(row->size, &rows) || !dim_is_constant(depth->stride, &by_depth) ||
        !dim_is_constant(depth->size, &depths))
        return false;
    const int64_t place = line.place, all = place * line.places;
    if (by_depth != 1 || depths % place || by_row < place || by_row % place || line.rest ||
        !goes_by_lines(&a->outer, all, true) || !goes_by_lines(&a->first, all, false) ||
        !goes_by_lines(&a->second, all, false))
        return false;
    *sides = (Sides){
        .first = line.first, .count = line.count, .taps = depths / place, .by_row = by_row / place};
    return line.begin + (rows - 1) * sides->by_row + sides->taps <= line.places;
}

Sides sides_of(const Writer *writer, const ContractionOperand *a) {
    static const Sides none = {.taps = 1, .by_row = 1};
    Sides sides;
    if (!is_padded(writer, a)) return none;
    for (int axis = 0; axis < node_of(writer, a->node)->type.rank; axis++)
        if (find_places(writer, a, axis, &sides) && sides.taps > 1) return sides;
    return none;
}
