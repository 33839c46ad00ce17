/* Parse, views: coordinates, and the short form of a transposition. */
#include "compiler/graph/parse.h"

#include <stdlib.h>

/* The axis that the word i0, i1 … names; -1 and nothing is taken when none comes next. */
static int take_axis(Reader *reader) {
    uint32_t before = (skip_blanks(reader), reader->at);
    const char *name = read_name(reader);
    if (name[0] == 'i' && name[1] >= '0' && name[1] < '0' + RANK_LIMIT && !name[2])
        return name[1] - '0';
    reader->at = before;
    return -1;
}

/* `2*i1` or `i1`; false when what comes next is a size. */
static bool take_multiple(Reader *reader, int64_t sign, Coordinate *sum) {
    uint32_t before = (skip_blanks(reader), reader->at);
    int64_t factor = 1;
    bool written = is_decimal(next_char(reader)) || next_char(reader) == '-';
    if (written) factor = read_integer(reader);
    int axis = !written || take_mark(reader, "*") ? take_axis(reader) : -1;
    if (axis < 0) reader->at = before;
    else if (llabs(factor) > FACTOR_LIMIT) reader_fail(reader, "the factor is too large");
    else sum->factors[axis] += sign * factor;
    return axis >= 0;
}

static void read_term(Reader *reader, int64_t sign, Coordinate *sum) {
    if (take_mark(reader, "-")) sign = -sign;
    if (reader->failed || take_multiple(reader, sign, sum)) return;
    Dim part = read_product(reader);
    sum->start = combine_sizes(reader, sign < 0 ? dim_subtract : dim_add, sum->start, part);
}

static Coordinate read_coordinate(Reader *reader) {
    Coordinate sum = coordinate_along(dim_constant(reader->graph->dimensions, 0), -1);
    bool divided = take_mark(reader, "(");
    reader->dim_steps = 0;
    read_term(reader, 1, &sum);
    while (!reader->failed) {
        if (take_mark(reader, "+")) read_term(reader, 1, &sum);
        else if (take_mark(reader, "-")) read_term(reader, -1, &sum);
        else break;
    }
    if (!divided) return sum;
    expect_mark(reader, ")");
    expect_mark(reader, "/");
    sum.divisor = reader->failed ? 1 : read_integer(reader);
    return sum;
}

void read_view(Reader *reader, Node *node) {
    View view = {0};
    expect_mark(reader, "[");
    while (!reader->failed && !take_mark(reader, "]")) {
        if (view.rank == RANK_LIMIT) reader_fail(reader, "at most %d coordinates", RANK_LIMIT);
        else view.coordinates[view.rank++] = read_coordinate(reader);
        if (!take_mark(reader, ",")) skip_blanks(reader);
    }
    if (take_name(reader, "fill")) view.fill = read_number(reader);
    View *kept = arena_new_item(reader->arena, View);
    *kept = view;
    node->view = kept;
}

void read_transpose(Reader *reader, Node *node) {
    node->op = OP_view;
    node->inputs[0] = read_id(reader);
    Type type = reader->failed ? (Type){0} : graph_node(reader->graph, node->inputs[0])->type;
    if (type.rank < 2) reader_fail(reader, "transpose takes a matrix");
    if (reader->failed) return;
    View *view = arena_new_item(reader->arena, View);
    *view = view_transposition(reader->graph->dimensions, type.rank);
    node->view = view;
    node->type = type;
    node->type.dims[type.rank - 2] = type.dims[type.rank - 1];
    node->type.dims[type.rank - 1] = type.dims[type.rank - 2];
}
