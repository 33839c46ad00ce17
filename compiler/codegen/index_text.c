/* Index text: where an operand's element lies, from where the node's own lies. What the loops give
 * a name is used by it; other indices are arithmetic, each part at the outermost level it allows. */
#include "compiler/codegen/writer.h"

Index plain_index(Writer *writer, IndexKind kind) {
    if (kind == INDEX_row || kind == INDEX_column) writer->uses_rows = true;
    switch (kind) {
    case INDEX_zero: return (Index){kind, LEVEL_call, "0"};
    case INDEX_row: return (Index){kind, LEVEL_row, "r"};
    case INDEX_column: return (Index){kind, LEVEL_column, "c"};
    case INDEX_output: return (Index){kind, LEVEL_column, "o"};
    default: return (Index){INDEX_full, LEVEL_column, "i"};
    }
}

static bool splits(Writer *writer, const Type *node, Index index) {
    return index.kind == INDEX_full && node->rank > 1 &&
           node->dims[node->rank - 1] == writer->loops->columns;
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

static Index broadcast_index(Writer *writer, const Type *node, const Type *operand, Index index) {
    Text sum = text_new(writer->arena);
    int rank = node->rank;
    if (!splits(writer, node, index)) {
        for (int axis = 0; axis < rank; axis++)
            add_axis(writer, &sum, node, operand, axis, rank - 1, index.text);
        return define_index(writer, index.level, text_string(&sum));
    }
    writer->uses_rows = true;
    for (int axis = 0; axis < rank - 1; axis++)
        add_axis(writer, &sum, node, operand, axis, rank - 2, "r");
    const char *row = sum.size ? text_string(&sum) : "0";
    row = define_index(writer, LEVEL_row, row).text;
    if (dim_is_one(operand->dims[operand->rank - 1])) return (Index){INDEX_other, LEVEL_row, row};
    return define_index(writer, LEVEL_column, arena_format(writer->arena, "%s + c", row));
}

static Index transposed_index(Writer *writer, const Type *node, Index index) {
    if (index.kind == INDEX_zero) return index;
    const char *p = dim_expression(writer->arena, node->dims[node->rank - 2]);
    const char *q = dim_expression(writer->arena, node->dims[node->rank - 1]);
    const char *x = index.text;
    if (!splits(writer, node, index))
        return define_index(
            writer, index.level,
            arena_format(writer->arena,
                         "%s / (%s * %s) * (%s * %s) + %s %% %s * %s + %s / %s %% %s", x, p, q, p,
                         q, x, q, p, x, q, p));
    writer->uses_rows = true;
    Index row = define_index(
        writer, LEVEL_row, arena_format(writer->arena, "r / %s * (%s * %s) + r %% %s", p, p, q, p));
    return define_index(writer, LEVEL_column,
                        arena_format(writer->arena, "%s + c * %s", row.text, p));
}

Index operand_index_text(Writer *writer, const Node *node, int i, Index index) {
    const Type *operand = &node_of(writer, node->inputs[i])->type;
    if (node->op == OP_reshape) return index;
    if (node->op == OP_transpose) return transposed_index(writer, &node->type, index);
    IndexKind kind = operand_index(writer->table, writer->loops, index.kind, &node->type, operand);
    if (kind == INDEX_other && index.kind == INDEX_other) {
        int64_t count;
        Dim elements = type_count(writer->table, operand, 0, operand->rank);
        if (dim_is_constant(elements, &count) && count == 1) return plain_index(writer, INDEX_zero);
        if (elements == type_count(writer->table, &node->type, 0, node->type.rank)) return index;
    }
    if (kind == INDEX_other) return broadcast_index(writer, &node->type, operand, index);
    return kind == index.kind ? index : plain_index(writer, kind);
}
