/* Views of every kind against functions of coordinates: the evaluator, what simplifies them, the
 * text; and their gradients' gradients in generated code. */
#include "compiler/passes/pass.h"
#include "tests/codegen/compiled.h"
#include "tests/graphs/check.h"
#include "tests/graphs/values.h"

#include <string.h>

/* Where the element of a result at coordinates o lies in an operand; -1: nowhere. */
typedef int Formula(const int *o);

/* A view of a weight "a", as graph text. */
typedef struct ViewCase {
    const char *operand, *view, *result;
    Formula *formula;
    double fill;
} ViewCase;

static int exchanged(const int *o) {
    return (o[2] * 3 + o[0]) * 5 + o[1];
}

static int every_second(const int *o) {
    return 2 * o[0] + 1;
}

static int backwards(const int *o) {
    return 6 - o[0];
}

static int padded(const int *o) {
    int y = o[0] - 1, x = o[1] - 2;
    return y >= 0 && y < 3 && x >= 0 && x < 4 ? y * 4 + x : -1;
}

static int cut_and_padded(const int *o) {
    return o[0] + 2 < 5 ? o[0] + 2 : -1;
}

static int windowed(const int *o) {
    return (o[0] * 6 + 2 * o[1] + o[2]) * 2 + o[3];
}

static int windowed_widely(const int *o) {
    return o[0] + 3 * o[1];
}

static int windowed_twice(const int *o) {
    return 2 * o[0] + 3 * o[1] + o[2];
}

static int windowed_padded(const int *o) {
    int x = 2 * o[0] + o[1] - 1;
    return x >= 0 && x < 7 ? x : -1;
}

static int dilated(const int *o) {
    return (o[0] - 1) % 3 == 0 ? (o[0] - 1) / 3 : -1;
}

static int thinned_by_halves(const int *o) {
    int x = 3 * o[0] - o[1];
    return x >= 0 && x % 2 == 0 && x / 2 < 5 ? x / 2 : -1;
}

static int diagonal(const int *o) {
    return o[0] * 5 + o[0];
}

static int near_diagonal(const int *o) {
    return o[0] + 2 < 6 ? o[0] * 6 + o[0] + 2 : -1;
}

static int repeated(const int *o) {
    return o[1];
}

static int one_column(const int *o) {
    return o[0] * 4 + 2;
}

static int one_number(const int *o) {
    (void)o;
    return 0;
}

static int sheared(const int *o) {
    int x = o[0] + o[1] - 1;
    return x >= 0 && x < 4 ? o[0] * 4 + x : -1;
}

static int mixed(const int *o) {
    int y = o[0] + o[1], x = o[0] - o[1];
    return y < 3 && x >= 0 && x < 3 ? y * 3 + x : -1;
}

static int last_record_first(const int *o) {
    return (BATCH - 1 - o[0]) * 3 + o[1];
}

static const ViewCase view_cases[] = {
    {"[2, 3, 5]", "[i2, i0, i1]", "[3, 5, 2]", exchanged, 0},
    {"[8]", "[2*i0 + 1]", "[4]", every_second, 0},
    {"[7]", "[-i0 + 6]", "[7]", backwards, 0},
    {"[3, 4]", "[i0 - 1, i1 - 2] fill 0.5", "[5, 7]", padded, 0.5},
    {"[5]", "[i0 + 2] fill -1", "[6]", cut_and_padded, -1},
    {"[B, 6, 2]", "[i0, 2*i1 + i2, i3]", "[B, 2, 3, 2]", windowed, 0},
    {"[13]", "[i0 + 3*i1]", "[5, 3]", windowed_widely, 0},
    {"[12]", "[2*i0 + 3*i1 + i2]", "[3, 3, 2]", windowed_twice, 0},
    {"[7]", "[2*i0 + i1 - 1] fill 2", "[4, 3]", windowed_padded, 2},
    {"[3]", "[(i0 - 1)/3]", "[10]", dilated, 0},
    {"[5]", "[(3*i0 - i1)/2] fill 1", "[4, 5]", thinned_by_halves, 1},
    {"[4, 5]", "[i0, i0]", "[4]", diagonal, 0},
    {"[6, 6]", "[i0, i0 + 2]", "[6]", near_diagonal, 0},
    {"[3]", "[i1]", "[4, 3]", repeated, 0},
    {"[3, 4]", "[i0, 2]", "[3]", one_column, 0},
    {"[1, 1]", "[0, 0]", "[5]", one_number, 0},
    {"[3, 4]", "[i0, i0 + i1 - 1] fill 3", "[3, 4]", sheared, 3},
    {"[3, 3]", "[i0 + i1, i0 - i1]", "[3, 3]", mixed, 0},
    {"[B, 3]", "[-i0 + B - 1, i1]", "[B, 3]", last_record_first, 0},
};

static Graph *view_graph(Arena *arena, const ViewCase *given, const char *element) {
    return read_graph(arena,
                      arena_format(arena,
                                   "graph \"view\" batch B <= 9\n"
                                   "%%0 = weight \"a\" : %s%s\n"
                                   "%%1 = view %%0 %s : %s%s\n"
                                   "result \"y\" %%1\n",
                                   element, given->operand, given->view, element, given->result));
}

static const Domain any = {"any", 0};
static const int64_t whole_batch[] = {BATCH, 0};

/* loss = sum(y^3), its gradient by a, and the gradient of the sum of that gradient's squares: one
 * through the view, the adjoint and the adjoint's adjoint. */
static Graph *view_gradients(Arena *arena, const ViewCase *given) {
    Graph *graph = view_graph(arena, given, "f64");
    Range range = {0};
    NodeId a = 0, y = 1;
    for (int i = 0; i < 2; i++) {
        Type type = graph_node(graph, y)->type;
        NodeId power = graph_make(graph, OP_multiply, y, y, 0, range);
        if (!i) power = graph_make(graph, OP_multiply, power, y, 0, range);
        NodeId sum = graph_reduce(graph, OP_sum, power, (1u << type.rank) - 1, range);
        NodeId loss = graph_declared(graph, OP_reshape, sum, type_scalar(TYPE_f64), range);
        y = graph_make(graph, OP_gradient, loss, a, 0, range);
        graph->outputs.count = 0;
        graph_output(graph, OUTPUT_result, "loss", loss, NODE_NONE);
        graph_output(graph, OUTPUT_result, "gradient", y, NODE_NONE);
        check_gradients(graph, random_values(arena, graph, any, 1));
    }
    return graph;
}

static int64_t symbol_value(Dim symbol, const void *context) {
    (void)context;
    return dim_is_batch(symbol) ? BATCH : dim_bound(symbol);
}

static void check_view(const ViewCase *given, const Graph *graph, double *const *values) {
    Evaluation evaluation =
        graph_evaluate(graph->arena, graph, (const double *const *)values, BATCH, true);
    const Type *type = &graph_node(graph, 1)->type;
    bool equal = true;
    for (int64_t i = 0; i < evaluation.counts[1]; i++) {
        int o[RANK_LIMIT];
        int64_t rest = i;
        for (int axis = type->rank - 1; axis >= 0; axis--) {
            int64_t size = dim_evaluate(type->dims[axis], symbol_value, NULL);
            o[axis] = (int)(rest % size);
            rest /= size;
        }
        int place = given->formula(o);
        equal &= evaluation.values[1][i] == (place < 0 ? given->fill : values[0][place]);
    }
    check_holds(equal, "the evaluator and the formula differ", graph);
}

/* The same after every simplification. */
static void check_simplified(const Graph *graph, double *const *values) {
    Diagnostics *problems = diagnostics_new(graph->arena);
    const Graph *simple = differentiate(graph->arena, graph, problems);
    const double *const *given = values_for(simple, graph, values);
    Evaluation first =
        graph_evaluate(graph->arena, graph, (const double *const *)values, BATCH, true);
    Evaluation second = graph_evaluate(graph->arena, simple, given, BATCH, true);
    NodeId a = graph->outputs.items[0].value, b = simple->outputs.items[0].value;
    bool equal = first.counts[a] == second.counts[b];
    for (int64_t i = 0; equal && i < first.counts[a]; i++)
        equal = first.values[a][i] == second.values[b][i];
    check_holds(equal, "what is simpler differs", simple);
}

static void run_view(const ViewCase *given) {
    Arena *arena = arena_new();
    Graph *graph = view_graph(arena, given, "f64");
    check_holds(graph != NULL, given->view, graph_new(arena, dimensions_new(arena), "none"));
    if (graph) {
        double **values = random_values(arena, graph, any, 1);
        check_text(graph);
        check_view(given, graph, values);
        check_simplified(graph, values);
        Graph *gradients = view_gradients(arena, given);
        Graph *all = differentiate(arena, gradients, diagnostics_new(arena));
        check_holds(all && compiled_agrees(all, values_for(all, graph, values), whole_batch),
                    "generated code and the evaluator differ", gradients);
    }
    arena_free(arena);
}

int main(void) {
    begin_checks("views");
    for (size_t i = 0; i < sizeof view_cases / sizeof *view_cases; i++) run_view(&view_cases[i]);
    return finish_checks() != 0;
}
