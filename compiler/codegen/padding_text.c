/* Padding text: which depths of a contraction of windows see zeros alone, since the lines of an
 * image that they stand for are padding.
 *
 * An operand that was padded lies in memory with its zeros. A digit of its rows and the first one
 * of its depth give the line of the image; both are numbers, and so are the lines that are no
 * padding. Left out where weights are updated alone: there is no 0 * infinity, and a step
 * that has one is not made anyway. */
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

/* The lines of axis `axis`. */
static bool find_axis(const Writer *writer, const ContractionOperand *a, int axis,
                      Padding *padding) {
    const Node *view = node_of(writer, a->node);
    const Type *inner = &node_of(writer, view->inputs[0])->type;
    const Coordinate *from = &view->view->coordinates[axis];
    int64_t line, lines, start, before, inside;
    if (!dim_is_constant(type_count(writer->table, &view->type, axis + 1, view->type.rank),
                         &line) ||
        !dim_is_constant(view->type.dims[axis], &lines) || !dim_is_constant(a->start, &start) ||
        !dim_is_constant(from->start, &before) || !dim_is_constant(inner->dims[axis], &inside))
        return false;
    Coordinate along = coordinate_along(from->start, axis);
    along.divisor = from->divisor;
    if (memcmp(&along, from, sizeof along)) return false;
    padding->first = -before - start / line % lines;
    padding->count = (inside - 1) * from->divisor + 1;
    padding->by_depth = pitch_of(&a->second.items[0], line, lines);
    return padding->by_depth && padding->count < lines && keeps_line(&a->outer, line, lines) &&
           find_lines(&a->first, line, lines, padding);
}

Padding padding_of(const Writer *writer, const ContractionOperand *a) {
    static const Padding none = {.line = 1, .lines = 1, .by_row = 1, .by_depth = 1};
    Padding padding;
    const Node *view = node_of(writer, a->node);
    if (view->op != OP_view || view->view->fill != 0 || !a->first.count || a->second.count != 2 ||
        view->view->rank != view->type.rank || !graph_has_updates(writer->graph))
        return none;
    for (int axis = 0; axis < view->type.rank; axis++)
        if (find_axis(writer, a, axis, &padding)) return padding;
    return none;
}
