/* Replicas: GPUs that each have a share of a batch. Shares are as equal as records allow, the first
 * ones having no more than the others. What they have of a value becomes whole in two steps: each
 * replica joins one slice of all of them, in the order of their numbers, so that the bits are the
 * same in every run; then it gives that slice to the others. So each sends and receives a value
 * twice, however many there are (Rabenseifner, Optimization of Collective Reduction Operations,
 * 2004). */
#include "runtime/device/gpus_state.h"
#include "runtime/device/whole.h"

/* Shares. */

static Share share_of(int64_t batch, int replica) {
    const int64_t count = gpus_state.replicas;
    const int64_t first = batch * replica / count;
    return (Share){replica, first, batch * (replica + 1) / count - first, batch};
}

void replicas_launch(const FlowFrame *frame, const FlowDeviceKernel *kernel,
                     const int64_t *operands) {
    const Share all = gpus_state.share;
    FlowFrame own = *frame;
    for (int i = 0; i < gpus_state.replicas && gpus_work(); i++) {
        gpus_state.share = share_of(frame->batch, i);
        own.batch = gpus_state.share.batch;
        if (!replay_has_it(&gpus_state.gpus[i])) kernel->call(&own, operands, 0, 1);
    }
    gpus_state.share = all;
    gpus_state.marked = 1 + FLOW_EVERY_GPU;
}

/* Copies. */

/* A value, and the bytes of it that lie together: of a record, outer times; or, outer 0, of all. */
typedef struct Spread {
    int64_t place, size, outer, batch;
    char *home; /* on the CPU */
} Spread;

/* Room for the largest share. */
static bool make_room(const Spread *spread, Gpu *gpu) {
    const int64_t most = share_of(spread->batch, gpus_state.replicas - 1).batch;
    const int i = (int)~spread->place;
    if (!turn_make_room(gpu, i, (size_t)(spread->outer * most * spread->size))) return false;
    TurnInput *input = &gpu->turn->inputs[i];
    input->outer = spread->outer, input->each = spread->size, input->batch = spread->batch;
    return true;
}

static bool copy_part(const Spread *spread, Gpu *gpu, int64_t at, int64_t own, int64_t size,
                      bool out) {
    char *home = spread->home + at;
    const bool input = spread->place < 0;
    const uint64_t from =
        input ? turn_input(gpu->turn, (int)~spread->place) : gpu->memory + (uint64_t)spread->place;
    if (out) return gpu_copy_out(gpu, GPU_KERNELS, home, from + (uint64_t)own, (size_t)size);
    if (input) gpu->turn->copied = true;
    return gpu_copy_in(gpu, input ? GPU_IN : GPU_KERNELS, from + (uint64_t)own, home, (size_t)size);
}

/* What is the same for all records. */
static bool copy_all(const Spread *spread, Gpu *gpu, bool out) {
    if (spread->place < 0 && !out)
        return turn_copy_in(gpu, (int)~spread->place, spread->home, (size_t)spread->size, true);
    return copy_part(spread, gpu, 0, 0, spread->size, out);
}

/* A replica's share, or all. */
static bool copy_share(const Spread *spread, int replica, bool out) {
    Gpu *gpu = &gpus_state.gpus[replica];
    const Share share = share_of(spread->batch, replica);
    if (!spread->outer) return copy_all(spread, gpu, out);
    bool good = spread->place >= 0 || make_room(spread, gpu);
    for (int64_t i = 0; good && i < spread->outer; i++)
        good = copy_part(spread, gpu, (i * share.all + share.first) * spread->size,
                         i * share.batch * spread->size, share.batch * spread->size, out);
    return good;
}

/* From the first replica what all have. */
static bool copy_home(const Spread *spread) {
    const int count = spread->outer ? gpus_state.replicas : 1;
    bool good = true;
    for (int i = 0; good && i < count; i++) good = copy_share(spread, i, true);
    for (int i = 0; good && i < count; i++) good = gpu_finish(&gpus_state.gpus[i]);
    return good;
}

void replicas_copy(const FlowFrame *frame, const int64_t *operands) {
    const int64_t place = operands[0];
    char *home = place < 0 ? (char *)frame->inputs[~place] : frame->memory + place;
    const Spread spread = {place, operands[1], operands[2], frame->batch, home};
    for (int i = 0; i < gpus_state.replicas; i++) gpus_turn_of(&gpus_state.gpus[i], frame);
    if (operands[4] == GPU_CPU) copy_home(&spread);
    for (int i = 0; i < gpus_state.replicas && operands[4] == FLOW_EVERY_GPU && gpus_work(); i++)
        copy_share(&spread, i, false);
}

bool replicas_show(char *memory, int64_t place, int64_t size, int64_t record) {
    const Spread spread = {place, record ? record : size, record != 0, gpus_state.share.all,
                           memory + place};
    return copy_home(&spread);
}

bool replicas_input_again(int i, const TurnInput *input, int64_t turn, void *to) {
    const Spread spread = {~(int64_t)i, input->each, input->outer, input->batch, to};
    const int count = gpus_state.replicas;
    for (int k = 0; k < count; k++) gpus_state.gpus[k].turn = &gpus_state.gpus[k].turns[turn];
    const bool good = copy_home(&spread);
    for (int k = 0; k < count; k++) gpus_state.gpus[k].turn = NULL;
    return good;
}

/* Making whole. */

enum { JOIN_THREADS = 256 };

#define KERNEL(op, element) \
    { "flow_whole_" #op "_" #element, JOIN_THREADS, 2, 2, 0, NULL }
#define KERNELS(op)                                                                               \
    {                                                                                             \
        [FLOW_bool] = KERNEL(op, bool), [FLOW_u8] = KERNEL(op, u8), [FLOW_i8] = KERNEL(op, i8),   \
        [FLOW_i32] = KERNEL(op, i32), [FLOW_i64] = KERNEL(op, i64), [FLOW_f16] = KERNEL(op, f16), \
        [FLOW_bf16] = KERNEL(op, bf16), [FLOW_f32] = KERNEL(op, f32),                             \
        [FLOW_f64] = KERNEL(op, f64),                                                             \
    }
static const FlowDeviceKernel joins[][FLOW_f64 + 1] = {
    [FLOW_whole_sum] = KERNELS(sum),
    [FLOW_whole_max] = KERNELS(max),
    [FLOW_whole_min] = KERNELS(min),
    [FLOW_whole_prod] = KERNELS(prod),
};

/* Elements before the slice of a replica, and in it. */
static int64_t slice_begin(const Whole *join, int replica) {
    return join->count * replica / gpus_state.replicas;
}

static int64_t slice_count(const Whole *join, int replica) {
    return slice_begin(join, replica + 1) - slice_begin(join, replica);
}

/* For what all have, one behind the other. */
static bool make_joining_room(Gpu *gpu, size_t size) {
    if (size <= gpu->joining_room) return true;
    if (!gpu_finish(gpu)) return false;
    if (gpu->joining) gpu->driver->deallocate(gpu->joining);
    gpu->joining_room = 0;
    if (!gpu_allocate(gpu, &gpu->joining, size, "what replicas join")) return false;
    gpu->joining_room = size;
    return true;
}

/* A replica's slice of what all have, one behind the other. */
static bool gather_slice(const Whole *join, int replica) {
    Gpu *gpu = &gpus_state.gpus[replica];
    const size_t bytes = (size_t)(slice_count(join, replica) * join->size);
    const uint64_t at = (uint64_t)(join->from + slice_begin(join, replica) * join->size);
    bool good = make_joining_room(gpu, bytes * (size_t)gpus_state.replicas);
    uint64_t to = gpu->joining;
    for (int i = 0; i < gpus_state.replicas && good; i++, to += bytes) {
        Gpu *other = &gpus_state.gpus[i];
        good = i == replica ? gpu_copy_within(gpu, to, gpu->memory + at, bytes)
                            : gpu_copy_across(gpu, to, other, other->memory + at, bytes);
    }
    return good;
}

static bool join_slice(const Whole *join, int replica) {
    Gpu *gpu = &gpus_state.gpus[replica];
    const int64_t count = slice_count(join, replica);
    const uint64_t to =
        gpu->memory + (uint64_t)(join->to + slice_begin(join, replica) * join->size);
    FlowArguments arguments = {
        .inputs = {(char *)to, (char *)gpu->joining},
        .operands = {count, gpus_state.replicas},
    };
    const FlowDeviceKernel *kernel = &joins[join->how][join->element];
    void *function = gpus_kernel(kernel, replica);
    const GpuShape shape = {(count + JOIN_THREADS - 1) / JOIN_THREADS, JOIN_THREADS, 0};
    return function && gpu_launch(gpu, function, kernel->name, &arguments, shape);
}

static bool give_slice(const Whole *join, int replica) {
    Gpu *gpu = &gpus_state.gpus[replica];
    const uint64_t at = (uint64_t)(join->to + slice_begin(join, replica) * join->size);
    bool good = true;
    for (int i = 0; i < gpus_state.replicas && good; i++) {
        Gpu *other = &gpus_state.gpus[i];
        if (i != replica)
            good = gpu_copy_across(other, other->memory + at, gpu, gpu->memory + at,
                                   (size_t)(slice_count(join, replica) * join->size));
    }
    return good;
}

static bool join_one(const Whole *join) {
    const int count = gpus_state.replicas;
    bool good = gpus_work();
    for (int i = 0; i < count && good; i++) good = gather_slice(join, i);
    for (int i = 0; i < count && good; i++) good = join_slice(join, i);
    for (int i = 0; i < count && good; i++) good = give_slice(join, i);
    return good;
}

bool replicas_join(const Whole *wholes, int count) {
    bool good = true;
    for (int i = 0; i < count && good; i++) good = join_one(&wholes[i]);
    return good;
}

void flow_gpu_reduce(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)threads;
    const FlowElement element = (FlowElement)operands[4];
    const Whole whole = {.to = operands[0],
                         .from = operands[1],
                         .count = operands[2],
                         .size = (int64_t)flow_element_size(element),
                         .how = (FlowWhole)operands[3],
                         .element = element};
    const int count = gpus_state.replicas;
    if (thread || count < 2 || count > gpus_state.count || !gpus_work()) return;
    whole_add(&whole);
    gpus_state.marked = 1;
}

void flow_gpu_await(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    (void)frame, (void)operands, (void)threads;
    if (thread == 0 && gpus_work()) whole_await();
}
