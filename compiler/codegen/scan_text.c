/* Scan text: a kernel that is a loop. Each turn fills a table of pointers, to the turn's slices
 * and to where carried values lie, and runs the calls of the body on it.
 *
 *     const void *const places[] = {&turn, …, the operands, …, the results};
 *
 * A carried value is read where the turn before left it, at first from the operand itself, and
 * left in one of two places, at last where the result belongs. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/graph/list.h"
#include "compiler/graph/scan.h"

typedef struct ScanWriter {
    Writer writer;
    const Scan *scan;
    const ScanPlan *plan;
    Text text;
} ScanWriter;

static Place place_of(const ScanWriter *all, NodeId id) {
    const FunctionPlan *plan = all->writer.plan;
    return plan->places[strip_reshapes(plan->graph, id)];
}

/* Bytes of one turn's part of an array. */
static const char *slice_bytes(ScanWriter *all, const Type *array) {
    return arena_format(all->writer.arena, "%s * %d",
                        count_expression(&all->writer, array, 1, array->rank),
                        element_info[array->element].size);
}

static void write_slice(ScanWriter *all, NodeId array) {
    const Type *type = &node_of(&all->writer, array)->type;
    text_format(&all->text, "            (char *)%s + turn * (%s),\n",
                address_of_place(&all->writer, place_of(all, array)), slice_bytes(all, type));
}

static void write_operand(ScanWriter *all, int i, NodeId operand) {
    const Scan *scan = all->scan;
    if (i >= scan->carried && i < scan->carried + scan->scanned) {
        write_slice(all, operand);
        return;
    }
    const char *address = address_of_place(&all->writer, place_of(all, operand));
    if (i >= scan->carried) {
        text_format(&all->text, "            %s,\n", address);
        return;
    }
    const char *even = address_of_place(&all->writer, all->plan->turn_places[2 * i]);
    const char *odd = address_of_place(&all->writer, all->plan->turn_places[2 * i + 1]);
    text_format(&all->text, "            n == 0 ? %s : n & 1 ? %s : %s,\n", address, even, odd);
}

static void write_result(ScanWriter *all, int i) {
    NodeId part = all->plan->results[i];
    bool carried = i < all->scan->carried;
    if (part != NODE_NONE && !carried) {
        write_slice(all, part);
        return;
    }
    const char *even = address_of_place(&all->writer, all->plan->turn_places[2 * i]);
    const char *odd = address_of_place(&all->writer, all->plan->turn_places[2 * i + 1]);
    text_add(&all->text, "            ");
    if (part != NODE_NONE)
        text_format(&all->text,
                    "n + 1 == turns ? %s : ", address_of_place(&all->writer, place_of(all, part)));
    text_format(&all->text, "n & 1 ? %s : %s,\n", odd, even);
}

static void write_loop(ScanWriter *all, const char *calls) {
    const FunctionPlan *plan = all->writer.plan;
    Text *text = &all->text;
    const char *memory =
        address_of_place(&all->writer, (Place){PLACE_memory, all->plan->memory, -1});
    text_format(text,
                "%s    const int64_t turns = %s;\n"
                "    for (int64_t n = 0; n < turns; n++) {\n"
                "        const int32_t turn = (int32_t)%s;\n"
                "        const void *const places[] = {\n            &turn,\n",
                sizes_line, dim_expression(all->writer.arena, all->scan->turns),
                all->scan->backwards ? "(turns - 1 - n)" : "n");
    const NodeId *operands =
        list_operands(all->writer.arena, plan->graph, all->writer.kernel->nodes[0]);
    for (int i = 0; i < scan_operand_count(all->scan); i++) write_operand(all, i, operands[i]);
    for (int i = 0; i < scan_result_count(all->scan); i++) write_result(all, i);
    text_format(text,
                "        };\n"
                "        const FlowFrame turn_frame = {%s, places, batch, frame->barrier, sizes,\n"
                "                                      frame->observer, NULL};\n"
                "%s        %s\n    }\n}\n\n",
                memory,
                all->plan->waits ? "        if (n) flow_barrier(frame, thread, threads);\n" : "",
                calls);
}

KernelOperands write_scan_kernel(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                                 int kernel, const char *name) {
    ScanWriter all = {.writer = new_writer(text->arena, plan, kernel, name),
                      .scan = graph_node(plan->graph, plan->kernels[kernel].nodes[0])->scan,
                      .plan = plan->kernels[kernel].scan,
                      .text = *text};
    write_calls(&all.text, kernels, all.plan->body, all.writer.name);
    text_format(&all.text,
                "FLOW_KERNEL void %s(const FlowFrame *frame, const int64_t *operands, int thread, "
                "int threads) {\n",
                all.writer.name);
    write_loop(&all, run_text(text->arena, "&turn_frame", all.plan->body, all.writer.name));
    *text = all.text;
    return all.writer.operands;
}
