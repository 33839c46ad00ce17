/* Work. */
#include "compiler/balance/work.h"

#include "compiler/codegen/how.h"

#include <math.h>

static void find_batch(Dim symbol, void *context) {
    if (dim_is_batch(symbol)) *(bool *)context = true;
}

static bool grows(Dim dim) {
    bool found = false;
    if (dim) dim_each_symbol(dim, find_batch, &found);
    return found;
}

static bool loops_grow(const Loops *loops) {
    return grows(loops->outer) || grows(loops->rows) || grows(loops->depth) ||
           grows(loops->columns);
}

static bool type_grows(const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (grows(type->dims[i])) return true;
    return false;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static Figure thirds_figure(const DeviceProfile *device) {
    Figure halves = device->figures[FIGURE_bf16], single = device->figures[FIGURE_f32];
    halves.value /= FLOW_THIRDS_PRODUCTS;
    return halves.value > single.value ? halves : single;
}

/* Of tf32 tensor cores compute half as many as of halves (whitepapers of A100 and H100). */
static Figure arithmetic_figure(const DeviceProfile *device, const FunctionPlan *plan, int k) {
    static const FigureName rates[] = {[ARITHMETIC_single] = FIGURE_f32,
                                       [ARITHMETIC_double] = FIGURE_f64,
                                       [ARITHMETIC_halves] = FIGURE_bf16,
                                       [ARITHMETIC_tf32] = FIGURE_bf16};
    const Arithmetic arithmetic = arithmetic_of(plan, k);
    if (arithmetic == ARITHMETIC_thirds) return thirds_figure(device);
    Figure figure = device->figures[rates[arithmetic]];
    if (arithmetic == ARITHMETIC_tf32) figure.value /= 2;
    return figure;
}

static double arithmetic_rate(const DeviceProfile *device, const FunctionPlan *plan, int k) {
    return arithmetic_figure(device, plan, k).value;
}

/* Of the amounts by the figures, the one that takes longest. */
static Origin longest(const double *amounts, const Figure *figures, int count) {
    int most = 0;
    for (int i = 1; i < count; i++)
        if (amounts[i] / figures[i].value > amounts[most] / figures[most].value) most = i;
    return figures[most].origin;
}

Origin origin_on_cpu(const DeviceProfile *cpu, const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    const double amounts[] = {kernel->operations, kernel->bytes, kernel->far};
    const Figure figures[] = {arithmetic_figure(cpu, plan, k), cpu->figures[FIGURE_cache],
                              cpu->figures[FIGURE_memory]};
    return longest(amounts, figures, 3);
}

Origin origin_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    if (joins_replicas(plan, kernel)) return rate_across(gpu).origin;
    const double amounts[] = {kernel->operations, kernel->bytes};
    const Figure figures[] = {arithmetic_figure(gpu, plan, k), gpu->figures[FIGURE_memory]};
    return longest(amounts, figures, 2);
}

/* Without the time to start. */
static double work_alone(const DeviceProfile *cpu, const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    double seconds = kernel->operations / arithmetic_rate(cpu, plan, k);
    seconds = larger(seconds, kernel->bytes / cpu->figures[FIGURE_cache].value);
    return larger(seconds, kernel->far / cpu->figures[FIGURE_memory].value);
}

/* Kernels that are started for it: each turn of a loop starts those of its body. */
static double starts_of(const FunctionPlan *plan, int k) {
    const FunctionPlan *body = plan->kernels[k].scan ? plan->kernels[k].scan->body : NULL;
    double starts = 0;
    for (int i = 0; body && i < body->kernel_count; i++) starts += starts_of(body, i);
    return body ? turns_of(plan, k) * starts : 1;
}

double work_on_cpu(const DeviceProfile *cpu, const FunctionPlan *plan, int k, double batch) {
    if (is_taken_in(&plan->kernels[k])) return 0; /* another does it on the way */
    double times = loops_grow(&plan->kernels[k].loops) ? batch : 1;
    return starts_of(plan, k) * cpu->figures[FIGURE_start].value + times * work_alone(cpu, plan, k);
}

/* What threads of a GPU do side by side, as gpu_KIND_text.c has it. */
static double elements_of(const Loops *loops) {
    enum { WARPS = 8 /* go down a column */ };
    double outer = (double)dim_bound(loops->outer), columns = (double)dim_bound(loops->columns);
    double rows = (double)dim_bound(loops->rows);
    switch (loops->kind) {
    case KERNEL_scatter: return columns;
    case KERNEL_row_function: return rows;
    case KERNEL_columns: return outer * columns * WARPS;
    default: return outer * rows * columns;
    }
}

/* Sums of parts are written by one launch, and read by a second. */
static double bytes_of_parts(const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    const Element element = graph_node(plan->graph, kernel->nodes[0])->type.element;
    const double size = element == TYPE_f64 ? sizeof(double) : sizeof(float);
    return kernel->parts > 1 ? 2 * kernel->parts * elements_of(&kernel->loops) * size : 0;
}

static double starts_on_gpu(const DeviceProfile *gpu, const KernelPlan *kernel) {
    return launches_of_kernel(kernel) * gpu->figures[FIGURE_start].value;
}

/* Of loops that are gone through so many times at once. */
static double alone_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int k,
                           double times) {
    const KernelPlan *kernel = &plan->kernels[k];
    double fill = gpu->figures[FIGURE_fill].value / (times * elements_of(&kernel->loops) + 1);
    double bytes = kernel->bytes + bytes_of_parts(plan, k);
    double seconds = larger(kernel->operations / arithmetic_rate(gpu, plan, k),
                            bytes / gpu->figures[FIGURE_memory].value);
    return times * seconds * (1 + fill);
}

/* Each turn launches what its body has. */
static double loop_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int k, double batch) {
    const FunctionPlan *body = plan->kernels[k].scan->body;
    double seconds = 0;
    for (int i = 0; i < body->kernel_count; i++) seconds += work_on_gpu(gpu, body, i, batch);
    return turns_of(plan, k) * seconds;
}

double shares_of(const FunctionPlan *plan) {
    const int replicas = plan->graph->wishes.replicas;
    return replicas > 1 ? replicas : 1;
}

Figure rate_across(const DeviceProfile *gpu) {
    const Figure *link = &gpu->figures[FIGURE_link], *peer = &gpu->figures[FIGURE_peer];
    return peer->origin ? *peer : (Figure){link->value / 2, link->origin};
}

/* Each replica sends its slices to the others, and what it made of theirs (device/replicas.c). */
static double joining(const DeviceProfile *gpu, const FunctionPlan *plan, int k) {
    const Node *node = graph_node(plan->graph, plan->kernels[k].nodes[0]);
    const double others = shares_of(plan) - 1, bytes = (double)type_size_bound(&node->type);
    const double slice = bytes / (others + 1);
    return 2 * others * (gpu->figures[FIGURE_latency].value + slice / rate_across(gpu).value) +
           gpu->figures[FIGURE_start].value +
           (others + 2) * slice / gpu->figures[FIGURE_memory].value;
}

double work_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int k, double batch) {
    if (joins_replicas(plan, &plan->kernels[k])) return joining(gpu, plan, k);
    if (plan->kernels[k].scan) return loop_on_gpu(gpu, plan, k, batch);
    if (is_taken_in(&plan->kernels[k])) return 0; /* another does it on the way */
    double times = loops_grow(&plan->kernels[k].loops) ? batch : 1;
    return starts_on_gpu(gpu, &plan->kernels[k]) + alone_on_gpu(gpu, plan, k, times);
}

double work_of_copy(const DeviceProfile *gpu, const Type *type, const Scene *scene) {
    double bytes = (double)type_size_bound(type) * (type_grows(type) ? scene->batch : 1);
    return gpu->figures[FIGURE_latency].value +
           bytes / (scene->link * gpu->figures[FIGURE_link].value);
}

double records_on_cpu(const DeviceProfile *cpu, const FunctionPlan *plan, int k, double records) {
    return records * work_alone(cpu, plan, k);
}

/* For so many records; where nothing runs on a GPU, as if it were one by one. */
static double launches_for(const FunctionPlan *plan, double records) {
    return ceil(records / (double)(plan->together ? plan->together : 1));
}

double records_on_gpu(const DeviceProfile *gpu, const FunctionPlan *plan, int k, double records) {
    double launches = launches_for(plan, records);
    if (is_taken_in(&plan->kernels[k])) return 0;
    return launches *
           (starts_on_gpu(gpu, &plan->kernels[k]) + alone_on_gpu(gpu, plan, k, records / launches));
}

double records_copy(const DeviceProfile *gpu, const FunctionPlan *plan, const Type *type,
                    double records, double link) {
    double bytes = records * (double)type_size_bound(type);
    return launches_for(plan, records) * gpu->figures[FIGURE_latency].value +
           bytes / (link * gpu->figures[FIGURE_link].value);
}
