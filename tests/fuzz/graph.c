/* Fuzz: any bytes as the text of a graph, through every pass; a graph means the same after fusion.
 * (Differentiation also folds constants, rounded to their type: what is left need not be near.) */
#include "compiler/passes/passes.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

enum { BATCH = 3, LARGEST = 4096 }; /* records; elements of a value that is evaluated */

static const char *printed(Arena *arena, const Graph *graph) {
    Text text = text_new(arena);
    graph_print(graph, &text);
    return text_string(&text);
}

static bool is_small(const Graph *graph) {
    vector_each(Node, node, graph->nodes) {
        int64_t bytes = type_size_bound(&node->type);
        if (bytes < 0 || bytes > LARGEST || node->op == OP_gradient) return false;
    }
    return graph->nodes.count < 200;
}

/* The same number for the same name and place, in every version of the graph. */
static const double *const *given_values(Arena *arena, const Graph *graph) {
    const double **given = arena_new_array(arena, const double *, graph->nodes.count + 1);
    for (size_t id = 0; id < graph->nodes.count; id++) {
        const Node *node = &graph->nodes.items[id];
        if (node->op != OP_input && node->op != OP_weight) continue;
        double *values = arena_new_array(arena, double, LARGEST);
        for (int i = 0; i < LARGEST; i++) values[i] = (node->name ? node->name[0] % 7 : 0) + i % 5;
        given[id] = values;
    }
    return given;
}

static void compare(Arena *arena, const Graph *before, const Graph *after) {
    Evaluation first = graph_evaluate(arena, before, given_values(arena, before), BATCH, true);
    Evaluation second = graph_evaluate(arena, after, given_values(arena, after), BATCH, true);
    for (size_t i = 0; i < before->outputs.count; i++) {
        NodeId a = before->outputs.items[i].value, b = after->outputs.items[i].value;
        for (int64_t at = 0; at < first.counts[a]; at++) {
            double x = first.values[a][at], y = second.values[b][at];
            bool same =
                x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-5 * (fabs(x) + fabs(y));
            if (!same && isfinite(x) && isfinite(y)) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    Arena *arena = arena_new();
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "fuzz", size ? (const char *)bytes : "", size);
    const Graph *graph = graph_parse(arena, source, diagnostics);
    for (int i = 0; graph && i < pass_count; i++) {
        if (graph_verify(arena, graph)) break; /* only sound graphs reach a pass */
        const Graph *next = passes[i].run(arena, graph, diagnostics);
        if (next && graph_verify(arena, next)) abort();
        if (next && i && is_small(graph)) compare(arena, graph, next);
        graph = next;
    }
    if (graph) printed(arena, graph);
    arena_free(arena);
    return 0;
}
