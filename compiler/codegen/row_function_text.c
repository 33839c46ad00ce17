/* Row function text: a function of templates/row.h on each row. Of an order only those places are
 * found that are read. */
#include "compiler/codegen/writer.h"

/* How many of the first places of its rows a reader sees; all: SIZE_UNKNOWN. */
static int64_t places_read(const Writer *writer, const Node *reader) {
    int64_t last;
    if (reader->op != OP_view) return SIZE_UNKNOWN;
    Dim most =
        coordinate_extreme(writer->graph->dimensions,
                           &reader->view->coordinates[reader->view->rank - 1], &reader->type, true);
    return most && dim_is_constant(most, &last) && last >= 0 ? last + 1 : SIZE_UNKNOWN;
}

/* The same of all readers of an order. */
static int64_t places_wanted(const Writer *writer, NodeId id) {
    int64_t wanted = 1;
    vector_each(Output, output, writer->graph->outputs)
        if (output->value == id) return SIZE_UNKNOWN;
    vector_each(Node, reader, writer->graph->nodes)
        for (int i = 0; i < reader->input_count; i++) {
            if (reader->inputs[i] != id) continue;
            const int64_t read = places_read(writer, reader);
            if (read == SIZE_UNKNOWN) return read;
            if (read > wanted) wanted = read;
        }
    return wanted;
}

const char *places_argument(const Writer *writer, NodeId id) {
    const Op op = node_of(writer, id)->op;
    if (op != OP_argsort && op != OP_argsort_descending) return "";
    const int64_t wanted = places_wanted(writer, id);
    int64_t columns;
    const bool some = wanted != SIZE_UNKNOWN && dim_is_constant(writer->loops->columns, &columns) &&
                      wanted < columns;
    if (some) return arena_format(writer->arena, ", %lld", (long long)wanted);
    return arena_format(writer->arena, ", %s", writer->columns);
}

KernelOperands write_row_function_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(text->arena, plan, kernel);
    NodeId id = writer.kernel->nodes[0];
    const Node *node = node_of(&writer, id);
    NodeId from = strip_reshapes(writer.graph, node->inputs[0]);
    const char *a = pointer_to(&writer, from, false), *y = pointer_to(&writer, id, true);
    write_head(&writer, text);
    text_format(text,
                "    for (int64_t r = first; r < last; r++)\n"
                "        flow_%s_%s(%s + r * %s, %s + r * %s, %s%s);\n}\n\n",
                op_info[node->op].name, element_info[node_of(&writer, from)->type.element].name, a,
                writer.columns, y, writer.columns, writer.columns, places_argument(&writer, id));
    return writer.operands;
}
