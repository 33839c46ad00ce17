/* Trace text: what leads to the loss and the updates of a training function, as tables: each value,
 * where it lies, which call stores it, how one element of it is made of others, and where in the
 * program it stands. The runtime makes the calls one by one and looks at what they store; then it
 * computes the element in question by the tables, back to the operation that made it of finite
 * numbers. */
#include "compiler/codegen/trace_text.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/writer.h"
#include "compiler/graph/scan.h"
#include "runtime/trace_text.h"

typedef Vector(int) Numbers;

typedef struct Tracer {
    TraceText *trace;
    Arena *arena;
    Text *text;
    const FunctionPlan *plan;
    const Graph *graph;
    const char *prefix;
    bool body;    /* of a loop: nobody asks what its calls read */
    bool *wanted; /* of each node: it leads to a result or an update that counts */
    int *calls;   /* of each kernel: the call that runs it */
    int *values;  /* of each node: its number in the table */
    int *stored;  /* of each node: 1 + its number among those stored, or 0 */
    int kernel;   /* whose reads are looked at */
    int written;  /* kernels whose reads are told, with this one */
    int *asked;   /* of each kernel: for which of them it was last asked what it reads */
    Numbers reads;
    Text numbers; /* runtime/trace_text.h says what they are */
    Map made;     /* the makings that they speak of, as initialisers, to 1 + their place */
    Text makings; /* those, in their order */
    int call;     /* of the value written last */
    int read_count;
} Tracer;

static const Node *node_at(const Tracer *tracer, NodeId id) {
    return graph_node(tracer->graph, id);
}

/* What counts, and what leads there. */

static NodeId value_of_output(const Tracer *tracer, const Output *output) {
    return strip_reshapes(tracer->graph, output->value);
}

/* Of a weight or a state; sums over a pass are not kept from anything. */
static bool is_kept(const Tracer *tracer, const Output *output) {
    return output->kind == OUTPUT_update &&
           node_at(tracer, value_of_output(tracer, output))->op == OP_keep;
}

static void find_wanted(Tracer *tracer) {
    bool result = false; /* the loss is the first */
    vector_each(Output, output, tracer->graph->outputs) {
        bool loss = output->kind == OUTPUT_result && !result;
        if (tracer->body || loss || is_kept(tracer, output)) tracer->wanted[output->value] = true;
        result |= loss;
    }
    for (NodeId id = (NodeId)tracer->graph->nodes.count; id-- > 0;)
        for (int i = 0; i < node_at(tracer, id)->input_count && tracer->wanted[id]; i++)
            tracer->wanted[node_at(tracer, id)->inputs[i]] = true;
}

static bool is_traced(const Tracer *tracer, NodeId id) {
    PlaceKind kind = tracer->plan->places[id].kind;
    const bool partial = tracer->plan->partial && tracer->plan->partial[id];
    return tracer->wanted[id] && !partial && (kind == PLACE_output || kind == PLACE_memory) &&
           is_floating(node_at(tracer, id)->type.element);
}

static void number_values(Tracer *tracer) {
    int value = 0, stored = 0;
    for (NodeId id = 0; id < tracer->graph->nodes.count; id++)
        if (tracer->wanted[id]) tracer->values[id] = value++;
    for (size_t i = 0; i < tracer->plan->bands.count; i++) {
        const Band *band = &tracer->plan->bands.items[i];
        for (int k = 0; k < band->count; k++) tracer->calls[band->kernels[k]] = (int)i;
    }
    for (int i = 0; i < tracer->plan->kernel_count; i++) {
        const KernelPlan *kernel = &tracer->plan->kernels[tracer->plan->order[i]];
        for (size_t j = 0; j < kernel->node_count; j++)
            if (is_traced(tracer, kernel->nodes[j])) tracer->stored[kernel->nodes[j]] = ++stored;
    }
}

/* Values. */

static const char *making_name(const Node *node) {
    switch (node->op) {
    case OP_constant: return "constant";
    case OP_select:
    case OP_keep: return "choice";
    case OP_reshape:
    case OP_hold: return "same";
    case OP_view: return "view";
    case OP_broadcast: return "broadcast";
    case OP_scatter_add: return "scatter";
    default: break;
    }
    switch (op_info[node->op].class) {
    case LOOP_elementwise: return "elementwise";
    case LOOP_generate: return "generate";
    case LOOP_reduce: return op_info[node->op].gives == GIVES_index ? "best" : "reduce";
    case LOOP_row: return "row";
    case LOOP_contract: return "product";
    case LOOP_gather: return "gather";
    default: return "elsewhere";
    }
}

static bool is_computed(const Node *node) {
    LoopClass class = op_info[node->op].class;
    return class == LOOP_elementwise || class == LOOP_generate || class == LOOP_reduce;
}

/* Numbers. */

static void add_number(Tracer *tracer, uint64_t number) {
    static const char digits[] = FLOW_TRACE_DIGITS;
    enum { MOST = 64 / FLOW_TRACE_BITS + 1 };
    char word[MOST];
    int count = 0;
    for (; number >= FLOW_TRACE_MORE; number >>= FLOW_TRACE_BITS)
        word[count++] = digits[FLOW_TRACE_MORE + number % FLOW_TRACE_MORE];
    word[count++] = digits[number];
    text_add_bytes(&tracer->numbers, word, (size_t)count);
}

static void add_signed(Tracer *tracer, int64_t number) {
    add_number(tracer, number < 0 ? 2 * (uint64_t)~number + 1 : 2 * (uint64_t)number);
}

static void add_place(Tracer *tracer, NodeId id) {
    Place place = tracer->plan->places[id];
    bool known =
        place.kind == PLACE_memory || place.kind == PLACE_input || place.kind == PLACE_output;
    add_number(tracer, known);
    if (place.kind == PLACE_memory) add_signed(tracer, (int64_t)place.offset);
    if (place.kind == PLACE_input) add_signed(tracer, ~(int64_t)place.index);
    if (place.kind == PLACE_output)
        add_signed(tracer, ~(int64_t)(place.index + field_count(tracer->plan)));
}

static int call_of(const Tracer *tracer, NodeId id) {
    int kernel = node_at(tracer, id)->kernel;
    return kernel == NO_KERNEL ? -1 : tracer->calls[kernel];
}

static const char *coordinates_initialiser(const Tracer *tracer, const Node *node) {
    Text text = text_new(tracer->arena);
    for (int i = 0; i < node->view->rank; i++) {
        const Coordinate *coordinate = &node->view->coordinates[i];
        int64_t start = 0;
        int size = 0;
        if (!dim_is_constant(coordinate->start, &start))
            size = 1 + run_size_number(tracer->arena, tracer->trace->sizes, coordinate->start);
        text_format(&text, "{%lld, %d, {", (long long)start, size);
        for (int j = 0; j < node->type.rank; j++)
            text_format(&text, "%s%lld", j ? ", " : "", (long long)coordinate->factors[j]);
        text_format(&text, "%s}, %lld}, ", node->type.rank ? "" : "0",
                    (long long)coordinate->divisor);
    }
    return text.size ? text_string(&text) : "{0}";
}

static const char *value_number(const Tracer *tracer, const Node *node) {
    double number = node->op == OP_constant ? node->number
                    : node->op == OP_view   ? node->view->fill
                                            : 0;
    const char *initial = op_info[node->op].initial;
    if (op_info[node->op].class == LOOP_reduce && strcmp(initial, "0"))
        return !strcmp(initial, "lowest")    ? "-__builtin_inf()"
               : !strcmp(initial, "highest") ? "__builtin_inf()"
                                             : initial;
    return number_literal(tracer->arena, TYPE_f64, number);
}

/* "divide in the gradient of log, digits.flow:24 (losses.flow:21)" */
static const char *value_text(Arena *arena, const Node *node) {
    const char *name = node->op == OP_part   ? "scan"
                       : node->op == OP_keep ? "update"
                                             : op_info[node->op].name;
    const char *text = arena_format(
        arena, "%s%s%s, %s", name, node->gradient_of ? " in the gradient of " : "",
        node->gradient_of ? op_info[node->gradient_of].name : "", place_text(arena, node->range));
    if (!node->library.source) return text;
    return arena_format(arena, "%s (%s)", text, place_text(arena, node->library));
}

/* What the text of a making follows from. */
typedef struct Making {
    Op op, gradient_of;
    double number;
    const View *view;
    int64_t axes, stream;
    Range range, library;
    Type type;
} Making;

static Making making_of(const Node *node) {
    Making making;
    memset(&making, 0, sizeof making); /* what lies between its parts, too */
    making.op = node->op;
    making.gradient_of = node->gradient_of;
    making.number = node->number;
    making.view = node->view;
    making.axes = node->axes;
    making.stream = node->stream;
    making.range = node->range;
    making.library = node->library;
    making.type = node->type;
    return making;
}

static const char *new_making(const Tracer *tracer, const Node *node) {
    Text text = text_new(tracer->arena);
    text_format(&text, "{FLOW_MADE_%s, %s, %s, %d, %s", making_name(node),
                string_literal(tracer->arena, value_text(tracer->arena, node)),
                batch_type_initialiser(tracer->arena, tracer->trace->sizes, &node->type),
                (int)node->op, value_number(tracer, node));
    if (op_info[node->op].class == LOOP_reduce) text_format(&text, ", .axes = %u", node->axes);
    if (op_info[node->op].class == LOOP_generate)
        text_format(&text, ", .stream = %lld", (long long)node->stream);
    if (node->op == OP_view)
        text_format(&text, ", .coordinates = (const FlowCoordinate[]){%s}",
                    coordinates_initialiser(tracer, node));
    text_add(&text, "}");
    return text_string(&text);
}

/* Of equal layers most are known. */
static const char *making_initialiser(Tracer *tracer, const Node *node) {
    Map *makings = &tracer->trace->makings;
    const Making making = making_of(node);
    const char *initialiser = map_get_bytes(makings, &making, sizeof making);
    if (initialiser) return initialiser;
    initialiser = new_making(tracer, node);
    map_put_bytes(makings, &making, sizeof making, (void *)initialiser);
    return initialiser;
}

static void add_making(Tracer *tracer, const char *initialiser) {
    uintptr_t known = (uintptr_t)map_get(&tracer->made, initialiser);
    if (!known) {
        known = tracer->made.count + 1;
        map_put(&tracer->made, initialiser, (void *)known);
        text_format(&tracer->makings, "    %s,\n", initialiser);
    }
    add_number(tracer, known - 1);
}

static void write_value(Tracer *tracer, NodeId id) {
    const Node *node = node_at(tracer, id);
    int call = call_of(tracer, id);
    add_making(tracer, making_initialiser(tracer, node));
    add_signed(tracer, call - tracer->call);
    tracer->call = call;
    add_place(tracer, id);
    add_number(tracer, (uint64_t)node->input_count);
    for (int i = 0; i < node->input_count; i++)
        add_number(tracer, (uint64_t)(tracer->values[id] - tracer->values[node->inputs[i]]));
    if (is_computed(node)) tracer->trace->computes[node->op] = true;
}

static int write_values(Tracer *tracer) {
    int count = 0;
    tracer->call = -1;
    for (NodeId id = 0; id < tracer->graph->nodes.count; id++) {
        if (!tracer->wanted[id]) continue;
        write_value(tracer, id);
        count++;
    }
    return count;
}

/* What is stored, and what was read for it. */

static void add_reads(Tracer *tracer, int kernel);

/* What a band passes on is not looked at: what was read for it is. */
static void note_read(void *context, NodeId read, IndexKind index) {
    Tracer *tracer = context;
    (void)index;
    Place place = tracer->plan->places[read];
    if (tracer->stored[read]) vector_push(tracer->arena, &tracer->reads, tracer->stored[read] - 1);
    else if (place.kind == PLACE_memory && place.index >= 0)
        vector_push(tracer->arena, &tracer->reads, ~place.index);
    else if (place.kind == PLACE_band && node_at(tracer, read)->kernel != tracer->kernel)
        add_reads(tracer, node_at(tracer, read)->kernel);
}

static void add_reads(Tracer *tracer, int number) {
    const KernelPlan *kernel = &tracer->plan->kernels[number];
    int reader = tracer->kernel;
    if (tracer->asked[number] == tracer->written) return;
    tracer->asked[number] = tracer->written;
    tracer->kernel = number;
    for (size_t i = 0; i < kernel->node_count; i++)
        if (tracer->wanted[kernel->nodes[i]])
            each_read(tracer->graph, number, &kernel->loops, kernel->nodes[i], note_read, tracer);
    tracer->kernel = reader;
}

/* What a kernel reads is read for each value that it stores. */
static void find_reads(Tracer *tracer, int kernel) {
    tracer->reads.count = 0;
    tracer->written++;
    if (!tracer->body) add_reads(tracer, kernel);
}

static void write_reads(Tracer *tracer) {
    add_number(tracer, tracer->reads.count);
    vector_each(int, read, tracer->reads) add_signed(tracer, *read);
    tracer->read_count += (int)tracer->reads.count;
}

static int write_stored(Tracer *tracer) {
    int count = 0, before = 0;
    for (int i = 0; i < tracer->plan->kernel_count; i++) {
        const KernelPlan *kernel = &tracer->plan->kernels[tracer->plan->order[i]];
        bool found = false;
        for (size_t j = 0; j < kernel->node_count; j++) {
            if (!tracer->stored[kernel->nodes[j]]) continue;
            if (!found) find_reads(tracer, tracer->plan->order[i]);
            found = true;
            int value = tracer->values[kernel->nodes[j]];
            add_signed(tracer, value - before);
            before = value;
            write_reads(tracer);
            count++;
        }
    }
    return count;
}

/* Updates. */

static int write_updates(Tracer *tracer) {
    int count = 0;
    vector_each(Output, output, tracer->graph->outputs) {
        int stored = tracer->stored[value_of_output(tracer, output)];
        if (!is_kept(tracer, output) || !stored) continue;
        add_number(tracer, (uint64_t)(stored - 1));
        add_number(tracer, (uint64_t)tracer->plan->places[output->target].index);
        count++;
    }
    return count;
}

/* As literals of a line each. */
static void print_numbers(Tracer *tracer) {
    enum { LINE = 90 };
    const char *numbers = text_string(&tracer->numbers);
    text_format(tracer->text, "static const char %s_numbers[] =", tracer->prefix);
    for (size_t at = 0; at < tracer->numbers.size; at += LINE)
        text_format(tracer->text, "\n    \"%.*s\"", LINE, numbers + at);
    text_add(tracer->text, ";\n");
}

/* Loops and functions. */

static bool write_tables(TraceText *trace, const FunctionPlan *plan, const char *prefix, bool body);

static const char *body_prefix(const Tracer *tracer, int call) {
    return arena_format(tracer->arena, "%s_body%d", tracer->prefix, call);
}

/* Those of calls that lead to the result. */
static bool write_bodies(Tracer *tracer) {
    Text list = text_new(tracer->arena);
    bool any = false;
    for (int i = 0; i < (int)tracer->plan->bands.count; i++) {
        const Band *band = &tracer->plan->bands.items[i];
        const KernelPlan *kernel = band->count ? &tracer->plan->kernels[*band->kernels] : NULL;
        bool wanted = kernel && kernel->scan && tracer->wanted[kernel->nodes[0]];
        bool traced =
            wanted && write_tables(tracer->trace, kernel->scan->body, body_prefix(tracer, i), true);
        if (traced) text_format(&list, "&%s_trace, ", body_prefix(tracer, i));
        else text_add(&list, "NULL, ");
        any |= traced;
    }
    if (any)
        text_format(tracer->text, "static const FlowTraceText *const %s_bodies[] = {%s};\n",
                    tracer->prefix, text_string(&list));
    return any;
}

static bool is_any_stored(const Tracer *tracer) {
    for (NodeId id = 0; id < tracer->graph->nodes.count; id++)
        if (tracer->stored[id]) return true;
    return false;
}

static bool write_tables(TraceText *trace, const FunctionPlan *plan, const char *prefix,
                         bool body) {
    Arena *arena = trace->text->arena;
    size_t nodes = plan->graph->nodes.count + 1;
    Tracer tracer = {.trace = trace,
                     .arena = arena,
                     .text = trace->text,
                     .plan = plan,
                     .graph = plan->graph,
                     .prefix = prefix,
                     .body = body,
                     .wanted = arena_new_array(arena, bool, nodes),
                     .calls = arena_new_array(arena, int, plan->kernel_count + 1),
                     .asked = arena_new_array(arena, int, plan->kernel_count + 1),
                     .values = arena_new_array(arena, int, nodes),
                     .stored = arena_new_array(arena, int, nodes),
                     .numbers = text_new(arena),
                     .made = map_new(arena),
                     .makings = text_new(arena)};
    find_wanted(&tracer);
    number_values(&tracer);
    if (!is_any_stored(&tracer)) return false;
    bool bodies = write_bodies(&tracer);
    int values = write_values(&tracer), stored = write_stored(&tracer);
    int updates = write_updates(&tracer);
    print_numbers(&tracer);
    text_format(trace->text,
                "static const FlowMade %s_made[] = {\n%s};\n"
                "static const FlowTraceText %s_trace = {%s%s, %d, %d, %d, %d, %d, %s_made, "
                "%s_numbers, %s%s, trace_compute};\n",
                prefix, text_string(&tracer.makings), prefix, body ? "NULL" : prefix,
                body ? "" : "_calls", (int)plan->bands.count, values, stored, tracer.read_count,
                updates, prefix, prefix, bodies ? prefix : "NULL", bodies ? "_bodies" : "");
    return true;
}

bool write_trace(TraceText *trace, const FunctionPlan *plan, const char *prefix) {
    return write_tables(trace, plan, prefix, false);
}

/* The formulas. */

void write_trace_head(TraceText *trace) {
    text_add(trace->text,
             "static double trace_compute(int operation, double a, double b, double c, "
             "double y,\n                            int64_t stream, int64_t index)\n"
             "    __attribute__((unused));\n");
}

static void write_formula(TraceText *trace, Op op) {
    const char *formula = op_info[op].formula;
    if (op_info[op].takes == TAKES_integer)
        text_format(trace->text,
                    "    case %d: {\n"
                    "        const int64_t whole_a = (int64_t)a, whole_b = (int64_t)b;\n"
                    "        {\n            const int64_t a = whole_a, b = whole_b;\n"
                    "            return (double)(%s);\n        }\n    }\n",
                    (int)op, formula);
    else
        text_format(trace->text, "    case %d: return (double)(%s); /* %s */\n", (int)op, formula,
                    op_info[op].name);
}

void write_trace_function(TraceText *trace) {
    text_add(trace->text,
             "static double trace_compute(int operation, double a, double b, double c, double y,\n"
             "                            int64_t stream, int64_t index) {\n"
             "    (void)a, (void)b, (void)c, (void)y, (void)stream, (void)index;\n"
             "    switch (operation) {\n");
    for (Op op = 0; op < OP_COUNT; op++)
        if (trace->computes[op]) write_formula(trace, op);
    text_add(trace->text, "    default: return 0;\n    }\n}\n\n");
}
