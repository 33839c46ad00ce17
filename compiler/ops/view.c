/* View: what is known of affine coordinates, and their composition. */
#include "compiler/ops/view.h"

#include <stdlib.h>

static bool is_nonnegative(Dimensions *table, Dim dim) {
    Dim negative = dim ? dim_multiply(table, dim, dim_constant(table, -1)) : NULL;
    return negative && dim_bound(negative) <= 0;
}

Dim coordinate_extreme(Dimensions *table, const Coordinate *coordinate, const Type *result,
                       bool most) {
    Dim total = coordinate->start, one = dim_constant(table, 1);
    for (int i = 0; i < result->rank && total; i++) {
        int64_t factor = coordinate->factors[i];
        if (!factor || (factor > 0) != most) continue;
        Dim last = dim_subtract(table, result->dims[i], one);
        Dim reach = last ? dim_multiply(table, last, dim_constant(table, factor)) : NULL;
        total = reach ? dim_add(table, total, reach) : NULL;
    }
    return total;
}

static bool is_whole(const Coordinate *coordinate) {
    int64_t start;
    if (coordinate->divisor == 1) return true;
    if (!dim_is_constant(coordinate->start, &start) || start % coordinate->divisor) return false;
    for (int i = 0; i < RANK_LIMIT; i++)
        if (coordinate->factors[i] % coordinate->divisor) return false;
    return true;
}

/* The coordinate goes through every place of one axis, in order. */
static bool is_whole_axis(const Coordinate *coordinate, Dim size, const Type *result) {
    int64_t start;
    int axis = -1;
    if (coordinate->divisor != 1 || !dim_is_constant(coordinate->start, &start) || start)
        return false;
    for (int i = 0; i < result->rank; i++) {
        if (!coordinate->factors[i]) continue;
        if (axis >= 0 || coordinate->factors[i] != 1 || result->dims[i] != size) return false;
        axis = i;
    }
    return axis >= 0;
}

int coordinate_guards(Dimensions *table, const Coordinate *coordinate, Dim size,
                      const Type *result) {
    if (is_whole_axis(coordinate, size, result)) return 0;
    int guards = is_whole(coordinate) ? 0 : GUARD_whole;
    if (!is_nonnegative(table, coordinate_extreme(table, coordinate, result, false)))
        guards |= GUARD_low;
    Dim end = dim_multiply(table, size, dim_constant(table, coordinate->divisor));
    Dim most = coordinate_extreme(table, coordinate, result, true);
    Dim room = end && most ? dim_subtract(table, end, most) : NULL;
    room = room ? dim_subtract(table, room, dim_constant(table, 1)) : NULL;
    if (!is_nonnegative(table, room)) guards |= GUARD_high;
    return guards;
}

bool view_is_guarded(Dimensions *table, const View *view, const Type *operand, const Type *result) {
    for (int i = 0; i < operand->rank; i++)
        if (coordinate_guards(table, &view->coordinates[i], operand->dims[i], result)) return true;
    return false;
}

Coordinate coordinate_along(Dim start, int axis) {
    Coordinate coordinate = {.start = start, .divisor = 1};
    if (axis >= 0) coordinate.factors[axis] = 1;
    return coordinate;
}

View view_identity(Dimensions *table, int rank) {
    View view = {.rank = rank};
    for (int i = 0; i < rank; i++)
        view.coordinates[i] = coordinate_along(dim_constant(table, 0), i);
    return view;
}

View view_transposition(Dimensions *table, int rank) {
    View view = view_identity(table, rank);
    Coordinate last = view.coordinates[rank - 1];
    view.coordinates[rank - 1] = view.coordinates[rank - 2];
    view.coordinates[rank - 2] = last;
    return view;
}

/* Adds factor * from to the sum. False past a limit. */
static bool add_multiple(Dimensions *table, Coordinate *sum, int64_t factor,
                         const Coordinate *from) {
    Dim start = dim_multiply(table, from->start, dim_constant(table, factor));
    sum->start = start ? dim_add(table, sum->start, start) : NULL;
    for (int i = 0; i < RANK_LIMIT && sum->start; i++) {
        sum->factors[i] += factor * from->factors[i];
        if (llabs(sum->factors[i]) > FACTOR_LIMIT) return false;
    }
    return sum->start != NULL;
}

bool view_compose(Dimensions *table, const View *outer, const View *inner, View *composed) {
    *composed = (View){.rank = inner->rank, .fill = inner->fill};
    for (int i = 0; i < inner->rank; i++) {
        const Coordinate *from = &inner->coordinates[i];
        Coordinate *to = &composed->coordinates[i];
        *to = (Coordinate){.start = from->start, .divisor = from->divisor};
        for (int j = 0; j < outer->rank; j++)
            if (from->factors[j] &&
                !add_multiple(table, to, from->factors[j], &outer->coordinates[j]))
                return false;
    }
    return true;
}

/* Text. */

static void print_term(int64_t factor, int axis, bool first, Text *text) {
    if (first) text_add(text, factor < 0 ? "-" : "");
    else text_add(text, factor < 0 ? " - " : " + ");
    if (llabs(factor) != 1) text_format(text, "%lld*", (long long)llabs(factor));
    text_format(text, "i%d", axis);
}

/* A start by itself must not look like the dividend of a divisor. */
static void print_start(Dim start, bool first, Text *text) {
    int64_t value;
    const char *shown = dim_text(text->arena, start);
    if (first) text_format(text, "%s%s", *shown == '(' ? "0 + " : "", shown);
    else if (*shown == '-') text_format(text, " - %s", shown + 1);
    else if (!dim_is_constant(start, &value) || value) text_format(text, " + %s", shown);
}

static void print_coordinate(const Coordinate *coordinate, Text *text) {
    bool first = true;
    if (coordinate->divisor != 1) text_add(text, "(");
    for (int i = 0; i < RANK_LIMIT; i++) {
        if (!coordinate->factors[i]) continue;
        print_term(coordinate->factors[i], i, first, text);
        first = false;
    }
    print_start(coordinate->start, first, text);
    if (coordinate->divisor != 1) text_format(text, ")/%lld", (long long)coordinate->divisor);
}

void view_print(const View *view, Text *text) {
    text_add(text, "[");
    for (int i = 0; i < view->rank; i++) {
        if (i) text_add(text, ", ");
        print_coordinate(&view->coordinates[i], text);
    }
    text_add(text, "]");
}
