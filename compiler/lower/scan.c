/* Scan: a loop becomes a body graph. What its statements assign of the names outside is carried
 * from turn to turn; what they read is the same in every turn, or the turn's slice of it.
 *
 * A carried name that is a number has no type before the body was run: it is run on trial with
 * the number, until every such name is known to become a tensor of some type, or a number still
 * and so a tensor of one element. */
#include "compiler/lower/loop.h"

#include "compiler/graph/list.h"

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
    Values values = {0};
    vector_each(Carried, carried, loop->carried) {
        Value value = carried->before;
        if (carried->typed) {
            NodeId first = node_of_type(loop->context, &value, &carried->type, carried->name.range);
            if (first == NODE_NONE) return false;
            NodeId input = scan_carry(&inside->scan->builder, first);
            value = value_tensor(inside->graph, input, carried->before.range);
        }
        vector_push(arena, &values, value);
    }
    bind_carried(loop, &values, inside->scope, true);
    return true;
}

static bool report_change(const Context *context, const Name *name, const Value *before,
                          const char *began, const Value *after) {
    Arena *arena = context->lowering->arena;
    Diagnostic *d = report(context, E0203, after->range.source ? after->range : name->range,
                           "`%s` is %s when a turn begins, and %s when it ends", name->text,
                           began ? began : value_text(arena, before), value_text(arena, after));
    if (before->range.source) diagnostic_note(d, before->range, "its first value comes from here");
    return false;
}

/* Adds one into the next turn, or learns its type. False after reporting. */
static bool take_value(const Context *inside, Carried *carried, const Value *after, bool *learned) {
    if (after->kind == VALUE_error) return false;
    bool tensor = after->kind == VALUE_tensor;
    const char *began = carried->typed ? type_text(inside->lowering->arena, &carried->type) : NULL;
    if (!tensor && !value_is_number(after))
        return report_change(inside, &carried->name, &carried->before, began, after);
    if (!carried->typed) {
        if (!tensor) return true;
        carried->type = *value_type(after);
        carried->typed = *learned = true;
        return true;
    }
    if (tensor && !type_equal(value_type(after), &carried->type))
        return report_change(inside, &carried->name, &carried->before, began, after);
    NodeId node = node_of_type(inside, after, &carried->type, carried->name.range);
    if (node == NODE_NONE) return false;
    scan_next(&inside->scan->builder, node);
    return true;
}

/* The same for all that is carried. */
static bool take_carried(Loop *loop, const Context *inside, bool *learned) {
    Values values = {0};
    vector_each(Assigned, assigned, loop->assigned) {
        const Value after = scope_find_here(inside->scope, assigned->name.text)->value;
        if (after.kind == VALUE_error) return false;
        if (!list_carried(inside->lowering->arena, &assigned->before, &after, &values))
            return report_change(inside, &assigned->name, &assigned->before, NULL, &after);
    }
    for (size_t i = 0; i < loop->carried.count; i++)
        if (!take_value(inside, &loop->carried.items[i], &values.items[i], learned)) return false;
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
    Values values = {0};
    vector_each(Carried, carried, loop->carried)
        vector_push(context->lowering->arena, &values,
                    value_tensor(context->graph, list_part(context->graph, node, part++, range),
                                 carried->name.range));
    bind_carried(loop, &values, context->scope, false);
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

/* False after reporting a `return` in the body. */
static bool never_returns(const Context *context, const StatementList *body) {
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        if (statement->kind == STATEMENT_return) {
            Diagnostic *d = report(context, E0214, statement->range,
                                   "a scan has no `return`: it runs all turns");
            diagnostic_help(d, "assign a name from outside, and return that behind the scan");
            return false;
        }
        if (!never_returns(context, &statement->body) ||
            !never_returns(context, &statement->otherwise))
            return false;
    }
    return true;
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

/* The body of a scan is run again and again for the types of what it carries: in each of the scans
 * around it. */
static bool is_too_deep(const Context *context, const Statement *statement) {
    int depth = 0;
    for (const ScanBody *scan = context->scan; scan; scan = scan->outside->scan) depth++;
    if (depth < SCAN_DEPTH_LIMIT) return false;
    report(context, E0217, statement->names.items[0].range,
           "more than %d scans stand inside one another", SCAN_DEPTH_LIMIT);
    return true;
}

static bool is_allowed(const Context *context, const Statement *statement) {
    if (is_too_deep(context, statement)) return false;
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
    if (!never_returns(context, &statement->body)) {
        *result = value_error;
        return;
    }
    if (!is_allowed(context, statement)) return;
    loop.path = callee_path(context, "scan");
    if (!run_loop(&loop)) forget_results(context, statement);
}
