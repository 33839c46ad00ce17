/* Parse, types: element types, and sizes as sums of products. */
#include "compiler/graph/parse.h"

enum { DIM_STEP_LIMIT = 64 /* operators and brackets in one size */ };

static Dim read_sum(Reader *reader);

static Dim one(const Reader *reader) {
    return dim_constant(reader->graph->dimensions, 1);
}

static bool dim_step(Reader *reader) {
    if (++reader->dim_steps > DIM_STEP_LIMIT) reader_fail(reader, "the size is too complicated");
    return !reader->failed;
}

static Dim read_atom(Reader *reader) {
    if (take_mark(reader, "(")) {
        Dim inner = dim_step(reader) ? read_sum(reader) : one(reader);
        expect_mark(reader, ")");
        return inner;
    }
    if (is_decimal(next_char(reader)) || next_char(reader) == '-') {
        int64_t value = read_integer(reader);
        if (value > DIMENSION_LIMIT || value < -DIMENSION_LIMIT)
            reader_fail(reader, "a size is at most 2^40");
        return dim_constant(reader->graph->dimensions, value);
    }
    const char *name = read_name(reader);
    Dim symbol = map_get(&reader->symbols, name);
    if (!*name) reader_fail(reader, "expected a size");
    else if (!symbol) reader_fail(reader, "unknown dimension `%s`", name);
    return symbol ? symbol : one(reader);
}

Dim combine_sizes(Reader *reader, Arithmetic *operation, Dim a, Dim b) {
    Dim result = dim_step(reader) ? operation(reader->graph->dimensions, a, b) : one(reader);
    if (!result) reader_fail(reader, "no such size");
    return result ? result : one(reader);
}

Dim read_product(Reader *reader) {
    Dim left = read_atom(reader);
    while (!reader->failed) {
        if (take_mark(reader, "*"))
            left = combine_sizes(reader, dim_multiply, left, read_atom(reader));
        else if (take_mark(reader, "/"))
            left = combine_sizes(reader, dim_divide, left, read_atom(reader));
        else break;
    }
    return left;
}

static Dim read_sum(Reader *reader) {
    Dim left = read_product(reader);
    while (!reader->failed) {
        if (take_mark(reader, "+"))
            left = combine_sizes(reader, dim_add, left, read_product(reader));
        else if (take_mark(reader, "-"))
            left = combine_sizes(reader, dim_subtract, left, read_product(reader));
        else break;
    }
    return left;
}

Dim read_dim(Reader *reader) {
    reader->dim_steps = 0;
    Dim dim = read_sum(reader);
    if (dim_bound(dim) < 1) reader_fail(reader, "a size is at least 1");
    return dim;
}

Type read_type(Reader *reader) {
    Type type = {0};
    const char *name = read_name(reader);
    if (!element_by_name(name, &type.element))
        reader_fail(reader, "unknown element type `%s`", name);
    if (!take_mark(reader, "[")) return type;
    do {
        if (type.rank == RANK_LIMIT) reader_fail(reader, "at most %d dimensions", RANK_LIMIT);
        if (!reader->failed) type.dims[type.rank++] = read_dim(reader);
    } while (take_mark(reader, ","));
    expect_mark(reader, "]");
    return type;
}
