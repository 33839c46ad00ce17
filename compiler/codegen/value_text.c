/* Value text: one element of a node as C. It is loaded, or computed from its operands' elements
 * by the op's formula, at the level of its index; a second wish for it finds the variable. */
#include "compiler/codegen/writer.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/templates/loops.h"

#include <math.h>
#include <string.h>

enum { SHORT_COLUMNS = 16 };

/* Is it a choice in a loop over a row that is too short for vectors? */
static bool is_short_choice(const Writer *writer, const Node *node) {
    int64_t columns;
    return node->op == OP_select && node->type.element == TYPE_f32 && writer->loops &&
           !writer->gpu && writer->loops->kind == KERNEL_rows && !writer->flat && !writer->lanes &&
           !writer->narrow && dim_is_constant(writer->loops->columns, &columns) &&
           columns < SHORT_COLUMNS;
}

const char *formula_text(Writer *writer, const Node *node, const char *const *operands,
                         const char *y, const char *index) {
    Text text = text_new(writer->arena);
    if (is_short_choice(writer, node))
        return arena_format(writer->arena, "flow_choose(%s, %s, %s)", operands[0], operands[1],
                            operands[2]);
    for (const char *c = op_info[node->op].formula; *c;) {
        size_t size = 0;
        while (is_word(c[size])) size++;
        if (!size) {
            text_add_bytes(&text, c++, 1);
            continue;
        }
        if (size == 1 && *c >= 'a' && *c <= 'c') text_add(&text, operands[*c - 'a']);
        else if (size == 1 && *c == 'y') text_add(&text, y);
        else if (size == 5 && !memcmp(c, "index", 5)) text_add(&text, index);
        else if (size == 6 && !memcmp(c, "stream", 6))
            text_add(&text, number_operand(writer, node->stream));
        else text_add_bytes(&text, c, size);
        c += size;
    }
    return text_string(&text);
}

static void note_whole(Writer *writer, const char *name) {
    vector_each(Pointer, pointer, writer->pointers)
        if (!strcmp(pointer->name, name)) pointer->whole = true;
}

static const char *buffer_index(const Writer *writer) {
    return writer->lanes ? "at" : "j";
}

/* A tile's pointer, which is read at another element, stays where it is. */
static void note_apart(Writer *writer, const char *name) {
    vector_each(Pointer, pointer, writer->pointers) pointer->apart |= !strcmp(pointer->name, name);
}

static const char *as_computed(Writer *writer, Element element, const char *stored) {
    if (!is_half(element)) return stored;
    return arena_format(writer->arena, "flow_load_%s(%s)", element_info[element].name, stored);
}

const char *load_text(Writer *writer, NodeId id, const char *index) {
    Element element = node_of(writer, id)->type.element;
    const char *pointer = pointer_to(writer, id, false);
    if (strcmp(index, "i")) note_apart(writer, pointer);
    if (!strcmp(index, "i")) {
        note_whole(writer, pointer);
        if (is_widened(writer, id, index)) return widened_load(writer, pointer);
        if (writer->lanes) {
            pointer = arena_format(writer->arena, "rows_%s", pointer);
            index = "at";
        }
    }
    const char *stored = writer->gpu
                             ? arena_format(writer->arena, "FLOW_LOAD(%s, %s)", pointer, index)
                             : arena_format(writer->arena, "%s[%s]", pointer, index);
    return as_computed(writer, element, stored);
}

/* Was its value rounded when it was defined? */
static bool is_rounded(const Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    const LoopClass class = op_info[node->op].class;
    if (class != LOOP_move) return class == LOOP_elementwise || class == LOOP_contract;
    return (node->op != OP_view || node->view->fill == 0) && is_rounded(writer, node->inputs[0]);
}

const char *store_text(Writer *writer, NodeId id, const char *index, const char *value) {
    Element element = node_of(writer, id)->type.element;
    const char *pointer = pointer_to(writer, id, true);
    if (writer->vectors) return vector_store(writer, id, value);
    if (is_streamed(writer, id) || (writer->lanes && !strcmp(index, "i"))) {
        pointer = arena_format(writer->arena, "o%u", number_of(writer, id));
        index = buffer_index(writer);
    }
    bool exact = element == TYPE_bf16 && is_rounded(writer, id);
    if (is_half(element))
        value = arena_format(writer->arena, "flow_%s_%s(%s)", exact ? "bits" : "store",
                             element_info[element].name, value);
    if (writer->gpu)
        return arena_format(writer->arena, "FLOW_STORE(%s, %s, %s);\n", pointer, index, value);
    return arena_format(writer->arena, "%s[%s] = %s;\n", pointer, index, value);
}

const char *define_value(Writer *writer, NodeId id, Index index, const char *expression) {
    const ElementInfo *info = &element_info[node_of(writer, id)->type.element];
    if (writer->vectors && index.level == LEVEL_column)
        return define_variable(writer, id, index, vector_type(node_of(writer, id)), expression);
    if (is_half(node_of(writer, id)->type.element))
        expression = arena_format(writer->arena, "flow_round_%s(%s)", info->name, expression);
    return define_variable(writer, id, index, info->computed, expression);
}

/* What stands at a place of a value: in memory it is not looked at outside; what is computed is
 * computed for another place instead. */
static const char *value_inside(Writer *writer, NodeId id, Index place, Index inside) {
    id = strip_reshapes(writer->graph, id);
    if (node_of(writer, id)->op == OP_constant) return value_of(writer, id, place);
    if (writer->plan->places[id].kind != PLACE_none) return load_text(writer, id, place.text);
    return value_of(writer, id, index_inside(writer, place, inside));
}

static bool fills_with_zeros(const Node *view) {
    return view->view->fill == 0 && !signbit(view->view->fill);
}

/* May rows of the view be read where a row of what fills it lies? Zeros are there for all; others
 * stand in the function that has the loops, which is one for kernels of rows or columns. */
static bool has_row_outside(const Writer *writer, const Node *view, NodeId operand) {
    int64_t columns;
    return (!is_half(view->type.element) || fills_with_zeros(view)) && !writer->gpu &&
           writer->loops && !writer->lanes && writer->plan->places[operand].kind != PLACE_none &&
           dim_is_constant(writer->loops->columns, &columns) &&
           columns * element_info[view->type.element].size <= FLOW_OUTSIDE &&
           (fills_with_zeros(view) || writer->loops->kind == KERNEL_rows ||
            writer->loops->kind == KERNEL_columns);
}

/* Where that row lies. */
static const char *row_outside(Writer *writer, const Node *view) {
    const char *type = element_info[view->type.element].c;
    if (fills_with_zeros(view))
        return arena_format(writer->arena, "(const %s *)flow_outside", type);
    return define_row(writer, type, dim_bound(writer->loops->columns),
                      number_literal(writer->arena, view->type.element, view->view->fill));
}

/* An element of a row, or of a run, that is inside or outside as a whole: it is read where the row
 * lies, or where what fills the view does, without a test in the loop. NULL: it is not one. */
static const char *element_of_row(Writer *writer, NodeId view_id, Index index) {
    const Node *view = node_of(writer, view_id);
    InRow row;
    Index inside;
    NodeId id = strip_reshapes(writer->graph, view->inputs[0]);
    if (!has_row_outside(writer, view, id) || !view_row(writer, view, index, &row, &inside))
        return NULL;
    const char *type = element_info[view->type.element].c;
    const char *pointer = pointer_to(writer, id, false), *outside = row_outside(writer, view);
    const char *start = arena_format(writer->arena, "%s ? %s + %s : %s", inside.text, pointer,
                                     row.start.text, outside);
    const char *at =
        arena_format(writer->arena, "row at %s, else %.17g", row.start.text, view->view->fill);
    const Index known = {.kind = INDEX_other, .level = row.start.level, .text = at};
    const char *name = find_variable(writer, id, known.level, known.text);
    if (!name)
        name = define_variable(writer, id, known, arena_format(writer->arena, "%s *", type), start);
    const bool copies = writer->narrow && has_all_columns(&row);
    const char *stored = copies ? narrow_copy(writer, type, name)
                                : arena_format(writer->arena, "%s[%s]", name, row.column);
    const char *value = as_computed(writer, view->type.element, stored);
    return writer->narrow && !copies ? narrow_value(writer, view_id, index, value) : value;
}

static const char *viewed(Writer *writer, NodeId id, Index index) {
    const Node *node = node_of(writer, id);
    writer->refused = true; /* vectors have no tests, and rows of a view other strides */
    Element element = node->type.element;
    const char *of_row = element_of_row(writer, id, index);
    if (of_row && is_half(element)) /* as it was rounded before */
        return define_variable(writer, id, index, element_info[element].computed, of_row);
    if (of_row) return define_value(writer, id, index, of_row);
    Index inside, place = view_index(writer, node, index, &inside);
    const char *across = inside.text ? NULL : element_across(writer, node, index);
    if (across) return define_value(writer, id, index, across);
    if (!inside.text) return value_of(writer, node->inputs[0], place);
    const char *value = number_literal(writer->arena, element, node->view->fill);
    if (strcmp(inside.text, NOWHERE) != 0)
        value = arena_format(writer->arena, "%s ? %s : %s", inside.text,
                             value_inside(writer, node->inputs[0], place, inside), value);
    index.level = place.level > inside.level ? place.level : inside.level;
    if (writer->narrow) {
        value = narrow_value(writer, id, index, value);
        index.level = LEVEL_column;
    }
    return define_variable(writer, id, index, element_info[element].computed, value);
}

/* NULL: as C converts. A negative number is no uint8_t, and C leaves it to the processor what
 * becomes of it; so it goes through an int32_t. gcc makes no vectors of comparisons that are
 * converted to floating numbers, but of choices. */
static const char *cast_text(Writer *writer, const Node *node, const char *operand) {
    Element from = node_of(writer, node->inputs[0])->type.element, element = node->type.element;
    if (element == TYPE_bool) return arena_format(writer->arena, "%s != 0", operand);
    if (from == TYPE_bool && is_floating(element))
        return arena_format(writer->arena, "%s ? %s : %s", operand,
                            number_literal(writer->arena, element, 1),
                            number_literal(writer->arena, element, 0));
    if (element != TYPE_u8) return NULL;
    return arena_format(writer->arena, "(int32_t)%s", operand);
}

/* The element's place in the tensor of the whole batch, of which a replica has a share. */
static Index place_in_whole(Writer *writer, const Node *node, Index index) {
    const int axis = type_batch_axis(&node->type);
    if (!writer->gpu || writer->graph->wishes.replicas < 2 || axis < 0) return index;
    Dim each =
        dim_divide(writer->table, type_count(writer->table, &node->type, axis, node->type.rank),
                   writer->graph->batch);
    return define_index(writer, index.level,
                        arena_format(writer->arena, "flow_in_whole(&arguments, %s, %s)", index.text,
                                     dim_expression(writer->arena, each)));
}

/* What it is divided by, wherever that is moved to. */
static NodeId divisor_of(const Writer *writer, const Node *quotient) {
    NodeId by = strip_reshapes(writer->graph, quotient->inputs[1]);
    while (op_info[node_of(writer, by)->op].class == LOOP_move)
        by = strip_reshapes(writer->graph, node_of(writer, by)->inputs[0]);
    return by;
}

/* Is it divided, in a loop over a row, by the row's sum, or a root? A GPU takes a dozen
 * instructions for that. What is read, also as the largest of a row, may be as large, or as small,
 * as one pleases. */
static bool is_by_row(Writer *writer, const Node *node, Index index) {
    const bool of_rows =
        writer->depths || (writer->kernel->attention && writer->loops->kind == KERNEL_rows);
    if (!writer->gpu || !of_rows || writer->graph->wishes.exact || node->op != OP_divide ||
        node->type.element != TYPE_f32 || index.level != LEVEL_column ||
        operand_index_text(writer, node, 1, index).level != LEVEL_row)
        return false;
    const Op by = node_of(writer, divisor_of(writer, node))->op;
    return by == OP_sum || by == OP_sqrt;
}

/* The reciprocal is found once. */
static const char *quotient_by_row(Writer *writer, const Node *node, const char *const *operands) {
    const NodeId by = divisor_of(writer, node);
    const Index index = {.kind = INDEX_other,
                         .level = LEVEL_row,
                         .text = arena_format(writer->arena, "1.0f / %s", operands[1])};
    const char *part = find_variable(writer, by, LEVEL_row, index.text);
    if (!part) part = define_variable(writer, by, index, "float", index.text);
    return arena_format(writer->arena, "%s * %s", operands[0], part);
}

/* Is it the old value of a weight, which no other node of the kernel wants? Halves are widened
 * where they are loaded. */
static bool is_old_alone(const Writer *writer, const Node *keep) {
    const NodeId old = strip_reshapes(writer->graph, keep->inputs[2]);
    const Node *weight = node_of(writer, old);
    if (weight->op != OP_weight || is_half(weight->type.element)) return false;
    int readers = 0;
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        const Node *node = node_of(writer, writer->kernel->nodes[at]);
        for (int i = 0; i < node->input_count; i++)
            readers += strip_reshapes(writer->graph, node->inputs[i]) == old;
    }
    return readers == 1;
}

/* A GPU loads it where the new one may not be kept. */
static const char *old_value(Writer *writer, NodeId id, Index index) {
    const NodeId old = strip_reshapes(writer->graph, id);
    return arena_format(writer->arena, "FLOW_LATE(%s, %s)", pointer_to(writer, old, false),
                        index.text);
}

static const char *computed(Writer *writer, NodeId id, Index index) {
    const Node *node = node_of(writer, id);
    if (op_info[node->op].class == LOOP_generate) index = place_in_whole(writer, node, index);
    if (node->op == OP_view) return viewed(writer, id, index);
    const char *operands[ARITY_LIMIT] = {"", "", ""};
    if (node->op == OP_gather) return gathered_value(writer, node, index);
    for (int i = 0; i < node->input_count; i++) {
        Index inner = op_info[node->op].class == LOOP_generate
                          ? plain_index(writer, INDEX_zero)
                          : operand_index_text(writer, node, i, index);
        const bool late =
            writer->gpu && node->op == OP_keep && i == 2 && is_old_alone(writer, node);
        const char *repeated = repeated_value(writer, node->inputs[i], inner);
        operands[i] = late       ? old_value(writer, node->inputs[i], inner)
                      : repeated ? repeated
                                 : value_of(writer, node->inputs[i], inner);
    }
    if (op_info[node->op].class == LOOP_move) return operands[0];
    bool vector = writer->vectors && index.level == LEVEL_column;
    const char *expression = node->op == OP_keep ? kept_value(writer, id, operands)
                             : vector            ? vector_formula(writer, node, operands)
                             : is_by_row(writer, node, index)
                                 ? quotient_by_row(writer, node, operands)
                                 : formula_text(writer, node, operands, "", index.text);
    const char *cast = node->op == OP_cast ? cast_text(writer, node, operands[0]) : NULL;
    return define_value(writer, id, index, cast ? cast : expression);
}

static const char *uniform_sum(Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    Index zero = plain_index(writer, INDEX_zero);
    NodeId summand = strip_reshapes(writer->graph, node->inputs[0]);
    if (node_of(writer, summand)->op == OP_broadcast) summand = node_of(writer, summand)->inputs[0];
    const Type *summed = &node_of(writer, node->inputs[0])->type;
    const char *type = element_info[node->type.element].computed;
    const char *a = value_of(writer, summand, zero);
    Dim total = type_elements(writer->table, summed);
    Dim kept = type_elements(writer->table, &node->type);
    Dim count = dim_divide(writer->table, total, kept);
    return define_value(
        writer, id, zero,
        arena_format(writer->arena, "%s * (%s)%s", a, type, dim_expression(writer->arena, count)));
}

static const char *sum_of_tile(Writer *writer, NodeId id) {
    if (writer->gpu) return "sum";
    if (writer->vectors) return "sums";
    if (!writer->narrow) return "tile[m * stride + n]";
    return narrow_copy(writer, element_info[node_of(writer, id)->type.element].computed,
                       "tile + (r - first_row) * stride");
}

/* A float of a loop over columns that may lie outside: a test before the load can be a mask of a
 * vector, another place would be a gather. */
static bool is_tested(const Writer *writer, NodeId id, Index index) {
    return index.test && index.level == LEVEL_column && !writer->gpu &&
           is_floating(node_of(writer, id)->type.element);
}

/* An element of narrow rows, by a copy of where it lies. */
static const char *narrow_load(Writer *writer, NodeId id, Index index) {
    const Element element = node_of(writer, id)->type.element;
    const char *row =
        arena_format(writer->arena, "%s + %s", pointer_to(writer, id, false), index.begin);
    return as_computed(writer, element, narrow_copy(writer, element_info[element].c, row));
}

static const char *loaded(Writer *writer, NodeId id, Index index) {
    if (writer->vectors && index.level == LEVEL_column)
        return define_variable(writer, id, index, vector_type(node_of(writer, id)),
                               vector_load(writer, id, index));
    const bool tested = is_tested(writer, id, index);
    const char *value = load_text(writer, id, tested ? index.place : index.text);
    if (tested) value = arena_format(writer->arena, "%s ? %s : 0", index.test, value);
    const char *type = is_widened(writer, id, index.text)
                           ? "int32_t"
                           : element_info[node_of(writer, id)->type.element].computed;
    if (writer->narrow && index.kind != INDEX_full && index.level != LEVEL_call) {
        value =
            index.begin ? narrow_load(writer, id, index) : narrow_value(writer, id, index, value);
        index.level = LEVEL_column;
    }
    return define_variable(writer, id, index, type, value);
}

/* What was stored in a loop over the row before this one is read again, what was not is computed
 * again: the threads of a row keep nothing of it. */
static const char *value_again(Writer *writer, NodeId id, Index index) {
    if (is_stored(writer, id)) return loaded(writer, id, index);
    return computed(writer, id, index);
}

static const char *own_value(Writer *writer, NodeId id, Index index) {
    const Node *node = node_of(writer, id);
    const char *type = element_info[node->type.element].computed;
    if (node->op == OP_matmul) return define_value(writer, id, index, sum_of_tile(writer, id));
    if (is_known(writer, id)) return loaded(writer, id, index);
    if (op_info[node->op].class == LOOP_reduce) return result_value(writer, id, index, "j");
    size_t at = place_in_kernel(writer, id);
    if (index.kind == INDEX_full && writer->depths && writer->depths[at] < writer->stage)
        return writer->gpu
                   ? value_again(writer, id, index)
                   : define_variable(writer, id, index, type,
                                     arena_format(writer->arena, "t%u[%s]", number_of(writer, id),
                                                  buffer_index(writer)));
    return computed(writer, id, index);
}

/* Kernels that run once take their numbers as operands, so that fewer have to be compiled. */
static bool takes_number(const Writer *writer, const Node *constant) {
    const Element element = constant->type.element;
    return writer->plan->function->once && writer->number != NO_KERNEL && !writer->gpu &&
           (element == TYPE_f32 || element == TYPE_f64);
}

static const char *constant_value(Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    const Index call = {.kind = INDEX_other, .level = LEVEL_call, .text = ""};
    const Element element = node->type.element;
    if (!takes_number(writer, node)) return number_literal(writer->arena, element, node->number);
    const char *known = find_variable(writer, id, call.level, call.text);
    if (known) return known;
    const char *number =
        arena_format(writer->arena, "flow_number(%s)", passed_real(writer, node->number));
    return define_variable(writer, id, call, element_info[element].computed, number);
}

const char *value_of(Writer *writer, NodeId id, Index index) {
    id = strip_reshapes(writer->graph, id);
    const Node *node = node_of(writer, id);
    if (node->op == OP_constant) return constant_value(writer, id);
    const char *known = find_variable(writer, id, index.level, index.text);
    if (known) return known;
    if (node->kernel != NO_KERNEL && node->kernel == writer->number)
        return own_value(writer, id, index);
    if (writer->plan->places[id].kind != PLACE_none) return loaded(writer, id, index);
    return is_uniform_sum(writer->graph, node) ? uniform_sum(writer, id)
                                               : computed(writer, id, index);
}

void store_value(Writer *writer, NodeId id, Index index) {
    const char *value = value_of(writer, id, index);
    text_add(&writer->stores, store_text(writer, id, index.text, value));
}

void store_values(Writer *writer, IndexKind kind) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_stored(writer, writer->kernel->nodes[at]))
            store_value(writer, writer->kernel->nodes[at], plain_index(writer, kind));
}
