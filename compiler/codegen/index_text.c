/* Index text: where an operand's element lies, from where the node's own lies. What the loops
 * give a name is used by it; other indices are arithmetic, each part at the outermost level it
 * can be. */
#include "compiler/codegen/writer.h"

#include <string.h>

Index plain_index(Writer *writer, IndexKind kind) {
    if (kind == INDEX_row || kind == INDEX_column) writer->uses_rows = true;
    switch (kind) {
    case INDEX_zero: return (Index){kind, LEVEL_call, "0", NULL};
    case INDEX_row: return (Index){kind, LEVEL_row, "r", NULL};
    case INDEX_column: return (Index){kind, LEVEL_column, "c", NULL};
    case INDEX_output: return (Index){kind, LEVEL_column, "o", NULL};
    default: return (Index){INDEX_full, LEVEL_column, "i", "r"};
    }
}

static bool splits(Writer *writer, const Type *node, Index index) {
    return index.row && node->rank > 1 && node->dims[node->rank - 1] == writer->loops->columns;
}

/* Adds the part of an operand's index that comes from axis `axis` of the node; `from` is the index
 * in the axes up to and including `inner`. */
static void add_axis(Writer *writer, Text *sum, const Type *node, const Type *operand, int axis,
                     int inner, const char *from) {
    int at = axis - (node->rank - operand->rank);
    if (at < 0 || dim_is_one(operand->dims[at])) return;
    text_format(sum, "%s%s", sum->size ? " + " : "", from);
    if (axis < inner)
        text_format(sum, " / %s", count_expression(writer, node, axis + 1, inner + 1));
    if (axis > 0) text_format(sum, " %% %s", dim_expression(writer->arena, node->dims[axis]));
    if (at + 1 < operand->rank)
        text_format(sum, " * %s", count_expression(writer, operand, at + 1, operand->rank));
}

/* Is the operand the node's last axes, which a whole number of times makes the columns? */
static bool repeats_in_columns(Writer *writer, const Type *node, const Type *operand, Index index,
                               int64_t *count) {
    int64_t columns;
    if (index.kind != INDEX_full || !dim_is_constant(writer->loops->columns, &columns) ||
        !dim_is_constant(type_elements(writer->table, operand), count))
        return false;
    int same = 0; /* of the last axes */
    while (same < operand->rank && same < node->rank &&
           operand->dims[operand->rank - 1 - same] == node->dims[node->rank - 1 - same])
        same++;
    Dim last = type_count(writer->table, operand, operand->rank - same, operand->rank);
    return last == type_elements(writer->table, operand) && columns % *count == 0;
}

/* Column c of a row. */
static Index in_row(Writer *writer, const char *row) {
    const char *text = arena_format(writer->arena, "(%s * %s + c)", row, writer->columns);
    if (writer->narrow) text = define_index(writer, LEVEL_column, text).text;
    return (Index){INDEX_other, LEVEL_column, text, row};
}

static Index broadcast_index(Writer *writer, const Type *node, const Type *operand, Index index) {
    int64_t count;
    if (repeats_in_columns(writer, node, operand, index, &count)) {
        writer->uses_rows = true;
        return define_index(writer, LEVEL_column,
                            arena_format(writer->arena, "c %% %lld", (long long)count));
    }
    Text sum = text_new(writer->arena);
    int rank = node->rank;
    if (!splits(writer, node, index)) {
        for (int axis = 0; axis < rank; axis++)
            add_axis(writer, &sum, node, operand, axis, rank - 1, index.text);
        return define_index(writer, index.level, text_string(&sum));
    }
    writer->uses_rows = true;
    Type outer = *node, rows = *operand; /* without the last axis */
    outer.rank--, rows.rank--;
    for (int axis = 0; axis < rank - 1; axis++)
        add_axis(writer, &sum, &outer, &rows, axis, rank - 2, index.row);
    const bool one = dim_is_one(operand->dims[rows.rank]);
    if (!sum.size) return plain_index(writer, one ? INDEX_zero : INDEX_column);
    const Index row = define_index(writer, LEVEL_row, text_string(&sum));
    return one ? row : in_row(writer, row.text);
}

/* Views. */

/* The first of the node's last axes whose elements are the loops' columns; 0: the index does not
 * fall into rows and columns. */
static int column_axis(Writer *writer, const Type *node, Index index) {
    if (index.kind != INDEX_full) return 0;
    for (int axis = node->rank - 1; axis > 0; axis--)
        if (type_count(writer->table, node, axis, node->rank) == writer->loops->columns)
            return axis;
    return 0;
}

/* The index as what is divided: without a sign, and of four bytes where rows have no more, for
 * which that takes a third of the time. */
static const char *divided_text(const Writer *writer, Index index) {
    if (index.kind != INDEX_row || writer->loops->kind != KERNEL_rows) return index.text;
    int64_t rows = dim_bound(writer->loops->rows);
    return rows != SIZE_UNKNOWN && rows <= INT32_MAX ? "(uint32_t)r" : index.text;
}

/* The index divided by `count`. Without a sign, a power of two is a shift: gcc vectorises that, and
 * not the division. */
static const char *quotient_text(Writer *writer, Index index, Dim count) {
    const char *text = divided_text(writer, index);
    const bool is_unsigned = text != index.text; /* divided_text made it so */
    int64_t value;
    if (is_unsigned && dim_is_constant(count, &value) && value > 0 && !(value & (value - 1)))
        return arena_format(writer->arena, "(%s >> %d)", text, __builtin_ctzll((uint64_t)value));
    return arena_format(writer->arena, "%s / %s", text, dim_expression(writer->arena, count));
}

/* The coordinate along one axis of the node. */
static Index axis_index(Writer *writer, const Type *node, int axis, Index index) {
    if (dim_is_one(node->dims[axis])) return plain_index(writer, INDEX_zero);
    int split = column_axis(writer, node, index), first = 0, last = node->rank;
    if (split && axis < split) {
        index = plain_index(writer, INDEX_row);
        last = split;
    } else if (split) {
        index = plain_index(writer, INDEX_column);
        first = split;
    }
    if (axis == first && axis + 1 == last) return index;
    Dim inner = type_count(writer->table, node, axis + 1, last);
    const char *text =
        dim_is_one(inner) ? divided_text(writer, index) : quotient_text(writer, index, inner);
    if (axis > first)
        text = arena_format(writer->arena, "%s %% %s", text,
                            dim_expression(writer->arena, node->dims[axis]));
    return define_index(writer, index.level, text);
}

/* A sum, its parts at the levels where they are known. */
typedef struct Sum {
    Text parts[LEVEL_count];
} Sum;

static Sum new_sum(Writer *writer) {
    Sum sum;
    for (int i = 0; i < LEVEL_count; i++) sum.parts[i] = text_new(writer->arena);
    return sum;
}

static void add_part(Writer *writer, Sum *sum, Level level, const char *text, Dim factor) {
    int64_t value;
    Text *part = &sum->parts[level];
    bool known = dim_is_constant(factor, &value);
    if (known && !value) return;
    if (part->size) text_add(part, known && value < 0 ? " - " : " + ");
    else if (known && value < 0) text_add(part, "-");
    if (known && value < 0) factor = dim_constant(writer->table, value = -value);
    text_add(part, text);
    if (!known || value != 1) text_format(part, " * %s", dim_expression(writer->arena, factor));
}

static void add_start(Writer *writer, Sum *sum, Dim start) {
    int64_t value;
    Text *part = &sum->parts[LEVEL_call];
    if (dim_is_constant(start, &value) && !value) return;
    text_format(part, "%s%s", part->size ? " + " : "", dim_expression(writer->arena, start));
}

/* The sum as a variable, of outer parts by themselves. */
static Index sum_index(Writer *writer, Sum *sum) {
    Index known = {.kind = INDEX_other, .level = LEVEL_call};
    for (int level = 0; level < LEVEL_count; level++) {
        Text *part = &sum->parts[level];
        if (!part->size) continue;
        const char *text = text_string(part);
        if (known.text)
            text = *text == '-' ? arena_format(writer->arena, "%s - %s", known.text, text + 1)
                                : arena_format(writer->arena, "%s + %s", known.text, text);
        known = define_index(writer, (Level)level, text);
    }
    return known.text ? known : plain_index(writer, INDEX_zero);
}

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

static Index test_coordinate(Writer *writer, const Node *node, const Coordinate *coordinate,
                             Dim size, int guards, Index index, Index *inside) {
    Arena *arena = writer->arena;
    Index at = tested_coordinate(writer, node, coordinate, index);
    long long divisor = (long long)coordinate->divisor;
    Dim end = dim_multiply(writer->table, size, dim_constant(writer->table, divisor));
    if (guards & GUARD_low)
        add_guard(writer, inside, at.level, arena_format(arena, "%s >= 0", at.text));
    if (guards & GUARD_high)
        add_guard(writer, inside, at.level,
                  arena_format(arena, "%s < %s", at.text, dim_expression(arena, end)));
    if (guards & GUARD_whole)
        add_guard(writer, inside, at.level,
                  arena_format(arena, "%s %% %lld == 0", at.text, divisor));
    if (divisor == 1) return at;
    return define_index(writer, at.level, arena_format(arena, "%s / %lld", at.text, divisor));
}

/* What each axis of the node adds to the place in the operand, through coordinates that need no
 * test. */
static void add_plain_coordinates(Writer *writer, const Node *node, const Type *operand,
                                  const bool *tested, Index index, Sum *sum) {
    Dimensions *table = writer->table;
    for (int j = -1; j < node->type.rank; j++) {
        Dim factor = dim_constant(table, 0);
        for (int i = 0; i < operand->rank; i++) {
            const Coordinate *from = &node->view->coordinates[i];
            Dim part = j < 0 ? from->start : dim_constant(table, from->factors[j]);
            Dim stride = type_count(table, operand, i + 1, operand->rank);
            if (!tested[i]) factor = dim_add(table, factor, dim_multiply(table, part, stride));
        }
        if (j < 0) {
            add_start(writer, sum, factor);
        } else if (factor != dim_constant(table, 0)) {
            Index axis = axis_index(writer, &node->type, j, index);
            add_part(writer, sum, axis.level, axis.text, factor);
        }
    }
}

/* The place in the operand, and the condition that there is one. */
static Sum view_sum(Writer *writer, const Node *node, Index index, Index *inside) {
    const Type *operand = &node_of(writer, node->inputs[0])->type;
    bool tested[RANK_LIMIT] = {false};
    Sum sum = new_sum(writer);
    *inside = (Index){.kind = INDEX_other, .level = LEVEL_call};
    for (int i = 0; i < operand->rank; i++) {
        const Coordinate *from = &node->view->coordinates[i];
        int guards = coordinate_guards(writer->table, from, operand->dims[i], &node->type);
        tested[i] = guards || from->divisor != 1;
        if (!tested[i]) continue;
        Index at = test_coordinate(writer, node, from, operand->dims[i], guards, index, inside);
        add_part(writer, &sum, at.level, at.text,
                 type_count(writer->table, operand, i + 1, operand->rank));
    }
    add_plain_coordinates(writer, node, operand, tested, index, &sum);
    if (inside->text) *inside = define_index(writer, inside->level, inside->text);
    return sum;
}

Index view_index(Writer *writer, const Node *node, Index index, Index *inside) {
    Sum sum = view_sum(writer, node, index, inside);
    return sum_index(writer, &sum);
}

bool view_row(Writer *writer, const Node *node, Index index, Index *row, Index *inside) {
    Sum sum = view_sum(writer, node, index, inside);
    Text *column = &sum.parts[LEVEL_column];
    if (!inside->text || inside->level > LEVEL_row || !column->size ||
        strcmp(text_string(column), "c"))
        return false;
    *column = text_new(writer->arena);
    *row = sum_index(writer, &sum);
    return true;
}

Index operand_index_text(Writer *writer, const Node *node, int i, Index index) {
    const Type *operand = &node_of(writer, node->inputs[i])->type;
    if (node->op == OP_reshape) return index;
    IndexKind kind = operand_index(writer->table, writer->loops, index.kind, &node->type, operand);
    if (kind == INDEX_other && index.kind == INDEX_other) {
        int64_t count;
        Dim elements = type_elements(writer->table, operand);
        if (dim_is_constant(elements, &count) && count == 1) return plain_index(writer, INDEX_zero);
        if (elements == type_elements(writer->table, &node->type)) return index;
    }
    if (kind == INDEX_other) return broadcast_index(writer, &node->type, operand, index);
    return kind == index.kind ? index : plain_index(writer, kind);
}
