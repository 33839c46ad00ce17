/* Scan, slices: what a body reads of outside: the same in every turn, or the turn's slice; and
 * what it stacks, one slice in each turn. */
#include "compiler/lower/loop.h"

#include "compiler/graph/movement.h"

#include <string.h>

static Value each_inside(const Context *context, Value value) {
    Items items = items_new(context->lowering->arena, value.items.count);
    for (size_t i = 0; i < items.count; i++) {
        if (value.items.names) items.names[i] = value.items.names[i];
        items.values[i] = inside_scan(context, value.items.values[i]);
    }
    if (!value.items.names) items.names = NULL;
    value.items = items;
    return value;
}

Value inside_scan(const Context *context, Value value) {
    if (!context->scan) return value;
    if (value.kind == VALUE_items) return each_inside(context, value);
    if (value.kind != VALUE_tensor || value.graph == context->graph) return value;
    const Context *outside = context->scan->outside;
    Value outer = inside_scan(outside, value);
    if (outer.graph != outside->graph) return value; /* of another function */
    value.graph = context->graph;
    value.node = scan_share(&context->scan->builder, outer.node);
    return value;
}

const Context *outside_scans(const Context *context) {
    while (context->scan) context = context->scan->outside;
    return context;
}

/* The generator's key has 64 bits: those above the run's seed say which turn it is. */
NodeId seed_node(const Context *context, Range range) {
    static const double turn_step = 4294967296.0, outer_step = 65537;
    Type type = type_scalar(TYPE_i64);
    double step = turn_step;
    if (!context->scan && context->updates)
        return input_node(context, "draw", INPUT_draw, 0, type, type, range);
    if (!context->scan) return input_node(context, "seed", INPUT_seed, 0, type, type, range);
    const Context *outside = context->scan->outside;
    Value seed = value_tensor(outside->graph, seed_node(outside, range), range);
    NodeId outer = inside_scan(context, seed).node;
    for (; outside->scan; outside = outside->scan->outside) step *= outer_step;
    Graph *graph = context->graph;
    NodeId turn = graph_declared(graph, OP_cast, context->scan->turn, type, range);
    NodeId one = graph_constant(graph, TYPE_i64, 1, range);
    NodeId factor = graph_constant(graph, TYPE_i64, step, range);
    turn = graph_make(graph, OP_add, turn, one, NODE_NONE, range);
    turn = graph_make(graph, OP_multiply, turn, factor, NODE_NONE, range);
    return graph_make(graph, OP_add, outer, turn, NODE_NONE, range);
}

NodeId move_axis(Graph *graph, NodeId array, int from, int to, Range range) {
    const Type type = graph_node(graph, array)->type;
    Type moved = type;
    View view = {.rank = type.rank};
    for (int i = 0; i < type.rank; i++) {
        int past = i > from ? i - 1 : i, place = i == from ? to : past >= to ? past + 1 : past;
        view.coordinates[i] = coordinate_along(dim_constant(graph->dimensions, 0), place);
        moved.dims[place] = type.dims[i];
    }
    return graph_view(graph, array, &view, moved, range);
}

/* Slices. */

/* The scan around the context whose index the expression names, or NULL. */
static ScanBody *scan_of_index(const Context *context, const Expression *index) {
    if (index->kind != EXPRESSION_name) return NULL;
    const Binding *binding = scope_find(context->scope, index->name.text);
    if (!binding || binding->value.kind != VALUE_tensor) return NULL;
    for (ScanBody *scan = context->scan; scan; scan = scan->outside->scan)
        if (binding->value.graph == scan->builder.body && binding->value.node == scan->turn)
            return scan;
    return NULL;
}

static bool is_whole_slice(const Expression *index) {
    return index->kind == EXPRESSION_ellipsis || (index->kind == EXPRESSION_slice && !index->left &&
                                                  !index->right && !index->items.count);
}

/* Which axis of a tensor of that rank an index stands for; an ellipsis fills what is missing. */
static int axis_of_index(const ExpressionList *indices, size_t at, int rank) {
    int axis = (int)at;
    for (size_t i = 0; i < at; i++)
        if (indices->items[i]->kind == EXPRESSION_ellipsis) axis += rank - (int)indices->count;
    return axis;
}

/* Do as many indices fit? False after reporting. */
static bool fits_rank(const Context *context, const ExpressionList *indices, int rank,
                      Range range) {
    int count = 0;
    for (size_t i = 0; i < indices->count; i++)
        count += indices->items[i]->kind != EXPRESSION_ellipsis;
    if (count <= rank) return true;
    report(context, E0208, range, "there are %d indices for a tensor of %d dimension%s", count,
           rank, rank == 1 ? "" : "s");
    return false;
}

/* The node outside a scan that the node in the context's graph stands for; NODE_NONE: it is
 * computed inside. */
static NodeId node_outside(const Context *context, const ScanBody *scan, NodeId node) {
    for (const ScanBody *at = context->scan;; at = at->outside->scan) {
        size_t i = 0;
        while (i < at->builder.shared.inputs.count && at->builder.shared.inputs.items[i] != node)
            i++;
        if (i == at->builder.shared.inputs.count) return NODE_NONE;
        node = at->builder.shared.values.items[i];
        if (at == scan) return node;
    }
}

static bool has_turns(const Context *context, const ScanBody *scan, const Type *type, int axis,
                      Range range) {
    Arena *arena = context->lowering->arena;
    if (type->dims[axis] == scan->builder.turns) return true;
    Diagnostic *d = report(context, E0207, range, "%s has %s slices here, the scan %s turns",
                           type_text(arena, type), dim_text(arena, type->dims[axis]),
                           dim_text(arena, scan->builder.turns));
    diagnostic_note(d, scan->statement->value->range, "the scan's turns");
    return false;
}

/* The value without the axis, at the turn of the scan. */
static Value slice(const Context *context, ScanBody *scan, Value value, int axis, Range range) {
    NodeId outer = node_outside(context, scan, value.node);
    const char *name = scan->statement->names.items[0].text;
    if (outer == NODE_NONE) {
        Diagnostic *d = report(context, E0214, range,
                               "this is computed in the scan, and has no "
                               "slice for each turn");
        diagnostic_note(d, scan->statement->names.items[0].range, "`%s` counts the turns", name);
        diagnostic_help(d, "`%s` can index what was computed before the scan", name);
        return value_error;
    }
    Graph *outside = scan->outside->graph;
    if (!has_turns(context, scan, &graph_node(outside, outer)->type, axis, range))
        return value_error;
    NodeId array = move_axis(outside, outer, axis, 0, users_place(context, range));
    Value inside = value_tensor(scan->builder.body, scan_slice(&scan->builder, array), range);
    inside.low = value.low;
    inside.high = value.high;
    return inside_scan(context, inside);
}

/* The index that belongs to the outermost scan, or their number. */
static size_t outermost_index(const Context *context, const ExpressionList *indices) {
    size_t found = indices->count;
    for (const ScanBody *scan = context->scan; scan; scan = scan->outside->scan)
        for (size_t i = 0; i < indices->count; i++)
            if (scan_of_index(context, indices->items[i]) == scan) found = i;
    return found;
}

static bool only_whole_slices(const Context *context, const ExpressionList *indices) {
    for (size_t i = 0; i < indices->count; i++) {
        const Expression *index = indices->items[i];
        if (is_whole_slice(index) || scan_of_index(context, index)) continue;
        Diagnostic *d =
            report(context, E0214, index->range, "beside the index of a scan only `:` can stand");
        diagnostic_help(d, "take this slice before the scan, or of the slice");
        return false;
    }
    return true;
}

bool lower_scanned(const Context *context, const Expression *expression, Value *result) {
    ExpressionList indices = {0};
    size_t at = outermost_index(context, &expression->items);
    if (at == expression->items.count) return false;
    *result = lower_expression(context, expression->left);
    if (!only_whole_slices(context, &expression->items)) *result = value_error;
    if (result->kind == VALUE_error) return true;
    if (result->kind != VALUE_tensor || result->graph != context->graph) {
        report(context, E0203, expression->left->range,
               "the index of a scan takes a slice of a "
               "tensor, not of %s",
               value_text(context->lowering->arena, result));
        *result = value_error;
        return true;
    }
    vector_each(Expression *, index, expression->items)
        vector_push(context->lowering->arena, &indices, *index);
    while (result->kind == VALUE_tensor &&
           (at = outermost_index(context, &indices)) < indices.count) {
        int rank = value_type(result)->rank, axis = axis_of_index(&indices, at, rank);
        ScanBody *scan = scan_of_index(context, indices.items[at]);
        *result = fits_rank(context, &indices, rank, expression->range)
                      ? slice(context, scan, *result, axis, expression->range)
                      : value_error;
        memmove(indices.items + at, indices.items + at + 1,
                sizeof *indices.items * (--indices.count - at));
    }
    result->range = expression->range;
    return true;
}

/* Stacks. */

static bool is_stack_of(const Context *context, const Statement *statement, size_t *at) {
    size_t turns = 0;
    for (size_t i = 0; i < statement->indices.count; i++) {
        const Expression *index = statement->indices.items[i];
        bool turn = context->scan && scan_of_index(context, index) == context->scan;
        if (!turn && !is_whole_slice(index)) return false;
        if (turn) *at = i;
        turns += turn;
    }
    return turns == 1;
}

static NodeId stacked_node(const Context *context, const Value *value, Range range) {
    Element element = value->kind == VALUE_tensor  ? value_type(value)->element
                      : value->kind == VALUE_truth ? TYPE_bool
                                                   : TYPE_f32;
    return to_node(context, value, element, range);
}

void lower_stacked(const Context *context, const Statement *statement) {
    const Name *name = &statement->names.items[0];
    size_t at = 0;
    if (!is_stack_of(context, statement, &at)) {
        lower_notation(context, statement);
        return;
    }
    Value value = lower_expression(context, statement->value);
    if (context->frame != context->scan->frame) {
        report(context, E0214, name->range, "a turn stacks values in the scan's own body");
        return;
    }
    NodeId node = stacked_node(context, &value, statement->value->range);
    if (node == NODE_NONE) return;
    int rank = graph_node(context->graph, node)->type.rank + 1;
    if (!fits_rank(context, &statement->indices, rank, name->range)) return;
    if (rank > RANK_LIMIT) {
        report(context, E0208, name->range, "a tensor has at most %d dimensions", RANK_LIMIT);
        return;
    }
    vector_each(Stacked, known, context->scan->stacks)
        if (!strcmp(known->name.text, name->text)) {
            Diagnostic *d =
                report(context, E0202, name->range, "`%s` is stacked twice in a turn", name->text);
            diagnostic_note(d, known->name.range, "first here");
            return;
        }
    vector_push(context->lowering->arena, &context->scan->stacks,
                (Stacked){*name, node, axis_of_index(&statement->indices, at, rank),
                          statement->value->range});
}
