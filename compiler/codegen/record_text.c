/* Record text: the function that runs on each record of a pipeline, by itself and in one thread.
 * Facts that a pipeline claims about its records are checked there, after the kernels. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/names.h"

/* A loop over the elements of the check's operand that returns `failure` when one is out of
 * range. */
static void write_check(Text *text, const FunctionPlan *plan, NodeId id, int failure) {
    Writer writer = new_writer(text->arena, plan, NO_KERNEL, "check");
    const Node *check = graph_node(plan->graph, id);
    const Type *type = &check->type;
    Loops loops = {KERNEL_rows, dim_constant(writer.table, 1), type_elements(writer.table, type),
                   dim_constant(writer.table, 1), dim_constant(writer.table, 1)};
    writer.loops = &loops;
    const char *value = value_of(&writer, check->inputs[0], plain_index(&writer, INDEX_full));
    text_add(text, "    {\n");
    Text inner = text_new(text->arena);
    declare_pointers(&writer, &inner);
    move_lines(&writer, &inner, text, 1);
    move_lines(&writer, &writer.lines[LEVEL_call], text, 2);
    move_lines(&writer, &writer.lines[LEVEL_row], text, 2);
    text_format(text, "        for (int64_t i = 0; i < %s; i++) {\n",
                dim_expression(text->arena, loops.rows));
    move_lines(&writer, &writer.lines[LEVEL_column], text, 3);
    text_format(text, "            if (!(%s >= %s && %s < %s)) return %d;\n        }\n    }\n",
                value, number_literal(text->arena, type->element, (double)check->low), value,
                number_literal(text->arena, type->element, (double)check->high), failure);
}

static void write_record_pointers(Text *text, const FunctionPlan *plan) {
    text_add(text, "    const void *const pointers[] = {");
    for (int i = 0; i < field_count(plan); i++) text_format(text, "fields[%d], ", i);
    for (size_t i = 0; i < plan->graph->outputs.count; i++) text_format(text, "outputs[%zu], ", i);
    text_add(text, "NULL};\n");
}

/* A value that goes to two outputs is computed once and copied. */
static void write_repeated_outputs(Text *text, const FunctionPlan *plan) {
    int index = 0;
    vector_each(Output, output, plan->graph->outputs) {
        NodeId source = strip_reshapes(plan->graph, output->value);
        int first = plan->places[source].index;
        const Type *type = &graph_node(plan->graph, source)->type;
        if (first != index)
            text_format(
                text, "    __builtin_memcpy(outputs[%d], outputs[%d], (size_t)(%s * %d));\n", index,
                first, dim_expression(text->arena, type_elements(plan->graph->dimensions, type)),
                element_info[type->element].size);
        index++;
    }
}

void write_record_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                           const char *prefix) {
    text_format(text,
                "static int %s(char *memory, const int64_t *sizes, const void *const *fields, "
                "void *const *outputs) {\n",
                prefix);
    write_record_pointers(text, plan);
    text_add(
        text,
        "    const FlowFrame record = {memory, pointers, 1, NULL, sizes, NULL}, *frame = &record;\n"
        "    const int thread = 0, threads = 1;\n"
        "    const int64_t batch = 1;\n"
        "    (void)frame, (void)thread, (void)threads, (void)fields, (void)batch;\n");
    write_named_calls(text, kernels, plan);
    int failure = 0;
    for (NodeId id = 0; id < plan->graph->nodes.count; id++)
        if (graph_node(plan->graph, id)->op == OP_check) write_check(text, plan, id, ++failure);
    write_repeated_outputs(text, plan);
    text_add(text, "    return 0;\n}\n\n");
}
