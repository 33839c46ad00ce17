/* Columns text: reductions over an axis that others follow. A thread takes a run of outputs, which
 * lie side by side in every row of the operand: it goes down the rows and keeps a sum `yN` for each
 * of the run's columns. */
#include "compiler/codegen/writer.h"

enum { COLUMN_PART = 256 /* outputs of a run */ };

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

static void write_column_step(Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    const char *a = value_of(writer, node->inputs[0], plain_index(writer, INDEX_full));
    Text *stores = &writer->stores;
    unsigned y = number_of(writer, id);
    bool best = op_info[node->op].gives == GIVES_index;
    const char *before = arena_format(writer->arena, best ? "z%u[j]" : "y%u[j]", y);
    const char *next = formula_text(writer, node, (const char *const[]){a, "", ""}, before, "");
    if (!best) {
        text_format(stores, "y%u[j] = %s;\n", y, next);
        return;
    }
    text_format(stores,
                "y%u[j] = d == 0 || %s ? (int32_t)d : y%u[j];\n"
                "z%u[j] = y%u[j] == (int32_t)d ? %s : z%u[j];\n",
                y, next, y, y, y, a, y);
}

static void declare_column_sums(Writer *writer, Text *text) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!is_reduction(writer, id)) continue;
        const Node *node = node_of(writer, id);
        const char *type = element_info[node->type.element].computed;
        unsigned y = number_of(writer, id);
        text_format(text, "        _Alignas(64) %s y%u[%d];\n", type, y, COLUMN_PART);
        if (op_info[node->op].gives == GIVES_index)
            text_format(text, "        %s z%u[%d] = {0};\n",
                        element_info[node_of(writer, node->inputs[0])->type.element].computed, y,
                        COLUMN_PART);
        text_format(text, "        for (int64_t j = 0; j < count; j++) y%u[j] = %s;\n", y,
                    initial_value(node));
    }
}

static void write_sums(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_reduction(writer, writer->kernel->nodes[at]))
            write_column_step(writer, writer->kernel->nodes[at]);
    const char *depth = dim_expression(writer->arena, writer->loops->depth);
    Text *body = &writer->body;
    declare_column_sums(writer, body);
    text_format(body,
                "        for (int64_t d = 0; d < %s; d++) {\n"
                "            const int64_t r = output / %s * %s + d;\n",
                depth, writer->columns, depth);
    move_lines(writer, &writer->lines[LEVEL_row], body, 3);
    text_format(body,
                "            for (int64_t j = 0; j < count; j++) {\n"
                "                const int64_t c = output %% %s + j, i = r * %s + c;\n"
                "                (void)i;\n",
                writer->columns, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], body, 4);
    move_lines(writer, &writer->stores, body, 4);
    text_add(body, "            }\n        }\n");
}

static void write_outputs(Writer *writer) {
    next_scope(writer, LEVEL_row);
    store_values(writer, INDEX_output);
    Text *body = &writer->body;
    text_add(body, "        for (int64_t j = 0; j < count; j++) {\n"
                   "            const int64_t o = output + j;\n");
    move_lines(writer, &writer->lines[LEVEL_column], body, 3);
    move_lines(writer, &writer->stores, body, 3);
    text_add(body, "        }\n");
}

KernelOperands write_columns_kernel(Text *text, const FunctionPlan *plan, int kernel,
                                    const char *name) {
    Writer writer = new_writer(text->arena, plan, kernel, name);
    write_sums(&writer);
    write_outputs(&writer);
    write_head(&writer, text);
    text_format(text,
                "    for (int64_t output = first, count; output < last; output += count) {\n"
                "        count = flow_smaller(flow_smaller(last - output, %s - output %% %s), "
                "%d);\n",
                writer.columns, writer.columns, COLUMN_PART);
    text_add(text, text_string(&writer.body));
    text_add(text, "    }\n");
    write_tail(&writer, text);
    return writer.operands;
}
