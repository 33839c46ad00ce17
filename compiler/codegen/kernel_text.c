/* Kernel text: each kernel by its kind, under a name that all its calls share, and for each
 * function a table of calls. A kernel is written without names first: a text that is known needs
 * no second function. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/names.h"

#include <assert.h>

enum { OPS_SHOWN = 12, LINES_SHOWN = 6 };

Kernels kernels_new(Arena *arena) {
    return (Kernels){.arena = arena, .by_text = map_new(arena)};
}

/* Kernels. */

static KernelOperands write_by_kind(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                                    int kernel, const char *name) {
    switch (plan->kernels[kernel].loops.kind) {
    case KERNEL_rows: return write_rows_kernel(text, plan, kernel, name);
    case KERNEL_columns: return write_columns_kernel(text, plan, kernel, name);
    case KERNEL_contraction: return write_contraction_kernel(text, plan, kernel, name);
    case KERNEL_row_function: return write_row_function_kernel(text, plan, kernel, name);
    case KERNEL_scatter: return write_scatter_kernel(text, plan, kernel, name);
    case KERNEL_external: return write_external_kernel(text, plan, kernel, name);
    case KERNEL_scan: return write_scan_kernel(text, kernels, plan, kernel, name);
    }
    return (KernelOperands){0};
}

static int new_kernel(Kernels *kernels, const FunctionPlan *plan, int number) {
    Text text = text_new(kernels->arena);
    const char *name = arena_format(kernels->arena, "k%zu", kernels->list.count);
    write_by_kind(&text, kernels, plan, number, name);
    vector_push(kernels->arena, &kernels->list,
                (SharedKernel){name, text_string(&text), plan, number, {0}, 0});
    return (int)kernels->list.count - 1;
}

static void add_line(Arena *arena, Lines *lines, const char *line) {
    vector_each(const char *, known, *lines)
        if (!strcmp(*known, line)) return;
    if (*line && lines->count < LINES_SHOWN) vector_push(arena, lines, line);
}

static void note_call(Arena *arena, SharedKernel *kernel, const FunctionPlan *plan, int number) {
    const KernelPlan *called = &plan->kernels[number];
    kernel->calls++;
    for (size_t i = 0; i < called->node_count && i < OPS_SHOWN; i++)
        add_line(arena, &kernel->lines,
                 place_text(arena, graph_node(plan->graph, called->nodes[i])->range));
}

static Call call_of(Kernels *kernels, const FunctionPlan *plan, int number) {
    Text text = text_new(kernels->arena);
    if (plan->kernels[number].scan) add_kernels(kernels, plan->kernels[number].scan->body);
    KernelOperands operands = write_by_kind(&text, kernels, plan, number, NULL);
    int known = (int)(uintptr_t)map_get(&kernels->by_text, text_string(&text)) - 1;
    if (known < 0) {
        known = new_kernel(kernels, plan, number);
        map_put(&kernels->by_text, text_string(&text), (void *)(uintptr_t)(known + 1));
    }
    note_call(kernels->arena, &kernels->list.items[known], plan, number);
    return (Call){known, operands};
}

void add_kernels(Kernels *kernels, const FunctionPlan *plan) {
    FunctionCalls function = {plan, arena_new_array(kernels->arena, Call, plan->kernel_count + 1)};
    for (int i = 0; i < plan->kernel_count; i++)
        function.calls[i] = call_of(kernels, plan, plan->order[i]);
    vector_push(kernels->arena, &kernels->functions, function);
}

static void write_comment(Text *text, const SharedKernel *shared) {
    const Graph *graph = shared->plan->graph;
    const KernelPlan *kernel = &shared->plan->kernels[shared->number];
    Text comment = text_new(text->arena);
    vector_each(const char *, line, shared->lines)
        text_format(&comment, "%s %s", line == shared->lines.items ? "" : ",", *line);
    text_add(&comment, shared->lines.count == LINES_SHOWN ? ", ...:" : ":");
    for (size_t i = 0; i < kernel->node_count && i < OPS_SHOWN; i++)
        text_format(&comment, "%s %s", i ? "," : "",
                    op_info[graph_node(graph, kernel->nodes[i])->op].name);
    if (kernel->node_count > OPS_SHOWN) text_add(&comment, " ...");
    NodeId last = kernel->nodes[kernel->node_count - 1];
    const char *type = type_text(text->arena, &graph_node(graph, last)->type);
    text_format(text, "/*%s -> %s", comment_text(text->arena, text_string(&comment)),
                comment_text(text->arena, type));
    if (shared->calls > 1) text_format(text, " (%d calls)", shared->calls);
    text_add(text, " */\n");
}

void write_kernel(Text *text, const SharedKernel *kernel) {
    write_comment(text, kernel);
    text_add(text, kernel->text);
}

/* Calls. */

static bool is_input(const KernelOperand *operand) {
    return operand->is_place && operand->value < 0;
}

static void write_operands(Text *text, const KernelOperands *operands) {
    text_add(text, "(const int64_t[]){");
    vector_each(KernelOperand, operand, *operands)
        text_format(text, "%s%s%lld", operand == operands->items ? "" : ", ",
                    is_input(operand) ? "~" : "",
                    (long long)(is_input(operand) ? ~operand->value : operand->value));
    text_add(text, "}");
}

static void write_call(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const Call *call, int number) {
    text_format(text, "    {%s, %s, ", kernels->list.items[call->kernel].name,
                plan->kernels[number].barrier ? "true" : "false");
    write_operands(text, &call->operands);
    text_format(text, "}, /* kernel %d */\n", number);
}

static const FunctionCalls *calls_of(const Kernels *kernels, const FunctionPlan *plan) {
    vector_each(FunctionCalls, known, kernels->functions)
        if (known->plan == plan) return known;
    assert(!"a function whose kernels were not added");
    return NULL;
}

static int call_count(const FunctionPlan *plan) {
    return plan->kernel_count + (int)plan->late.count;
}

void write_calls(Text *text, const Kernels *kernels, const FunctionPlan *plan, const char *prefix) {
    const FunctionCalls *function = calls_of(kernels, plan);
    if (!call_count(plan)) return;
    text_format(text, "static const FlowCall %s_calls[] = {\n", prefix);
    for (int i = 0; i < plan->kernel_count; i++)
        write_call(text, kernels, plan, &function->calls[i], plan->order[i]);
    vector_each(LateCopy, copy, plan->late)
        text_format(text, "    {flow_late_copy, %s, (const int64_t[]){%zu, %zu, %zu}},\n",
                    copy == plan->late.items ? "true" : "false", copy->to, copy->from, copy->size);
    text_add(text, "};\n\n");
}

const char *run_text(Arena *arena, const char *frame, const FunctionPlan *plan,
                     const char *prefix) {
    if (!call_count(plan)) return "(void)frame, (void)thread, (void)threads;";
    return arena_format(arena, "flow_run(%s, %s_calls, %d, thread, threads);", frame, prefix,
                        call_count(plan));
}

void write_named_calls(Text *text, const Kernels *kernels, const FunctionPlan *plan) {
    const FunctionCalls *function = calls_of(kernels, plan);
    assert(!plan->late.count);
    for (int i = 0; i < plan->kernel_count; i++) {
        const Call *call = &function->calls[i];
        text_format(text, "    %s(frame, ", kernels->list.items[call->kernel].name);
        write_operands(text, &call->operands);
        text_format(text, ", thread, threads); /* kernel %d */\n", plan->order[i]);
    }
}

void write_function(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                    const char *prefix) {
    write_calls(text, kernels, plan, prefix);
    text_format(text,
                "static void %s(const FlowFrame *frame, int thread, int threads) {\n"
                "    %s\n}\n\n",
                prefix, run_text(text->arena, "frame", plan, prefix));
}
