/* Gather text: an element of a gather is loaded from the row that its index names. Where the loops
 * go along that row, the index is read and multiplied once for all of it. */
#include "compiler/codegen/writer.h"

#include "compiler/codegen/names.h"

/* A gather within the loops: `rest` elements lie in each row of its operand. */
typedef struct Gather {
    const Node *node;
    Dim rest;
    const char *rest_text;
} Gather;

/* How many rows of the loops make one row of the operand; NULL: they don't go along it. */
static Dim rows_in_row(Writer *writer, const Gather *gather, Index index) {
    int64_t rest, columns;
    if (index.kind != INDEX_full || dim_is_one(gather->rest)) return NULL;
    if (gather->rest == writer->loops->columns) return dim_constant(writer->table, 1);
    bool known =
        dim_is_constant(gather->rest, &rest) && dim_is_constant(writer->loops->columns, &columns);
    return known && rest % columns == 0 ? dim_constant(writer->table, rest / columns) : NULL;
}

/* The index as C. The function of a record runs before its facts are checked, so there a wrong one
 * is made 0. */
static const char *row_text(Writer *writer, const Gather *gather, Index index) {
    const char *row = value_of(writer, gather->node->inputs[1], index);
    if (!writer->plan->function->of_record) return arena_format(writer->arena, "(int64_t)%s", row);
    const Type *a = &node_of(writer, gather->node->inputs[0])->type;
    return arena_format(writer->arena, "flow_index(%s, %s)", row,
                        dim_expression(writer->arena, a->dims[0]));
}

static Index along_row(Writer *writer, const Gather *gather, Dim rows) {
    writer->uses_rows = true;
    bool one = dim_is_one(rows);
    const char *count = dim_expression(writer->arena, rows);
    Index place =
        one ? plain_index(writer, INDEX_row)
            : define_index(writer, LEVEL_row, arena_format(writer->arena, "r / %s", count));
    const char *row = row_text(writer, gather, place);
    const char *part =
        one ? "" : arena_format(writer->arena, " + r %% %s * %s", count, writer->columns);
    Index begin = define_index(
        writer, LEVEL_row, arena_format(writer->arena, "%s * %s%s", row, gather->rest_text, part));
    return define_index(writer, LEVEL_column, arena_format(writer->arena, "%s + c", begin.text));
}

static Index anywhere(Writer *writer, const Gather *gather, Index index) {
    if (dim_is_one(gather->rest))
        return define_index(writer, index.level, row_text(writer, gather, index));
    Index place = define_index(
        writer, index.level, arena_format(writer->arena, "%s / %s", index.text, gather->rest_text));
    return define_index(writer, index.level,
                        arena_format(writer->arena, "%s * %s + %s %% %s",
                                     row_text(writer, gather, place), gather->rest_text, index.text,
                                     gather->rest_text));
}

const char *gathered_value(Writer *writer, const Node *node, Index index) {
    const Type *a = &node_of(writer, node->inputs[0])->type;
    Dim rest = type_count(writer->table, a, 1, a->rank);
    Gather gather = {node, rest, dim_expression(writer->arena, rest)};
    Dim rows = rows_in_row(writer, &gather, index);
    Index place = rows ? along_row(writer, &gather, rows) : anywhere(writer, &gather, index);
    return value_of(writer, node->inputs[0], place);
}
