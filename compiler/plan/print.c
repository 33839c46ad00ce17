/* Print: a plan as text, for `--explain` and `--dump-ir=plan`. */
#include "compiler/graph/print.h"
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"
#include "compiler/plan/plan.h"
#include "lang/base/path.h"
#include "runtime/device/launch_limits.h"

const char *bytes_text(Arena *arena, double bytes) {
    if (bytes < 10240) return arena_format(arena, "%.0f B", bytes);
    if (bytes < 10 * 1048576.0) return arena_format(arena, "%.1f KiB", bytes / 1024);
    return arena_format(arena, "%.1f MiB", bytes / 1048576);
}

static void print_loops(const Loops *loops, Text *text) {
    static const char *const kinds[] = {[KERNEL_rows] = "rows",
                                        [KERNEL_columns] = "columns",
                                        [KERNEL_row_function] = "row function",
                                        [KERNEL_contraction] = "contraction",
                                        [KERNEL_scatter] = "scatter"};
    text_format(text, "%s [", kinds[loops->kind]);
    const Dim dims[] = {loops->outer, loops->rows, loops->depth, loops->columns};
    bool first = true;
    for (int i = 0; i < 4; i++) {
        int64_t value;
        if (dim_is_constant(dims[i], &value) && value == 1) continue;
        text_add(text, first ? "" : ", ");
        dim_print(dims[i], text);
        first = false;
    }
    text_add(text, first ? "1]" : "]");
}

/* "digits.flow:31 matmul, add", so many operations at most */
static void print_nodes(const Graph *graph, const KernelPlan *kernel, size_t most, Text *text) {
    const Source *last_source = NULL;
    uint32_t last_line = 0;
    for (size_t i = 0; i < kernel->fused_count; i++) {
        if (i == most) {
            text_add(text, " …");
            return;
        }
        const Node *node = graph_node(graph, kernel->fused[i]);
        if (node->range.source) {
            uint32_t line = source_position(node->range.source, node->range.begin).line;
            if (line != last_line || node->range.source != last_source)
                text_format(text, " %s:%u", path_name(node->range.source->path), line);
            last_source = node->range.source;
            last_line = line;
        }
        text_format(text, " %s%s", op_info[node->op].name, i + 1 < kernel->fused_count ? "," : "");
    }
}

/* "on cpu, gpu(0) wanted at gpt.flow:12: a C function runs on the CPU"; held: NULL, or why. */
static void print_device(const Placement *wanted, const Placement *given, const char *held,
                         Text *text) {
    text_add(text, "on ");
    device_print(given, text);
    if (!is_placed(wanted)) return;
    text_add(text, ", ");
    device_print(wanted, text);
    text_add(text, wanted->soft ? " preferred" : " wanted");
    if (range_is_of_program(wanted->range)) {
        text_add(text, " at ");
        place_print(wanted->range, text);
    }
    if (held && wanted->device == DEVICE_gpu) text_format(text, ": %s", held);
}

/* What is read and written. */

enum { VALUES_SHOWN = 8 };

typedef struct Reads {
    Vector(NodeId) items;
    const FunctionPlan *plan;
    Arena *arena;
    int kernel;
} Reads;

static void note_read(void *context, NodeId read, IndexKind index) {
    Reads *reads = context;
    (void)index;
    if (graph_node(reads->plan->graph, read)->kernel == reads->kernel) return;
    vector_each(NodeId, known, reads->items)
        if (*known == read) return;
    vector_push(reads->arena, &reads->items, read);
}

/* "net/w f32[784, 256]"; name: or NULL */
static void print_value(const FunctionPlan *plan, NodeId id, const char *name, Text *text) {
    const Node *node = graph_node(plan->graph, id);
    if (name) text_format(text, "%s ", name);
    text_add(text, type_text(text->arena, &node->type));
    if (plan->places[id].kind == PLACE_band) text_add(text, " of the band");
}

/* The weight that the value is the new value of, or NULL. */
static const char *updated_name(const FunctionPlan *plan, NodeId id) {
    vector_each(Output, output, plan->graph->outputs) {
        if (strip_reshapes(plan->graph, output->value) != id) continue;
        return output->name;
    }
    return NULL;
}

static void print_more(size_t count, Text *text) {
    if (count > VALUES_SHOWN) text_format(text, " and %zu more", count - VALUES_SHOWN);
}

static void print_reads(const FunctionPlan *plan, int k, Text *text) {
    const KernelPlan *kernel = &plan->kernels[k];
    Reads reads = {.plan = plan, .arena = text->arena, .kernel = k};
    for (size_t i = 0; i < kernel->node_count; i++)
        each_read(plan->graph, k, &kernel->loops, kernel->nodes[i], note_read, &reads);
    vector_each(NodeId, read, reads.items) {
        size_t shown = (size_t)(read - reads.items.items);
        if (shown < VALUES_SHOWN) {
            text_add(text, shown ? ", " : "reads ");
            print_value(plan, *read, graph_node(plan->graph, *read)->name, text);
        }
    }
    print_more(reads.items.count, text);
}

static void print_writes(const FunctionPlan *plan, const KernelPlan *kernel, bool reads,
                         Text *text) {
    const char *before = reads ? "; writes " : "writes ";
    size_t count = 0;
    for (size_t i = 0; i < kernel->node_count; i++) {
        NodeId id = kernel->nodes[i];
        if (plan->places[id].kind == PLACE_none || (kernel->scan && !i)) continue;
        if (count++ >= VALUES_SHOWN) continue;
        text_add(text, before);
        print_value(plan, id, updated_name(plan, id), text);
        before = ", ";
    }
    print_more(count, text);
}

static void print_values(const FunctionPlan *plan, int k, int depth, Text *text) {
    Text values = text_new(text->arena);
    print_reads(plan, k, &values);
    print_writes(plan, &plan->kernels[k], values.size > 0, &values);
    if (values.size) text_format(text, "%*s%s\n", depth, "", text_string(&values));
}

/* Kernels. */

typedef struct Printer {
    const PlanNotes *notes;
    Text *text;
} Printer;

static void print_body(const Printer *printer, const FunctionPlan *plan, int k, int depth);

/* "25.7 MFLOP" of 25690112 */
static const char *operations_text(Arena *arena, double operations) {
    static const char *const units[] = {"operations", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
    int unit = 0;
    for (; operations >= 9999.5 && unit < 4; unit++) operations /= 1000;
    return arena_format(arena, "%.*f %s", unit && operations < 99.95 ? 1 : 0, operations,
                        units[unit]);
}

/* The nodes, the values, "25.7 MFLOP; moves 1.5 MiB, 96 B of them from memory", and notes. */
static void print_work(const Printer *printer, const FunctionPlan *plan, int k, int depth) {
    Text *text = printer->text;
    const KernelPlan *kernel = &plan->kernels[k];
    text_add(text, ", ");
    print_device(&kernel->wanted, &kernel->given, kernel->held, text);
    text_format(text, "\n%*s", depth + 1, "");
    print_nodes(plan->graph, kernel, kernel->fused_count, text);
    text_add(text, "\n");
    print_values(plan, k, depth + 2, text);
    text_format(text, "%*s%s; moves %s", depth + 2, "",
                operations_text(text->arena, kernel->operations),
                bytes_text(text->arena, kernel->bytes));
    if (kernel->far > 0)
        text_format(text, ", %s of them from memory", bytes_text(text->arena, kernel->far));
    text_add(text, "\n");
    if (printer->notes) printer->notes->kernel(printer->notes->context, plan, k, depth + 2, text);
}

void kernel_print(const FunctionPlan *plan, int k, Text *text) {
    enum { OPERATIONS_SHOWN = 6 };
    const KernelPlan *kernel = &plan->kernels[k];
    if (kernel->scan) text_add(text, "scan");
    else if (kernel->loops.kind == KERNEL_external) text_add(text, "call");
    else print_loops(&kernel->loops, text);
    text_add(text, ":");
    print_nodes(plan->graph, kernel, OPERATIONS_SHOWN, text);
}

static void print_share(const KernelPlan *kernel, Text *text) {
    text_add(text, kernel->by_columns ? ", threads split columns " : ", threads split ");
    dim_print(kernel->records ? kernel->records : kernel->share, text);
    if (kernel->records) text_add(text, " records");
}

static void print_kernel(const Printer *printer, const FunctionPlan *plan, int k, int depth) {
    Text *text = printer->text;
    const KernelPlan *kernel = &plan->kernels[k];
    if (kernel->barrier) text_format(text, "%*s---- barrier ----\n", depth, "");
    text_format(text, "%*skernel %d: ", depth, "", k);
    if (kernel->scan) {
        print_body(printer, plan, k, depth);
        return;
    }
    if (kernel->loops.kind == KERNEL_external) {
        text_format(text, "call of %s, by one thread",
                    graph_node(plan->graph, kernel->nodes[0])->external->name);
    } else {
        print_loops(&kernel->loops, text);
        if (!runs_on_gpu(kernel)) print_share(kernel, text);
    }
    print_work(printer, plan, k, depth);
}

static const char *device_name(Arena *arena, int device) {
    if (device == EVERY_GPU) return "gpus";
    return device < 0 ? "cpu" : arena_format(arena, "gpu(%d)", device);
}

void transfer_print(const FunctionPlan *plan, const Transfer *transfer, Text *text) {
    const Node *node = graph_node(plan->graph, transfer->node);
    const char *updated = updated_name(plan, transfer->node);
    const char *name = node->name ? node->name : updated ? updated : op_info[node->op].name;
    const char *to = device_name(text->arena, transfer->to);
    switch (transfer->kind) {
    case TRANSFER_begin: text_add(text, "GPUs begin"); break;
    case TRANSFER_end: text_add(text, "waits for GPUs"); break;
    case TRANSFER_copy:
        text_format(text, "copies %s from %s to %s", name, device_name(text->arena, transfer->from),
                    to);
        break;
    case TRANSFER_result:
        text_format(text, "gives %s from %s", name, device_name(text->arena, transfer->from));
        break;
    case TRANSFER_move: text_format(text, "copies the new value of %s on %s", name, to); break;
    case TRANSFER_need: text_format(text, "needs %s on %s", name, to); break;
    case TRANSFER_owns: text_format(text, "has written %s on %s", name, to); break;
    case TRANSFER_reduce:
        text_format(text, "%s of %s over %s: %s", op_info[node->op].name + strlen("whole_"),
                    op_info[graph_node(plan->graph, transfer->value)->op].name, to,
                    type_text(text->arena, &node->type));
        break;
    case TRANSFER_await: text_format(text, "waits on %s for what becomes whole", to); break;
    }
}

static int updates_of(const FunctionPlan *plan, const Band *band) {
    int updates = 0;
    vector_each(Output, output, plan->graph->outputs) {
        int kernel = graph_node(plan->graph, strip_reshapes(plan->graph, output->value))->kernel;
        for (int i = 0; i < band->count; i++)
            updates += output->kind == OUTPUT_update && kernel == band->kernels[i];
    }
    return updates;
}

static void print_launch(const FunctionPlan *plan, const Band *band, int depth, Text *text) {
    const int updates = updates_of(plan, band);
    text_format(text, "%*skernels in one launch", depth, "");
    if (updates) text_format(text, ", updates of %d weights and states", updates);
    text_add(text, ":\n");
}

/* Those that were moved don't follow one another. */
static void print_numbers(const Band *band, Text *text) {
    const int first = band->kernels[0], last = band->kernels[band->count - 1];
    bool in_order = true;
    for (int i = 1; i < band->count; i++) in_order &= band->kernels[i] == first + i;
    if (in_order) text_format(text, "%d to %d", first, last);
    for (int i = 0; i < band->count && !in_order; i++)
        text_format(text, "%s%d", i ? ", " : "", band->kernels[i]);
}

static void print_rows(const FunctionPlan *plan, const Band *band, int depth, Text *text) {
    const bool records = plan->kernels[band->kernels[0]].records;
    text_format(text, "%*skernels ", depth, "");
    print_numbers(band, text);
    text_format(text, " in %s of %lld %s, which a thread holds %s of",
                band->slices ? "slices" : "bands", (long long)band->rows,
                records ? "records" : "rows", bytes_text(text->arena, (double)band->room));
    for (int i = 0; i < band->again_count; i++)
        text_format(text, "%s%d", i ? ", " : ", after once more ", band->again[i]);
    text_add(text, ":\n");
}

static void print_band(const Printer *printer, const FunctionPlan *plan, const Band *band,
                       int depth) {
    Text *text = printer->text;
    if (band->transfer) {
        text_format(text, "%*s", depth, "");
        transfer_print(plan, band->transfer, text);
        text_add(text, "\n");
        return;
    }
    if (band->count > 1 && !band->rows) print_launch(plan, band, depth, text);
    else if (band->count > 1) print_rows(plan, band, depth, text);
    for (int i = 0; i < band->count; i++)
        print_kernel(printer, plan, band->kernels[i], band->count > 1 ? depth + 2 : depth);
}

static void print_body(const Printer *printer, const FunctionPlan *plan, int k, int depth) {
    const KernelPlan *kernel = &plan->kernels[k];
    const FunctionPlan *body = kernel->scan->body;
    Text *text = printer->text;
    text_add(text, "scan of ");
    dim_print(graph_node(plan->graph, kernel->nodes[0])->scan->turns, text);
    text_add(text, runs_on_gpu(kernel)   ? " turns, the host launches each of them"
                   : kernel->scan->waits ? " turns, threads wait between them"
                                         : " turns, threads wait for nobody between them");
    print_work(printer, plan, k, depth);
    vector_each(Band, band, body->bands) print_band(printer, body, band, depth + 2);
}

static void print_buffer(const FunctionPlan *plan, const Buffer *buffer, Text *text) {
    const Node *node = graph_node(plan->graph, buffer->node);
    text_format(text, "  at %zu: %s, phases %d to ", buffer->offset,
                bytes_text(text->arena, (double)buffer->size), buffer->first_phase);
    if (buffer->last_phase == plan->phase_count) text_add(text, "the end");
    else text_format(text, "%d", buffer->last_phase);
    text_format(text, ", %s%s of kernel %d\n", buffer->parts_of ? "parts of " : "",
                op_info[node->op].name, node->kernel);
}

/* The kernels that a call launches. */
static double launches_of(const FunctionPlan *plan) {
    double launches = 0;
    for (int k = 0; k < plan->kernel_count; k++) {
        const KernelPlan *kernel = &plan->kernels[k];
        if (!runs_on_gpu(kernel)) continue;
        launches += kernel->scan ? turns_of(plan, k) * launches_of(kernel->scan->body)
                                 : launches_of_kernel(kernel);
    }
    return launches;
}

static void print_function(const Printer *printer, const FunctionPlan *plan) {
    Text *text = printer->text;
    double operations = 0;
    for (int k = 0; k < plan->kernel_count; k++) operations += plan->kernels[k].operations;
    text_format(text, "%s: %d kernels, %d phases, %s, %s of scratch\n", plan->function->name,
                plan->kernel_count, plan->phase_count, operations_text(text->arena, operations),
                bytes_text(text->arena, (double)plan->scratch_size));
    if (plan->together)
        text_format(text, "  up to %lld records at a time, which take %s on GPUs\n",
                    (long long)plan->together, bytes_text(text->arena, together_memory(plan)));
    if (plan->one_gpu && launches_of(plan) > FLOW_REPLAY_KERNELS)
        text_format(text, "  %.0f kernels are launched one by one, too many for a graph\n",
                    launches_of(plan));
    if (printer->notes) printer->notes->function(printer->notes->context, plan, text);
    vector_each(Band, band, plan->bands) print_band(printer, plan, band, 2);
    vector_each(Buffer, buffer, plan->buffers) print_buffer(plan, buffer, text);
    vector_each(LateCopy, copy, plan->late)
        text_format(text, "  at the end: copies %s from %zu to %zu\n",
                    bytes_text(text->arena, (double)copy->size), copy->from, copy->to);
    text_add(text, "\n");
}

static bool is_of_stage(const KernelPlan *kernel, const Stage *stage) {
    const Range *asked = &kernel->wanted.range, *said = &stage->placement.range;
    return is_placed(&stage->placement) && is_placed(&kernel->wanted) &&
           asked->source == said->source && asked->begin == said->begin;
}

/* A stage is where the kernels are that have its placement; the CPU moves records. */
static Placement stage_device(const Plan *plan, const Stage *stage) {
    vector_each(FunctionPlan *, function, plan->functions)
        for (int k = 0; k < (*function)->kernel_count; k++)
            if (is_of_stage(&(*function)->kernels[k], stage)) return (*function)->kernels[k].given;
    return (Placement){.device = DEVICE_cpu};
}

static void print_pipeline(const Plan *plan, const Pipeline *pipeline, Text *text) {
    text_format(text, "pipeline %s: ", pipeline->name);
    if (pipeline->batch) text_format(text, "batches of %lld", (long long)pipeline->batch);
    else text_add(text, "records of another");
    if (pipeline->threads.value) text_format(text, ", %d threads", pipeline->threads.value);
    if (pipeline->unordered) text_add(text, ", in any order");
    if (pipeline->queue.value) text_format(text, ", a queue of %d", pipeline->queue.value);
    text_add(text, "\n");
    vector_each(Stage, stage, pipeline->stages) {
        const Placement given = stage_device(plan, stage);
        text_format(text, "  %s, ", stage->name);
        print_device(&stage->placement, &given, NULL, text);
        text_add(text, "\n");
    }
    text_add(text, "\n");
}

void plan_print(const Plan *plan, const PlanNotes *notes, Text *text) {
    const Printer printer = {notes, text};
    vector_each(Pipeline *, pipeline, plan->program->pipelines)
        print_pipeline(plan, *pipeline, text);
    vector_each(FunctionPlan *, function, plan->functions) print_function(&printer, *function);
    text_format(text, "storage: %s\n", bytes_text(text->arena, (double)plan->storage_size));
    for (size_t i = 0; i < plan->program->storage.count; i++)
        text_format(text, "  at %zu: %s %s\n", plan->storage[i],
                    plan->program->storage.items[i].name,
                    type_text(text->arena, &plan->program->storage.items[i].type));
    text_format(text, "memory: %s in all, storage and the largest scratch\n",
                bytes_text(text->arena, (double)plan->memory_size));
}
