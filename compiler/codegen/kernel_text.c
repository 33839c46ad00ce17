/* Kernel text: each kernel by its kind, and a function that calls them in order. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/writer.h"

static void write_comment(Text *text, const FunctionPlan *plan, int number) {
    const KernelPlan *kernel = &plan->kernels[number];
    Text comment = text_new(text->arena);
    const char *last_place = "";
    for (size_t i = 0; i < kernel->node_count && i < 12; i++) {
        const Node *node = graph_node(plan->graph, kernel->nodes[i]);
        const char *place = place_text(text->arena, node->range);
        if (*place && strcmp(place, last_place)) text_format(&comment, " %s", last_place = place);
        text_format(&comment, " %s%s", op_info[node->op].name,
                    i + 1 < kernel->node_count ? "," : "");
    }
    if (kernel->node_count > 12) text_add(&comment, " ...");
    NodeId last = kernel->nodes[kernel->node_count - 1];
    const char *type = type_text(text->arena, &graph_node(plan->graph, last)->type);
    text_format(text, "/* kernel %d:%s -> %s */\n", number,
                comment_text(text->arena, text_string(&comment)), comment_text(text->arena, type));
}

static void write_kernel(Text *text, const FunctionPlan *plan, int kernel, const char *prefix) {
    const char *name = arena_format(text->arena, "%s_k%d", prefix, kernel);
    write_comment(text, plan, kernel);
    switch (plan->kernels[kernel].loops.kind) {
    case KERNEL_rows: write_rows_kernel(text, plan, kernel, name); break;
    case KERNEL_columns: write_columns_kernel(text, plan, kernel, name); break;
    case KERNEL_contraction: write_contraction_kernel(text, plan, kernel, name); break;
    }
}

void write_kernels(Text *text, const FunctionPlan *plan, const char *prefix) {
    for (int i = 0; i < plan->kernel_count; i++) write_kernel(text, plan, plan->order[i], prefix);
}

static void write_calls(Text *text, const FunctionPlan *plan, const char *prefix,
                        const char *arguments) {
    for (int i = 0; i < plan->kernel_count; i++) {
        if (plan->kernels[plan->order[i]].barrier)
            text_add(text, "    flow_barrier(frame, thread, threads);\n");
        text_format(text, "    %s_k%d(%s);\n", prefix, plan->order[i], arguments);
    }
}

void write_function(Text *text, const FunctionPlan *plan, const char *prefix) {
    write_kernels(text, plan, prefix);
    text_format(text,
                "static void %s(const FlowFrame *frame, int thread, int threads) {\n"
                "    (void)frame, (void)thread, (void)threads;\n",
                prefix);
    write_calls(text, plan, prefix, "frame, thread, threads");
    if (plan->late.count) text_add(text, "    flow_barrier(frame, thread, threads);\n");
    vector_each(LateCopy, copy, plan->late)
        text_format(text, "    flow_late_copy(frame, thread, %zu, %zu, %zu);\n", copy->from,
                    copy->to, copy->size);
    text_add(text, "}\n\n");
}
