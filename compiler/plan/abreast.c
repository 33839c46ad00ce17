/* Abreast: elementwise kernels of known sizes that follow one another on a GPU and don't need each
 * other are one launch, whose blocks are divided among them; updates of weights and states most of
 * all. Elements are a thread's by themselves there, so nothing is computed in another order. Small
 * updates wait until nothing else can run, so that they do follow one another; what they read stays
 * in memory for as long. */
#include "compiler/plan/planner.h"

#include "runtime/device/launch_limits.h"

enum { SMALL = 1 << 18 /* elements */ };

/* Kernels that are next to each other, from `first` in the order on. */
typedef struct Launch {
    Planner *planner;
    bool *member; /* of each kernel */
    int first, count;
    int reader;   /* the kernel whose reads are visited; */
    bool depends; /* one of them is a member's */
} Launch;

/* Is it made, or of something that is made in the kernel, of random numbers? Their operands are not
 * among what is read. */
static bool is_random(const Planner *planner, const Node *node) {
    bool random = op_info[node->op].class == LOOP_generate;
    for (int i = 0; i < node->input_count && !random; i++) {
        const Node *input = node_of(planner, node->inputs[i]);
        random = input->kernel == NO_KERNEL && is_random(planner, input);
    }
    return random;
}

static bool is_elementwise(const Planner *planner, const KernelPlan *kernel) {
    if (is_taken_in(kernel)) return false;
    for (size_t i = 0; i < kernel->node_count; i++) {
        const Node *node = node_of(planner, kernel->nodes[i]);
        if (op_info[node->op].class == LOOP_reduce || is_random(planner, node) ||
            native_index(planner->graph->dimensions, &kernel->loops, &node->type) != INDEX_full)
            return false;
    }
    return true;
}

static bool may_join(const Planner *planner, const KernelPlan *kernel) {
    return runs_on_gpu(kernel) && !joins_replicas(planner->plan, kernel) &&
           kernel->loops.kind == KERNEL_rows && elements_abreast(kernel) >= 0 &&
           is_elementwise(planner, kernel);
}

static bool updates(const Planner *planner, const KernelPlan *kernel) {
    for (size_t i = 0; i < kernel->node_count; i++)
        if (planner->target[kernel->nodes[i]] != NODE_NONE) return true;
    return false;
}

/* Results that replicas add up, the loss above all, are worked out at the end, where only updates
 * ask for them: kernels in between need not wait for the sums then. */
static bool only_reports(const Planner *planner, int k) {
    vector_each(Edge, edge, planner->users[k])
        if (!updates(planner, &planner->plan->kernels[edge->kernel])) return false;
    return planner->graph->wishes.replicas > 1;
}

bool may_wait(const Planner *planner, int k) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    return !planner->graph->wishes.recompute && may_join(planner, kernel) &&
           (updates(planner, kernel) || only_reports(planner, k)) &&
           elements_abreast(kernel) <= SMALL;
}

/* The kernel that writes what is read, or writes over it. */
static void note_read(void *context, NodeId read, IndexKind index) {
    Launch *launch = context;
    const Planner *planner = launch->planner;
    const NodeId update = planner->late[read] ? NODE_NONE : planner->update[read];
    const int writers[] = {node_of(planner, read)->kernel,
                           update == NODE_NONE ? NO_KERNEL : node_of(planner, update)->kernel};
    (void)index;
    for (int i = 0; i < 2; i++)
        if (writers[i] != NO_KERNEL && writers[i] != launch->reader && launch->member[writers[i]])
            launch->depends = true;
}

static bool depends(Launch *launch, int k) {
    launch->depends = false;
    launch->reader = k;
    visit_kernel(launch->planner, k, note_read, launch);
    return launch->depends;
}

/* Neither reads what the other writes. */
static bool is_apart(Launch *launch, int k) {
    const int *order = launch->planner->plan->order;
    if (depends(launch, k)) return false;
    launch->member[k] = true;
    bool apart = true;
    for (int i = launch->first; apart && i < launch->first + launch->count; i++)
        apart = !depends(launch, order[i]);
    launch->member[k] = false;
    return apart;
}

static bool joins(Launch *launch, int k) {
    const FunctionPlan *plan = launch->planner->plan;
    const KernelPlan *kernel = &plan->kernels[k],
                     *first = &plan->kernels[plan->order[launch->first]];
    return may_join(launch->planner, kernel) && kernel->given.index == first->given.index &&
           is_apart(launch, k);
}

/* As many as a launch has operands for. */
static int launch_at(Launch *launch, int first) {
    const FunctionPlan *plan = launch->planner->plan;
    int operands = OPERANDS_OF_LAUNCH;
    launch->first = first, launch->count = 0;
    for (int i = first; i < plan->kernel_count && joins(launch, plan->order[i]); i++) {
        operands += OPERANDS_OF_MEMBER + launch_operands(launch->planner, plan->order[i]);
        if (operands > FLOW_LAUNCH_OPERANDS) break;
        launch->member[plan->order[i]] = true;
        launch->count++;
    }
    for (int i = 0; i < launch->count; i++) launch->member[plan->order[first + i]] = false;
    return launch->count > 1 ? launch->count : 1;
}

/* All are in the first one's phase, so that none has memory that another one reads. */
static void join(FunctionPlan *plan, const Band *band) {
    for (int i = 0; band->count > 1 && i < band->count; i++) {
        plan->kernels[band->kernels[i]].phase = plan->kernels[band->kernels[0]].phase;
        plan->kernels[band->kernels[i]].abreast = band->count;
        if (i) plan->kernels[band->kernels[i]].barrier = false;
    }
}

void join_launches(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    Launch launch = {.planner = planner,
                     .member = arena_new_array(planner->arena, bool, plan->kernel_count + 1)};
    if (!uses_gpu(plan) || makes_records(plan->function)) return;
    plan->bands.count = 0;
    for (int i = 0; i < plan->kernel_count;) {
        const Band band = {.kernels = plan->order + i, .count = launch_at(&launch, i)};
        if (!is_taken_in(&plan->kernels[plan->order[i]]))
            vector_push(planner->arena, &plan->bands, band);
        join(plan, &band);
        i += band.count;
    }
}
