/* GPU text: what kernels of all kinds have in common, and their calls. */
#include "compiler/codegen/gpu_text.h"

#include <assert.h>

static WriteGpuKernel *writer_of(KernelKind kind) {
    switch (kind) {
    case KERNEL_rows: return write_gpu_rows;
    case KERNEL_columns: return write_gpu_columns;
    case KERNEL_contraction: return write_gpu_contraction;
    case KERNEL_scatter: return write_gpu_scatter;
    case KERNEL_row_function: return write_gpu_row_function;
    default: assert(!"a kernel that runs on the CPU alone"); return NULL;
    }
}

const char *gpu_form(Arena *arena, const FunctionPlan *plan, int kernel) {
    const Writer writer = new_writer(arena, plan, kernel);
    switch (writer.loops->kind) {
    case KERNEL_rows: return gpu_rows_form(&writer);
    case KERNEL_columns: return gpu_columns_form(&writer);
    case KERNEL_contraction: return gpu_contraction_form(&writer);
    case KERNEL_scatter: return "a block for each 256 columns of some rows";
    case KERNEL_scan: return "the kernels of its body, launched turn after turn";
    default: return "a thread for each row";
    }
}

static bool has_ring(const Writer *writer, const char *suffix) {
    return writer->ring.kernel && !strcmp(writer->ring.kernel, suffix);
}

void write_gpu_start(Writer *writer, Text *text, const char *suffix) {
    const bool ring = has_ring(writer, suffix);
    text_format(text, "%s(%s%s, ",
                ring              ? "FLOW_RING_GLOBAL"
                : writer->abreast ? "FLOW_GLOBAL_OF"
                                  : "FLOW_GLOBAL",
                MARK_KERNEL, suffix);
    if (writer->abreast && !ring) text_format(text, "%d, %s) {\n", GPU_THREADS, writer->abreast);
    else text_format(text, "%d) {\n", ring ? writer->ring.abreast : GPU_THREADS);
    text_add(text, "    const int64_t batch = arguments.batch, *const sizes = arguments.sizes;\n"
                   "    const int64_t *const operands = arguments.operands;\n"
                   "    (void)batch, (void)sizes, (void)operands;\n");
}

void write_gpu_head(Writer *writer, Text *text) {
    write_gpu_start(writer, text, "");
    declare_pointers(writer, text);
    move_lines(writer, &writer->lines[LEVEL_call], text, 1);
    declare_faults(writer, text);
}

void write_gpu_tail(Writer *writer, Text *text) {
    tell_faults(writer, text, "arguments.guard", "");
    text_add(text, "}\n\n");
}

const char *gpu_blocks(Writer *writer, const char *count, int each) {
    return arena_format(writer->arena, "((%s) + %d) / %d", count, each - 1, each);
}

/* One past the last input that the kernel's operands name. */
static int inputs_of(const Writer *writer) {
    int64_t inputs = 0;
    vector_each(KernelOperand, operand, writer->operands)
        if (operand->is_place && ~operand->value >= inputs) inputs = ~operand->value + 1;
    return (int)inputs;
}

static const char *launcher(const Function *function) {
    if (function->of_turn) return "flow_loop_launch";
    return function->of_record ? "flow_together_launch" : "flow_launch";
}

static void write_launch(Writer *writer, Text *text, const char *suffix, const char *blocks) {
    const bool ring = has_ring(writer, suffix);
    text_format(text,
                "    static const FlowDeviceKernel kernel%s = {\"%s%s\", %d, %zu, %d, %d, %s};\n",
                suffix, MARK_KERNEL, suffix, GPU_THREADS, writer->operands.count, inputs_of(writer),
                writer->table->bounded_count, MARK_KERNEL);
    if (ring) text_format(text, "    const FlowRing ring%s = %s;\n", suffix, writer->ring.text);
    text_format(text, "    if (thread == 0) %s(frame, &kernel%s, operands, %s%s%s);\n",
                ring ? "flow_launch_ring" : launcher(writer->plan->function), suffix, blocks,
                ring ? ", &ring" : "", ring ? suffix : "");
}

void write_gpu_host(Writer *writer, Text *text, const char *blocks) {
    text_format(text,
                "FLOW_KERNEL void %s(const FlowFrame *frame, const int64_t *operands, "
                "int thread, int threads) {\n",
                MARK_KERNEL);
    text_add(text, sizes_line);
    text_add(text, "    (void)threads;\n");
    if (writer->parts_blocks) write_launch(writer, text, "_parts", writer->parts_blocks);
    write_launch(writer, text, "", blocks);
    text_add(text, "}\n\n");
}

KernelOperands write_gpu_kernel(GpuText *text, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(text->device.arena, plan, kernel);
    writer.gpu = true;
    const char *blocks = writer_of(writer.loops->kind)(&writer, &text->device);
    vector_push(writer.arena, &writer.operands,
                (KernelOperand){.value = plan->kernels[kernel].given.index});
    write_gpu_host(&writer, &text->host, blocks);
    return writer.operands;
}
