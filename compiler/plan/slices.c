/* Slices: kernels that a thread runs for one slice of their products after the other: of attention,
 * for one head. A product may then read all that another kernel leaves of its slice, turned as
 * well, so that on the way back the gradient of scores has no place in memory.
 *
 * What such kernels read of an earlier band, weights and what they are made of, is made again from
 * what lies in memory anyhow, slice by slice, and has no place there either: the kernels that made
 * it are called in both bands, of which the later one finds the reductions of rows. Worth it is
 * that of little arithmetic. */
#include "compiler/plan/bands.h"

#include "compiler/passes/operand.h"

enum {
    SLICES_LEAST = 16,    /* at most of a batch: threads share them */
    ROWS_MULTIPLE = 8,    /* of a slice, as flow_share gives them */
    OPERATIONS_MOST = 24, /* that make a byte again: in that time memory gives about one */
};

/* Of a large value. */
typedef struct Reader {
    int kernel;
    bool own_row, of_slice; /* its own row; of its slice alone */
} Reader;
typedef Vector(Reader) Readers;

typedef Vector(int) Kernels;
typedef Vector(NodeId) Values;

/* A band of slices, and the earlier one whose values it makes again. */
typedef struct Finder {
    Bander *bander;
    Readers *readers;    /* of each large value */
    Dim outer, share;    /* of the products */
    int first, end;      /* the run of kernels that it begins with, by their places */
    Kernels kernels;     /* of the band: those, and what is moved behind them */
    int earlier, behind; /* the run that it makes values of again */
    Kernels again;       /* kernels of it, in their order */
    Values values;       /* that are made again, in the order of these kernels */
    bool good;           /* what was asked of all reads */
} Finder;

static Planner *planner_of(const Finder *finder) {
    return finder->bander->planner;
}

static const KernelPlan *kernel_of(const Finder *finder, int k) {
    return &planner_of(finder)->plan->kernels[k];
}

static int writer_of(const Finder *finder, NodeId id) {
    return node_of(planner_of(finder), id)->kernel;
}

static int place_of(const Finder *finder, int k) {
    return finder->bander->positions[k];
}

static bool has_kernel(const Kernels *kernels, int k) {
    vector_each(int, known, *kernels)
        if (*known == k) return true;
    return false;
}

/* Readers. */

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
    const Reader reader = {.kernel = planner->kernel,
                           .own_row = is_own_row(index),
                           .of_slice = reads_slice(planner, planner->kernel, read)};
    vector_push(planner->arena, &finder->readers[read], reader);
}

/* The products' kernels of a band have all the same slices. */
static bool is_alike(const Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    return has_bands(kernel) && kernel->share == finder->share && kernel->parts <= 1 &&
           (kernel->loops.kind != KERNEL_contraction || kernel->loops.outer == finder->outer);
}

static bool reads_within(const Finder *finder, const Reader *reader) {
    return has_kernel(&finder->kernels, reader->kernel) && (reader->own_row || reader->of_slice);
}

/* Kernels behind the run. */

static bool changes_weights(const Finder *finder, int k) {
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
    vector_each(Reader, reader, finder->readers[id])
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

/* What is made again. */

static int begin_of_run(const Finder *finder, int place) {
    while (place > 0 && !kernel_at(finder->bander, place)->barrier &&
           !finder->bander->given[place] &&
           is_alike(finder, planner_of(finder)->plan->order[place - 1]))
        place--;
    return place;
}

static bool is_earlier(const Finder *finder, int k) {
    return k != NO_KERNEL && place_of(finder, k) >= finder->earlier &&
           place_of(finder, k) < finder->behind;
}

/* Is the value wanted only in the earlier run, by rows, and in the band? */
static bool may_be_made_again(const Finder *finder, NodeId id) {
    const Planner *planner = planner_of(finder);
    if (finder->bander->kept[id] || planner->target[id] != NODE_NONE ||
        !row_size(finder->bander, id, finder->share))
        return false;
    vector_each(Reader, reader, finder->readers[id])
        if (!(is_earlier(finder, reader->kernel) && reader->own_row) &&
            !reads_within(finder, reader))
            return false;
    return true;
}

static bool makes_again(Finder *finder, int k);

/* A large value that the earlier run leaves is made again as well; all else stays in memory. */
static void ask_again(void *context, NodeId read, IndexKind index) {
    Finder *finder = context;
    const Planner *planner = planner_of(finder);
    (void)index;
    if (planner->update[read] != NODE_NONE) finder->good = false;
    if (!is_large(finder->bander, read) || writer_of(finder, read) == planner->kernel) return;
    if (!is_earlier(finder, writer_of(finder, read)))
        finder->good &= finder->bander->readings[read].last >= finder->first;
}

static bool makes_reads_again(Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    for (int i = finder->earlier; i < place_of(finder, k); i++) {
        const int writer = planner_of(finder)->plan->order[i];
        const KernelPlan *before = kernel_of(finder, writer);
        for (size_t j = 0; j < before->node_count; j++) {
            if (!is_large(finder->bander, before->nodes[j])) continue;
            vector_each(Reader, reader, finder->readers[before->nodes[j]])
                if (kernel_of(finder, reader->kernel) == kernel && !makes_again(finder, writer))
                    return false;
        }
    }
    return true;
}

/* Adds the kernel and those that it needs, if it may run again. */
static bool makes_again(Finder *finder, int k) {
    if (has_kernel(&finder->again, k)) return true;
    const KernelPlan *kernel = kernel_of(finder, k);
    for (size_t i = 0; i < kernel->node_count; i++)
        if (is_large(finder->bander, kernel->nodes[i]) &&
            !may_be_made_again(finder, kernel->nodes[i]))
            return false;
    finder->good = !changes_weights(finder, k);
    visit_kernel(planner_of(finder), k, ask_again, finder);
    if (!finder->good || !makes_reads_again(finder, k)) return false;
    vector_push(planner_of(finder)->arena, &finder->again, k);
    return true;
}

static double operations_at(const Finder *finder, NodeId id) {
    const Node *node = node_of(planner_of(finder), id);
    if (node->op != OP_matmul) return op_info[node->op].cost ? op_info[node->op].cost : 1;
    return 2 * (double)dim_bound(kernel_of(finder, node->kernel)->loops.depth);
}

/* Would memory take as long to keep what is read again, stored and loaded? */
static bool is_cheap(const Finder *finder) {
    double operations = 0, bytes = 0;
    vector_each(int, k, finder->again) {
        const KernelPlan *kernel = kernel_of(finder, *k);
        for (size_t i = 0; i < kernel->node_count; i++) {
            const NodeId id = kernel->nodes[i];
            const Node *node = node_of(planner_of(finder), id);
            operations += operations_at(finder, id);
            vector_each(Reader, reader, finder->readers[id])
                if (has_kernel(&finder->kernels, reader->kernel)) {
                    bytes += 2 * element_info[node->type.element].size;
                    break;
                }
        }
    }
    return operations <= OPERATIONS_MOST * bytes;
}

static void note_values(Finder *finder) {
    vector_each(int, k, finder->again) {
        const KernelPlan *kernel = kernel_of(finder, *k);
        for (size_t i = 0; i < kernel->node_count; i++)
            if (is_large(finder->bander, kernel->nodes[i]))
                vector_push(planner_of(finder)->arena, &finder->values, kernel->nodes[i]);
    }
}

/* What the kernels of the band read of kernel k, which is none of them. */
static bool wants_of(const Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    for (size_t i = 0; i < kernel->node_count; i++) {
        if (!is_large(finder->bander, kernel->nodes[i])) continue;
        vector_each(Reader, reader, finder->readers[kernel->nodes[i]])
            if (has_kernel(&finder->kernels, reader->kernel)) return true;
    }
    return false;
}

/* Is the kernel at that place, and what it needs, run again? */
static bool is_run_again(Finder *finder, int place) {
    const int k = planner_of(finder)->plan->order[place];
    if (!is_alike(finder, k) || !wants_of(finder, k)) return false;
    finder->again.count = 0;
    finder->earlier = begin_of_run(finder, place);
    finder->behind = end_of_run(finder->bander, finder->earlier);
    return !finder->bander->given[finder->earlier] && makes_again(finder, k) && is_cheap(finder);
}

/* Of the last kernel before the band that leaves it what may be made again. */
static void find_again(Finder *finder) {
    int place = finder->first - 1;
    while (place >= 0 && !is_run_again(finder, place)) place--;
    if (place < 0) finder->again.count = 0;
    note_values(finder);
}

/* Bands. */

static bool is_made_again(const Finder *finder, NodeId id) {
    vector_each(NodeId, value, finder->values)
        if (*value == id) return true;
    return false;
}

static bool passes(const Finder *finder, NodeId id) {
    const Bander *bander = finder->bander;
    if (!planner_of(finder)->stored[id] || bander->kept[id]) return false;
    if (planner_of(finder)->target[id] != NODE_NONE) return false;
    if (!is_large(bander, id)) {
        const Band run = {.count = finder->end - finder->first};
        return is_passing(bander, &run, finder->first, id);
    }
    vector_each(Reader, reader, finder->readers[id])
        if (!reads_within(finder, reader)) return false;
    return finder->readers[id].count > 0;
}

static void add_value(const Finder *finder, Band *band, NodeId id) {
    const int64_t size = row_size(finder->bander, id, finder->share);
    vector_push(planner_of(finder)->arena, &band->values, (BandValue){id, size, 0});
}

/* Of the earlier band; small ones stay in memory, from where the later band has them, too. */
static bool passes_earlier(const Finder *finder, const Band *band, NodeId id) {
    return is_large(finder->bander, id) && planner_of(finder)->target[id] == NODE_NONE &&
           is_passing(finder->bander, band, place_of(finder, band->kernels[0]), id);
}

/* Those that are made again come first, so that they have the same numbers in both bands. */
static void add_values(const Finder *finder, Band *band) {
    vector_each(NodeId, value, finder->values) add_value(finder, band, *value);
    for (int i = 0; i < band->count; i++) {
        const KernelPlan *kernel = kernel_of(finder, band->kernels[i]);
        for (size_t j = 0; j < kernel->node_count; j++) {
            const NodeId id = kernel->nodes[j];
            if (is_made_again(finder, id) || !row_size(finder->bander, id, finder->share)) continue;
            if (band->slices ? passes(finder, id) : passes_earlier(finder, band, id))
                add_value(finder, band, id);
        }
    }
}

/* From when to when a band's buffer holds a value, in calls. */
typedef struct Life {
    int first, last;
} Life;

static int call_of(const Band *band, int k) {
    int call = calls_of_band(band);
    while (--call >= 0 && kernel_of_call(band, call) != k) continue;
    return call;
}

static Life life_of(const Finder *finder, const Band *band, NodeId id) {
    const int written = call_of(band, writer_of(finder, id));
    Life life = {written, written};
    if (!is_large(finder->bander, id)) life.last = calls_of_band(band);
    vector_each(Reader, reader, finder->readers[id]) {
        const int read = call_of(band, reader->kernel);
        if (read > life.last) life.last = read;
    }
    return life;
}

/* Values share what the buffer has of room if no call wants both. */
static void give_room(const Finder *finder, Band *band) {
    Life *lives = arena_new_array(planner_of(finder)->arena, Life, band->values.count + 1);
    for (size_t i = 0; i < band->values.count; i++) {
        BandValue *value = &band->values.items[i];
        const size_t size = align_size((size_t)(band->rows * value->row_size));
        lives[i] = life_of(finder, band, value->node);
        for (size_t j = 0; j < i; j++) {
            const BandValue *other = &band->values.items[j];
            const size_t end = other->offset + align_size((size_t)(band->rows * other->row_size));
            const bool apart = lives[j].last < lives[i].first || lives[i].last < lives[j].first;
            if (apart || value->offset >= end || value->offset + size <= other->offset) continue;
            value->offset = end;
            j = (size_t)-1; /* once more: it may lie over one before */
        }
        if (value->offset + size > band->room) band->room = value->offset + size;
    }
}

static bool has_large(const Finder *finder, const Band *band) {
    vector_each(BandValue, value, band->values)
        if (is_large(finder->bander, value->node)) return true;
    return false;
}

/* The kernels of the earlier run up to the last that reads what is made again. */
static Band earlier_band(const Finder *finder) {
    const FunctionPlan *plan = planner_of(finder)->plan;
    int first = finder->behind, last = finder->earlier;
    vector_each(int, k, finder->again) {
        if (place_of(finder, *k) < first) first = place_of(finder, *k);
        if (place_of(finder, *k) > last) last = place_of(finder, *k);
    }
    vector_each(NodeId, value, finder->values)
        vector_each(Reader, reader, finder->readers[*value])
            if (is_earlier(finder, reader->kernel) && place_of(finder, reader->kernel) > last)
                last = place_of(finder, reader->kernel);
    Band band = {.kernels = plan->order + first, .count = last + 1 - first};
    add_values(finder, &band);
    int64_t size = 0;
    vector_each(BandValue, value, band.values) size += value->row_size;
    band.rows = choose_rows(finder->bander, &band, first, size);
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
            if (op_info[node_of(planner, id)->op].class == LOOP_reduce) planner->stored[id] = true;
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
    return band->room <= BAND_BYTES && has_large(finder, band);
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
            vector_each(Reader, reader, finder->readers[kernel->nodes[i]])
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
                     .readers = arena_new_array(arena, Readers, plan->graph->nodes.count + 1)};
    for (int k = 0; k < plan->kernel_count; k++)
        visit_kernel(bander->planner, k, note_reader, &finder);
    for (int i = 0, end; i<plan->kernel_count; i = end> i ? end : i + 1) {
        end = end_of_run(bander, i);
        if (end > i) try_run(&finder, i);
        if (bander->given[i]) end = i + bander->given[i]->count;
    }
}
