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

const char *kept_value(Writer *writer, NodeId id, const char *const *operands) {
    const Node *node = node_of(writer, id);
    const char *open = define_index(writer, LEVEL_call, "flow_is_open(frame->guard)").text;
    if (node->kernel == writer->number && is_stored(writer, id)) {
        vector_push(writer->arena, &writer->kept, (Kept){id, place_number(writer, id)});
        text_format(&writer->stores, "%s |= %s & flow_is_lost(%s, %s);\n", fault_name(writer, id),
                    operands[0], operands[1], operands[2]);
    }
    const char *step = arena_format(writer->arena, "%s << %s", operands[0], open);
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
