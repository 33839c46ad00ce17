/* Trace text: what each kernel of a training function leaves in memory, and which operation of it
 * may make NaN or an infinity of finite numbers. The runtime looks for the first of them with it.
 *
 * A value that a kernel stores is made by nodes between it and what lies in memory. Of those the
 * ones that ops.def calls risky are named; where there are none, the sum of products or the value
 * itself. */
#include "compiler/codegen/trace_text.h"

#include "compiler/codegen/names.h"

#include <assert.h>

enum { OPS_NAMED = 3 };

typedef Vector(int) Numbers;

typedef struct Tracer {
    Arena *arena;
    const FunctionPlan *plan;
    int *stored; /* of each node: 1 + its number in the table, or 0 */
    int kernel;  /* while it is looked at */
    Numbers reads;
} Tracer;

static const Node *node_at(const Tracer *tracer, NodeId id) {
    return graph_node(tracer->plan->graph, id);
}

/* Is it a place of its own for a floating-point value? Storage keeps its old value then. */
static bool is_traced(const Tracer *tracer, NodeId id) {
    Place place = tracer->plan->places[id];
    return place.kind == PLACE_memory && place.index < 0 &&
           is_floating(node_at(tracer, id)->type.element);
}

/* Risks. */

static bool divides(Op op) {
    return op == OP_divide || op == OP_remainder;
}

/* Never 0: a number, or how many records there are. */
static bool is_sound_divisor(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    while (node->op == OP_cast || node->op == OP_reshape || node->op == OP_broadcast)
        node = graph_node(graph, node->inputs[0]);
    if (node->op == OP_constant) return node->number != 0;
    return node->op == OP_input && node->type.element == TYPE_i64 && !node->type.rank;
}

static bool is_risky(const Graph *graph, const Node *node, Risk least) {
    if (op_info[node->op].risk < least) return false;
    return !divides(node->op) || !is_sound_divisor(graph, node->inputs[1]);
}

/* "log, digits.flow:24" for each risky node that is marked. */
static const char *risks_text(Arena *arena, const Graph *graph, const bool *marked, Risk least) {
    const char *named[OPS_NAMED];
    int count = 0;
    for (NodeId id = 0; id < graph->nodes.count && count < OPS_NAMED; id++) {
        const Node *node = graph_node(graph, id);
        if (!marked[id] || !is_risky(graph, node, least)) continue;
        const char *text =
            arena_format(arena, "%s, %s", op_info[node->op].name, place_text(arena, node->range));
        bool known = false;
        for (int i = 0; i < count; i++) known |= !strcmp(named[i], text);
        if (!known) named[count++] = text;
    }
    Text text = text_new(arena);
    for (int i = 0; i < count; i++) text_format(&text, "%s%s", i ? ", or " : "", named[i]);
    return count ? text_string(&text) : NULL;
}

/* The nodes between the value and what lies in memory. */
static void mark(const Tracer *tracer, bool *marked, NodeId id) {
    const Node *node = node_at(tracer, id);
    marked[id] = true;
    for (int i = 0; i < node->input_count; i++) {
        NodeId from = node->inputs[i];
        bool here = node_at(tracer, from)->kernel == tracer->kernel && !tracer->stored[from];
        if (!marked[from] && (here || node_at(tracer, from)->kernel == NO_KERNEL))
            mark(tracer, marked, from);
    }
}

/* A sum of many numbers, or the value itself. */
static NodeId likely_node(const Tracer *tracer, const bool *marked, NodeId value) {
    for (NodeId id = 0; id < tracer->plan->graph->nodes.count; id++) {
        LoopClass class = op_info[node_at(tracer, id)->op].class;
        if (marked[id] && (class == LOOP_contract || class == LOOP_reduce)) return id;
    }
    return value;
}

static const char *scan_risks(Arena *arena, const Graph *body, Risk least) {
    bool *all = arena_new_array(arena, bool, body->nodes.count + 1);
    for (size_t i = 0; i < body->nodes.count; i++) all[i] = true;
    return risks_text(arena, body, all, least);
}

/* What may have made a value that is no finite number. */
static const char *cause_text(const Tracer *tracer, NodeId value, Risk least) {
    Arena *arena = tracer->arena;
    const Graph *graph = tracer->plan->graph;
    const ScanPlan *scan = tracer->plan->kernels[tracer->kernel].scan;
    bool *marked = arena_new_array(arena, bool, graph->nodes.count + 1);
    mark(tracer, marked, value);
    const char *text = scan ? scan_risks(arena, scan->body->graph, least)
                            : risks_text(arena, graph, marked, least);
    if (text) return text;
    const Node *node = node_at(tracer, scan ? value : likely_node(tracer, marked, value));
    return arena_format(arena, "%s, %s", scan ? "scan" : op_info[node->op].name,
                        place_text(arena, node->range));
}

/* Reads. */

static void note_read(void *context, NodeId read, IndexKind index) {
    Tracer *tracer = context;
    (void)index;
    Place place = tracer->plan->places[read];
    if (tracer->stored[read]) vector_push(tracer->arena, &tracer->reads, tracer->stored[read] - 1);
    else if (place.kind == PLACE_memory && place.index >= 0)
        vector_push(tracer->arena, &tracer->reads, ~place.index);
}

static void write_reads(Tracer *tracer, Text *text) {
    const KernelPlan *kernel = &tracer->plan->kernels[tracer->kernel];
    tracer->reads = (Numbers){0};
    for (size_t i = 0; i < kernel->node_count; i++)
        each_read(tracer->plan->graph, tracer->kernel, &kernel->loops, kernel->nodes[i], note_read,
                  tracer);
    text_add(text, "(const int[]){");
    vector_each(int, read, tracer->reads)
        text_format(text, "%s%d, ", *read < 0 ? "~" : "", *read < 0 ? ~*read : *read);
    text_format(text, "0}, %zu", tracer->reads.count);
}

/* The table. */

static void write_value(Tracer *tracer, Text *text, int call, NodeId id, SizeText *size) {
    const Node *node = node_at(tracer, id);
    Dimensions *table = tracer->plan->graph->dimensions;
    Dim count = type_elements(table, &node->type);
    text_format(text, "    {%d, %zu, FLOW_%s, %s, %s, %s, ", call, tracer->plan->places[id].offset,
                element_info[node->type.element].name, size->text(size->context, count),
                string_literal(tracer->arena, cause_text(tracer, id, RISK_nan)),
                string_literal(tracer->arena, cause_text(tracer, id, RISK_infinite)));
    write_reads(tracer, text);
    text_add(text, "},\n");
}

/* Numbers the values in the order in which they are stored. */
static int number_values(Tracer *tracer) {
    int count = 0;
    for (int i = 0; i < tracer->plan->kernel_count; i++) {
        const KernelPlan *kernel = &tracer->plan->kernels[tracer->plan->order[i]];
        for (size_t j = 0; j < kernel->node_count; j++)
            if (is_traced(tracer, kernel->nodes[j])) tracer->stored[kernel->nodes[j]] = ++count;
    }
    return count;
}

int write_trace(Text *text, const FunctionPlan *plan, const char *prefix, SizeText *size) {
    Arena *arena = text->arena;
    Tracer tracer = {.arena = arena,
                     .plan = plan,
                     .stored = arena_new_array(arena, int, plan->graph->nodes.count + 1)};
    int count = number_values(&tracer);
    if (!count) return 0;
    text_format(text, "static const FlowStored %s_stored[] = {\n", prefix);
    for (int i = 0; i < plan->kernel_count; i++) {
        tracer.kernel = plan->order[i];
        const KernelPlan *kernel = &plan->kernels[tracer.kernel];
        for (size_t j = 0; j < kernel->node_count; j++)
            if (tracer.stored[kernel->nodes[j]])
                write_value(&tracer, text, i, kernel->nodes[j], size);
    }
    text_add(text, "};\n");
    text_format(text, "static const FlowTrace %s_trace = {%s_calls, %d, %s_stored, %d};\n", prefix,
                prefix, plan->kernel_count, prefix, count);
    return count;
}
