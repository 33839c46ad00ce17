/* Bands: a thread runs kernels that are split alike one after the other for a few rows, then for
 * the next few, so that what one leaves for another is still in the nearest caches. A value that
 * only they read has no place in memory: a buffer of each thread holds the band's rows of it.
 *
 * Worth it are large values alone, and products that have a b for each slice: one b for all rows
 * would be brought to the caches for every band. Kernels that are split by records (records.c) run
 * for a few whole records at a time. They read at other rows, too, what the band has made of a
 * record, and their products, of windows, read a small b where it lies. */
#include "compiler/plan/bands.h"

enum {
    LARGE = 1 << 20,         /* bytes of a value that does not stay in the caches */
    RECORDS_BYTES = 1 << 19, /* of what the kernels of a band of records leave there */
    BAND_LEAST = 16,         /* rows */
    BAND_MOST = 1024,        /* rows, where no slice of a product has fewer */
    BAND_MULTIPLE = 8,       /* rows, as flow_share gives them */
};

const KernelPlan *kernel_at(const Bander *bander, int position) {
    const FunctionPlan *plan = bander->planner->plan;
    return &plan->kernels[plan->order[position]];
}

static void visit_reads(Bander *bander, int position, VisitRead *visit) {
    bander->reader = position;
    visit_kernel(bander->planner, bander->planner->plan->order[position], visit, bander);
}

/* Readings. */

bool is_own_row(IndexKind index) {
    return index == INDEX_full || index == INDEX_row;
}

/* Does a kernel with that index read nothing but its band's rows, or records? */
static bool is_own(const KernelPlan *kernel, IndexKind index) {
    if (index == INDEX_record || index == INDEX_output) return kernel->records;
    return is_own_row(index);
}

static void note_reading(void *context, NodeId read, IndexKind index) {
    Bander *bander = context;
    Reading *reading = &bander->readings[read];
    if (bander->reader > reading->last) reading->last = bander->reader;
    if (!is_own(kernel_at(bander, bander->reader), index)) reading->apart = true;
}

void find_readings(Bander *bander) {
    const FunctionPlan *plan = bander->planner->plan;
    for (NodeId id = 0; id < plan->graph->nodes.count; id++) bander->readings[id].last = -1;
    for (int i = 0; i < plan->kernel_count; i++) {
        bander->positions[plan->order[i]] = i;
        visit_reads(bander, i, note_reading);
    }
    vector_each(Node, node, plan->graph->nodes)
        if (node->op == OP_check) bander->kept[strip_reshapes(plan->graph, node->inputs[0])] = true;
    vector_each(Output, output, plan->graph->outputs)
        bander->kept[strip_reshapes(plan->graph, output->value)] = true;
}

/* Which kernels. */

bool has_bands(const KernelPlan *kernel) {
    if (kernel->by_columns || is_taken_in(kernel)) return false;
    if (kernel->records) return true;
    if (kernel->loops.kind == KERNEL_contraction) return !dim_is_one(kernel->loops.outer);
    return kernel->loops.kind == KERNEL_rows || kernel->loops.kind == KERNEL_row_function;
}

int end_of_run(const Bander *bander, int first) {
    const KernelPlan *leader = kernel_at(bander, first);
    int end = first;
    while (end < bander->planner->plan->kernel_count) {
        const KernelPlan *kernel = kernel_at(bander, end);
        if (!has_bands(kernel) || !same_split(split_of(kernel), split_of(leader))) break;
        if (end > first && (kernel->barrier || bander->given[end])) break;
        end++;
    }
    return end;
}

bool is_large(const Bander *bander, NodeId id) {
    return bander->planner->stored[id] &&
           type_size_bound(&node_of(bander->planner, id)->type) >= LARGE;
}

static void note_hand(void *context, NodeId read, IndexKind index) {
    Bander *bander = context;
    int kernel = node_of(bander->planner, read)->kernel;
    if (kernel == NO_KERNEL || !is_own(kernel_at(bander, bander->reader), index) ||
        !is_large(bander, read))
        return;
    int writer = bander->positions[kernel];
    if (writer >= bander->first && writer <= bander->last) bander->hands_on = true;
}

/* The last place before `end` whose kernel reads its rows of a large value of those up to `last`;
 * `last` itself: there is none. */
static int last_reader(Bander *bander, int first, int last, int end) {
    bander->first = first, bander->last = last, bander->hands_on = false;
    for (int i = end - 1; i > last; i--) {
        visit_reads(bander, i, note_hand);
        if (bander->hands_on) return i;
    }
    return last;
}

/* How many kernels from `first` on hand large values on to each other. */
static int chain_length(Bander *bander, int first) {
    int end = end_of_run(bander, first), last = first;
    for (int next; (next = last_reader(bander, first, last, end)) != last;) last = next;
    return last - first + 1;
}

/* Which values. */

int64_t row_size(const Bander *bander, NodeId id, Dim share) {
    Dimensions *table = bander->planner->graph->dimensions;
    const Type *type = &node_of(bander->planner, id)->type;
    Dim row = dim_divide(table, type_elements(table, type), share);
    int64_t count;
    return row && dim_is_constant(row, &count) ? count * element_info[type->element].size : 0;
}

bool is_passing(const Bander *bander, const Band *band, int first, NodeId id) {
    const Reading *reading = &bander->readings[id];
    return bander->planner->stored[id] && !bander->kept[id] && !reading->apart &&
           reading->last >= 0 && reading->last < first + band->count;
}

/* Adds the values that pass from kernel to kernel; returns the bytes of a row of all that is left
 * in the caches. */
static int64_t add_values(const Bander *bander, Band *band, int first) {
    int64_t all = 0;
    for (int i = 0; i < band->count; i++) {
        const KernelPlan *kernel = kernel_at(bander, first + i);
        for (size_t j = 0; j < kernel->node_count; j++) {
            NodeId id = kernel->nodes[j];
            int64_t size = row_size(bander, id, split_of(kernel).count);
            bool passing = size && is_passing(bander, band, first, id);
            if (passing)
                vector_push(bander->planner->arena, &band->values, (BandValue){id, size, 0});
            if (passing || is_large(bander, id)) all += size;
        }
    }
    return all;
}

bool has_large(const Bander *bander, const Band *band) {
    vector_each(BandValue, value, band->values)
        if (is_large(bander, value->node)) return true;
    return false;
}

/* Is so much handed on, or kept from memory, that it pays? */
static bool is_worth_it(const Bander *bander, const Band *band, int first) {
    return kernel_at(bander, first)->records || has_large(bander, band);
}

int64_t choose_rows(const Bander *bander, const Band *band, int first, int64_t size) {
    if (!size) return 0;
    if (kernel_at(bander, first)->records) return RECORDS_BYTES / size;
    int64_t slice = BAND_MOST, most = BAND_BYTES / size;
    for (int i = first; i < first + band->count; i++) {
        const Loops *loops = &kernel_at(bander, i)->loops;
        if (loops->kind == KERNEL_contraction && dim_bound(loops->rows) < slice)
            slice = dim_bound(loops->rows);
    }
    if (most < BAND_LEAST) return 0;
    int64_t parts = (slice + most - 1) / most, rows = (slice + parts - 1) / parts;
    rows = (rows + BAND_MULTIPLE - 1) / BAND_MULTIPLE * BAND_MULTIPLE;
    return rows > most ? most / BAND_MULTIPLE * BAND_MULTIPLE : rows;
}

static void place_values(const Bander *bander, Band *band) {
    vector_each(BandValue, value, band->values) {
        value->offset = band->room;
        band->room += align_size((size_t)(band->rows * value->row_size));
        bander->planner->plan->places[value->node] =
            (Place){PLACE_band, value->offset, (int)(value - band->values.items)};
    }
}

/* The band that begins there, most often of one kernel; of as many as leave the caches room. */
static Band band_at(Bander *bander, int first) {
    if (bander->given[first]) return *bander->given[first];
    const int *kernels = bander->planner->plan->order + first;
    const Band alone = {.kernels = kernels, .count = 1};
    for (int count = chain_length(bander, first); count > 1; count--) {
        Band band = {.kernels = kernels, .count = count};
        int64_t size = add_values(bander, &band, first);
        if (!is_worth_it(bander, &band, first)) return alone;
        band.rows = choose_rows(bander, &band, first, size);
        if (!band.rows) continue;
        place_values(bander, &band);
        return band;
    }
    return alone;
}

static void add_band(Planner *planner, Band band) {
    FunctionPlan *plan = planner->plan;
    if (is_taken_in(&plan->kernels[band.kernels[0]])) return;
    for (int i = 0; calls_of_band(&band) > 1 && i < calls_of_band(&band); i++)
        plan->kernels[kernel_of_call(&band, i)].in_band = true;
    vector_push(planner->arena, &plan->bands, band);
}

void find_bands(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    bool never = plan->function->of_record || uses_gpu(plan);
    size_t count = plan->graph->nodes.count + 1;
    Bander bander = {.planner = planner,
                     .readings = arena_new_array(planner->arena, Reading, count),
                     .kept = arena_new_array(planner->arena, bool, count),
                     .positions = arena_new_array(planner->arena, int, plan->kernel_count + 1)};
    bander.given = arena_new_array(planner->arena, const Band *, plan->kernel_count + 1);
    find_readings(&bander);
    if (!never && !plan->function->of_turn) find_slices(&bander);
    for (int i = 0, step; i < plan->kernel_count; i += step) {
        Band alone = {.kernels = plan->order + i, .count = 1};
        Band band = never ? alone : band_at(&bander, i);
        step = band.count;
        add_band(planner, band);
    }
}
