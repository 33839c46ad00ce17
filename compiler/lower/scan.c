/* Scan: a loop becomes a body graph. What its statements assign of the names outside is carried
 * from turn to turn; what they read is the same in every turn, or the turn's slice of it.
 *
 * A carried name that is a number has no type before the body was run: it is run on trial with
 * the number, until every such name is known to become a tensor of some type, or a number still
 * and so a tensor of one element. */
#include "compiler/graph/list.h"
#include "compiler/graph/movement.h"
#include "compiler/lower/lowering.h"

#include <string.h>

typedef Vector(Name) Names;

/* A name that is assigned in the body. */
typedef struct Carried {
    Name name;
    Value before; /* the loop, in the graph outside */
    Type type;
    bool typed; /* the type is known */
} Carried;

/* `let y[:, t] = value` */
typedef struct Stacked {
    Name name;
    NodeId value; /* in the body */
    int axis;     /* of the turns */
    Range range;
} Stacked;

typedef struct Loop {
    const Context *context; /* where it stands */
    const Statement *statement;
    Dim turns;
    const char *path;
    Vector(Carried) carried;
    Vector(NodeId) after; /* of each carried, in the body */
} Loop;

/* Values from outside. */

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

/* Slices. */

/* Moves axis `from` to the place `to` among the others. */
static NodeId move_axis(Graph *graph, NodeId array, int from, int to, Range range) {
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

/* What is carried. */

static bool has_name(const Names *names, const char *text) {
    vector_each(Name, name, *names)
        if (!strcmp(name->text, text)) return true;
    return false;
}

/* Lists the names that the statements assign and that the body does not introduce itself; `local`
 * are those that it did so far. */
static void collect_assigned(const Context *context, const StatementList *body, Names local,
                             Names *assigned) {
    Arena *arena = context->lowering->arena;
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        Names inner = {0};
        vector_each(Name, name, local) vector_push(arena, &inner, *name);
        vector_each(const Name, name, statement->names) {
            bool assigns = statement->kind == STATEMENT_assign;
            if (!assigns) vector_push(arena, &inner, *name);
            else if (!has_name(&local, name->text) && !has_name(assigned, name->text) &&
                     scope_find(context->scope, name->text))
                vector_push(arena, assigned, *name);
        }
        bool introduces = statement->kind != STATEMENT_repeat && statement->kind != STATEMENT_scan;
        collect_assigned(context, &statement->body, inner, assigned);
        collect_assigned(context, &statement->otherwise, inner, assigned);
        if (introduces && !statement->indices.count) local = inner;
    }
}

static Names names_assigned(const Context *context, const Statement *scan) {
    Names assigned = {0}, local = {0};
    vector_push(context->lowering->arena, &local, scan->names.items[0]);
    collect_assigned(context, &scan->body, local, &assigned);
    return assigned;
}

/* Says where a `return` in the body stands. */
static bool may_leave(const Context *context, const StatementList *body) {
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        if (statement->kind == STATEMENT_return) {
            Diagnostic *d = report(context, E0214, statement->range,
                                   "a scan has no `return`: it runs all turns");
            diagnostic_help(d, "assign a name from outside, and return that behind the scan");
            return false;
        }
        if (!may_leave(context, &statement->body) || !may_leave(context, &statement->otherwise))
            return false;
    }
    return true;
}

static bool is_number(const Value *value) {
    return value->kind == VALUE_number || value->kind == VALUE_size || value->kind == VALUE_truth ||
           value->kind == VALUE_option;
}

static bool may_carry(const Context *context, const Name *name, const Binding *binding) {
    if (binding->weight && !binding->state) return true; /* the assignment is reported */
    if (binding->state) {
        Diagnostic *d = report(context, E0214, name->range,
                               "`%s` is a state, which a scan can't "
                               "change",
                               name->text);
        diagnostic_help(d,
                        "`let` another name for its value, and assign the state behind the scan");
        return false;
    }
    if (binding->value.kind == VALUE_tensor || is_number(&binding->value)) return true;
    if (binding->value.kind == VALUE_error) return false;
    Diagnostic *d = report(context, E0203, name->range,
                           "`%s` is %s and can't be carried from turn "
                           "to turn",
                           name->text, value_text(context->lowering->arena, &binding->value));
    if (binding->value.range.source)
        diagnostic_note(d, binding->value.range, "its value comes from here");
    if (binding->value.kind == VALUE_items)
        diagnostic_help(d, "give each tensor in it a name of its own");
    return false;
}

/* False after reporting. */
static bool find_carried(Loop *loop) {
    const Context *context = loop->context;
    Names assigned = names_assigned(context, loop->statement);
    vector_each(Name, name, assigned) {
        const Binding *binding = scope_find(context->scope, name->text);
        if (!may_carry(context, name, binding)) return false;
        if (binding->weight) continue;
        Carried carried = {.name = *name, .before = inside_scan(context, binding->value)};
        carried.typed = carried.before.kind == VALUE_tensor;
        if (carried.typed && carried.before.graph != context->graph) {
            report_foreign(context, name->range);
            return false;
        }
        if (carried.typed) carried.type = *value_type(&carried.before);
        vector_push(context->lowering->arena, &loop->carried, carried);
    }
    return true;
}

/* Running the body. */

/* The value as a node of that type; NODE_NONE after reporting. */
static NodeId node_of_type(const Context *context, const Value *value, const Type *type,
                           Range range) {
    NodeId node = to_node(context, value, type->element, range);
    if (node == NODE_NONE || value->kind == VALUE_tensor) return node;
    return graph_declared(context->graph, OP_broadcast, node, *type, users_place(context, range));
}

/* Binds the loop's index and what is carried. */
static bool bind_inside(Loop *loop, const Context *inside) {
    Arena *arena = inside->lowering->arena;
    const Name *index = &loop->statement->names.items[0];
    Value turn = value_tensor(inside->graph, inside->scan->turn, index->range);
    turn.low = dim_constant(inside->lowering->dimensions, 0);
    turn.high = loop->turns;
    scope_put(arena, inside->scope, index->text, turn);
    vector_each(Carried, carried, loop->carried) {
        Value value = carried->before;
        if (carried->typed) {
            NodeId first = node_of_type(loop->context, &value, &carried->type, carried->name.range);
            if (first == NODE_NONE) return false;
            NodeId input = scan_carry(&inside->scan->builder, first);
            value = value_tensor(inside->graph, input, carried->before.range);
        }
        scope_put(arena, inside->scope, carried->name.text, value);
    }
    return true;
}

static bool report_change(const Context *context, const Carried *carried, const Value *after) {
    Arena *arena = context->lowering->arena;
    Diagnostic *d =
        report(context, E0203, after->range, "`%s` is %s when a turn begins, and %s when it ends",
               carried->name.text, type_text(arena, &carried->type), value_text(arena, after));
    if (carried->before.range.source)
        diagnostic_note(d, carried->before.range, "its first value comes from here");
    return false;
}

/* Adds what is carried into the next turn, or learns its type. False after reporting. */
static bool take_carried(Loop *loop, const Context *inside, bool *learned) {
    vector_each(Carried, carried, loop->carried) {
        Value after = scope_find_here(inside->scope, carried->name.text)->value;
        if (after.kind == VALUE_error) return false;
        bool tensor = after.kind == VALUE_tensor;
        if (!tensor && !is_number(&after)) return report_change(inside, carried, &after);
        if (!carried->typed) {
            if (!tensor) continue;
            carried->type = *value_type(&after);
            carried->typed = *learned = true;
            continue;
        }
        if (tensor && !type_equal(value_type(&after), &carried->type))
            return report_change(inside, carried, &after);
        NodeId node = node_of_type(inside, &after, &carried->type, carried->name.range);
        if (node == NODE_NONE) return false;
        scan_next(&inside->scan->builder, node);
    }
    return true;
}

/* Runs the body once. False after reporting. */
static bool run_body(Loop *loop, ScanBody *scan, bool *learned) {
    const Context *context = loop->context;
    Arena *arena = context->lowering->arena;
    Frame frame = *context->frame;
    frame.path = loop->path;
    frame.callees = map_new(arena);
    *scan = (ScanBody){.outside = context, .statement = loop->statement, .frame = &frame};
    scan->builder = scan_begin(context->graph, context->graph->name, loop->turns, false,
                               users_place(context, loop->statement->range));
    scan->turn = scan_turn(&scan->builder);
    Context inside = *context;
    inside.frame = &frame;
    inside.scope = scope_new(arena, context->scope);
    inside.scan = scan;
    inside.graph = scan->builder.body;
    inside.entering = false;
    size_t reported = context->lowering->diagnostics->list.count;
    Value result = value_error;
    if (!bind_inside(loop, &inside)) return false;
    lower_block(&inside, &loop->statement->body, &result);
    context->frame->undecided |= frame.undecided;
    bool sound = context->lowering->diagnostics->list.count == reported && !frame.undecided;
    return take_carried(loop, &inside, learned) && sound;
}

/* Numbers that stay numbers on trial are tensors of one element. */
static void settle_numbers(Loop *loop) {
    vector_each(Carried, carried, loop->carried) {
        if (carried->typed) continue;
        carried->type = type_scalar(carried->before.kind == VALUE_truth ? TYPE_bool : TYPE_f32);
        carried->typed = true;
    }
}

static bool all_typed(const Loop *loop) {
    vector_each(Carried, carried, loop->carried)
        if (!carried->typed) return false;
    return true;
}

/* Fills in the types of carried numbers. False after reporting. */
static bool try_numbers(Loop *loop) {
    while (!all_typed(loop)) {
        bool learned = false;
        ScanBody trial;
        if (!run_body(loop, &trial, &learned)) return false;
        if (!learned) settle_numbers(loop);
    }
    return true;
}

/* The loop as a whole. */

static void bind_results(Loop *loop, ScanBody *scan, NodeId node) {
    const Context *context = loop->context;
    Range range = scan->builder.range;
    int part = 0;
    vector_each(Carried, carried, loop->carried) {
        Value value = value_tensor(context->graph, list_part(context->graph, node, part++, range),
                                   carried->name.range);
        scope_find(context->scope, carried->name.text)->value = value;
    }
    vector_each(Stacked, stacked, scan->stacks) {
        NodeId array = list_part(context->graph, node, part++, range);
        array = move_axis(context->graph, array, 0, stacked->axis, range);
        introduce(context, &stacked->name,
                  value_tensor(context->graph, array, stacked->name.range));
    }
}

static void forget_stacks(const Context *context, const StatementList *body) {
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        const Name *name = statement->indices.count ? &statement->names.items[0] : NULL;
        if (name && !scope_find_here(context->scope, name->text))
            introduce(context, name, value_error);
        forget_stacks(context, &statement->body);
    }
}

/* What the body would have given its names is not known: they stay silent from here on. */
static void forget_results(const Context *context, const Statement *statement) {
    Names assigned = names_assigned(context, statement);
    vector_each(Name, name, assigned) {
        Binding *binding = scope_find(context->scope, name->text);
        if (!binding->weight) binding->value = value_error;
    }
    forget_stacks(context, &statement->body);
}

static Dim count_turns(const Context *context, const Expression *expression) {
    Context fixing = *context;
    fixing.fixing = true;
    Value value = lower_expression(&fixing, expression);
    Dim turns = to_size(&fixing, &value, expression->range);
    if (!turns || !is_dimension(context, turns, expression->range)) return NULL;
    if (dim_bound(turns) <= INT32_MAX || dim_bound(turns) == SIZE_UNKNOWN) return turns;
    report(context, E0211, expression->range, "a scan has at most 2^31 - 1 turns");
    return NULL;
}

static bool is_allowed(const Context *context, const Statement *statement) {
    if (context->graph && context->function) return true;
    report(context, E0206, statement->range, "tensors don't exist here");
    return false;
}

static bool run_loop(Loop *loop) {
    ScanBody scan;
    bool learned;
    loop->turns = count_turns(loop->context, loop->statement->value);
    if (!loop->turns || !find_carried(loop) || !try_numbers(loop)) return false;
    if (!run_body(loop, &scan, &learned)) return false;
    vector_each(Stacked, stacked, scan.stacks) scan_stack(&scan.builder, stacked->value);
    if (!scan.builder.next.count && !scan.builder.stacked.count) {
        Diagnostic *d = report(loop->context, E0214, loop->statement->names.items[0].range,
                               "nothing is left of this scan: it assigns no name from outside");
        diagnostic_help(d, "`let y[t] = …` stacks a value of each turn");
        return false;
    }
    scan_end_body(&scan.builder);
    bind_results(loop, &scan, scan_end(&scan.builder, scan.builder.body));
    return true;
}

void lower_scan(const Context *context, const Statement *statement, Value *result) {
    Loop loop = {.context = context, .statement = statement};
    if (!may_leave(context, &statement->body)) {
        *result = value_error;
        return;
    }
    if (!is_allowed(context, statement)) return;
    loop.path = callee_path(context, "scan");
    if (!run_loop(&loop)) forget_results(context, statement);
}
