/* Winograd: which convolutions the CPU multiplies by tiles of 2 x 2 results
 * (codegen/templates/winograd.h).
 *
 * They are products that see windows of 3 x 3 places, of which the next begins one place further.
 * By tiles there are fewer multiplications; what transforming values takes, by vectors of features,
 * and what vectors and tiles have too much, is weighed against these, in cycles of vectors of 16
 * lanes. What a window sees is added and subtracted before it is weighed, so that a large value
 * spoils small ones whatever its weight is, which --exact forbids.
 *
 * What a tile sees outside of an image is 0 as well, so that a copy with zeros around, which nobody
 * else reads, need not be made. */
#include "compiler/plan/planner.h"

#include "compiler/passes/operand.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SIDE = 3,    /* of windows, in places */
    POINTS = 16, /* of a tile */
    LANES = 16,
    /* Of tiles at a time, the values at a point, which the nearest cache holds. */
    TILE_VALUES = 256,
    TILES_LEAST = 8,
    TILES_MOST = 16,
    /* The same of both operands where tiles are the depth, which the second cache holds; */
    DEEP_VALUES = 4096,
    DEEP_MOST = 32,
    NEAR_VALUES = 32, /* of one tile: so few that the nearest one does, of fewer tiles */
    NEAR_MOST = 16,
    WEIGHTS_BYTES = 1 << 19, /* of a panel, at all points */
    FEATURES_MOST = 512,     /* of which some columns are that much */
    COLUMNS_MOST = 512,      /* of a panel: of its tiles, nearly as much waits on the stack */
    PARTS_MOST = 8,
    PART_TILES = 64, /* of a part, at least */
};

/* Cycles of a vector, measured beside products, which take one for two. */
enum {
    SEEN_CYCLES = 40,    /* of a tile, transformed and stored at each point */
    GIVEN_CYCLES = 28,   /* of its results */
    WEIGHT_CYCLES = 130, /* of weights, */
    WEIGHED_IMAGES = 8,  /* for so many images, or all */
};
static const double gain_least = 1.1;

/* Windows: lines of SIDE * features elements beside one another. */
static bool find_windows(const Digits *digits, Winograd *winograd) {
    int64_t lines, elements, step;
    if (digits->count != 2 || !dim_is_constant(digits->items[0].size, &lines) || lines != SIDE ||
        !dim_is_constant(digits->items[0].stride, &winograd->line) ||
        !dim_is_constant(digits->items[1].size, &elements) || elements % SIDE ||
        !dim_is_constant(digits->items[1].stride, &step) || step != 1)
        return false;
    winograd->features = elements / SIDE;
    return winograd->line >= elements;
}

/* Places of images, one after the other, in lines. */
static bool find_places(const Digits *digits, Winograd *winograd) {
    int64_t step, line;
    const Digit *last = digits->items + digits->count - 1;
    if (digits->count < 2 || digits->count > 3 || !dim_is_constant(last->size, &winograd->places) ||
        !dim_is_constant(last->stride, &step) || step != winograd->features ||
        !dim_is_constant(last[-1].size, &winograd->lines) ||
        !dim_is_constant(last[-1].stride, &line) || line != winograd->line)
        return false;
    return digits->count == 2 || dim_is_constant(last[-2].stride, &winograd->image);
}

static bool find_operands(const Planner *planner, const KernelPlan *kernel, Winograd *winograd) {
    const Node *matmul = node_of(planner, kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(planner->graph, matmul, 0),
                             b = contraction_operand(planner->graph, matmul, 1);
    if (is_half(node_of(planner, a.node)->type.element) || !is_in_rows(&b)) return false;
    winograd->seen = a.node;
    winograd->start = a.start;
    winograd->weights = find_windows(&a.first, winograd);
    const bool found = winograd->weights
                           ? a.second.count == 3 && find_places(&a.second, winograd)
                           : find_windows(&a.second, winograd) && find_places(&a.first, winograd);
    winograd->seen_lines = winograd->lines + SIDE - 1;
    winograd->seen_places = winograd->places + SIDE - 1;
    return found;
}

/* What it costs. */

static double tiles_of(const Winograd *winograd, double images) {
    return images * ceil((double)winograd->lines / 2) * ceil((double)winograd->places / 2);
}

static double images_of(const KernelPlan *kernel, const Winograd *winograd) {
    Dim places = winograd->weights ? kernel->loops.depth : kernel->loops.rows;
    return (double)dim_bound(places) / (double)(winograd->lines * winograd->places);
}

static bool is_cheaper(const KernelPlan *kernel, const Winograd *winograd) {
    const double features = (double)winograd->features, images = images_of(kernel, winograd);
    const double across = ceil((double)dim_bound(kernel->loops.columns) / LANES),
                 seen = ceil(features / LANES), tiles = tiles_of(winograd, images);
    const double direct =
        images * (double)(winograd->lines * winograd->places) * SIDE * SIDE * features * across / 2;
    double cycles;
    if (winograd->weights) {
        const double sums = POINTS * seen * LANES * across;
        cycles = tiles * (sums / 2 + 2 * sums / winograd->tiles + (seen + across) * SEEN_CYCLES);
    } else {
        cycles =
            tiles * (POINTS * features * across / 2 + seen * SEEN_CYCLES + across * GIVEN_CYCLES) +
            features * across * WEIGHT_CYCLES * ceil(images / WEIGHED_IMAGES);
    }
    return cycles * gain_least <= direct;
}

/* How. */

static int64_t within(int64_t number, int64_t least, int64_t most) {
    return number < least ? least : number > most ? most : number;
}

static int tiles_of_results(int64_t features, int64_t columns) {
    return (int)within(TILE_VALUES / (features > columns ? features : columns), TILES_LEAST,
                       TILES_MOST);
}

static int tiles_of_weights(int64_t features, int64_t columns) {
    const int64_t values = features + columns;
    return (int)within(DEEP_VALUES / values, TILES_LEAST,
                       values <= NEAR_VALUES ? NEAR_MOST : DEEP_MOST);
}

static void choose_sizes(const Planner *planner, const KernelPlan *kernel, Winograd *winograd) {
    const int64_t columns = dim_bound(kernel->loops.columns), features = winograd->features;
    const Element element = node_of(planner, kernel->nodes[0])->type.element;
    const int64_t size = element_info[element].size, lanes = LANES * (int64_t)sizeof(float) / size;
    const int64_t most = within(WEIGHTS_BYTES / (size * POINTS * features), lanes, COLUMNS_MOST);
    winograd->panel = columns <= most ? columns : most / lanes * lanes;
    winograd->tiles = winograd->weights ? tiles_of_weights(features, winograd->panel)
                                        : tiles_of_results(features, winograd->panel);
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

static bool may_have_weights(const Planner *planner, const KernelPlan *kernel) {
    return may_have_parts(planner, kernel) && !kernel->by_columns;
}

static void find_convolution(const Planner *planner, KernelPlan *kernel) {
    Winograd winograd = {0};
    if (!may_transform(planner, kernel) || !find_operands(planner, kernel, &winograd) ||
        winograd.features > FEATURES_MOST)
        return;
    choose_sizes(planner, kernel, &winograd);
    winograd.parts = winograd.weights ? parts_of(kernel, &winograd) : 1;
    if (winograd.weights && (winograd.parts == 1 || !may_have_weights(planner, kernel))) return;
    if (!is_cheaper(kernel, &winograd)) return;
    kernel->winograd = arena_new_item(planner->arena, Winograd);
    *kernel->winograd = winograd;
}

double winograd_operations(const KernelPlan *kernel) {
    const Winograd *winograd = kernel->winograd;
    return 2 * POINTS * tiles_of(winograd, images_of(kernel, winograd)) *
           (double)winograd->features * (double)dim_bound(kernel->loops.columns);
}

/* Padding. */

/* Does the view put zeros around the axis, and change nothing else? How many come before. */
static bool is_padded_along(const View *view, int axis, int64_t *before) {
    const Coordinate *from = &view->coordinates[axis];
    const Coordinate along = coordinate_along(from->start, axis);
    return !memcmp(&along, from, sizeof along) && dim_is_constant(from->start, before);
}

/* Are its last axes lines, places and features, as the windows go along them, never past an end? */
static bool goes_by_lines(const Type *type, const Winograd *winograd) {
    const Dim *last = type->dims + type->rank - 3;
    int64_t lines, places, features;
    return dim_is_constant(last[0], &lines) && dim_is_constant(last[1], &places) &&
           dim_is_constant(last[2], &features) && features == winograd->features &&
           winograd->line == places * features && winograd->lines + SIDE - 1 <= lines &&
           winograd->places + SIDE - 1 <= places &&
           (!winograd->image || winograd->image == lines * winograd->line);
}

/* Of images in lines of places of features, what the copy with zeros around them is made of. */
static bool find_padding(const Planner *planner, Winograd *winograd) {
    const Node *copy = node_of(planner, winograd->seen);
    const int first = copy->type.rank - 3;
    int64_t start, number;
    if (copy->op != OP_view || copy->view->fill != 0 || copy->view->rank != copy->type.rank ||
        first < 0 || !dim_is_constant(winograd->start, &start) || start)
        return false;
    const Type *type = &node_of(planner, copy->inputs[0])->type;
    for (int i = 0; i < copy->type.rank; i++) {
        if (!is_padded_along(copy->view, i, &number)) return false;
        if (i == first) winograd->lines_before = -number;
        else if (i == first + 1) winograd->places_before = -number;
        else if (number || type->dims[i] != copy->type.dims[i]) return false;
    }
    if (!dim_is_constant(type->dims[first], &winograd->seen_lines) ||
        !dim_is_constant(type->dims[first + 1], &winograd->seen_places) ||
        !goes_by_lines(&copy->type, winograd))
        return false;
    winograd->line = winograd->seen_places * winograd->features;
    if (winograd->image) /* 0: it is one for all */
        winograd->image = winograd->seen_lines * winograd->line;
    winograd->seen = strip_reshapes(planner->graph, copy->inputs[0]);
    const Node *seen = node_of(planner, winograd->seen);
    return seen->kernel != NO_KERNEL || seen->op == OP_input || seen->op == OP_weight;
}

/* Is the node alone in its kernel, on the CPU? */
static bool is_alone(const Planner *planner, NodeId id) {
    const int k = node_of(planner, id)->kernel;
    const KernelPlan *kernel = k == NO_KERNEL ? NULL : &planner->plan->kernels[k];
    return kernel && kernel->node_count == 1 && !runs_on_gpu(kernel);
}

typedef struct Copies {
    Planner *planner;
    bool *others; /* of each node: somebody reads it who is no convolution's tile */
} Copies;

static void note_reader(void *context, NodeId read, IndexKind index) {
    Copies *copies = context;
    const Planner *planner = copies->planner;
    const Winograd *winograd = planner->plan->kernels[planner->kernel].winograd;
    const Node *node = node_of(planner, planner->node);
    (void)index;
    Winograd padded = winograd ? *winograd : (Winograd){.seen = NODE_NONE};
    const bool seen = padded.seen == read && node->op == OP_matmul &&
                      contraction_operand(planner->graph, node, 1).node != read;
    if (!seen || !is_alone(planner, read) || !find_padding(planner, &padded))
        copies->others[read] = true;
}

static void note_outputs(const Copies *copies) {
    const Graph *graph = copies->planner->graph;
    vector_each(Output, output, graph->outputs)
        copies->others[strip_reshapes(graph, output->value)] = true;
    vector_each(Node, node, graph->nodes)
        if (node->op == OP_check) copies->others[strip_reshapes(graph, node->inputs[0])] = true;
}

/* The kernel sees what the copy is made of, which is in no kernel of the graph any more. */
static void take_in_copy(Planner *planner, Graph *own, int k) {
    FunctionPlan *plan = planner->plan;
    Winograd *winograd = plan->kernels[k].winograd;
    Node *copy = &own->nodes.items[winograd->seen];
    if (copy->kernel != NO_KERNEL) {
        plan->kernels[copy->kernel].node_count = 0;
        plan->kernels[copy->kernel].computed_with = k;
        copy->kernel = NO_KERNEL;
    }
    winograd->pads = find_padding(planner, winograd);
    assert(winograd->pads);
    forget_reads(planner, k);
}

static void take_in_copies(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    Copies copies = {planner,
                     arena_new_array(planner->arena, bool, planner->graph->nodes.count + 1)};
    for (int k = 0; k < plan->kernel_count; k++) visit_kernel(planner, k, note_reader, &copies);
    note_outputs(&copies);
    Graph *own = NULL;
    for (int k = 0; k < plan->kernel_count; k++) {
        const Winograd *winograd = plan->kernels[k].winograd;
        if (!winograd || copies.others[winograd->seen]) continue;
        if (!own) own = own_graph(planner);
        take_in_copy(planner, own, k);
    }
}

void find_convolutions(Planner *planner) {
    bool any = false;
    for (int k = 0; k < planner->plan->kernel_count; k++) {
        find_convolution(planner, &planner->plan->kernels[k]);
        any |= planner->plan->kernels[k].winograd != NULL;
    }
    if (any) take_in_copies(planner);
}
