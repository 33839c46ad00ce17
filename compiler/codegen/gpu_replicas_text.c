/* GPU replicas text: the kernels by which replicas put together what each of them has, where no
 * library does it. */
#include "compiler/codegen/gpu_text.h"

/* Whether a program has them. */
typedef struct Joins {
    bool known[OP_COUNT][ELEMENT_COUNT], any;
} Joins;

static void write_join(Text *text, Joins *joins, const Node *node) {
    const Element element = node->type.element;
    const ElementInfo *info = &element_info[element];
    if (joins->known[node->op][element]) return;
    if (!joins->any) text_add(text, "#include \"cuda_replicas.h\"\n\n");
    joins->known[node->op][element] = joins->any = true;
    const bool half = is_half(element);
    text_format(text, "FLOW_JOIN(%s, %s, %s, %s, %s%s, %s%s)\n", op_info[node->op].name, info->name,
                info->c, info->computed, half ? "flow_load_" : "", half ? info->name : "",
                half ? "flow_store_" : "", half ? info->name : "");
}

void write_gpu_joins(Text *text, const Plan *plan) {
    Joins joins = {0};
    vector_each(FunctionPlan *, function, plan->functions)
        vector_each(Band, band, (*function)->bands)
            if (band->transfer && band->transfer->kind == TRANSFER_reduce)
                write_join(text, &joins, graph_node((*function)->graph, band->transfer->node));
}
