/* Axes text: the coordinate of an element along axes of its node, and sums of what such coordinates
 * add to a place. */
#include "compiler/codegen/axes_text.h"

/* The first of the last axes whose elements are the loops' columns; 0: there is none. */
static int last_axes(Writer *writer, const Type *type) {
    for (int axis = type->rank - 1; axis > 0; axis--)
        if (type_count(writer->table, type, axis, type->rank) == writer->loops->columns)
            return axis;
    return 0;
}

int column_axis(Writer *writer, const Type *node, Index index) {
    return index.row ? last_axes(writer, node) : 0;
}

/* The index as what is divided: without a sign, and of four bytes where there are no more rows or
 * columns, for which that takes a third of the time. */
static const char *divided_text(const Writer *writer, Index index) {
    const Loops *loops = writer->loops;
    const bool is_row = index.kind == INDEX_row;
    if (!is_row && index.kind != INDEX_column) return index.text;
    if (loops->kind != KERNEL_rows && loops->kind != KERNEL_columns) return index.text;
    Dim all = is_row ? dim_multiply(writer->table, loops->outer,
                                    loops->kind == KERNEL_rows ? loops->rows : loops->depth)
                     : loops->columns;
    const int64_t count = all ? dim_bound(all) : SIZE_UNKNOWN;
    if (count == SIZE_UNKNOWN || count > INT32_MAX) return index.text;
    return is_row ? "(uint32_t)r" : "(uint32_t)c";
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

static Index row_index(Writer *writer, Index index) {
    if (index.kind == INDEX_full) return plain_index(writer, INDEX_row);
    return (Index){.kind = INDEX_other, .level = LEVEL_row, .text = index.row};
}

Index run_index(Writer *writer, Dim inner, Dim count) {
    int64_t size;
    const bool is_one = dim_is_one(inner);
    if (!dim_is_constant(is_one ? count : inner, &size) || size % writer->run_lanes)
        return (Index){.text = NULL};
    const char *rest = dim_expression(writer->arena, count);
    if (!is_one)
        return define_index(
            writer, LEVEL_run,
            arena_format(writer->arena, "(uint32_t)s / %lld %% %s", (long long)size, rest));
    const Index first =
        define_index(writer, LEVEL_run, arena_format(writer->arena, "(uint32_t)s %% %s", rest));
    return define_index(writer, LEVEL_column, arena_format(writer->arena, "%s + lane", first.text));
}

Index part_index(Writer *writer, Dim inner, Dim count) {
    const Dim apart = dim_constant(writer->table, writer->apart);
    const Dim places = dim_divide(writer->table, writer->loops->columns, apart);
    if (dim_is_one(inner) && count == apart)
        return (Index){.kind = INDEX_other, .level = LEVEL_column, .text = "s"};
    if (inner == apart && count == places)
        return (Index){.kind = INDEX_other, .level = LEVEL_run, .text = "q"};
    return (Index){.text = NULL};
}

/* The axis of a view's operand that is the type's axis; -1: it is 1 long. */
static int seen_axis(Writer *writer, const Seen *seen, const Type *type, int axis) {
    const Type *operand = &node_of(writer, seen->view->inputs[0])->type;
    if (dim_is_one(type->dims[axis])) return -1;
    int own = -1;
    for (int i = 0; i <= axis; i++) {
        if (dim_is_one(type->dims[i])) continue;
        do own++;
        while (dim_is_one(operand->dims[own]));
    }
    return own;
}

/* Are the type's axes those of what the view shows, but for some of size 1? */
static bool is_seen(Writer *writer, const Seen *seen, const Type *type) {
    if (!seen) return false;
    const Type *operand = &node_of(writer, seen->view->inputs[0])->type;
    int i = 0, j = 0;
    for (;; i++, j++) {
        while (i < type->rank && dim_is_one(type->dims[i])) i++;
        while (j < operand->rank && dim_is_one(operand->dims[j])) j++;
        if (i == type->rank || j == operand->rank) break;
        if (type->dims[i] != operand->dims[j]) return false;
    }
    return i == type->rank && j == operand->rank;
}

/* The coordinate along axes `axis` to `end` - 1 of the node, as if they were one. */
static Index axes_index(Writer *writer, const Type *node, int axis, int end, Index index) {
    Dimensions *table = writer->table;
    if (is_seen(writer, index.seen, node) && axis + 1 == end) {
        const int own = seen_axis(writer, index.seen, node, axis);
        return own < 0 ? plain_index(writer, INDEX_zero) : seen_coordinate(writer, index.seen, own);
    }
    const int split = column_axis(writer, node, index);
    const bool is_row = split && axis < split;
    if (split) index = is_row ? row_index(writer, index) : plain_index(writer, INDEX_column);
    const int first = is_row ? 0 : split, last = is_row ? split : node->rank;
    const Dim count = type_count(table, node, axis, end);
    const Dim inner = type_count(table, node, end, last);
    if (dim_is_one(count)) return plain_index(writer, INDEX_zero);
    if (dim_is_one(inner) && dim_is_one(type_count(table, node, first, axis))) return index;
    if (writer->in_runs && index.kind == INDEX_column) {
        const Index run = run_index(writer, inner, count);
        if (run.text) return run;
    }
    if (writer->apart && index.kind == INDEX_column) {
        const Index part = part_index(writer, inner, count);
        if (part.text) return part;
    }
    const char *text =
        dim_is_one(inner) ? divided_text(writer, index) : quotient_text(writer, index, inner);
    if (!dim_is_one(type_count(table, node, first, axis)))
        text = arena_format(writer->arena, "%s %% %s", text, dim_expression(writer->arena, count));
    return define_index(writer, index.level, text);
}

Index axis_index(Writer *writer, const Type *node, int axis, Index index) {
    return axes_index(writer, node, axis, axis + 1, index);
}

Sum new_sum(Writer *writer) {
    Sum sum;
    for (int i = 0; i < LEVEL_count; i++) sum.parts[i] = text_new(writer->arena);
    return sum;
}

void add_part(Writer *writer, Sum *sum, Level level, const char *text, Dim factor) {
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

void add_start(Writer *writer, Sum *sum, Dim start) {
    int64_t value;
    Text *part = &sum->parts[LEVEL_call];
    if (dim_is_constant(start, &value) && !value) return;
    text_format(part, "%s%s", part->size ? " + " : "", dim_expression(writer->arena, start));
}

Index sum_index(Writer *writer, Sum *sum) {
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

/* Axes whose places follow one another evenly, as those of one would, are taken as one. */
void add_axes(Writer *writer, Sum *sum, const Type *node, const Dim *strides, int first, int last,
              Index index) {
    Dimensions *table = writer->table;
    const int split = column_axis(writer, node, index);
    const bool seen = is_seen(writer, index.seen, node);
    for (int j = first, end; j < last; j = end) {
        Dim stride = strides[j];
        for (end = j + 1; end < last && end != split && !seen; end++) {
            if (dim_is_one(node->dims[end])) continue;
            if (dim_multiply(table, strides[end], node->dims[end]) != stride) break;
            stride = strides[end];
        }
        if (stride == dim_constant(table, 0)) continue;
        Index axes = axes_index(writer, node, j, end, index);
        if (axes.kind != INDEX_zero) add_part(writer, sum, axes.level, axes.text, stride);
    }
}
