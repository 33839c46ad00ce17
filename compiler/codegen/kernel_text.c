/* Kernel text: each kernel by its kind, under a name that all its calls share, and for each
 * function a table of calls. A text that is known but for what its names say needs no second
 * function. Its name says what that text is, so that it is the same in every program. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/names.h"
#include "compiler/codegen/table_text.h"
#include "compiler/codegen/text_key.h"

#include <assert.h>

enum { OPS_SHOWN = 12, LINES_SHOWN = 6 };

/* Sanitized, as tests have it, flowc writes each text, and looks whether it is that of its key. */
#ifdef FLOWC_CHECKS_KEYS
enum { TRUSTS_KEYS = false };
#else
enum { TRUSTS_KEYS = true };
#endif

Kernels kernels_new(Arena *arena) {
    return (Kernels){.arena = arena, .by_text = map_new(arena)};
}

/* Kernels. */

static KernelOperands write_by_kind(GpuText *texts, const Kernels *kernels,
                                    const FunctionPlan *plan, int kernel) {
    Text *text = &texts->host;
    const KernelKind kind = plan->kernels[kernel].loops.kind;
    if (runs_on_gpu(&plan->kernels[kernel]) && kind != KERNEL_scan)
        return write_gpu_kernel(texts, plan, kernel);
    switch (kind) {
    case KERNEL_rows: return write_rows_kernel(text, plan, kernel);
    case KERNEL_columns: return write_columns_kernel(text, plan, kernel);
    case KERNEL_contraction: return write_contraction_kernel(text, plan, kernel);
    case KERNEL_row_function: return write_row_function_kernel(text, plan, kernel);
    case KERNEL_scatter: return write_scatter_kernel(text, plan, kernel);
    case KERNEL_external: return write_external_kernel(text, plan, kernel);
    case KERNEL_scan: return write_scan_kernel(text, kernels, plan, kernel);
    }
    return (KernelOperands){0};
}

/* By the FNV-1a hash of its text without hints. */
static const char *kernel_name(Arena *arena, const char *text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return arena_format(arena, "k%012llx", (unsigned long long)(hash >> 16));
}

static const char *finished_text(Kernels *kernels, const Text *marked, const char *name) {
    return without_unused(kernels->arena, with_hints(kernels->scratch, text_string(marked), name));
}

/* Of that text, known or new. */
static int kernel_of_text(Kernels *kernels, const GpuText *texts, const FunctionPlan *plan,
                          int number) {
    const char *marked = arena_format(kernels->scratch, "%s%s", text_string(&texts->host),
                                      text_string(&texts->device));
    const char *text = without_hints(kernels->scratch, marked);
    const uintptr_t known = (uintptr_t)map_get(&kernels->by_text, text);
    if (known) return (int)known - 1;
    const char *name = kernel_name(kernels->arena, text);
    vector_push(kernels->arena, &kernels->list,
                (SharedKernel){.name = name,
                               .text = finished_text(kernels, &texts->host, name),
                               .device = finished_text(kernels, &texts->device, name),
                               .plan = plan,
                               .number = number});
    map_put(&kernels->by_text, text, (void *)(uintptr_t)kernels->list.count);
    return (int)kernels->list.count - 1;
}

static void add_line(Arena *arena, Lines *lines, const char *line) {
    vector_each(const char *, known, *lines)
        if (!strcmp(*known, line)) return;
    if (*line && lines->count < LINES_SHOWN) vector_push(arena, lines, line);
}

static void note_call(Arena *arena, SharedKernel *kernel, const FunctionPlan *plan, int number,
                      bool named) {
    const KernelPlan *called = &plan->kernels[number];
    kernel->calls++;
    kernel->named += named;
    for (size_t i = 0; i < called->node_count && i < OPS_SHOWN; i++)
        add_line(arena, &kernel->lines,
                 place_text(arena, graph_node(plan->graph, called->nodes[i])->range));
}

static KernelOperands copy_operands(Arena *arena, const KernelOperands *operands) {
    KernelOperands copy = {0};
    vector_each(KernelOperand, operand, *operands) vector_push(arena, &copy, *operand);
    return copy;
}

static Call written_call(Kernels *kernels, const FunctionPlan *plan, int number) {
    arena_clear(kernels->scratch);
    GpuText texts = {text_new(kernels->scratch), text_new(kernels->scratch)};
    const KernelOperands operands = write_by_kind(&texts, kernels, plan, number);
    const int kernel = kernel_of_text(kernels, &texts, plan, number);
    return (Call){kernel, copy_operands(kernels->arena, &operands)};
}

/* Calls that are like each other. */

/* The first call of a key; of each operand that is a place, which of the key's nodes it is of. */
typedef struct KnownCall {
    Call call;
    int *nodes;
} KnownCall;

/* The calls of a function that are being added. */
typedef struct Caller {
    Kernels *kernels;
    const FunctionPlan *plan;
    bool named;
    TextKeys keys;
    Map by_key; /* to a KnownCall */
} Caller;

/* NULL: an operand is no node's place. */
static KnownCall *known_call(const Caller *caller, Call call) {
    Arena *arena = caller->kernels->arena;
    KnownCall *known = arena_new_item(arena, KnownCall);
    *known = (KnownCall){call, arena_new_array(arena, int, call.operands.count + 1)};
    for (size_t i = 0; i < call.operands.count; i++) {
        const KernelOperand *operand = &call.operands.items[i];
        if (!operand->is_place) continue;
        known->nodes[i] = node_of_place(&caller->keys, operand->value);
        if (known->nodes[i] < 0) return NULL;
    }
    return known;
}

static Call call_like(const Caller *caller, const KnownCall *known) {
    const FunctionPlan *plan = caller->plan;
    Call call = {known->call.kernel, copy_operands(caller->kernels->arena, &known->call.operands)};
    for (size_t i = 0; i < call.operands.count; i++) {
        const NodeId node = caller->keys.nodes.items[known->nodes[i]];
        if (call.operands.items[i].is_place)
            call.operands.items[i].value = passed_place(plan, plan->places[node]);
    }
    return call;
}

static bool calls_are_equal(const Call *a, const Call *b) {
    bool equal = a->kernel == b->kernel && a->operands.count == b->operands.count;
    for (size_t i = 0; equal && i < a->operands.count; i++)
        equal = a->operands.items[i].is_place == b->operands.items[i].is_place &&
                a->operands.items[i].value == b->operands.items[i].value;
    return equal;
}

static Call call_of_key(Caller *caller, int number) {
    const size_t size = caller->keys.words.count * sizeof *caller->keys.words.items;
    const void *key = caller->keys.words.items;
    KnownCall *known = map_get_bytes(&caller->by_key, key, size);
    if (known && TRUSTS_KEYS) return call_like(caller, known);
    const Call call = written_call(caller->kernels, caller->plan, number);
    if (known) {
        const Call like = call_like(caller, known);
        assert(calls_are_equal(&call, &like) && "a kernel's text hangs on more than its key");
    } else if ((known = known_call(caller, call))) map_put_bytes(&caller->by_key, key, size, known);
    return call;
}

static void add_calls(Kernels *kernels, const FunctionPlan *plan, bool named);

/* plan: that of the caller, or as it is where kernels run again. */
static Call call_of(Caller *caller, const FunctionPlan *plan, int number) {
    Kernels *kernels = caller->kernels;
    if (plan->kernels[number].scan) add_calls(kernels, plan->kernels[number].scan->body, false);
    const bool keyed = plan == caller->plan && text_key(&caller->keys, number);
    const Call call = keyed ? call_of_key(caller, number) : written_call(kernels, plan, number);
    note_call(kernels->arena, &kernels->list.items[call.kernel], plan, number, caller->named);
    return call;
}

/* Bands. */

/* The plan as the band's calls see it of kernels that run again. */
static const FunctionPlan *plan_of_again(Arena *arena, const FunctionPlan *plan, const Band *band) {
    if (!band->again_count) return plan;
    FunctionPlan *again = arena_new_item(arena, FunctionPlan);
    *again = *plan;
    again->kernels = arena_new_array(arena, KernelPlan, plan->kernel_count);
    memcpy(again->kernels, plan->kernels, (size_t)plan->kernel_count * sizeof(KernelPlan));
    for (int i = 0; i < band->again_count; i++) again->kernels[band->again[i]].again = true;
    return again;
}

/* Of several kernels that a GPU does in one launch. */
static Call call_of_launch(Kernels *kernels, const FunctionPlan *plan, const Band *band,
                           bool named) {
    Arena *arena = kernels->arena;
    GpuText texts = {text_new(arena), text_new(arena)};
    const KernelOperands operands = write_gpu_abreast(&texts, plan, band);
    const int kernel = kernel_of_text(kernels, &texts, plan, band->kernels[0]);
    note_call(arena, &kernels->list.items[kernel], plan, band->kernels[0], named);
    return (Call){kernel, operands};
}

static Call call_of_band(Caller *caller, const Band *band) {
    Kernels *kernels = caller->kernels;
    const FunctionPlan *plan = caller->plan;
    Arena *arena = kernels->arena;
    Call *calls = arena_new_array(arena, Call, calls_of_band(band));
    if (band->count > 1 && runs_on_gpu(&plan->kernels[band->kernels[0]]))
        return call_of_launch(kernels, plan, band, caller->named);
    const FunctionPlan *again = plan_of_again(arena, plan, band);
    for (int i = 0; i < calls_of_band(band); i++)
        calls[i] = call_of(caller, i < band->again_count ? again : plan, kernel_of_call(band, i));
    if (calls_of_band(band) == 1 && !band->values.count) return calls[0];
    GpuText texts = {text_new(arena), text_new(arena)};
    const KernelOperands operands = write_band_kernel(&texts.host, kernels, plan, band, calls);
    const int kernel = kernel_of_text(kernels, &texts, plan, band->kernels[0]);
    note_call(arena, &kernels->list.items[kernel], plan, band->kernels[0], caller->named);
    return (Call){kernel, operands};
}

static void add_calls(Kernels *kernels, const FunctionPlan *plan, bool named) {
    FunctionCalls function = {plan, arena_new_array(kernels->arena, Call, plan->bands.count + 1)};
    Caller caller = {kernels, plan, named, text_keys_new(kernels->arena, plan),
                     map_new(kernels->arena)};
    for (size_t i = 0; i < plan->bands.count; i++)
        if (!plan->bands.items[i].transfer)
            function.calls[i] = call_of_band(&caller, &plan->bands.items[i]);
    vector_push(kernels->arena, &kernels->functions, function);
}

void add_kernels(Kernels *kernels, const FunctionPlan *plan) {
    kernels->scratch = arena_new();
    add_calls(kernels, plan, plan->function->of_record);
    arena_free(kernels->scratch);
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

/* Each with its comment: there may be two. */
static void write_device_functions(Text *text, const SharedKernel *kernel) {
    static const char begins[] = "FLOW_GLOBAL(";
    const char *at = kernel->device;
    while (*at) {
        const char *next = strstr(at + 1, begins);
        int size = next ? (int)(next - at) : (int)strlen(at);
        write_comment(text, kernel);
        text_format(text, "%.*s", size, at);
        at += size;
    }
}

bool write_device_text(Text *text, const Kernels *kernels) {
    bool some = false;
    vector_each(SharedKernel, kernel, kernels->list) {
        if (!*kernel->device) continue;
        if (!some && kernels->exact) text_add(text, "#define FLOW_EXACT /* see kernel.h */\n");
        if (!some) text_add(text, "#include \"cuda.h\"\n#include \"row.h\"\n\n");
        some = true;
        write_device_functions(text, kernel);
    }
    return some;
}

/* Calls. */

static bool is_input(const KernelOperand *operand) {
    return operand->is_place && operand->value < 0;
}

static void write_operand(Text *text, const KernelOperand *operand) {
    double number;
    memcpy(&number, &operand->value, sizeof number);
    if (operand->is_real)
        text_format(text, "0x%llx /* %.9g */", (unsigned long long)operand->value, number);
    else if (is_input(operand)) text_format(text, "~%lld", (long long)~operand->value);
    else text_format(text, "%lld", (long long)operand->value);
}

static void write_operands(Text *text, const KernelOperands *operands) {
    text_add(text, "(const int64_t[]){");
    vector_each(KernelOperand, operand, *operands) {
        if (operand != operands->items) text_add(text, ", ");
        write_operand(text, operand);
    }
    text_add(text, "}");
}

static void write_call(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const Call *call, int number) {
    text_format(text, "    {%s, %s, ", kernels->list.items[call->kernel].name,
                plan->kernels[number].barrier ? "true" : "false");
    write_operands(text, &call->operands);
    text_format(text, "}, /* kernel %d */\n", number);
}

/* Between the CPU and all replicas: a place, and what of it each record has. */
static void write_spread(Text *text, const FunctionPlan *plan, const Transfer *transfer) {
    const Place *place = &plan->places[transfer->node];
    const Portion portion = portion_of(plan, transfer->node);
    if (place->kind == PLACE_input) text_format(text, "~%d", place->index);
    else text_format(text, "%zu", place->offset);
    text_format(text, ", %lld, %lld, %d, %d", (long long)portion.size, (long long)portion.outer,
                transfer->from, transfer->to);
}

/* The host has no more of an input than this run's size, or that of a record. */
static void write_input_copy(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                             const Transfer *transfer) {
    const Type *type = &graph_node(plan->graph, transfer->node)->type;
    Dimensions *table = plan->graph->dimensions;
    const bool has_records = plan->graph->batch && type_batch_axis(type) >= 0;
    Dim size = dim_multiply(table, type_elements(table, type),
                            dim_constant(table, element_info[type->element].size));
    Dim of_record = has_records ? dim_divide(table, size, plan->graph->batch) : NULL;
    text_format(text, "~%d, %s, %d, %d, %d", plan->places[transfer->node].index,
                size_initialiser(kernels->arena, kernels->sizes, of_record ? of_record : size),
                of_record != NULL, transfer->from, transfer->to);
}

static void write_reduction(Text *text, const FunctionPlan *plan, const Transfer *transfer) {
    const Node *node = graph_node(plan->graph, transfer->node);
    text_format(text, "%zu, %zu, %lld, FLOW_%s, FLOW_%s", plan->places[transfer->node].offset,
                plan->places[transfer->value].offset,
                (long long)dim_bound(type_elements(plan->graph->dimensions, &node->type)),
                op_info[node->op].name, element_info[node->type.element].name);
}

/* function: its number. */
static void write_transfer(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                           int function, const Transfer *transfer) {
    static const char *const names[] = {
        [TRANSFER_begin] = "begin",   [TRANSFER_end] = "end",       [TRANSFER_copy] = "copy",
        [TRANSFER_result] = "result", [TRANSFER_move] = "move",     [TRANSFER_need] = "need",
        [TRANSFER_owns] = "owns",     [TRANSFER_reduce] = "reduce", [TRANSFER_await] = "await"};
    const Place *place = &plan->places[transfer->node];
    const size_t size = (size_t)type_size_bound(&graph_node(plan->graph, transfer->node)->type);
    bool notes = transfer->kind == TRANSFER_begin || transfer->kind == TRANSFER_owns;
    text_format(text, "    {flow_gpu_%s, %s, (const int64_t[]){", names[transfer->kind],
                notes ? "false" : "true");
    if (transfer->kind == TRANSFER_reduce) write_reduction(text, plan, transfer);
    else if (transfer->kind == TRANSFER_copy &&
             (transfer->from == EVERY_GPU || transfer->to == EVERY_GPU))
        write_spread(text, plan, transfer);
    else if (transfer->kind == TRANSFER_copy && place->kind == PLACE_input)
        write_input_copy(text, kernels, plan, transfer);
    else if (transfer->kind == TRANSFER_copy)
        text_format(text, "%zu, %zu, 0, %d, %d", place->offset, size, transfer->from, transfer->to);
    else if (transfer->kind == TRANSFER_result)
        text_format(text, "%zu, %zu, %d", place->offset, size, transfer->from);
    else if (transfer->kind == TRANSFER_begin)
        text_format(text, "%d, %d, %d", function, plan->one_gpu - 1, transfer->to);
    else if (transfer->kind == TRANSFER_move)
        text_format(text, "%zu, %zu, %zu, %d", place->offset, plan->places[transfer->value].offset,
                    size, transfer->to);
    else if (transfer->kind != TRANSFER_end && transfer->kind != TRANSFER_await)
        text_format(text, "%zu, %zu, %d", place->offset, size, transfer->to);
    else text_add(text, "0");
    text_add(text, "}},\n");
}

static const FunctionCalls *calls_of(const Kernels *kernels, const FunctionPlan *plan) {
    vector_each(FunctionCalls, known, kernels->functions)
        if (known->plan == plan) return known;
    assert(!"a function whose kernels were not added");
    return NULL;
}

static int call_count(const FunctionPlan *plan) {
    return (int)(plan->bands.count + plan->late.count);
}

void write_calls(Text *text, const Kernels *kernels, const FunctionPlan *plan, const char *prefix) {
    const FunctionCalls *function = calls_of(kernels, plan);
    const int number = (int)(function - kernels->functions.items);
    if (!call_count(plan)) return;
    text_format(text, "static const FlowCall %s_calls[] = {\n", prefix);
    for (size_t i = 0; i < plan->bands.count; i++) {
        const Band *band = &plan->bands.items[i];
        if (band->transfer) write_transfer(text, kernels, plan, number, band->transfer);
        else write_call(text, kernels, plan, &function->calls[i], band->kernels[0]);
    }
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

void write_named_calls(Text *text, const Kernels *kernels, const FunctionPlan *plan,
                       const char *frame, size_t first, size_t last) {
    const FunctionCalls *function = calls_of(kernels, plan);
    assert(!plan->late.count);
    for (size_t i = first; i < last; i++) {
        const Call *call = &function->calls[i];
        text_format(text, "    %s(%s, ", kernels->list.items[call->kernel].name, frame);
        write_operands(text, &call->operands);
        text_format(text, ", thread, threads); /* kernel %d */\n", plan->bands.items[i].kernels[0]);
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
