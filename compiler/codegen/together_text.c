/* Together text: the function that makes records of a pipeline where kernels run on GPUs. What the
 * CPU does of a record between two launches is a function, called for one record after the other; a
 * launch, and what is copied for it, is for all of them. */
#include "compiler/codegen/kernel_text.h"
#include "compiler/codegen/names.h"

static bool is_on_cpu(const FunctionPlan *plan, size_t band) {
    const Band *one = &plan->bands.items[band];
    return !one->transfer && !runs_on_gpu(&plan->kernels[one->kernels[0]]);
}

/* One past the bands from `first` on that the CPU runs. What stands around all says nothing. */
static size_t end_of_part(const FunctionPlan *plan, size_t first) {
    size_t end = first;
    while (end < plan->bands.count && is_on_cpu(plan, end)) end++;
    return end;
}

static const char *part_name(Arena *arena, const char *prefix, size_t first) {
    return arena_format(arena, "%s_from%zu", prefix, first);
}

/* The last one, which may be empty, has the checks. */
static void write_parts(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                        const char *prefix) {
    for (size_t i = 0, end; i < plan->bands.count; i = end + (end == i)) {
        end = end_of_part(plan, i);
        if (end > i)
            write_record_part(text, kernels, plan, part_name(text->arena, prefix, i), i, end);
    }
    size_t count = plan->bands.count;
    write_record_part(text, kernels, plan, part_name(text->arena, prefix, count), count, count);
}

static void write_part_call(Text *text, const FunctionPlan *plan, const char *prefix, size_t first,
                            const char *refused) {
    text_add(text, "    for (int64_t row = 0; good && row < rows->count; row++) {\n"
                   "        const void *const *fields = flow_fields(rows, row);\n"
                   "        (void)fields;\n");
    write_record_places(text, plan);
    text_format(text, "        if (!%s(memory + row * %zu, sizes, places, unmet)) %s;\n    }\n",
                part_name(text->arena, prefix, first), plan->scratch_size, refused);
}

/* As flow_at takes it. */
static const char *place_literal(Arena *arena, const FunctionPlan *plan, NodeId id) {
    const Place *place = &plan->places[id];
    if (place->kind == PLACE_memory) return arena_format(arena, "%zu", place->offset);
    int input = place->kind == PLACE_input ? place->index : place->index + field_count(plan);
    return arena_format(arena, "~%d", input);
}

/* What is asked for next is shown as that by those who trace. */
static void write_what(Text *text, const char *what) {
    text_format(text, "    together.what = %s;\n", string_literal(text->arena, what));
}

static void write_copy(Text *text, const FunctionPlan *plan, const Transfer *transfer) {
    const Node *node = graph_node(plan->graph, transfer->node);
    const Type *type = &node->type;
    Text what = text_new(text->arena);
    text_format(&what, "%s ", place_text(text->arena, node->range));
    transfer_print(plan, transfer, &what);
    write_what(text, text_string(&what));
    text_format(text, "    good = good && flow_together_copy(&together, %s, %s, %zu, %d, %d);\n",
                place_literal(text->arena, plan, transfer->node),
                record_bytes(text->arena, plan, type), record_step(type), transfer->from,
                transfer->to);
}

static void write_launch(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                         size_t band) {
    const KernelPlan *kernel = &plan->kernels[plan->bands.items[band].kernels[0]];
    for (size_t i = 0; i < kernel->node_count; i++) {
        NodeId id = kernel->nodes[i];
        if (plan->places[id].kind == PLACE_output)
            text_format(text, "    good = good && flow_together_room(&together, %s, %zu, %d);\n",
                        place_literal(text->arena, plan, id),
                        record_step(&graph_node(plan->graph, id)->type), kernel->given.index);
    }
    Text what = text_new(text->arena);
    kernel_print(plan, plan->bands.items[band].kernels[0], &what);
    const char *colon = strstr(text_string(&what), ": ");
    write_what(text, colon ? colon + 2 : text_string(&what));
    text_add(text, "    if (good)\n    ");
    write_named_calls(text, kernels, plan, "&together.frame", band, band + 1);
}

static void write_band(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const char *prefix, size_t band) {
    const Transfer *transfer = plan->bands.items[band].transfer;
    if (is_on_cpu(plan, band)) write_part_call(text, plan, prefix, band, "return 0");
    else if (!transfer) write_launch(text, kernels, plan, band);
    else if (transfer->kind == TRANSFER_copy) write_copy(text, plan, transfer);
}

static void write_head_of(Text *text, const FunctionPlan *plan, const char *prefix) {
    text_format(text,
                "static int64_t %s(char *memory, const int64_t *sizes, const FlowRows *rows, "
                "FlowUnmet *unmet) {\n"
                "    const int thread = 0, threads = 1;\n"
                "    const int64_t batch = 1;\n"
                "    FlowTogether together = {\n"
                "        {memory, NULL, 1, NULL, sizes, NULL, NULL}, rows, %zu, %d, NULL, NULL};\n"
                "    bool good = flow_together_begin(&together);\n"
                "    (void)thread, (void)threads, (void)batch;\n",
                prefix, plan->scratch_size, field_count(plan));
}

void write_together_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                             const char *prefix) {
    size_t count = plan->bands.count;
    write_parts(text, kernels, plan, prefix);
    write_head_of(text, plan, prefix);
    for (size_t i = 0, next; i < count; i = next) {
        write_band(text, kernels, plan, prefix, i);
        next = is_on_cpu(plan, i) ? end_of_part(plan, i) : i + 1;
    }
    text_add(text, "    good = flow_together_end(&together) && good;\n");
    write_part_call(text, plan, prefix, count, "return row");
    text_add(text, "    if (!good) unmet->check = FLOW_NOT_MADE;\n"
                   "    return good ? rows->count : 0;\n}\n\n");
}
