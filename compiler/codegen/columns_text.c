/* Columns text: reductions over an axis that others follow. A thread takes a run of outputs, which
 * lie side by side in every row of the operand: it goes down the rows and keeps a sum `yN` for each
 * of the run's columns. */
#include "compiler/codegen/writer.h"

const char columns_part[] = "256";

static void declare_column_sums(Writer *writer, Text *text) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_reduction(writer, writer->kernel->nodes[at]))
            declare_results(writer, text, writer->kernel->nodes[at], columns_part, "j", "count");
}

static void write_sums(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_reduction(writer, writer->kernel->nodes[at]))
            write_reduction_step(writer, writer->kernel->nodes[at], "j", "d");
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
                "%s);\n",
                writer.columns, writer.columns, columns_part);
    text_add(text, text_string(&writer.body));
    text_add(text, "    }\n");
    write_tail(&writer, text);
    return writer.operands;
}
