/* Reduction text: results that lie side by side in an array grow by one element of each at a time.
 * A reduction that gives an index also keeps the best element so far, `zN`. */
#include "compiler/codegen/writer.h"

static const char *initial_value(const Node *node) {
    Element element = is_half(node->type.element) ? TYPE_f32 : node->type.element;
    const char *initial = op_info[node->op].initial;
    static const char *const lowest[ELEMENT_COUNT] = {[TYPE_u8] = "0",
                                                      [TYPE_i8] = "INT8_MIN",
                                                      [TYPE_i32] = "INT32_MIN",
                                                      [TYPE_i64] = "INT64_MIN",
                                                      [TYPE_f32] = "-__builtin_inff()",
                                                      [TYPE_f64] = "-__builtin_inf()"};
    static const char *const highest[ELEMENT_COUNT] = {
        [TYPE_u8] = "UINT8_MAX",  [TYPE_i8] = "INT8_MAX",          [TYPE_i32] = "INT32_MAX",
        [TYPE_i64] = "INT64_MAX", [TYPE_f32] = "__builtin_inff()", [TYPE_f64] = "__builtin_inf()"};
    if (!strcmp(initial, "lowest")) return lowest[element];
    return strcmp(initial, "highest") ? initial : highest[element];
}

bool gives_index(const Node *node) {
    return op_info[node->op].gives == GIVES_index;
}

const char *first_value(const Node *node) {
    return gives_index(node) ? "-1" : initial_value(node);
}

static const char *result_text(Writer *writer, char prefix, NodeId id, const char *place) {
    return arena_format(writer->arena, "%c%u[%s]", prefix, number_of(writer, id), place);
}

void declare_results(Writer *writer, Text *text, NodeId id, const char *size, const char *place,
                     const char *count) {
    const Node *node = node_of(writer, id);
    Element element = node_of(writer, node->inputs[0])->type.element;
    unsigned y = number_of(writer, id);
    text_format(text, "        _Alignas(64) %s y%u[%s];\n",
                element_info[node->type.element].computed, y, size);
    if (gives_index(node))
        text_format(text, "        _Alignas(64) %s z%u[%s] = {0};\n",
                    element_info[element].computed, y, size);
    text_format(text,
                "        for (int64_t %s = 0; %s < %s; %s++) y%u[%s] = %s;\n"
                "        FLOW_UNKNOWN(y%u);\n",
                place, place, count, place, y, place, first_value(node), y);
}

void write_reduction_step(Writer *writer, NodeId id, const char *place, const char *number) {
    const Node *node = node_of(writer, id);
    const char *a = value_of(writer, node->inputs[0], plain_index(writer, INDEX_full));
    const char *y = result_text(writer, 'y', id, place), *z = result_text(writer, 'z', id, place);
    const char *operands[] = {a, "", ""}, *before = gives_index(node) ? z : y;
    const char *next = formula_text(writer, node, operands, before, "");
    if (!gives_index(node)) {
        text_format(&writer->stores, "%s = %s;\n", y, next);
        return;
    }
    text_format(&writer->stores,
                "%s = ((%s < 0) | (%s)) ? (int32_t)%s : %s;\n"
                "%s = %s == (int32_t)%s ? %s : %s;\n",
                y, y, next, number, y, z, y, number, a, z);
}

void write_partial_results(Writer *writer, NodeId id, const char *size) {
    const Node *node = node_of(writer, id);
    const char *y = result_text(writer, 'y', id, arena_format(writer->arena, "k * %s + j", size));
    const char *a =
        result_text(writer, 'y', id, arena_format(writer->arena, "(k + half) * %s + j", size));
    const char *operands[] = {a, "", ""};
    text_format(&writer->stores, "%s = %s;\n", y, formula_text(writer, node, operands, y, ""));
}

const char *result_value(Writer *writer, NodeId id, Index index, const char *place) {
    const char *y = writer->gpu ? arena_format(writer->arena, "y%u", number_of(writer, id))
                                : result_text(writer, 'y', id, place);
    if (gives_index(node_of(writer, id))) y = arena_format(writer->arena, "max(%s, 0)", y);
    return define_value(writer, id, index, y);
}
