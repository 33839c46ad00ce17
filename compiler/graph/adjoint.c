/* Adjoint: what flows back through a view.
 *
 * A view says divisor_i * x_i = start_i + sum over j of factor_ij * y_j, for each coordinate x_i of
 * the operand. Read as equations for the y_j and solved for as many of them as possible (Gauss and
 * Jordan, in whole numbers), they give a view the other way: coordinate y_j of dy, from x and from
 * those y_j that stay free, over which is summed. An equation that is left without any y_j is a
 * condition on x alone: it becomes the coordinate of an axis of dy of size 1, which is inside only
 * where it is 0. Axes of y that no equation has are summed before, and may be such axes.
 *
 * Windows side by side (size·y_j + y_k) are taken apart first: their two axes are the digits of one
 * of x, which a reshape puts together. */
#include "compiler/graph/movement.h"

#include <assert.h>
#include <stdlib.h>

/* sum left[j] * y_j = right_start + sum right[i] * x_i. */
typedef struct Equation {
    int64_t left[RANK_LIMIT], right[RANK_LIMIT];
    Dim start;
    int solved; /* the axis of y that it is solved for; -1: none yet */
} Equation;

typedef struct Solution {
    Dimensions *table;
    int rank, result_rank; /* of x and y */
    Equation equations[RANK_LIMIT];
    int solver[RANK_LIMIT]; /* of each axis of y: its equation, or -1 */
    bool failed;
} Solution;

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return llabs(a);
}

static Dim multiple(Solution *solution, Dim dim, int64_t factor) {
    Dim product = dim_multiply(solution->table, dim, dim_constant(solution->table, factor));
    if (!product) solution->failed = true;
    return product ? product : dim;
}

static int64_t combined(Solution *solution, int64_t a, int64_t p, int64_t b, int64_t q) {
    int64_t sum = a * p - b * q;
    if (llabs(sum) <= FACTOR_LIMIT) return sum;
    solution->failed = true;
    return 0;
}

/* Takes y_axis out of `equation` with the help of one that is solved for it. */
static void eliminate(Solution *solution, Equation *equation, const Equation *solved, int axis) {
    int64_t p = solved->left[axis], q = equation->left[axis];
    if (!q || equation == solved) return;
    int64_t common = greatest_divisor(p, q);
    p /= common;
    q /= common;
    for (int i = 0; i < RANK_LIMIT; i++) {
        equation->left[i] = combined(solution, equation->left[i], p, solved->left[i], q);
        equation->right[i] = combined(solution, equation->right[i], p, solved->right[i], q);
    }
    Dim start = dim_subtract(solution->table, multiple(solution, equation->start, p),
                             multiple(solution, solved->start, q));
    if (!start) solution->failed = true;
    else equation->start = start;
}

/* The longest of the axes an equation has, which leaves the least to be summed; -1: none. */
static int longest_axis(const Solution *solution, const Equation *equation, const Type *result) {
    int longest = -1;
    for (int i = 0; i < solution->result_rank; i++)
        if (equation->left[i] &&
            (longest < 0 || dim_bound(result->dims[i]) > dim_bound(result->dims[longest])))
            longest = i;
    return longest;
}

static int unknowns(const Equation *equation) {
    int count = 0;
    for (int i = 0; i < RANK_LIMIT; i++) count += equation->left[i] != 0;
    return count;
}

/* The unsolved equation with the fewest axes of y, but with one; -1: there is none. */
static int next_equation(const Solution *solution) {
    int found = -1;
    for (int i = 0; i < solution->rank; i++) {
        const Equation *equation = &solution->equations[i];
        if (equation->solved >= 0 || !unknowns(equation)) continue;
        if (found < 0 || unknowns(equation) < unknowns(&solution->equations[found])) found = i;
    }
    return found;
}

static Solution solve(Dimensions *table, const View *view, const Type *operand,
                      const Type *result) {
    Solution solution = {.table = table, .rank = operand->rank, .result_rank = result->rank};
    for (int i = 0; i < RANK_LIMIT; i++) solution.solver[i] = -1;
    for (int i = 0; i < operand->rank; i++) {
        const Coordinate *from = &view->coordinates[i];
        Equation *equation = &solution.equations[i];
        *equation = (Equation){.start = multiple(&solution, from->start, -1), .solved = -1};
        equation->right[i] = from->divisor;
        for (int j = 0; j < result->rank; j++) equation->left[j] = from->factors[j];
    }
    for (int i; !solution.failed && (i = next_equation(&solution)) >= 0;) {
        Equation *equation = &solution.equations[i];
        equation->solved = longest_axis(&solution, equation, result);
        solution.solver[equation->solved] = i;
        for (int j = 0; j < operand->rank; j++)
            eliminate(&solution, &solution.equations[j], equation, equation->solved);
    }
    return solution;
}

/* The view of dy, and its types. */
typedef struct Adjoint {
    uint32_t absent; /* axes of y that no coordinate has */
    uint32_t summed; /* axes of the view's result that are summed */
    Type from, to;   /* of dy with its new axes, and of the view */
    View view;
} Adjoint;

static bool is_present(const View *view, int axis) {
    for (int i = 0; i < view->rank; i++)
        if (view->coordinates[i].factors[axis]) return true;
    return false;
}

/* The axes of the view's result: those of x, with the free ones before the last, so that a sum
 * over them goes along the last. Fills the place of each axis of x and of each free one of y. */
static bool place_axes(Adjoint *adjoint, const Solution *solution, const Type *operand,
                       const Type *result, int *x_axis, int *y_axis) {
    int free = 0, last = operand->rank - 1;
    for (int j = 0; j < result->rank; j++) {
        y_axis[j] = -1;
        if (solution->solver[j] >= 0 || adjoint->absent >> j & 1) continue;
        if (operand->rank + free >= RANK_LIMIT) return false;
        y_axis[j] = last + free++;
        adjoint->to.dims[y_axis[j]] = result->dims[j];
        adjoint->summed |= 1u << y_axis[j];
    }
    for (int i = 0; i < operand->rank; i++) {
        x_axis[i] = i < last ? i : i + free;
        adjoint->to.dims[x_axis[i]] = operand->dims[i];
    }
    adjoint->to.rank = operand->rank + free;
    adjoint->to.element = operand->element;
    return true;
}

/* The coordinate of dy that an equation gives: of the axis it is solved for, or of one of
 * size 1. */
static Coordinate equation_coordinate(Solution *solution, const Equation *equation,
                                      const int *x_axis, const int *y_axis) {
    int64_t divisor = equation->solved < 0 ? 1 : equation->left[equation->solved];
    int64_t sign = divisor < 0 ? -1 : 1;
    Coordinate coordinate = {.start = multiple(solution, equation->start, sign),
                             .divisor = divisor * sign};
    for (int i = 0; i < solution->rank; i++)
        coordinate.factors[x_axis[i]] = sign * equation->right[i];
    for (int j = 0; j < solution->result_rank; j++)
        if (y_axis[j] >= 0) coordinate.factors[y_axis[j]] = -sign * equation->left[j];
    return coordinate;
}

/* A condition on places of x that are all 0. */
static bool is_settled(const Equation *equation, const Type *operand) {
    int64_t start;
    if (equation->solved >= 0 || !dim_is_constant(equation->start, &start) || start) return false;
    for (int i = 0; i < operand->rank; i++)
        if (equation->right[i] && !dim_is_one(operand->dims[i])) return false;
    return true;
}

static bool find_adjoint(Dimensions *table, const View *view, const Type *operand,
                         const Type *result, Adjoint *adjoint) {
    int x_axis[RANK_LIMIT], y_axis[RANK_LIMIT], axes = result->rank;
    Dim zero = dim_constant(table, 0), one = dim_constant(table, 1);
    Solution solution = solve(table, view, operand, result);
    *adjoint = (Adjoint){.from = *result};
    for (int j = 0; j < result->rank; j++)
        if (!is_present(view, j)) adjoint->absent |= 1u << j;
    if (solution.failed || !place_axes(adjoint, &solution, operand, result, x_axis, y_axis))
        return false;
    for (int j = 0; j < result->rank; j++) {
        if (adjoint->absent >> j & 1) adjoint->from.dims[j] = one;
        adjoint->view.coordinates[j] = coordinate_along(zero, y_axis[j]);
    }
    uint32_t unused = adjoint->absent; /* those of y that a condition may take */
    for (int i = 0; i < operand->rank; i++) {
        const Equation *equation = &solution.equations[i];
        if (is_settled(equation, operand)) continue;
        int axis = equation->solved;
        if (axis < 0) {
            axis = unused ? __builtin_ctz(unused) : axes++;
            unused &= unused - 1;
            if (axis == RANK_LIMIT) return false;
            adjoint->from.dims[axis] = one;
        }
        adjoint->view.coordinates[axis] = equation_coordinate(&solution, equation, x_axis, y_axis);
    }
    adjoint->view.rank = adjoint->from.rank = axes;
    return !solution.failed;
}

bool has_adjoint(Dimensions *table, const View *view, const Type *operand, const Type *result) {
    Adjoint adjoint;
    return find_adjoint(table, view, operand, result, &adjoint);
}

static NodeId solved_adjoint(Graph *graph, const View *view, NodeId dy, Type operand, Range range) {
    Adjoint adjoint;
    const Type result = graph_node(graph, dy)->type;
    if (!find_adjoint(graph->dimensions, view, &operand, &result, &adjoint)) return NODE_NONE;
    if (adjoint.absent) dy = graph_reduce(graph, OP_sum, dy, adjoint.absent, range);
    dy = graph_declared(graph, OP_reshape, dy, adjoint.from, range);
    dy = graph_view(graph, dy, &adjoint.view, adjoint.to, range);
    if (adjoint.summed) dy = graph_reduce(graph, OP_sum, dy, adjoint.summed, range);
    return graph_declared(graph, OP_reshape, dy, operand, range);
}

/* Windows side by side. */

/* Is the coordinate size·y_high + y_low, with y_low in 0..size? */
static bool is_two_digits(const Coordinate *coordinate, const Type *result, int *high, int *low) {
    int64_t start, size;
    int factors = 0;
    *low = *high = -1;
    for (int j = 0; j < result->rank; j++) {
        factors += coordinate->factors[j] != 0;
        if (coordinate->factors[j] == 1) *low = j;
        else if (coordinate->factors[j] > 1) *high = j;
    }
    return factors == 2 && *low >= 0 && *high >= 0 && coordinate->divisor == 1 &&
           dim_is_constant(coordinate->start, &start) && !start &&
           dim_is_constant(result->dims[*low], &size) && size == coordinate->factors[*high];
}

/* The same view of the operand cut to its windows, with two axes for each coordinate of two digits.
 * False: it has none, or too many. */
static bool split_digits(Dimensions *table, const View *view, const Type *operand,
                         const Type *result, View *split, Type *apart, Type *cut) {
    *split = (View){0};
    *cut = *apart = *operand;
    int rank = 0;
    for (int i = 0; i < operand->rank; i++) {
        int high, low;
        bool two = is_two_digits(&view->coordinates[i], result, &high, &low);
        if (rank + 1 + two > RANK_LIMIT) return false;
        if (two) {
            split->coordinates[rank] = coordinate_along(dim_constant(table, 0), high);
            apart->dims[rank++] = result->dims[high];
            cut->dims[i] = dim_multiply(table, result->dims[high], result->dims[low]);
        }
        split->coordinates[rank] =
            two ? coordinate_along(dim_constant(table, 0), low) : view->coordinates[i];
        apart->dims[rank++] = two ? result->dims[low] : operand->dims[i];
        if (!cut->dims[i]) return false;
    }
    split->rank = apart->rank = rank;
    return rank > operand->rank;
}

/* What flows back to each place of the operand comes from one window: nothing has to be summed. */
NodeId graph_adjoint(Graph *graph, const View *view, NodeId dy, Type operand, Range range) {
    View split;
    Type apart, cut;
    if (!split_digits(graph->dimensions, view, &operand, &graph_node(graph, dy)->type, &split,
                      &apart, &cut))
        return solved_adjoint(graph, view, dy, operand, range);
    dy = solved_adjoint(graph, &split, dy, apart, range);
    if (dy == NODE_NONE) return NODE_NONE;
    dy = graph_declared(graph, OP_reshape, dy, cut, range);
    View whole = view_identity(graph->dimensions, operand.rank);
    return graph_view(graph, dy, &whole, operand, range);
}
