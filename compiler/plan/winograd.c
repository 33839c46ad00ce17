/* Winograd: which convolutions the CPU multiplies by tiles of 2 x 2 results
 * (codegen/templates/winograd.h).
 *
 * A product is one that goes on by single places through windows of 3 x 3 of them, and a tile's
 * values are transformed by vectors of features. It takes fewer multiplications; what it takes
 * besides, and what vectors and tiles have too much, is weighed against these, in cycles of vectors
 * of 16 lanes. A large value spoils small ones that share a tile with it, which --exact forbids. */
#include "compiler/plan/planner.h"

#include "compiler/passes/operand.h"

enum {
    SIDE = 3,    /* of windows, in places */
    POINTS = 16, /* of a tile */
    LANES = 16,
    TILE_VALUES = 256, /* features of all tiles that are made at a time, */
    TILES_LEAST = 8,
    TILES_MOST = 16,
    DEEP_VALUES = 4096, /* the same where tiles are the depth */
    DEEP_MOST = 32,
    WEIGHTS_BYTES = 1 << 19, /* of a panel, at all points */
    FEATURES_MOST = 512,     /* of which some columns are that much */
    PARTS_MOST = 8,
    PART_TILES = 64, /* of a part, at least */
};

/* Cycles of a vector, measured beside products, which take one for two. */
enum {
    SEEN_CYCLES = 40,    /* of a tile, transformed and stored at each point */
    GIVEN_CYCLES = 28,   /* of its results */
    WEIGHT_CYCLES = 200, /* of weights, */
    WEIGHED_IMAGES = 8,  /* for so many images, or all */
};
static const double gain_least = 1.1;

static bool is_number(Dim dim, int64_t *number) {
    return dim_is_constant(dim, number);
}

/* Windows: lines of SIDE * features elements beside one another. */
static bool find_windows(const Digits *digits, Winograd *winograd) {
    int64_t lines, elements, step;
    if (digits->count != 2 || !is_number(digits->items[0].size, &lines) || lines != SIDE ||
        !is_number(digits->items[0].stride, &winograd->line) ||
        !is_number(digits->items[1].size, &elements) || elements % SIDE ||
        !is_number(digits->items[1].stride, &step) || step != 1)
        return false;
    winograd->features = elements / SIDE;
    return winograd->line >= elements;
}

/* Places of images, one after the other, in lines. */
static bool find_places(const Digits *digits, Winograd *winograd) {
    int64_t step, line;
    const Digit *last = digits->items + digits->count - 1;
    if (digits->count < 2 || digits->count > 3 || !is_number(last->size, &winograd->places) ||
        !is_number(last->stride, &step) || step != winograd->features ||
        !is_number(last[-1].size, &winograd->lines) || !is_number(last[-1].stride, &line) ||
        line != winograd->line)
        return false;
    return digits->count == 2 || is_number(last[-2].stride, &winograd->image);
}

/* Is b a matrix that lies row after row? */
static bool is_in_rows(const ContractionOperand *b) {
    int64_t stride, step;
    return b->first.count == 1 && is_number(b->first.items[0].stride, &stride) &&
           b->second.count == 1 && is_number(b->second.items[0].stride, &step) && step == 1;
}

static bool find_operands(const Planner *planner, const KernelPlan *kernel, Winograd *winograd) {
    const Node *matmul = node_of(planner, kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(planner->graph, matmul, 0),
                             b = contraction_operand(planner->graph, matmul, 1);
    if (is_half(node_of(planner, a.node)->type.element) || !is_in_rows(&b)) return false;
    winograd->weights = find_windows(&a.first, winograd);
    return winograd->weights ? a.second.count == 3 && find_places(&a.second, winograd)
                             : find_windows(&a.second, winograd) && find_places(&a.first, winograd);
}

/* What it costs. */

static double whole(double count, double part) {
    return count <= 0 ? 0 : (double)(int64_t)((count + part - 1) / part);
}

static double tiles_of(const Winograd *winograd, double images) {
    return images * whole((double)winograd->lines, 2) * whole((double)winograd->places, 2);
}

static double images_of(const KernelPlan *kernel, const Winograd *winograd) {
    Dim places = winograd->weights ? kernel->loops.depth : kernel->loops.rows;
    return (double)dim_bound(places) / (double)(winograd->lines * winograd->places);
}

static bool is_cheaper(const KernelPlan *kernel, const Winograd *winograd) {
    const double features = (double)winograd->features, images = images_of(kernel, winograd);
    const double across = whole((double)dim_bound(kernel->loops.columns), LANES),
                 seen = whole(features, LANES), tiles = tiles_of(winograd, images);
    const double direct =
        images * (double)(winograd->lines * winograd->places) * SIDE * SIDE * features * across / 2;
    double cycles;
    if (winograd->weights) {
        const double sums = POINTS * seen * LANES * across;
        cycles = tiles * (sums / 2 + 2 * sums / winograd->tiles + (seen + across) * SEEN_CYCLES);
    } else {
        cycles =
            tiles * (POINTS * features * across / 2 + seen * SEEN_CYCLES + across * GIVEN_CYCLES) +
            features * across * WEIGHT_CYCLES * whole(images, WEIGHED_IMAGES);
    }
    return cycles * gain_least <= direct;
}

/* How. */

static int64_t within(int64_t number, int64_t least, int64_t most) {
    return number < least ? least : number > most ? most : number;
}

static void choose_sizes(const KernelPlan *kernel, Winograd *winograd) {
    const int64_t columns = dim_bound(kernel->loops.columns), features = winograd->features;
    const int64_t most = WEIGHTS_BYTES / ((int64_t)sizeof(float) * POINTS * features);
    winograd->panel = columns <= most ? columns : most / LANES * LANES;
    const int64_t longest = features < winograd->panel ? winograd->panel : features;
    winograd->tiles =
        winograd->weights
            ? (int)within(DEEP_VALUES / (features + winograd->panel), TILES_LEAST, DEEP_MOST)
            : (int)within(TILE_VALUES / longest, TILES_LEAST, TILES_MOST);
}

/* Of whole images. */
static int parts_of(const KernelPlan *kernel, const Winograd *winograd) {
    const double images = images_of(kernel, winograd), tiles = tiles_of(winograd, images);
    int parts = PARTS_MOST;
    while (parts > 1 && (images < parts || tiles / parts < PART_TILES)) parts /= 2;
    return parts;
}

static bool may_transform(const Planner *planner, const KernelPlan *kernel) {
    int64_t columns;
    return kernel->loops.kind == KERNEL_contraction && !runs_on_gpu(kernel) && !kernel->attention &&
           !is_taken_in(kernel) && !planner->graph->wishes.exact &&
           dim_is_one(kernel->loops.outer) && dim_is_constant(kernel->loops.columns, &columns);
}

void find_winograd(const Planner *planner, KernelPlan *kernel) {
    Winograd winograd = {0};
    if (!may_transform(planner, kernel) || !find_operands(planner, kernel, &winograd) ||
        winograd.features > FEATURES_MOST)
        return;
    choose_sizes(kernel, &winograd);
    winograd.parts = winograd.weights ? parts_of(kernel, &winograd) : 1;
    if (winograd.weights && (winograd.parts == 1 || !may_have_parts(planner, kernel))) return;
    if (!is_cheaper(kernel, &winograd)) return;
    kernel->winograd = arena_new_array(planner->arena, Winograd, 1);
    *kernel->winograd = winograd;
}

double winograd_operations(const KernelPlan *kernel) {
    const Winograd *winograd = kernel->winograd;
    return 2 * POINTS * tiles_of(winograd, images_of(kernel, winograd)) *
           (double)winograd->features * (double)dim_bound(kernel->loops.columns);
}
