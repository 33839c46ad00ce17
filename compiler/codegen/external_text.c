/* External text: a kernel that calls a C function. One thread does; what needs the results waits at
 * a barrier.
 *
 * The function is declared under a name of the kernel's own, so that no header which declares the
 * same one can disagree. */
#include "compiler/codegen/writer.h"

#include "compiler/graph/external.h"
#include "compiler/graph/list.h"

typedef struct ExternalWriter {
    Writer writer;
    const External *external;
    Text types, arguments;
} ExternalWriter;

static void add_argument(ExternalWriter *all, const char *type, const char *value) {
    const char *before = all->types.size ? ", " : "";
    text_format(&all->types, "%s%s", before, type);
    text_format(&all->arguments, "%s\n        %s", all->types.size && *before ? "," : "", value);
}

static void add_pointer(ExternalWriter *all, NodeId id, const char *qualifier) {
    const FunctionPlan *plan = all->writer.plan;
    const char *c = element_info[node_of(&all->writer, id)->type.element].c;
    Place place = plan->places[strip_reshapes(plan->graph, id)];
    add_argument(all, arena_format(all->writer.arena, "%s%s *", qualifier, c),
                 address_of_place(&all->writer, place));
}

static void add_operands(ExternalWriter *all) {
    const Writer *writer = &all->writer;
    NodeId call = writer->kernel->nodes[0];
    const NodeId *operands = list_operands(writer->arena, writer->graph, call);
    int count = list_size(writer->graph, node_of(writer, call)->inputs[0]);
    for (int i = 0; i < count; i++) add_pointer(all, operands[i], "const ");
}

static void add_sizes(ExternalWriter *all) {
    vector_each(Dim, size, all->external->sizes)
        add_argument(all, "int64_t", dim_expression(all->writer.arena, *size));
}

/* The kernel has a part for each result. */
static void add_results(ExternalWriter *all) {
    const KernelPlan *kernel = all->writer.kernel;
    for (size_t part = 0; part < all->external->results.count; part++)
        for (size_t i = 1; i < kernel->node_count; i++)
            if ((size_t)node_of(&all->writer, kernel->nodes[i])->part == part)
                add_pointer(all, kernel->nodes[i], "");
}

KernelOperands write_external_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    Arena *arena = text->arena;
    ExternalWriter all = {.writer = new_writer(arena, plan, kernel),
                          .external =
                              graph_node(plan->graph, plan->kernels[kernel].nodes[0])->external,
                          .types = text_new(arena),
                          .arguments = text_new(arena)};
    add_operands(&all);
    add_sizes(&all);
    add_results(&all);
    text_format(text,
                "void %s_called(%s) __asm__(\"%s\");\n"
                "FLOW_KERNEL void %s(const FlowFrame *frame, const int64_t *operands, int thread, "
                "int threads) {\n%s"
                "    (void)threads;\n"
                "    if (thread) return;\n"
                "    %s_called(%s);\n}\n\n",
                MARK_KERNEL, text_string(&all.types), all.external->name, MARK_KERNEL, sizes_line,
                MARK_KERNEL, text_string(&all.arguments));
    return all.writer.operands;
}
