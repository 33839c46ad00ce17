/* Keep text: a new value of a weight is stored by the kernel that computes it, unless it is
 * not finite; the frame's guard then hears of the place. An open guard lets everything through. */
#include "compiler/codegen/writer.h"

static const char *fault_name(Writer *writer, NodeId id) {
    return arena_format(writer->arena, "f%u", number_of(writer, id));
}

/* A flag of the element's width, so that loops stay vectors. */
static const char *fault_type(const Writer *writer, NodeId id) {
    return element_info[node_of(writer, id)->type.element].size == 8 ? "int64_t" : "int32_t";
}

static const char *open_text(Writer *writer) {
    return define_index(writer, LEVEL_call, "flow_is_open(frame->guard)").text;
}

const char *kept_value(Writer *writer, NodeId id, const char *const *operands) {
    const Node *node = node_of(writer, id);
    const char *open = open_text(writer);
    if (node->kernel == writer->number && is_stored(writer, id) && !is_committed(writer, id)) {
        vector_push(writer->arena, &writer->kept, (Kept){id, place_number(writer, id), NULL});
        text_format(&writer->stores, "%s |= %s & flow_is_lost(%s, %s);\n", fault_name(writer, id),
                    operands[0], operands[1], operands[2]);
    }
    const char *step = arena_format(writer->arena, "%s << %s", operands[0], open);
    return formula_text(writer, node, (const char *const[]){step, operands[1], operands[2]}, "",
                        "");
}

void declare_faults(Writer *writer, Text *text) {
    vector_each(Kept, kept, writer->kept)
        if (!kept->good)
            text_format(text, "    %s %s = 0;\n", fault_type(writer, kept->node),
                        fault_name(writer, kept->node));
}

void tell_faults(Writer *writer, Text *text, const char *guard, const char *scope) {
    vector_each(Kept, kept, writer->kept)
        if (!kept->good)
            text_format(text, "    flow_hold_back(%s, %s, %s%s);\n", guard,
                        fault_name(writer, kept->node), scope, kept->place);
}

/* Committed values. */

static NodeId old_value(const Writer *writer, NodeId id) {
    return strip_reshapes(writer->graph, node_of(writer, id)->inputs[2]);
}

bool is_committed(const Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    if (node->op != OP_keep || node->kernel != writer->number || !is_stored(writer, id) ||
        writer->loops->kind != KERNEL_contraction)
        return false;
    NodeId old = old_value(writer, id);
    const Node *good = node_of(writer, node->inputs[0]);
    const Type *type = &node->type;
    return good->op != OP_constant && dim_is_one(type_elements(writer->table, &good->type)) &&
           (type->element == TYPE_f32 || type->element == TYPE_f64) && is_stored(writer, old) &&
           node_of(writer, old)->kernel != writer->number &&
           native_index(writer->table, writer->loops, type) == INDEX_full &&
           type_elements(writer->table, &node_of(writer, old)->type) ==
               type_elements(writer->table, type);
}

bool commits(const Writer *writer) {
    vector_each(Kept, kept, writer->kept)
        if (kept->good) return true;
    return false;
}

void store_committed(Writer *writer, NodeId id, Index index) {
    const Node *node = node_of(writer, id);
    const char *operands[2];
    for (int i = 0; i < 2; i++)
        operands[i] = value_of(writer, node->inputs[i], operand_index_text(writer, node, i, index));
    open_text(writer);
    pointer_to(writer, id, true);
    pointer_to(writer, old_value(writer, id), false);
    vector_push(writer->arena, &writer->kept, (Kept){id, place_number(writer, id), operands[0]});
    text_format(&writer->stores,
                "o%u[(m - top) * across + n - left] = %s;\n"
                "f%u |= %s - %s != 0;\n",
                number_of(writer, id), operands[1], number_of(writer, id), operands[1],
                operands[1]);
}

void declare_committed(Writer *writer, Text *text) {
    vector_each(Kept, kept, writer->kept)
        if (kept->good)
            text_format(text,
                        "        _Alignas(64) %s o%u[FLOW_COMMIT_RUN];\n"
                        "        %s %s = 0;\n",
                        element_info[node_of(writer, kept->node)->type.element].computed,
                        number_of(writer, kept->node), fault_type(writer, kept->node),
                        fault_name(writer, kept->node));
}

void write_committed(Writer *writer, Text *text) {
    vector_each(Kept, kept, writer->kept) {
        if (!kept->good) continue;
        const char *name = element_info[node_of(writer, kept->node)->type.element].name;
        text_format(text,
                    "        flow_commit_%s(context->%s + from, context->%s + from, %s, o%u, down, "
                    "across, %s,\n"
                    "            (FlowCommit){context->%s, context->%s, context->%s, "
                    "context->guard});\n",
                    name, pointer_to(writer, kept->node, true),
                    pointer_to(writer, old_value(writer, kept->node), false), writer->columns,
                    number_of(writer, kept->node), fault_name(writer, kept->node), kept->good,
                    open_text(writer), kept->place);
    }
}
