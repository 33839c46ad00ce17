/* Keep text: a new value of a weight is stored by the kernel that computes it, unless it is
 * not finite; the frame's guard then hears of the place. An open guard lets everything through.
 *
 * Long loops store first: the old values go to a log, and the size of the largest new one says
 * whether any has to be put back. */
#include "compiler/codegen/writer.h"

#include "compiler/codegen/templates/loops.h"

static const char *fault_name(Writer *writer, NodeId id) {
    return arena_format(writer->arena, "f%u", number_of(writer, id));
}

/* A flag of the element's width, so that loops stay vectors. */
static const char *fault_type(const Writer *writer, NodeId id) {
    return element_info[node_of(writer, id)->type.element].size == 8 ? "int64_t" : "int32_t";
}

static bool is_kept(const Writer *writer, NodeId id) {
    return node_of(writer, id)->op == OP_keep && is_stored(writer, id);
}

static bool is_operand(const Writer *writer, NodeId id) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        const Node *node = node_of(writer, writer->kernel->nodes[at]);
        for (int i = 0; i < node->input_count; i++)
            if (strip_reshapes(writer->graph, node->inputs[i]) == id) return true;
    }
    return false;
}

/* Nobody computes with what may be put back, and one choice is for all its elements. */
static bool can_log(const Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    return (node->type.element == TYPE_f32 || node->type.element == TYPE_f64) &&
           node_of(writer, node->inputs[0])->type.rank == 0 && !is_operand(writer, id);
}

bool can_log_kept(const Writer *writer) {
    const Node *first = NULL;
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!is_kept(writer, id)) continue;
        if (!first) first = node_of(writer, id);
        if (!can_log(writer, id) || node_of(writer, id)->type.element != first->type.element)
            return false;
    }
    return first != NULL;
}

bool logs_kept(const Writer *writer) {
    int64_t run = dim_bound(writer->loops->columns);
    if (writer->flat) run *= dim_bound(writer->loops->rows);
    return run >= FLOW_LOG_LEAST && can_log_kept(writer);
}

static const char *logged_value(Writer *writer, NodeId id, const char *const *operands) {
    if (writer->vectors) return vector_keep(writer, operands);
    text_format(&writer->stores, "log%u[j] = %s;\n", number_of(writer, id), operands[2]);
    text_format(&writer->stores, "worst = flow_worse_%s(worst, %s);\n",
                element_info[node_of(writer, id)->type.element].name, operands[1]);
    return operands[1];
}

/* Once, though several loops store parts of it. */
static void note_kept(Writer *writer, Kept kept) {
    vector_each(Kept, known, writer->kept)
        if (known->node == kept.node) return;
    vector_push(writer->arena, &writer->kept, kept);
}

const char *kept_value(Writer *writer, NodeId id, const char *const *operands) {
    const Node *node = node_of(writer, id);
    const char *guard =
        writer->gpu ? "flow_is_open(arguments.guard)" : "flow_is_open(frame->guard)";
    const char *open = define_index(writer, LEVEL_call, guard).text;
    const char *step = arena_format(writer->arena, "%s << %s", operands[0], open);
    if (node->kernel == writer->number && is_stored(writer, id)) {
        note_kept(writer, (Kept){id, place_number(writer, id), operands[0], step});
        if (writer->logs) return logged_value(writer, id, operands);
        text_format(&writer->stores, "%s |= %s & flow_is_lost(%s, %s);\n", fault_name(writer, id),
                    operands[0], operands[1], operands[2]);
    }
    if (writer->vectors) writer->refused = true;
    return formula_text(writer, node, (const char *const[]){step, operands[1], operands[2]}, "",
                        "");
}

void declare_faults(Writer *writer, Text *text) {
    vector_each(Kept, kept, writer->kept)
        text_format(text, "    %s %s = 0;\n", fault_type(writer, kept->node),
                    fault_name(writer, kept->node));
}

void tell_faults(Writer *writer, Text *text, const char *guard, const char *scope) {
    vector_each(Kept, kept, writer->kept)
        text_format(text, "    flow_hold_back(%s, %s, %s%s);\n", guard,
                    fault_name(writer, kept->node), scope, kept->place);
}

void declare_logs(Writer *writer, Text *text, int depth) {
    if (!writer->logs) return;
    vector_each(Kept, kept, writer->kept)
        text_format(text, "%*s%s log%u[FLOW_LOG];\n", 4 * depth, "",
                    element_info[node_of(writer, kept->node)->type.element].c,
                    number_of(writer, kept->node));
    text_format(text, "%*s%s worst = 0;\n", 4 * depth, "",
                fault_type(writer, writer->kept.items[0].node));
}

void use_logs(Writer *writer, Text *text, int depth, const char *first) {
    if (!writer->logs) return;
    vector_each(Kept, kept, writer->kept) {
        const char *type = element_info[node_of(writer, kept->node)->type.element].name;
        text_format(text,
                    "%*sif (flow_is_doubtful_%s(worst, %s))\n"
                    "%*s%s |= flow_put_back_%s(%s + %s, log%u, count, %s, %s);\n",
                    4 * depth, "", type, kept->step, 4 * depth + 4, "",
                    fault_name(writer, kept->node), type, pointer_to(writer, kept->node, true),
                    first, number_of(writer, kept->node), kept->step, kept->good);
    }
}

bool in_logs(const Writer *writer, const char *name) {
    Text text = text_new(writer->arena);
    vector_each(Kept, kept, writer->kept)
        if (writer->logs) text_format(&text, "%s ", kept->step);
    return has_name(&text, name);
}
