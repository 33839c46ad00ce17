/* Check: what holds for every graph, counted. */
#include "tests/graphs/check.h"

#include "compiler/passes/pass.h"
#include "tests/graphs/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Tally {
    const char *name;
    int passed, failed;
} Tally;

static Tally tally;

void begin_checks(const char *name) {
    tally = (Tally){.name = name};
}

int finish_checks(void) {
    if (tally.failed) printf("%s: %d passed, %d FAILED\n", tally.name, tally.passed, tally.failed);
    else if (tally.passed) printf("%s: %d passed\n", tally.name, tally.passed);
    return tally.failed;
}

void check_holds(bool holds, const char *what, const Graph *graph) {
    if (holds) {
        tally.passed++;
        return;
    }
    tally.failed++;
    Text text = text_new(graph->arena);
    graph_print(graph, &text);
    printf("%s: %s\n%s", tally.name, what, text_string(&text));
}

Graph *read_graph(Arena *arena, const char *text) {
    Diagnostics *problems = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "case.graph", text, strlen(text));
    Graph *graph = graph_parse(arena, source, problems);
    diagnostics_print(problems, stdout, false);
    return graph;
}

void check_text(const Graph *graph) {
    Text first = text_new(graph->arena), second = text_new(graph->arena);
    graph_print(graph, &first);
    Graph *read = read_graph(graph->arena, text_string(&first));
    if (read) graph_print(read, &second);
    check_holds(read && !strcmp(text_string(&first), text_string(&second)),
                "the text reads back differently", graph);
}

static double loss_of(const Graph *graph, const double *const *values) {
    Arena *arena = arena_new();
    Evaluation evaluation = graph_evaluate(arena, graph, values, BATCH, true);
    double loss = evaluation.values[graph->outputs.items[0].value][0];
    arena_free(arena);
    return loss;
}

static bool is_close(double a, double b) {
    return fabs(a - b) <= 1e-5 + 1e-3 * fabs(b) || (isnan(a) && isnan(b));
}

/* How much the loss changes with *place, both ways. */
static double slope(const Graph *graph, const double *const *values, double *place) {
    double middle = *place, step = 1e-6;
    *place = middle + step;
    double high = loss_of(graph, values);
    *place = middle - step;
    double low = loss_of(graph, values);
    *place = middle;
    return (high - low) / (2 * step);
}

void check_gradients(const Graph *before, double **values) {
    Diagnostics *problems = diagnostics_new(before->arena);
    Graph *after = differentiate(before->arena, before, problems);
    diagnostics_print(problems, stdout, false);
    check_holds(after != NULL, "there is no gradient", before);
    if (!after) return;
    check_holds(!graph_verify(before->arena, after), "the gradient's graph is broken", after);
    check_text(after);
    const double *const *given = values_for(after, before, values);
    Evaluation evaluation = graph_evaluate(before->arena, after, given, BATCH, true);
    for (size_t i = 1; i < before->outputs.count; i++) {
        const Node *gradient = graph_node(before, before->outputs.items[i].value);
        if (gradient->op != OP_gradient) continue;
        const double *found = evaluation.values[after->outputs.items[i].value];
        double *at = values[gradient->inputs[1]];
        bool close = true;
        for (int64_t j = 0; j < element_count(&gradient->type); j++)
            close &= is_close(found[j], slope(after, given, &at[j]));
        check_holds(close, "the gradient and finite differences differ", before);
    }
}
