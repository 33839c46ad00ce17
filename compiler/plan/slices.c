/* Slices: kernels that a thread runs for one slice of their products after the other: of attention,
 * for one head. A product may then read all that another kernel leaves of its slice, turned as
 * well, so that on the way back the gradient of scores has no place in memory.
 *
 * What such kernels read of an earlier band, weights and what they are made of, is made again from
 * what lies in memory anyhow, slice by slice, and has no place there either: the kernels that made
 * it are called in both bands, of which the later one finds the reductions of rows. Worth it is
 * that of little arithmetic. */
#include "compiler/plan/slices.h"

#include "compiler/passes/operand.h"

enum {
    SLICES_LEAST = 16, /* at most of a batch: threads share them */
    ROWS_MULTIPLE = 8, /* of a slice, as flow_share gives them */
};

/* SliceReaders. */

/* Does slice i of the product read slice i of the operand alone? */
static bool is_slice_of(const Planner *planner, const Loops *loops,
                        const ContractionOperand *operand) {
    Dimensions *table = planner->graph->dimensions;
    const Type *type = &node_of(planner, operand->node)->type;
    const Dim each = dim_divide(table, type_elements(table, type), loops->outer);
    return each && operand->start == dim_constant(table, 0) && operand->outer.count == 1 &&
           operand->outer.items[0].stride == each;
}

static bool reads_slice(const Planner *planner, int k, NodeId read) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    const Node *product = node_of(planner, planner->node);
    if (kernel->loops.kind != KERNEL_contraction || product->op != OP_matmul) return false;
    for (int i = 0; i < 2; i++) {
        const ContractionOperand operand = contraction_operand(planner->graph, product, i);
        if (operand.node == read && !is_slice_of(planner, &kernel->loops, &operand)) return false;
    }
    return true;
}

static void note_reader(void *context, NodeId read, IndexKind index) {
    const Finder *finder = context;
    const Planner *planner = planner_of(finder);
    if (!is_large(finder->bander, read) || writer_of(finder, read) == NO_KERNEL) return;
    const SliceReader reader = {.kernel = planner->kernel,
                                .own_row = is_own_row(index),
                                .of_slice = reads_slice(planner, planner->kernel, read)};
    vector_push(planner->arena, &finder->readers[read], reader);
}

bool is_alike(const Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    return has_bands(kernel) && !kernel->records && kernel->share == finder->share &&
           kernel->parts <= 1 &&
           (kernel->loops.kind != KERNEL_contraction || kernel->loops.outer == finder->outer);
}

bool reads_within(const Finder *finder, const SliceReader *reader) {
    return has_kernel(&finder->kernels, reader->kernel) && (reader->own_row || reader->of_slice);
}

/* Kernels behind the run. */

bool changes_weights(const Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    for (size_t i = 0; i < kernel->node_count; i++)
        if (planner_of(finder)->target[kernel->nodes[i]] != NODE_NONE) return true;
    return false;
}

static void ask_known(void *context, NodeId read, IndexKind index) {
    Finder *finder = context;
    const Planner *planner = planner_of(finder);
    const int writer = writer_of(finder, read);
    if (writer == NO_KERNEL || writer == planner->kernel) return;
    if (has_kernel(&finder->kernels, writer))
        finder->good &= is_own_row(index) || reads_slice(planner, planner->kernel, read);
    else finder->good &= place_of(finder, writer) < finder->first;
}

/* May the kernel run right behind those of the band? */
static bool may_follow(Finder *finder, int k) {
    finder->good = is_alike(finder, k) && !changes_weights(finder, k);
    if (finder->good) visit_kernel(planner_of(finder), k, ask_known, finder);
    return finder->good;
}

static void take_readers(Finder *finder, NodeId id) {
    if (!is_large(finder->bander, id)) return;
    vector_each(SliceReader, reader, finder->readers[id])
        if (!has_kernel(&finder->kernels, reader->kernel) && may_follow(finder, reader->kernel))
            vector_push(planner_of(finder)->arena, &finder->kernels, reader->kernel);
}

/* The kernels from `first` on, and those behind them that read slices of what they leave. */
static void take_kernels(Finder *finder) {
    for (int i = finder->first; i < finder->end; i++)
        vector_push(planner_of(finder)->arena, &finder->kernels,
                    planner_of(finder)->plan->order[i]);
    for (size_t i = 0; i < finder->kernels.count; i++) {
        const KernelPlan *kernel = kernel_of(finder, finder->kernels.items[i]);
        for (size_t j = 0; j < kernel->node_count; j++) take_readers(finder, kernel->nodes[j]);
    }
}

/* Bands. */

/* The kernels of the earlier run up to the last that reads what is made again. */
static Band earlier_band(const Finder *finder) {
    const FunctionPlan *plan = planner_of(finder)->plan;
    int first = finder->behind, last = finder->earlier;
    vector_each(int, k, finder->again) {
        if (place_of(finder, *k) < first) first = place_of(finder, *k);
        if (place_of(finder, *k) > last) last = place_of(finder, *k);
    }
    vector_each(NodeId, value, finder->values)
        vector_each(SliceReader, reader, finder->readers[*value])
            if (is_earlier(finder, reader->kernel) && place_of(finder, reader->kernel) > last)
                last = place_of(finder, reader->kernel);
    Band band = {.kernels = plan->order + first, .count = last + 1 - first};
    add_values(finder, &band);
    int64_t size = 0;
    vector_each(BandValue, value, band.values) size += value->row_size;
    band.rows = choose_rows(finder->bander, &band, first, size);
    if (!band.rows) band.rows = ROWS_MULTIPLE; /* of long rows, of which slices have few */
    give_room(finder, &band);
    return band;
}

static Band band_of_slices(const Finder *finder) {
    Band band = {.kernels = finder->kernels.items,
                 .count = (int)finder->kernels.count,
                 .slices = true,
                 .rows = dim_bound(finder->share) / dim_bound(finder->outer),
                 .again = finder->again.items,
                 .again_count = (int)finder->again.count};
    add_values(finder, &band);
    give_room(finder, &band);
    return band;
}

/* Settling. */

/* Places are told apart by number: values that never meet share offsets. */
static void give_places(const Finder *finder, const Band *band) {
    vector_each(BandValue, value, band->values) {
        const int index = (int)(value - band->values.items);
        planner_of(finder)->plan->places[value->node] = (Place){PLACE_band, (size_t)index, index};
    }
}

/* Moves the kernels of the band to where it begins, behind each other. */
static void move_kernels(const Finder *finder) {
    FunctionPlan *plan = planner_of(finder)->plan;
    const int phase = kernel_at(finder->bander, finder->first)->phase;
    for (size_t i = (size_t)(finder->end - finder->first); i < finder->kernels.count; i++) {
        const int k = finder->kernels.items[i], from = place_of(finder, k);
        const int to = finder->first + (int)i;
        KernelPlan *kernel = &plan->kernels[k];
        if (from + 1 < plan->kernel_count)
            plan->kernels[plan->order[from + 1]].barrier |= kernel->barrier;
        memmove(plan->order + to + 1, plan->order + to, (size_t)(from - to) * sizeof(int));
        plan->order[to] = k;
        kernel->barrier = false;
        kernel->phase = phase;
        for (int j = to; j <= from; j++) finder->bander->positions[plan->order[j]] = j;
    }
}

static void note_last(void *context, NodeId read, IndexKind index) {
    const Finder *finder = context;
    Planner *planner = planner_of(finder);
    const int phase = kernel_at(finder->bander, finder->first)->phase;
    (void)index;
    if (planner->last_use[read] < phase) planner->last_use[read] = phase;
}

/* What is read once more lives as long; reductions of rows are stored, not made again. */
static void keep_operands(Finder *finder) {
    Planner *planner = planner_of(finder);
    vector_each(int, k, finder->again) {
        const KernelPlan *kernel = kernel_of(finder, *k);
        visit_kernel(planner, *k, note_last, finder);
        for (size_t i = 0; i < kernel->node_count; i++) {
            const NodeId id = kernel->nodes[i];
            note_last(finder, id, INDEX_full);
            if (is_found_again(finder, id)) planner->stored[id] = true;
        }
    }
}

/* Other kernels that are split alike aren't split by slices: threads wait for them, and they for
 * those of the band. */
static void settle(Finder *finder, Band band) {
    FunctionPlan *plan = planner_of(finder)->plan;
    Bander *bander = finder->bander;
    Band *bands = arena_new_array(planner_of(finder)->arena, Band, 2);
    if (finder->again.count) {
        bands[0] = earlier_band(finder);
        bander->given[bands[0].kernels - plan->order] = &bands[0];
        give_places(finder, &bands[0]);
        keep_operands(finder);
    }
    move_kernels(finder);
    bands[1] = band;
    bands[1].kernels = plan->order + finder->first;
    bander->given[finder->first] = &bands[1];
    give_places(finder, &bands[1]);
    find_readings(bander);
    const int end = finder->first + band.count;
    plan->kernels[plan->order[finder->first]].barrier = true;
    if (end < plan->kernel_count) plan->kernels[plan->order[end]].barrier = true;
}

/* Finding. */

static bool is_settled(const Finder *finder, const Band *band) {
    if (finder->again.count && earlier_band(finder).room > BAND_BYTES) return false;
    return band->room <= BAND_BYTES && has_large(finder->bander, band);
}

static bool begin(Finder *finder, int first) {
    const Planner *planner = planner_of(finder);
    finder->first = first;
    finder->end = end_of_run(finder->bander, first);
    finder->kernels = finder->again = (Kernels){0};
    finder->values = (Values){0};
    finder->share = kernel_at(finder->bander, first)->share;
    finder->outer = NULL;
    int64_t rows = 0;
    for (int i = first; i < finder->end && !finder->outer; i++)
        if (kernel_at(finder->bander, i)->loops.kind == KERNEL_contraction) {
            finder->outer = kernel_at(finder->bander, i)->loops.outer;
            if (!dim_is_constant(kernel_at(finder->bander, i)->loops.rows, &rows)) return false;
        }
    if (!finder->outer || rows % ROWS_MULTIPLE || dim_bound(finder->outer) < SLICES_LEAST)
        return false;
    for (int i = first; i < finder->end; i++)
        if (!is_alike(finder, planner->plan->order[i])) return false;
    return true;
}

/* Is there a value that kernels read otherwise than row by row? Else bands of rows serve. */
static bool reads_slices(const Finder *finder) {
    vector_each(int, k, finder->kernels) {
        const KernelPlan *kernel = kernel_of(finder, *k);
        for (size_t i = 0; i < kernel->node_count; i++)
            vector_each(SliceReader, reader, finder->readers[kernel->nodes[i]])
                if (reads_within(finder, reader) && !reader->own_row) return true;
    }
    return false;
}

/* With what may be made again, or, if that is too much, without. */
static void try_run(Finder *finder, int first) {
    if (!begin(finder, first)) return;
    take_kernels(finder);
    if (!reads_slices(finder)) return;
    find_again(finder);
    Band band = band_of_slices(finder);
    if (!is_settled(finder, &band) && finder->again.count) {
        finder->again.count = 0;
        finder->values.count = 0;
        band = band_of_slices(finder);
    }
    if (is_settled(finder, &band)) settle(finder, band);
}

void find_slices(Bander *bander) {
    const FunctionPlan *plan = bander->planner->plan;
    Arena *arena = bander->planner->arena;
    Finder finder = {.bander = bander,
                     .readers = arena_new_array(arena, SliceReaders, plan->graph->nodes.count + 1)};
    for (int k = 0; k < plan->kernel_count; k++)
        visit_kernel(bander->planner, k, note_reader, &finder);
    int place = 0;
    while (place < plan->kernel_count) {
        int end = end_of_run(bander, place);
        if (end > place) try_run(&finder, place);
        if (bander->given[place]) end = place + bander->given[place]->count;
        place = end > place ? end : place + 1;
    }
}
