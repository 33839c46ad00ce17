/* Record text: the function that makes records of a pipeline, one after the other in one thread.
 * Facts that a pipeline claims about its records are checked there, after the kernels. A processor
 * has a few places for lines that it waits for, so the fields of a record to come are asked for in
 * halves: while those of the first half come, the kernels run. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/names.h"

/* A loop over the elements of the check's operand that returns when one is out of range. index: of
 * the check. */
static void write_check(Text *text, const FunctionPlan *plan, NodeId id, int index) {
    Arena *arena = text->arena;
    Writer writer = new_writer(arena, plan, NO_KERNEL);
    Text marked = text_new(arena);
    const Node *check = graph_node(plan->graph, id);
    const Type *type = &check->type;
    Loops loops = {KERNEL_rows, dim_constant(writer.table, 1), type_elements(writer.table, type),
                   dim_constant(writer.table, 1), dim_constant(writer.table, 1)};
    writer.loops = &loops;
    const char *value = value_of(&writer, check->inputs[0], plain_index(&writer, INDEX_full));
    text_add(&marked, "    {\n");
    Text inner = text_new(arena);
    declare_pointers(&writer, &inner);
    move_lines(&writer, &inner, &marked, 1);
    move_lines(&writer, &writer.lines[LEVEL_call], &marked, 2);
    move_lines(&writer, &writer.lines[LEVEL_row], &marked, 2);
    text_format(&marked, "        for (int64_t i = 0; i < %s; i++) {\n",
                dim_expression(arena, loops.rows));
    move_lines(&writer, &writer.lines[LEVEL_column], &marked, 3);
    bool whole = element_info[type->element].class != CLASS_floating;
    text_format(&marked,
                "            if (%s >= %s && %s < %s) continue;\n"
                "            *unmet = (FlowUnmet){%d, %s = %s};\n"
                "            return false;\n        }\n    }\n",
                value, number_literal(arena, type->element, (double)check->low), value,
                number_literal(arena, type->element, (double)check->high), index,
                whole ? "true, .whole" : "false, .real", value);
    text_add(text, with_hints(arena, text_string(&marked), "check"));
}

const char *record_bytes(Arena *arena, const FunctionPlan *plan, const Type *type) {
    return arena_format(arena, "(int64_t)(%s * %d)",
                        dim_expression(arena, type_elements(plan->graph->dimensions, type)),
                        element_info[type->element].size);
}

void write_record_places(Text *text, const FunctionPlan *plan) {
    int index = 0;
    text_add(text, "        const void *const places[] = {");
    for (int i = 0; i < field_count(plan); i++) text_format(text, "fields[%d], ", i);
    vector_each(Output, output, plan->graph->outputs) {
        const Type *type = &graph_node(plan->graph, output->value)->type;
        text_format(text, "(char *)rows->outputs[%d] + row * %s, ", index++,
                    record_bytes(text->arena, plan, type));
    }
    text_add(text, "NULL};\n");
}

/* Of a record that may not be known, each field. half: 0 or 1. */
static void write_asking(Text *text, const FunctionPlan *plan, const char *record, int half) {
    if (!field_count(plan)) return;
    text_format(text, "        if (%s) {\n", record);
    vector_each(Input, input, plan->function->inputs)
        if (input->kind == INPUT_field)
            text_format(text, "            flow_ask_field(%s[%d], %s, %d);\n", record, input->index,
                        record_bytes(text->arena, plan, &input->type), half);
    text_add(text, "        }\n");
}

/* A value that goes to two outputs is computed once and copied. */
static void write_repeated_outputs(Text *text, const FunctionPlan *plan) {
    int index = 0, fields = field_count(plan);
    vector_each(Output, output, plan->graph->outputs) {
        NodeId source = strip_reshapes(plan->graph, output->value);
        int first = plan->places[source].index;
        const Type *type = &graph_node(plan->graph, source)->type;
        if (first != index)
            text_format(text, "    __builtin_memcpy((char *)places[%d], places[%d], (size_t)%s);\n",
                        fields + index, fields + first, record_bytes(text->arena, plan, type));
        index++;
    }
}

/* Returns whether the record is made. */
void write_record_part(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const char *name, size_t first, size_t last) {
    int checks = 0;
    text_format(
        text,
        "static bool %s(char *memory, const int64_t *sizes, const void *const *places, "
        "FlowUnmet *unmet) {\n"
        "    const FlowFrame record = {memory, places, 1, NULL, sizes, NULL}, *frame = &record;\n"
        "    const int thread = 0, threads = 1;\n"
        "    const int64_t batch = 1;\n"
        "    (void)frame, (void)thread, (void)threads, (void)batch, (void)unmet;\n",
        name);
    write_named_calls(text, kernels, plan, "frame", first, last);
    bool whole = last == plan->bands.count;
    for (NodeId id = 0; id < plan->graph->nodes.count && whole; id++)
        if (graph_node(plan->graph, id)->op == OP_check) write_check(text, plan, id, checks++);
    if (whole) write_repeated_outputs(text, plan);
    text_add(text, "    return true;\n}\n\n");
}

void write_record_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                           const char *prefix) {
    if (plan->together) {
        write_together_function(text, kernels, plan, prefix);
        return;
    }
    write_record_part(text, kernels, plan, arena_format(text->arena, "%s_one", prefix), 0,
                      plan->bands.count);
    text_format(text,
                "static int64_t %s(char *memory, const int64_t *sizes, const FlowRows *rows, "
                "FlowUnmet *unmet) {\n"
                "    for (int64_t row = 0; row < rows->count; row++) {\n"
                "        const void *const *fields = flow_fields(rows, row);\n"
                "        const void *const *far = flow_fields(rows, row + FLOW_ROWS_AHEAD);\n"
                "        const void *const *near = flow_fields(rows, row + FLOW_ROWS_NEAR);\n"
                "        (void)fields, (void)far, (void)near;\n",
                prefix);
    write_record_places(text, plan);
    write_asking(text, plan, "far", 0);
    write_asking(text, plan, "near", 0);
    text_format(text, "        const bool made = %s_one(memory, sizes, places, unmet);\n", prefix);
    write_asking(text, plan, "far", 1);
    write_asking(text, plan, "near", 1);
    text_add(text, "        if (!made) return row;\n"
                   "    }\n"
                   "    return rows->count;\n}\n\n");
}
