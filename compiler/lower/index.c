/* Index: x[0, 1:-1, ..., ::2] of a tensor, which is one view. */
#include "compiler/lower/view.h"

#include <math.h>
#include <string.h>

typedef struct Index {
    const Context *context;
    const Expression *expression;
    Value x;
    int axis;    /* of x, that the next item is for */
    View view;   /* of x */
    Type result; /* so far */
    bool broken; /* something was reported */
} Index;

static Dimensions *table_of(const Index *index) {
    return index->context->lowering->dimensions;
}

static const char *size_text(const Index *index, Dim size) {
    return dim_text(index->context->lowering->arena, size);
}

/* Is a - b at least `least`, as far as it is known? */
static bool may_reach(const Index *index, Dim a, Dim b, int64_t least) {
    Dim difference = dim_subtract(table_of(index), a, b);
    return difference && dim_bound(difference) >= least;
}

static Dim axis_size(const Index *index) {
    return value_type(&index->x)->dims[index->axis];
}

/* The end of a slice may be one past the last place. */
static void out_of_range(Index *index, Range range, Dim at, bool is_end) {
    Diagnostic *d = report(index->context, E0211, range,
                           is_end ? "a slice up to %s leaves axis %d, which has %s"
                                  : "there is no place %s in axis %d, which has %s",
                           size_text(index, at), index->axis, size_text(index, axis_size(index)));
    diagnostic_note(d, index->x.range.source ? index->x.range : index->expression->left->range,
                    "this is %s", value_text(index->context->lowering->arena, &index->x));
    index->broken = true;
}

/* A whole number or size, negative ones as they are; NULL after reporting. */
static Dim whole(Index *index, const Expression *expression) {
    Value value = lower_expression(index->context, expression);
    if (value.kind == VALUE_tensor) {
        Diagnostic *d = report(index->context, E0214, expression->range,
                               "an index is known at compile time, and this is %s",
                               value_text(index->context->lowering->arena, &value));
        diagnostic_help(d, "use gather(x, index, axis = %d) for an index that is computed",
                        index->axis);
        index->broken = true;
        return NULL;
    }
    double number;
    if (value.kind == VALUE_size) return value.size;
    index->broken = true;
    if (!to_number(index->context, &value, expression->range, &number)) return NULL;
    bool fits = number == floor(number) && fabs(number) <= (double)DIMENSION_LIMIT;
    if (!fits)
        report(index->context, E0211, expression->range, "an index is whole, not %.15g", number);
    index->broken = !fits;
    return fits ? dim_constant(table_of(index), (int64_t)number) : NULL;
}

static bool is_negative(Dim dim) {
    int64_t value;
    return dim_is_constant(dim, &value) && value < 0;
}

/* A place in the axis, from its end if it is negative. */
static Dim from_start(Index *index, Dim at) {
    return is_negative(at) ? dim_add(table_of(index), axis_size(index), at) : at;
}

/* One place of an axis, which goes. */
static void take_place(Index *index, const Expression *item) {
    Dim given = whole(index, item), zero = dim_constant(table_of(index), 0);
    if (!given) return;
    Dim at = from_start(index, given);
    if (at && may_reach(index, axis_size(index), at, 1) && may_reach(index, at, zero, 0))
        index->view.coordinates[index->axis++] = coordinate_along(at, -1);
    else out_of_range(index, item->range, given, false);
}

/* A run of places, `step` apart. */
static int64_t step_of(Index *index, const Expression *slice) {
    int64_t step = 1;
    if (!slice->items.count) return 1;
    const Expression *expression = slice->items.items[0];
    Dim given = whole(index, expression);
    if (!given || (dim_is_constant(given, &step) && step >= 1 && step <= FACTOR_LIMIT)) return step;
    Diagnostic *d = report(index->context, E0211, expression->range,
                           "a step is a whole number from 1 up, not %s", size_text(index, given));
    if (is_negative(given)) diagnostic_help(d, "flip(x, axis) turns an axis round");
    index->broken = true;
    return 1;
}

/* (length + step - 1) / step. */
static Dim step_count(Index *index, Dim length, int64_t step) {
    int64_t known;
    Dimensions *table = table_of(index);
    if (step == 1) return length; /* also of a batch of one record */
    if (dim_is_constant(length, &known)) return dim_constant(table, (known + step - 1) / step);
    return dim_divide(table, length, dim_constant(table, step));
}

static void take_slice(Index *index, const Expression *slice) {
    Dimensions *table = table_of(index);
    Dim size = axis_size(index), zero = dim_constant(table, 0);
    Dim first = slice->left ? whole(index, slice->left) : zero;
    Dim last = slice->right ? whole(index, slice->right) : size;
    int64_t step = step_of(index, slice);
    if (index->broken) return;
    Dim given_first = first, given_last = last;
    first = from_start(index, first);
    last = from_start(index, last);
    if (!first || !may_reach(index, first, zero, 0) || !may_reach(index, size, first, 1)) {
        out_of_range(index, slice->left->range, given_first, false);
    } else if (!last || !may_reach(index, size, last, 0) || !may_reach(index, last, zero, 1)) {
        out_of_range(index, slice->right->range, given_last, true);
    } else if (!may_reach(index, last, first, 1)) {
        report(index->context, E0211, slice->range, "the slice from %s to %s is empty",
               size_text(index, first), size_text(index, last));
        index->broken = true;
    } else {
        Coordinate coordinate = coordinate_along(first, index->result.rank);
        coordinate.factors[index->result.rank] = step;
        Dim count = step_count(index, dim_subtract(table, last, first), step);
        index->broken = !count || !is_dimension(index->context, count, slice->range);
        index->view.coordinates[index->axis++] = coordinate;
        index->result.dims[index->result.rank++] = count;
    }
}

static void take_whole(Index *index) {
    Dim zero = dim_constant(table_of(index), 0);
    index->view.coordinates[index->axis] = coordinate_along(zero, index->result.rank);
    index->result.dims[index->result.rank++] = axis_size(index);
    index->axis++;
}

static void take_item(Index *index, const Expression *item, int left_over) {
    if (item->kind == EXPRESSION_slice) take_slice(index, item);
    else if (item->kind != EXPRESSION_ellipsis) take_place(index, item);
    else
        while (left_over--) take_whole(index);
}

/* At most one `...`, and no more items than axes. Returns how many axes no item is for, or -1. */
static int axes_left_over(Index *index) {
    int rank = value_type(&index->x)->rank, items = 0, rests = 0;
    vector_each(Expression *, item, index->expression->items) {
        rests += (*item)->kind == EXPRESSION_ellipsis;
        items += (*item)->kind != EXPRESSION_ellipsis;
    }
    if (rests <= 1 && items <= rank) return rank - items;
    if (rests > 1) {
        report(index->context, E0214, index->expression->range, "an index has at most one `...`");
        return -1;
    }
    Diagnostic *d = report(
        index->context, E0208, index->expression->range, "%d indices for the %d dimension%s of %s",
        items, rank, rank == 1 ? "" : "s", value_text(index->context->lowering->arena, &index->x));
    vector_each(Expression *, item, index->expression->items)
        if ((*item)->kind == EXPRESSION_name && !strcmp((*item)->name.text, "None"))
            diagnostic_help(d, "`expand(x, axis)` makes a new axis of size 1");
    return -1;
}

static Value index_tensor(const Context *context, const Expression *expression, const Value *x) {
    Index index = {.context = context, .expression = expression, .x = *x};
    if (x->graph != context->graph) {
        report_foreign(context, expression->left->range);
        return value_error;
    }
    int rank = value_type(x)->rank, left_over = axes_left_over(&index);
    if (left_over < 0) return value_error;
    index.view.rank = rank;
    vector_each(Expression *, item, expression->items)
        if (!index.broken) take_item(&index, *item, left_over);
    if (index.broken) return value_error;
    while (index.axis < rank) take_whole(&index);
    return make_view(context, x, &index.view, index.result, expression->range);
}

Value lower_index(const Context *context, const Expression *expression) {
    Value slice;
    if (lower_scanned(context, expression, &slice)) return slice;
    Value x = lower_indexed_operand(context, expression->left);
    if (x.kind == VALUE_error) return value_error;
    if (x.kind == VALUE_items) return lower_item(context, expression, &x);
    if (x.kind == VALUE_tensor && context->notation) return lower_indexed(context, expression, &x);
    if (x.kind == VALUE_tensor) return index_tensor(context, expression, &x);
    bool type = x.kind == VALUE_element;
    Diagnostic *d =
        report(context, E0203, expression->range,
               type ? "this is a type, %s[…], not a value" : "an index takes a tensor, not %s",
               value_text(context->lowering->arena, &x));
    if (type) diagnostic_help(d, "a type stands behind `:`, as in `x: f32[4]`");
    if (x.kind == VALUE_field) help_untyped(d, &x);
    return value_error;
}
