/* Band text: the calls of a few kernels, for some rows after the other, or for one slice of their
 * products after the other. What only they want lies in a buffer of the thread, found as if all
 * rows were there. */
#include "compiler/codegen/kernel_text.h"

static void write_places(Text *text, const FunctionPlan *plan, const Band *band) {
    int inputs = input_count(plan);
    if (band->room) text_format(text, "    _Alignas(64) char room[%zu];\n", band->room);
    text_format(text, "    const void *places[%d];\n", inputs + (int)band->values.count + 1);
    for (int i = 0; i < inputs; i++)
        text_format(text, "    places[%d] = frame->inputs[%d];\n", i, i);
    text_add(text, "    FlowFrame inner = *frame;\n    inner.inputs = places;\n");
}

static void write_part(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const Band *band, const Call *calls) {
    size_t operand = 0;
    vector_each(BandValue, value, band->values)
        text_format(text, "        places[%d] = flow_row_zero(room + %zu, first, %lld);\n",
                    input_count(plan) + (int)(value - band->values.items), value->offset,
                    (long long)value->row_size);
    for (int i = 0; i < calls_of_band(band); i++) {
        text_format(text, "        %s(&inner, operands + %zu, part, parts);\n",
                    kernels->list.items[calls[i].kernel].name, operand);
        operand += calls[i].operands.count;
    }
}

static KernelOperands joined_operands(Arena *arena, const Band *band, const Call *calls) {
    KernelOperands all = {0};
    for (int i = 0; i < calls_of_band(band); i++)
        vector_each(KernelOperand, operand, calls[i].operands) vector_push(arena, &all, *operand);
    return all;
}

static void write_loop(Text *text, const Band *band, const char *rows, const char *block) {
    if (band->slices)
        text_format(text,
                    "    const int parts = (int)(%s / %lld);\n"
                    "    const int64_t share = flow_share_of(thread, threads);\n"
                    "    const int end = (int)(parts * (share + 1) / threads);\n"
                    "    for (int band = (int)(parts * share / threads); band < end; band++) {\n",
                    rows, (long long)band->rows);
    else
        text_format(
            text,
            "    const int bands = flow_bands(%s, %s, %lld, threads), parts = threads * bands;\n"
            "    const int first_band = (int)flow_share_of(thread, threads) * bands;\n"
            "    for (int band = first_band; band < first_band + bands; band++) {\n",
            rows, block, (long long)band->rows);
}

KernelOperands write_band_kernel(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                                 const Band *band, const Call *calls) {
    const KernelPlan *leader = &plan->kernels[band->kernels[0]];
    const char *rows =
        dim_expression(text->arena, leader->records ? leader->records : leader->share);
    const char *block = leader->records ? "1" : "FLOW_SHARE_BLOCK";
    text_format(text,
                "FLOW_KERNEL void %s(const FlowFrame *frame, const int64_t *operands, int thread, "
                "int threads) {\n%s",
                MARK_KERNEL, sizes_line);
    write_places(text, plan, band);
    write_loop(text, band, rows, block);
    text_format(text,
                "        const int part = (int)flow_share_of(band, parts);\n"
                "        int64_t first, last;\n"
                "        flow_share(%s, %s, part, parts, &first, &last);\n",
                rows, block);
    write_part(text, kernels, plan, band, calls);
    text_add(text, "    }\n}\n\n");
    return joined_operands(text->arena, band, calls);
}
