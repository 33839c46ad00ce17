/* Optimizer: the update of each weight by its gradient, and what stands between the two: sums over
 * several batches, clipping, running averages. */
#include "compiler/lower/training.h"

#include <fnmatch.h>
#include <string.h>

/* A weight of the step, while its update is put together. */
typedef struct Weight {
    const char *name;
    NodeId node, gradient;
} Weight;

typedef struct Optimizer {
    const Context *context;
    const Declaration *declaration;
    Train *train;
    Range range; /* of the optimizer's entry */
    Vector(Weight) weights;
} Optimizer;

static Arena *arena_of(const Optimizer *optimizer) {
    return optimizer->context->lowering->arena;
}

static const char *trained_weight(const Context *context, const Node *node) {
    if (node->op != OP_weight) return NULL;
    const Storage *storage = find_storage(context, node->name);
    return storage && storage->trained ? node->name : NULL;
}

/* The nodes that a gradient of the loss reaches. */
static const bool *reached_nodes(Arena *arena, const Graph *graph, NodeId loss) {
    bool *reached = arena_new_array(arena, bool, graph->nodes.count + 1);
    reached[loss] = true;
    for (size_t id = (size_t)loss + 1; id-- > 0;) {
        const Node *node = graph_node(graph, (NodeId)id);
        for (int i = 0; reached[id] && i < node->input_count; i++)
            reached[node->inputs[i]] |= passes_gradient(node, i);
    }
    return reached;
}

static NodeId loss_of(const Graph *graph) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result) return output->value;
    return NODE_NONE;
}

static void report_no_learning(const Optimizer *optimizer) {
    bool any = optimizer->weights.count > 0;
    Diagnostic *d =
        report(optimizer->context, E0401, find_entry(optimizer->declaration, "loss")->value->range,
               any ? "no gradient flows from this loss to a weight"
                   : "the loss depends on no weight: there is nothing to train");
    if (any) diagnostic_help(d, "comparisons, argmax and integers have no gradient");
}

/* The weights with their gradients; false after reporting, or when the loss was reported. */
static bool find_weights(Optimizer *optimizer) {
    const Context *context = optimizer->context;
    Graph *graph = context->graph;
    NodeId loss = loss_of(graph);
    if (loss == NODE_NONE) return false;
    size_t count = graph->nodes.count;
    const bool *reached = reached_nodes(arena_of(optimizer), graph, loss);
    bool learns = false;
    for (NodeId id = 0; id < count; id++) {
        const char *name = trained_weight(context, graph_node(graph, id));
        if (!name) continue;
        Node gradient = {.op = OP_gradient, .inputs = {loss, id}, .range = optimizer->range};
        Problem problem;
        NodeId node = graph_add(graph, gradient, &problem);
        if (node == NODE_NONE) {
            report(context, problem.code, optimizer->range, "%s", problem.text);
            return false;
        }
        vector_push(arena_of(optimizer), &optimizer->weights, (Weight){name, id, node});
        learns |= reached[id];
    }
    if (!learns) report_no_learning(optimizer);
    return learns;
}

/* Nodes. */

static NodeId make(const Optimizer *optimizer, Op op, NodeId a, NodeId b) {
    return graph_make(optimizer->context->graph, op, a, b, NODE_NONE, optimizer->range);
}

static NodeId constant(const Optimizer *optimizer, Element element, double value) {
    return graph_constant(optimizer->context->graph, element, value, optimizer->range);
}

static NodeId cast(const Optimizer *optimizer, NodeId node, Element element) {
    Graph *graph = optimizer->context->graph;
    Type type = graph_node(graph, node)->type;
    type.element = element;
    return graph_declared(graph, OP_cast, node, type, optimizer->range);
}

static Type type_of(const Optimizer *optimizer, NodeId node) {
    return graph_node(optimizer->context->graph, node)->type;
}

/* From here on new nodes are where the weight is, until `NULL` ends that. */
static void place_with(const Optimizer *optimizer, const Weight *weight) {
    Graph *graph = optimizer->context->graph;
    graph->placement = weight ? graph_node(graph, weight->node)->placement : (Placement){0};
}

/* Gradients over several batches. */

static NodeId sum_of_gradients(const Optimizer *optimizer, const Weight *weight) {
    const char *path = arena_format(arena_of(optimizer), "accumulated/%s", weight->name);
    return keep_state(optimizer->context, path, type_of(optimizer, weight->node), NODE_NONE,
                      optimizer->range);
}

/* The step's gradients become the means over all batches since the last update. */
static void finish_sums(Optimizer *optimizer) {
    Graph *graph = optimizer->context->graph;
    double count = (double)optimizer->train->accumulate_count;
    vector_each(Weight, weight, optimizer->weights) {
        place_with(optimizer, weight);
        NodeId sum = sum_of_gradients(optimizer, weight);
        Type type = type_of(optimizer, sum);
        NodeId zero = constant(optimizer, type.element, 0);
        NodeId total = make(optimizer, OP_add, sum, weight->gradient);
        weight->gradient =
            make(optimizer, OP_multiply, total, constant(optimizer, type.element, 1 / count));
        zero = graph_declared(graph, OP_broadcast, zero, type, optimizer->range);
        graph_output(graph, OUTPUT_update, graph_node(graph, sum)->name, zero, sum);
    }
    place_with(optimizer, NULL);
}

static void add_to_sums(Optimizer *optimizer) {
    Graph *graph = optimizer->context->graph;
    vector_each(Weight, weight, optimizer->weights) {
        place_with(optimizer, weight);
        NodeId sum = sum_of_gradients(optimizer, weight);
        NodeId total = make(optimizer, OP_add, sum, weight->gradient);
        graph_output(graph, OUTPUT_update, graph_node(graph, sum)->name, total, sum);
    }
    place_with(optimizer, NULL);
}

/* Clipping. */

/* What an entry may be, where that is known when the program is compiled. */
static bool is_possible(const Context *context, const char *name, const Value *value, Range range) {
    if (value->kind != VALUE_number) return true;
    const bool is_part = !strcmp(name, "ema");
    if (value->number >= 0 && (!is_part || value->number <= 1)) return true;
    report(context, E0211, range, "%s takes a number from 0 %s, not %.15g", name,
           is_part ? "to 1" : "up", value->number);
    return false;
}

/* The entry as one f32 of the step, or NODE_NONE. */
static NodeId entry_node(const Optimizer *optimizer, const char *name) {
    const Statement *entry = find_entry(optimizer->declaration, name);
    if (!entry) return NODE_NONE;
    const Range range = entry->value->range;
    Value value = lower_expression(optimizer->context, entry->value);
    if (!is_possible(optimizer->context, name, &value, range)) return NODE_NONE;
    return to_node(optimizer->context, &value, TYPE_f32, range);
}

static void clip_values(Optimizer *optimizer) {
    NodeId limit = entry_node(optimizer, "clip_value");
    if (limit == NODE_NONE) return;
    vector_each(Weight, weight, optimizer->weights) {
        NodeId high = cast(optimizer, limit, type_of(optimizer, weight->gradient).element);
        NodeId low = make(optimizer, OP_negate, high, NODE_NONE);
        weight->gradient =
            make(optimizer, OP_maximum, make(optimizer, OP_minimum, weight->gradient, high), low);
    }
}

static NodeId sum_of_squares(const Optimizer *optimizer, NodeId gradient) {
    Graph *graph = optimizer->context->graph;
    NodeId square = make(optimizer, OP_multiply, gradient, gradient);
    uint32_t axes = (1u << type_of(optimizer, gradient).rank) - 1;
    NodeId sum = axes ? graph_reduce(graph, OP_sum, square, axes, optimizer->range) : square;
    sum = cast(optimizer, sum, TYPE_f32);
    return graph_declared(graph, OP_reshape, sum, type_scalar(TYPE_f32), optimizer->range);
}

/* All gradients times min(1, limit / (norm + 1e-6)), norm that of all together: Pascanu, Mikolov
 * and Bengio (2013), with PyTorch's 1e-6. */
static void clip_norm(Optimizer *optimizer) {
    NodeId limit = entry_node(optimizer, "clip_norm"), total = NODE_NONE;
    if (limit == NODE_NONE) return;
    vector_each(Weight, weight, optimizer->weights) {
        NodeId sum = sum_of_squares(optimizer, weight->gradient);
        total = total == NODE_NONE ? sum : make(optimizer, OP_add, total, sum);
    }
    NodeId norm = make(optimizer, OP_add, make(optimizer, OP_sqrt, total, NODE_NONE),
                       constant(optimizer, TYPE_f32, 1e-6));
    NodeId factor = make(optimizer, OP_minimum, make(optimizer, OP_divide, limit, norm),
                         constant(optimizer, TYPE_f32, 1));
    vector_each(Weight, weight, optimizer->weights) {
        Element element = type_of(optimizer, weight->gradient).element;
        weight->gradient =
            make(optimizer, OP_multiply, weight->gradient, cast(optimizer, factor, element));
    }
}

/* Updates. */

static bool is_call(const Context *context, const Expression *optimizer) {
    if (optimizer->kind == EXPRESSION_call) return expect_no_annotations(context, optimizer);
    Diagnostic *d = report(context, E0203, optimizer->range, "expects an optimizer");
    diagnostic_help(d, "`adam(1e-3)`, `sgd(0.1)`");
    return false;
}

/* The first `optimizer "pattern"` that fits the weight's name, or the plain one. */
static const Expression *optimizer_of(const Optimizer *optimizer, const char *weight) {
    vector_each(Statement *, item, optimizer->declaration->body) {
        const Statement *statement = *item;
        if (statement->kind == STATEMENT_assign && statement->pattern &&
            !strcmp(statement->names.items[0].text, "optimizer") &&
            !fnmatch(statement->pattern, weight, 0))
            return statement->value;
    }
    return find_entry(optimizer->declaration, "optimizer")->value;
}

static void check_pattern(const Optimizer *optimizer, const Statement *statement) {
    enum { SHOWN = 6 };
    const char *names[SHOWN];
    size_t count = 0;
    vector_each(Weight, weight, optimizer->weights) {
        if (!fnmatch(statement->pattern, weight->name, 0)) return;
        if (count < SHOWN) names[count++] = weight->name;
    }
    Diagnostic *d = report(optimizer->context, E0211, statement->range, "no weight is called `%s`",
                           statement->pattern);
    diagnostic_help(d, "the weights are %s%s", names_text(arena_of(optimizer), names, count),
                    optimizer->weights.count > count ? ", …" : "");
}

static bool check_optimizers(const Optimizer *optimizer) {
    bool sound = true;
    vector_each(Statement *, item, optimizer->declaration->body) {
        const Statement *statement = *item;
        if (statement->kind != STATEMENT_assign ||
            strcmp(statement->names.items[0].text, "optimizer"))
            continue;
        sound &= is_call(optimizer->context, statement->value);
        if (statement->pattern) check_pattern(optimizer, statement);
    }
    return sound;
}

static void report_shape(const Optimizer *optimizer, const Weight *weight, NodeId updated,
                         Range range) {
    Type type = type_of(optimizer, weight->node), new = type_of(optimizer, updated);
    Diagnostic *d =
        report(optimizer->context, E0207, range, "the optimizer makes %s of a weight that is %s",
               type_text(arena_of(optimizer), &new), type_text(arena_of(optimizer), &type));
    diagnostic_note(d, graph_node(optimizer->context->graph, weight->node)->range, "the weight");
}

/* A state `average` of the optimizer stands for the weight once it is trained. */
static void note_average(const Optimizer *optimizer, const Weight *weight) {
    const char *path = arena_format(arena_of(optimizer), "optimizer/%s/average", weight->name);
    if (find_storage(optimizer->context, path))
        find_storage(optimizer->context, weight->name)->average = path;
}

/* The running mean of the weight: average = ema * average + (1 - ema) * weight. */
static void average_weight(const Optimizer *optimizer, const Weight *weight, NodeId updated) {
    NodeId decay = entry_node(optimizer, "ema");
    if (decay == NODE_NONE) return;
    Graph *graph = optimizer->context->graph;
    Type type = type_of(optimizer, weight->node);
    const char *path = arena_format(arena_of(optimizer), "optimizer/%s/average", weight->name);
    NodeId average = keep_state(optimizer->context, path, type, weight->node, optimizer->range);
    NodeId rest = make(optimizer, OP_subtract, constant(optimizer, TYPE_f32, 1), decay);
    NodeId mean = make(optimizer, OP_add,
                       make(optimizer, OP_multiply, average, cast(optimizer, decay, type.element)),
                       make(optimizer, OP_multiply, updated, cast(optimizer, rest, type.element)));
    graph_output(graph, OUTPUT_update, path, mean, average);
}

/* The errors of shape since `before` are about the update of this weight. */
static void note_weight(const Context *context, const Weight *weight, size_t before) {
    const Diagnostics *diagnostics = context->lowering->diagnostics;
    Range range = graph_node(context->graph, weight->node)->range;
    for (size_t i = before; i < diagnostics->list.count; i++) {
        Diagnostic *d = diagnostics->list.items[i];
        bool shape = d->code == E0207 || d->code == E0208;
        if (shape) diagnostic_note(d, range, "in the update of `%s`", weight->name);
    }
}

static void update_weight(const Optimizer *optimizer, const Weight *weight) {
    Context there = *optimizer->context;
    const Context *context = &there;
    Graph *graph = context->graph;
    there.placement = graph_node(graph, weight->node)->placement;
    there.optimizing = true;
    const Expression *call = optimizer_of(optimizer, weight->name);
    Range range = call->range;
    Value first[] = {value_tensor(graph, weight->node, range),
                     value_tensor(graph, weight->gradient, range)};
    const char *path = arena_format(arena_of(optimizer), "optimizer/%s", weight->name);
    size_t before = context->lowering->diagnostics->list.count;
    Value updated = call_with(context, call, first, 2, path);
    note_weight(context, weight, before);
    if (updated.kind == VALUE_error) return;
    Type type = type_of(optimizer, weight->node);
    NodeId node = to_node(context, &updated, type.element, range);
    if (node == NODE_NONE) return;
    Type new = type_of(optimizer, node);
    if (!shape_equal(&new, &type)) {
        report_shape(optimizer, weight, node, range);
        return;
    }
    graph_output(graph, OUTPUT_update, weight->name, node, weight->node);
    average_weight(optimizer, weight, node);
    note_average(optimizer, weight);
}

static Optimizer optimizer_new(const Context *context, const Declaration *declaration,
                               Train *train) {
    return (Optimizer){.context = context,
                       .declaration = declaration,
                       .train = train,
                       .range = find_entry(declaration, "optimizer")->value->range};
}

void lower_optimizer(const Context *context, const Declaration *declaration, Train *train) {
    Optimizer optimizer = optimizer_new(context, declaration, train);
    if (!find_weights(&optimizer) || !check_optimizers(&optimizer)) return;
    if (train->accumulate_count > 1) finish_sums(&optimizer);
    clip_values(&optimizer);
    clip_norm(&optimizer);
    vector_each(Weight, weight, optimizer.weights) {
        place_with(&optimizer, weight);
        update_weight(&optimizer, weight);
    }
    place_with(&optimizer, NULL);
}

void lower_accumulation(const Context *context, const Declaration *declaration, Train *train) {
    Optimizer optimizer = optimizer_new(context, declaration, train);
    if (find_weights(&optimizer)) add_to_sums(&optimizer);
}
