/* Index text: where an operand's element lies, from where the node's own lies. What the loops
 * give a name is used by it; other indices are arithmetic, each part at the outermost level it
 * can be. */
#include "compiler/codegen/axes_text.h"

#include <string.h>

Index plain_index(Writer *writer, IndexKind kind) {
    if (kind == INDEX_row || kind == INDEX_column) writer->uses_rows = true;
    switch (kind) {
    case INDEX_zero: return (Index){.kind = kind, .level = LEVEL_call, .text = "0"};
    case INDEX_row: return (Index){.kind = kind, .level = LEVEL_row, .text = "r"};
    case INDEX_column: return (Index){.kind = kind, .level = LEVEL_column, .text = "c"};
    case INDEX_output: return (Index){.kind = kind, .level = LEVEL_column, .text = "o"};
    default: return (Index){.kind = INDEX_full, .level = LEVEL_column, .text = "i", .row = "r"};
    }
}

const char *rest_of_column(const Writer *writer, const char *index) {
    vector_each(Variable, variable, writer->variables)
        if (variable->node == NODE_NONE && !strcmp(variable->name, index))
            return strncmp(variable->index, "c % ", 4) != 0 ? NULL : variable->index;
    return NULL;
}

/* Is the operand the node's last axes, of so many elements, in loops of so many columns? */
static bool is_last_axes(Writer *writer, const Type *node, const Type *operand, Index index,
                         int64_t *count, int64_t *columns) {
    if (index.kind != INDEX_full || !dim_is_constant(writer->loops->columns, columns) ||
        !dim_is_constant(type_elements(writer->table, operand), count))
        return false;
    int same = 0;
    while (same < operand->rank && same < node->rank &&
           operand->dims[operand->rank - 1 - same] == node->dims[node->rank - 1 - same])
        same++;
    Dim last = type_count(writer->table, operand, operand->rank - same, operand->rank);
    return last == type_elements(writer->table, operand);
}

/* Column c of a row. */
static Index in_row(Writer *writer, const char *row) {
    const char *text = arena_format(writer->arena, "(%s * %s + c)", row, writer->columns);
    if (writer->narrow) text = define_index(writer, LEVEL_column, text).text;
    return (Index){.kind = INDEX_other,
                   .level = LEVEL_column,
                   .text = text,
                   .row = row,
                   .begin = arena_format(writer->arena, "%s * %s", row, writer->columns)};
}

/* How far in the operand the next place along each axis of the node goes, if it had only those
 * before `end`. */
static void find_strides(Writer *writer, const Type *node, const Type *operand, int end,
                         Dim *strides) {
    const int missing = node->rank - operand->rank;
    for (int j = 0; j < end; j++) {
        const bool repeats = j < missing || dim_is_one(operand->dims[j - missing]);
        strides[j] = repeats ? dim_constant(writer->table, 0)
                             : type_count(writer->table, operand, j - missing + 1, end - missing);
    }
}

/* The operand's elements for each of the node's axes from `axis` on: 0: one for all, 1: one for
 * each, -1: neither. */
static int has_last_axes(const Type *node, const Type *operand, int axis) {
    const int missing = node->rank - operand->rank;
    int repeated = 0, own = 0;
    for (int j = axis; j < node->rank; j++) {
        if (dim_is_one(node->dims[j])) continue;
        if (j < missing || dim_is_one(operand->dims[j - missing])) repeated++;
        else own++;
    }
    return !own ? 0 : !repeated ? 1 : -1;
}

static Index broadcast_index(Writer *writer, const Type *node, const Type *operand, Index index) {
    int64_t count, columns;
    const bool is_last = is_last_axes(writer, node, operand, index, &count, &columns);
    if (is_last && columns % count == 0) {
        writer->uses_rows = true;
        const Dim one = dim_constant(writer->table, 1);
        const Dim all = dim_constant(writer->table, count);
        const Index run = writer->in_runs ? run_index(writer, one, all)
                          : writer->apart ? part_index(writer, one, all)
                                          : (Index){.text = NULL};
        if (run.text) return run;
        return define_index(writer, LEVEL_column,
                            arena_format(writer->arena, "c %% %lld", (long long)count));
    }
    Dim strides[RANK_LIMIT] = {0};
    Sum sum = new_sum(writer);
    const int split = column_axis(writer, node, index);
    if (is_last && !split && index.row && columns > 1 && count % columns == 0) {
        writer->uses_rows = true;
        const char *row =
            arena_format(writer->arena, "%s %% %lld", index.row, (long long)(count / columns));
        return in_row(writer, define_index(writer, LEVEL_row, row).text);
    }
    const int has_columns = split ? has_last_axes(node, operand, split) : -1;
    const int end = has_columns < 0 ? node->rank : split;
    find_strides(writer, node, operand, end, strides);
    add_axes(writer, &sum, node, strides, 0, end, index);
    Index row = sum_index(writer, &sum);
    if (split && has_columns < 0) {
        Spread *spread = arena_new_item(writer->arena, Spread);
        *spread = (Spread){.node = node, .operand = operand, .index = index};
        row.spread = spread;
    }
    if (has_columns < 1) return row;
    writer->uses_rows = true;
    return row.kind == INDEX_zero ? plain_index(writer, INDEX_column) : in_row(writer, row.text);
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
