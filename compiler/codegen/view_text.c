/* View text: where in its operand a view finds an element, and whether there is one. */
#include "compiler/codegen/axes_text.h"

#include <string.h>

static Level inner_level(Level a, Level b) {
    return a > b ? a : b;
}

/* Adds a condition to those under which an element is inside. */
static void add_guard(Writer *writer, Index *inside, Level level, const char *condition) {
    inside->text =
        inside->text ? arena_format(writer->arena, "%s && %s", inside->text, condition) : condition;
    inside->level = inner_level(inside->level, level);
}

/* A coordinate of the operand that has to be tested, before it is divided. */
static Index tested_coordinate(Writer *writer, const Node *node, const Coordinate *coordinate,
                               Index index) {
    Sum sum = new_sum(writer);
    add_start(writer, &sum, coordinate->start);
    for (int i = 0; i < node->type.rank; i++) {
        if (!coordinate->factors[i]) continue;
        Index axis = axis_index(writer, &node->type, i, index);
        add_part(writer, &sum, axis.level, axis.text,
                 dim_constant(writer->table, coordinate->factors[i]));
    }
    return sum_index(writer, &sum);
}

Index seen_coordinate(Writer *writer, const Seen *seen, int axis) {
    const Node *operand = node_of(writer, seen->view->inputs[0]);
    const Coordinate *from = &seen->view->view->coordinates[axis];
    Index at = tested_coordinate(writer, seen->view, from, seen->index);
    if (from->divisor != 1)
        at = define_index(
            writer, at.level,
            arena_format(writer->arena, "%s / %lld", at.text, (long long)from->divisor));
    if (!seen->inside.text ||
        !coordinate_guards(writer->table, from, operand->type.dims[axis], &seen->view->type))
        return at;
    return define_index(writer, inner_level(at.level, seen->inside.level),
                        arena_format(writer->arena, "%s ? %s : 0", seen->inside.text, at.text));
}

static Index test_coordinate(Writer *writer, const Node *node, const Coordinate *coordinate,
                             Dim size, int guards, Index index, Index *inside) {
    Arena *arena = writer->arena;
    Index at = tested_coordinate(writer, node, coordinate, index);
    const int split = column_axis(writer, &node->type, index);
    long long divisor = (long long)coordinate->divisor;
    Dim end = dim_multiply(writer->table, size, dim_constant(writer->table, divisor));
    if (guards & GUARD_low)
        add_guard(writer, inside, at.level, arena_format(arena, "%s >= 0", at.text));
    if (guards & GUARD_high)
        add_guard(writer, inside, at.level,
                  arena_format(arena, "%s < %s", at.text, dim_expression(arena, end)));
    const char *whole, *strided = strided_coordinate(writer, &node->type, coordinate, guards, index,
                                                     split, &whole);
    if (guards & GUARD_whole)
        add_guard(writer, inside, at.level,
                  strided ? whole : arena_format(arena, "%s %% %lld == 0", at.text, divisor));
    if (divisor == 1) return at;
    if (strided) return define_index(writer, at.level, strided);
    return define_index(writer, at.level, arena_format(arena, "%s / %lld", at.text, divisor));
}

/* What a node's next place along axis j, or for -1 its first element, adds to the place in the
 * operand of a view, through coordinates that need no test. */
static Dim plain_stride(Writer *writer, const Node *node, const Type *operand, const bool *tested,
                        int j) {
    Dimensions *table = writer->table;
    Dim sum = dim_constant(table, 0);
    for (int i = 0; i < operand->rank; i++) {
        const Coordinate *from = &node->view->coordinates[i];
        Dim part = j < 0 ? from->start : dim_constant(table, from->factors[j]);
        Dim stride = type_count(table, operand, i + 1, operand->rank);
        if (!tested[i]) sum = dim_add(table, sum, dim_multiply(table, part, stride));
    }
    return sum;
}

/* Adds what all axes do through such coordinates. */
static void add_plain_coordinates(Writer *writer, const Node *node, const Type *operand,
                                  const bool *tested, Index index, Sum *sum) {
    Dim strides[RANK_LIMIT];
    for (int j = 0; j < node->type.rank; j++)
        strides[j] = plain_stride(writer, node, operand, tested, j);
    add_start(writer, sum, plain_stride(writer, node, operand, tested, -1));
    add_axes(writer, sum, &node->type, strides, 0, node->type.rank, index);
}

/* The guards that each coordinate needs in the range of columns. False: nothing in it is inside. */
static bool find_guards(Writer *writer, const Node *node, Index index, int *guards) {
    const Type *operand = &node_of(writer, node->inputs[0])->type;
    const int split = column_axis(writer, &node->type, index);
    bool any = true, never;
    for (int i = 0; i < operand->rank; i++) {
        const Coordinate *from = &node->view->coordinates[i];
        guards[i] =
            guards_in_range(writer, &node->type, from, operand->dims[i],
                            coordinate_guards(writer->table, from, operand->dims[i], &node->type),
                            index, split, &never);
        any &= !never;
    }
    return any;
}

/* The place in the operand, and the condition that there is one. */
static Sum view_sum(Writer *writer, const Node *node, Index index, Index *inside) {
    const Type *operand = &node_of(writer, node->inputs[0])->type;
    bool tested[RANK_LIMIT] = {false};
    int guards[RANK_LIMIT];
    Sum sum = new_sum(writer);
    *inside = (Index){.kind = INDEX_other, .level = LEVEL_call};
    if (!find_guards(writer, node, index, guards)) {
        *inside = (Index){.kind = INDEX_other, .level = LEVEL_column, .text = NOWHERE};
        return sum;
    }
    for (int i = 0; i < operand->rank; i++) {
        const Coordinate *from = &node->view->coordinates[i];
        tested[i] = guards[i] || from->divisor != 1;
        if (!tested[i]) continue;
        Index at = test_coordinate(writer, node, from, operand->dims[i], guards[i], index, inside);
        add_part(writer, &sum, at.level, at.text,
                 type_count(writer->table, operand, i + 1, operand->rank));
    }
    add_plain_coordinates(writer, node, operand, tested, index, &sum);
    if (inside->text) *inside = define_index(writer, inside->level, inside->text);
    return sum;
}

bool has_all_columns(const InRow *place) {
    return place->column && !strcmp(place->column, "c");
}

/* is_spread: of a spread view, whose place may be along one axis of the columns, and then is a
 * name; it is less than there are columns, since no coordinate along them begins elsewhere. */
static InRow place_in_row(Writer *writer, Sum sum, bool is_spread) {
    Text *part = &sum.parts[LEVEL_column];
    if (!part->size) return (InRow){.column = NULL};
    const char *column = text_string(part);
    if (is_spread ? strpbrk(column, " -") != NULL : strcmp(column, "c") != 0)
        return (InRow){.column = NULL};
    *part = text_new(writer->arena);
    InRow place = {.start = sum_index(writer, &sum), .column = column};
    place.start.level = inner_level(place.start.level, LEVEL_row);
    return place;
}

/* Axis i of a view, of type `own`, is axes[i] of the node that its elements are spread over: the
 * next one of that size. False: they are others. */
static bool find_spread_axes(const Type *own, const Spread *spread, int *axes) {
    const int missing = spread->node->rank - spread->operand->rank;
    int j = 0;
    for (int i = 0; i < own->rank; i++) {
        axes[i] = 0;
        if (dim_is_one(own->dims[i])) continue;
        while (j < spread->operand->rank && dim_is_one(spread->operand->dims[j])) j++;
        if (j == spread->operand->rank || spread->operand->dims[j] != own->dims[i]) return false;
        axes[i] = missing + j++;
    }
    return true;
}

/* Is a coordinate tested or divided, and one along axes from `split` on? */
static bool has_tested_columns(Writer *writer, const Node *view, int split) {
    const Type *operand = &node_of(writer, view->inputs[0])->type;
    for (int i = 0; i < view->view->rank; i++) {
        const Coordinate *from = &view->view->coordinates[i];
        bool tested = from->divisor != 1 ||
                      coordinate_guards(writer->table, from, operand->dims[i], &view->type);
        for (int j = split; j < view->type.rank && tested; j++)
            if (from->factors[j] && !dim_is_one(view->type.dims[j])) return true;
    }
    return false;
}

/* The view as one with an element for each of the node that reads it, whose columns are columns of
 * the loops; NULL: it has that already, or has other axes, or the place along a row is tested. */
static const Node *spread_view(Writer *writer, const Node *view, const Spread *spread) {
    int axes[RANK_LIMIT];
    if (!spread || !find_spread_axes(&view->type, spread, axes)) return NULL;
    Node *wide = arena_new_item(writer->arena, Node);
    View *own = arena_new_item(writer->arena, View);
    *wide = *view;
    *own = *view->view;
    for (int i = 0; i < view->view->rank; i++) {
        int64_t *factors = own->coordinates[i].factors;
        memset(factors, 0, sizeof own->coordinates[i].factors);
        for (int j = 0; j < view->type.rank; j++)
            if (!dim_is_one(view->type.dims[j]))
                factors[axes[j]] = view->view->coordinates[i].factors[j];
    }
    wide->type = *spread->node;
    wide->view = own;
    const int split = column_axis(writer, spread->node, spread->index);
    return has_tested_columns(writer, wide, split) ? NULL : wide;
}

Index view_index(Writer *writer, const Node *node, Index index, Index *inside) {
    const Node *wide = spread_view(writer, node, index.spread);
    if (wide) node = wide, index = index.spread->index;
    Sum sum = view_sum(writer, node, index, inside);
    Index place = sum_index(writer, &sum);
    if (place.kind != INDEX_other) return place;
    Seen *seen = arena_new_item(writer->arena, Seen);
    *seen = (Seen){.view = node, .index = index, .place = place_in_row(writer, sum, wide)};
    place.seen = seen;
    if (has_all_columns(&seen->place)) place.begin = seen->place.start.text;
    return place;
}

Index index_inside(Writer *writer, Index place, Index inside) {
    const bool in_row = place.seen && inside.level < LEVEL_column && place.seen->place.start.text;
    const Index from = in_row ? place.seen->place.start : place;
    const char *text = arena_format(writer->arena, "%s ? %s : 0", inside.text, from.text);
    Index chosen = define_index(writer, inner_level(from.level, inside.level), text);
    if (in_row)
        chosen = define_index(
            writer, LEVEL_column,
            arena_format(writer->arena, "%s + %s", chosen.text, place.seen->place.column));
    else chosen.test = inside.text, chosen.place = from.text;
    if (!place.seen) return chosen;
    Seen *seen = arena_new_item(writer->arena, Seen);
    *seen = *place.seen;
    seen->inside = inside;
    seen->place = (InRow){.column = NULL};
    chosen.seen = seen;
    return chosen;
}

/* Is there no place outside of the operand anywhere, and none between two of its elements? */
static bool is_plain(const Writer *writer, const Node *view) {
    for (int i = 0; i < view->view->rank; i++)
        if (view->view->coordinates[i].divisor != 1) return false;
    return !is_guarded_view(writer->graph, view);
}

/* Of the axes first to last - 1: what the next place adds, as if they were one; 0: they are none,
 * or not even. */
static int64_t even_stride(Writer *writer, const Node *node, int first, int last) {
    const Type *operand = &node_of(writer, node->inputs[0])->type;
    const bool tested[RANK_LIMIT] = {false};
    Dim even = NULL, count = NULL;
    int64_t stride;
    for (int j = last - 1; j >= first; j--) {
        if (dim_is_one(node->type.dims[j])) continue;
        const Dim own = plain_stride(writer, node, operand, tested, j);
        if (!even) even = own, count = dim_constant(writer->table, 1);
        else if (own != dim_multiply(writer->table, even, count)) return 0;
        count = dim_multiply(writer->table, count, node->type.dims[j]);
    }
    return even && dim_is_constant(even, &stride) ? stride : 0;
}

bool view_across(Writer *writer, const Node *view, Index index, Across *across) {
    const int split = column_axis(writer, &view->type, index);
    int row = split - 1;
    Index inside;
    while (row > 0 && dim_is_one(view->type.dims[row])) row--;
    if (index.kind != INDEX_full || row < 0 || !is_plain(writer, view) ||
        even_stride(writer, view, row, row + 1) != 1 ||
        !dim_is_constant(view->type.dims[row], &across->run))
        return false;
    across->stride = even_stride(writer, view, split, view->type.rank);
    if (across->stride == 0 || across->stride == 1) return false;
    Sum sum = view_sum(writer, view, index, &inside);
    sum.parts[LEVEL_column] = text_new(writer->arena);
    across->base = sum_index(writer, &sum).text;
    return true;
}

bool view_row(Writer *writer, const Node *node, Index index, InRow *row, Index *inside) {
    const Node *wide = spread_view(writer, node, index.spread);
    if (wide) node = wide, index = index.spread->index;
    Sum sum = view_sum(writer, node, index, inside);
    if (!inside->text || inside->level == LEVEL_column) return false;
    *row = place_in_row(writer, sum, wide);
    row->start.level = inner_level(row->start.level, inside->level);
    return row->start.text;
}
