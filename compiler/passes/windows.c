/* Windows: which contractions go through operands that are seen through windows, in runs of
 * adjacent rows and depths, and read them where they lie. */
#include "compiler/passes/operand.h"

enum {
    LEAST_DEPTH_RUN = 3,
    MOST_WINDOW_COLUMNS = 128, /* with more, copies of a cost little */
};

static bool is_number(Dim dim) {
    int64_t value;
    return dim_is_constant(dim, &value);
}

/* Are they runs of numbers of elements, so many that going from run to run takes little of the time
 * of a tile? */
static bool has_plain_runs(const Digits *digits, int64_t least) {
    int64_t run = 0;
    for (int i = 0; i < digits->count; i++)
        if (!is_number(digits->items[i].stride) ||
            ((i || digits->count == 1) && !dim_is_constant(digits->items[i].size, &run)))
            return false;
    return run >= least;
}

bool is_in_rows(const ContractionOperand *b) {
    int64_t step;
    return b->first.count == 1 && is_number(b->first.items[0].stride) && b->second.count == 1 &&
           dim_is_constant(b->second.items[0].stride, &step) && step == 1;
}

bool sees_windows(const Graph *graph, const ContractionOperand *a, const ContractionOperand *b,
                  Dim columns) {
    int64_t count;
    return (a->first.count > 1 || a->second.count > 1) &&
           !is_half(graph_node(graph, a->node)->type.element) && has_plain_runs(&a->first, 1) &&
           has_plain_runs(&a->second, LEAST_DEPTH_RUN) && is_in_rows(b) &&
           dim_is_constant(columns, &count) && count <= MOST_WINDOW_COLUMNS;
}

int64_t depth_of_windows(const ContractionOperand *a) {
    int64_t depth = 1, size;
    for (int i = 1; i < a->second.count; i++) {
        if (!dim_is_constant(a->second.items[i].size, &size)) return 0;
        depth *= size;
    }
    return a->second.count > 1 ? depth : 0;
}
