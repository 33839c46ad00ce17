/* flowc summary: what trains and exports are made of, and what it costs. Layers and operations are
 * those of the program as it is written, counted for one record; the totals are those of the plan,
 * with gradients and updates. */
#include "compiler/driver/commands.h"

#include <stdio.h>
#include <string.h>

typedef struct Summary {
    Arena *arena;
    const Program *program;
    const Plan *plan;
    const Function *function;
    const bool *needed; /* of the lowered graph's nodes */
} Summary;

/* Numbers. */

/* "1,234,567" */
static const char *count_text(Arena *arena, double count) {
    char digits[64];
    int size = snprintf(digits, sizeof digits, "%.0f", count), at = 0;
    char *text = arena_allocate(arena, (size_t)(2 * size + 1));
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    return text;
}

/* A size for one record: each open dimension at its largest. */
static int64_t symbol_value(Dim symbol, const void *context) {
    (void)context;
    if (dim_is_batch(symbol) || dim_bound(symbol) == SIZE_UNKNOWN) return 1;
    return dim_bound(symbol);
}

static double elements(const Type *type) {
    double count = 1;
    for (int i = 0; i < type->rank; i++)
        count *= (double)dim_evaluate(type->dims[i], symbol_value, NULL);
    return count;
}

static double bytes(const Type *type) {
    return elements(type) * element_info[type->element].size;
}

static double last_size(const Type *type) {
    return type->rank ? (double)dim_evaluate(type->dims[type->rank - 1], symbol_value, NULL) : 1;
}

static double operations(const Graph *graph, const Node *node) {
    const OpInfo *info = &op_info[node->op];
    const Type *operand = node->input_count ? &graph_node(graph, node->inputs[0])->type : NULL;
    double cost = info->cost ? info->cost : 1;
    switch (info->class) {
    case LOOP_elementwise:
    case LOOP_generate: return cost * elements(&node->type);
    case LOOP_reduce: return cost * elements(operand);
    case LOOP_contract: return 2 * last_size(operand) * elements(&node->type);
    case LOOP_scatter: return elements(&graph_node(graph, node->inputs[1])->type);
    default: return 0;
    }
}

/* Layers. */

static double work_of(const Summary *summary, NodeId first, NodeId end) {
    const Graph *graph = summary->function->lowered;
    double sum = 0;
    for (NodeId id = first; id < end; id++)
        if (summary->needed[id]) sum += operations(graph, graph_node(graph, id));
    return sum;
}

static bool belongs_to(const Storage *storage, const char *path) {
    size_t size = strlen(path);
    return storage->trained && !strncmp(storage->name, path, size) && storage->name[size] == '/';
}

static double parameters_of(const Summary *summary, const char *path) {
    double sum = 0;
    vector_each(const Storage, storage, summary->program->storage)
        if (belongs_to(storage, path)) sum += elements(&storage->type);
    return sum;
}

/* A layer that gives a record has no one shape. */
static void print_layer(const Summary *summary, const Layer *layer, int width) {
    Arena *arena = summary->arena;
    const Type *type =
        layer->value == NODE_NONE ? NULL : &graph_node(layer->graph, layer->value)->type;
    printf("  %-*s  %-20s %14s %16s", width, layer->path,
           type ? type_text(arena, type) : "(a record)",
           count_text(arena, parameters_of(summary, layer->path)),
           count_text(arena, work_of(summary, layer->first, layer->end)));
    if (type) printf(" %12s", count_text(arena, bytes(type)));
    printf("\n");
}

static int layer_width(const Summary *summary) {
    int width = (int)strlen("layer");
    vector_each(const Layer, layer, summary->program->layers) {
        int size = (int)strlen(layer->path);
        if (layer->graph == summary->function->lowered && size > width) width = size;
    }
    return width;
}

static void print_layers(const Summary *summary) {
    int width = layer_width(summary);
    printf("  %-*s  %-20s %14s %16s %12s\n", width, "layer", "output", "parameters", "operations",
           "bytes");
    vector_each(const Layer, layer, summary->program->layers)
        if (layer->graph == summary->function->lowered) print_layer(summary, layer, width);
}

/* Operations. */

static void print_op(const Summary *summary, NodeId id) {
    Arena *arena = summary->arena;
    const Node *node = graph_node(summary->function->lowered, id);
    Range range = node->range;
    printf("  %-16s %-24s %16s", op_info[node->op].name, type_text(arena, &node->type),
           count_text(arena, operations(summary->function->lowered, node)));
    if (range.source)
        printf("  %s:%u", range.source->path, source_position(range.source, range.begin).line);
    printf("%s%s\n", node->name ? "  " : "", node->name ? node->name : "");
}

static void print_ops(const Summary *summary) {
    const Graph *graph = summary->function->lowered;
    printf("\n  %-16s %-24s %16s  where\n", "operation", "result", "operations");
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (summary->needed[id] && graph_node(graph, id)->op != OP_constant) print_op(summary, id);
}

/* Totals. */

/* Those that the function reads or writes: weights, the optimizer's memory, other states. */
typedef struct Memory {
    double parameters, weights, optimizer, states;
} Memory;

static Map weights_of(Arena *arena, const Graph *graph) {
    Map names = map_new(arena);
    vector_each(const Node, node, graph->nodes)
        if (node->op == OP_weight) map_put(&names, node->name, arena);
    return names;
}

static Memory memory_of(const Summary *summary) {
    Memory memory = {0};
    Map used = weights_of(summary->arena, summary->function->lowered);
    vector_each(const Storage, storage, summary->program->storage) {
        if (!map_get(&used, storage->name)) continue;
        bool optimizer = !strncmp(storage->name, "optimizer/", 10);
        if (storage->trained) memory.parameters += elements(&storage->type);
        if (storage->trained) memory.weights += bytes(&storage->type);
        else *(optimizer ? &memory.optimizer : &memory.states) += bytes(&storage->type);
    }
    return memory;
}

static void print_memory(const Summary *summary, size_t scratch) {
    Arena *arena = summary->arena;
    Memory memory = memory_of(summary);
    printf("\n  parameters        %s, %s\n", count_text(arena, memory.parameters),
           bytes_text(arena, memory.weights));
    if (memory.states) printf("  states            %s\n", bytes_text(arena, memory.states));
    if (memory.optimizer) printf("  optimizer         %s\n", bytes_text(arena, memory.optimizer));
    printf("  scratch           %s\n", bytes_text(arena, (double)scratch));
}

static void print_totals(const Summary *summary, const char *call) {
    Arena *arena = summary->arena;
    const FunctionPlan *plan = plan_of(summary->plan, summary->function);
    double work = 0, moved = 0, records = plan->batch > 0 ? (double)plan->batch : 1;
    for (int k = 0; k < plan->kernel_count; k++) {
        work += plan->kernels[k].operations;
        moved += plan->kernels[k].bytes;
    }
    print_memory(summary, plan->scratch_size);
    printf("  a record          %s operations\n", count_text(arena, work / records));
    printf("  %-17s %s operations in %d kernels, %s read and written\n\n", call,
           count_text(arena, work), plan->kernel_count, bytes_text(arena, moved));
}

static void print_function(Summary *summary, const Function *function, bool ops, const char *call) {
    summary->function = function;
    summary->needed = graph_needed(summary->arena, function->lowered);
    print_layers(summary);
    if (ops) print_ops(summary);
    print_totals(summary, call);
}

/* name: the one to print, or NULL for all. How many were printed. */
static int print_program(Summary *summary, const char *name, bool ops) {
    int count = 0;
    vector_each(const Train, train, summary->program->trains) {
        if (name && strcmp(name, train->name)) continue;
        printf("train %s: batches of %lld records\n", train->name, (long long)train->data->batch);
        print_function(summary, &train->step, ops, "a step");
        count++;
    }
    vector_each(const Export, export, summary->program->exports) {
        if (name && strcmp(name, export->function.name)) continue;
        printf("export %s: one record\n", export->function.name);
        print_function(summary, &export->function, ops, "a call");
        count++;
    }
    return count;
}

int command_summary(Arguments *arguments) {
    Compilation compilation;
    const char *name = NULL;
    if (arguments->program.count && arguments->program.items[0][0] != '-') {
        name = arguments->program.items[0];
        arguments->program.items++;
        arguments->program.count--;
    }
    int status = command_compile(&compilation, arguments, true, STOP_plan);
    if (status != EXIT_ok) return status;
    Summary summary = {
        .arena = compilation.arena, .program = compilation.program, .plan = compilation.plan};
    if (print_program(&summary, name, arguments->ops)) return EXIT_ok;
    fprintf(stderr,
            name ? "flowc: %s has no train block and no export `%s`\n"
                 : "flowc: %s has no train block and no export\n",
            arguments->file, name);
    return EXIT_program;
}
