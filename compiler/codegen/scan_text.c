/* Scan text: a kernel that is a loop. Each turn fills a table of pointers, to the turn's slices
 * and to where carried values lie, and runs the calls of the body on it.
 *
 *     const void *const places[] = {&turn, …, the operands, …, the results};
 *
 * A carried value is read where the turn before left it, at first from the operand itself, and
 * left in one of two places, at last where the result belongs.
 *
 * On a GPU one thread goes through the turns, and the body's calls launch. The table says where the
 * loop's function has these values, from which flow_loop_turn knows where the GPU has them:
 *
 *     const FlowPart parts[] = {{place, offset}, …}; */
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

static bool launches(const ScanWriter *all) {
    return runs_on_gpu(all->writer.kernel);
}

/* Where a value is: its address, or on a GPU its place. */
static const char *where(ScanWriter *all, Place place) {
    return launches(all) ? operand_of_place(&all->writer, place)
                         : address_of_place(&all->writer, place);
}

/* A line of the table. offset: of bytes, or NULL. */
static void write_entry(ScanWriter *all, const char *value, const char *offset) {
    Text *text = &all->text;
    if (launches(all)) text_format(text, "            {%s, %s},\n", value, offset ? offset : "0");
    else if (offset) text_format(text, "            (char *)%s + %s,\n", value, offset);
    else text_format(text, "            %s,\n", value);
}

static void write_slice(ScanWriter *all, NodeId array) {
    const Type *type = &node_of(&all->writer, array)->type;
    write_entry(all, where(all, place_of(all, array)),
                arena_format(all->writer.arena, "turn * (%s)", slice_bytes(all, type)));
}

static const char *even_or_odd(ScanWriter *all, int i, bool read) {
    const char *even = where(all, all->plan->turn_places[2 * i]);
    const char *odd = where(all, all->plan->turn_places[2 * i + 1]);
    return arena_format(all->writer.arena, "n & 1 ? %s : %s", read ? even : odd, read ? odd : even);
}

static void write_operand(ScanWriter *all, int i, NodeId operand) {
    const Scan *scan = all->scan;
    if (i >= scan->carried && i < scan->carried + scan->scanned) {
        write_slice(all, operand);
        return;
    }
    const char *value = where(all, place_of(all, operand));
    if (i < scan->carried)
        value =
            arena_format(all->writer.arena, "n == 0 ? %s : %s", value, even_or_odd(all, i, true));
    write_entry(all, value, NULL);
}

static void write_result(ScanWriter *all, int i) {
    NodeId part = all->plan->results[i];
    if (part != NODE_NONE && i >= all->scan->carried) {
        write_slice(all, part);
        return;
    }
    const char *value = even_or_odd(all, i, false);
    if (part != NODE_NONE)
        value = arena_format(all->writer.arena, "n + 1 == turns ? %s : %s",
                             where(all, place_of(all, part)), value);
    write_entry(all, value, NULL);
}

static void write_table(ScanWriter *all) {
    const NodeId *operands =
        list_operands(all->writer.arena, all->writer.graph, all->writer.kernel->nodes[0]);
    for (int i = 0; i < scan_operand_count(all->scan); i++) write_operand(all, i, operands[i]);
    for (int i = 0; i < scan_result_count(all->scan); i++) write_result(all, i);
}

static const char *turn_text(const ScanWriter *all) {
    return all->scan->backwards ? "(turns - 1 - n)" : "n";
}

static void write_loop(ScanWriter *all, const char *memory) {
    text_format(&all->text,
                "    for (int64_t n = 0; n < turns; n++) {\n"
                "        const int32_t turn = (int32_t)%s;\n"
                "        const void *const places[] = {\n            &turn,\n",
                turn_text(all));
    write_table(all);
    text_format(&all->text,
                "        };\n"
                "        const FlowFrame turn_frame = {%s, places, batch, frame->barrier, sizes,\n"
                "                                      frame->observer, NULL, false, NULL};\n"
                "%s        %s\n    }\n}\n\n",
                memory,
                all->plan->waits ? "        if (n) flow_barrier(frame, thread, threads);\n" : "",
                run_text(all->writer.arena, "&turn_frame", all->plan->body, MARK_KERNEL));
}

/* The most turns of the loop and of those in it. */
static int64_t most_turns(const Scan *scan) {
    int64_t most = dim_bound(scan->turns);
    vector_each(Node, node, scan->body->nodes) {
        int64_t inner = node->op == OP_scan ? most_turns(node->scan) : 0;
        if (inner > most) most = inner;
    }
    return most;
}

static void write_launched_loop(ScanWriter *all, const char *memory) {
    vector_push(all->writer.arena, &all->writer.operands,
                (KernelOperand){.value = all->writer.kernel->given.index});
    text_format(&all->text,
                "    FlowLoop loop;\n"
                "    if (thread || !flow_loop_begin(&loop, frame, %s, %s, operands[%zu], %lld))\n"
                "        return;\n"
                "    threads = 1;\n"
                "    for (int64_t n = 0; n < turns; n++) {\n"
                "        const int64_t turn = %s;\n"
                "        const FlowPart parts[] = {\n",
                all->writer.plan->function->of_turn ? "true" : "false", memory,
                all->writer.operands.count - 1, (long long)most_turns(all->scan), turn_text(all));
    write_table(all);
    text_format(&all->text,
                "        };\n"
                "        flow_loop_turn(&loop, turn, parts, %d);\n"
                "        %s\n    }\n    flow_loop_end(&loop);\n}\n\n",
                scan_operand_count(all->scan) + scan_result_count(all->scan),
                run_text(all->writer.arena, "&loop.frame", all->plan->body, MARK_KERNEL));
}

static void write_body(ScanWriter *all) {
    const Place memory = {PLACE_memory, all->plan->memory, -1};
    text_format(&all->text, "%s    const int64_t turns = %s;\n", sizes_line,
                dim_expression(all->writer.arena, all->scan->turns));
    if (launches(all)) write_launched_loop(all, where(all, memory));
    else write_loop(all, where(all, memory));
}

KernelOperands write_scan_kernel(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                                 int kernel) {
    ScanWriter all = {.writer = new_writer(text->arena, plan, kernel),
                      .scan = graph_node(plan->graph, plan->kernels[kernel].nodes[0])->scan,
                      .plan = plan->kernels[kernel].scan,
                      .text = *text};
    write_calls(&all.text, kernels, all.plan->body, MARK_KERNEL);
    text_format(&all.text,
                "FLOW_KERNEL void %s(const FlowFrame *frame, const int64_t *operands, int thread, "
                "int threads) {\n",
                MARK_KERNEL);
    write_body(&all);
    *text = all.text;
    return all.writer.operands;
}
