/* Bucket: `dim T <= 128 … bucket(n, T, [32, 64])`: batches of records of like length, each with a
 * size of its own. Where a record is made T is that size; what stands before the last section, and
 * the fields of the source, have that of the run, of which the first places are taken. */
#include "compiler/lower/given.h"
#include "compiler/lower/stream.h"

const Ordering *bucket_of(const Pipeline *pipeline) {
    vector_each(Ordering, order, pipeline->section->orders)
        if (order->kind == ORDER_bucket) return order;
    return NULL;
}

/* The size that batches choose. */

static void take_bound(Given *given, Ordering *order) {
    Dim size = given_size(given, 1);
    if (!size) return;
    order->bound = dim_bounded_number(size);
    if (order->bound >= 0 && dim_is_symbol(size)) return;
    Arena *arena = given->context->lowering->arena;
    Diagnostic *d = report(given->context, E0211, given->values[1]->range,
                           "`size` is %s, not a dimension with a bound", dim_text(arena, size));
    diagnostic_help(d, "`dim T <= 128` at the top of the file, and `bucket(n, T, [32, 64])`");
    given->broken = true;
}

/* One of them, which are ascending. */
static bool take_size(Given *given, const Value *item, int64_t most, Ordering *order) {
    Range range = given->values[2]->range;
    double size, least = 1;
    if (order->sizes.count) least += (double)order->sizes.items[order->sizes.count - 1];
    if (!is_count(given->context, item, range) || !to_number(given->context, item, range, &size))
        return false;
    if (size == (double)(int64_t)size && size >= least && size <= (double)most) {
        vector_push(given->context->lowering->arena, &order->sizes, (int64_t)size);
        return true;
    }
    Diagnostic *d = report(given->context, E0211, range,
                           "`sizes` are whole numbers from 1 to %lld, each larger than the one "
                           "before; %.10g is not",
                           (long long)most, size);
    diagnostic_note(d, given->context->lowering->program->bounds.items[order->bound].range,
                    "`%s` is bounded here",
                    given->context->lowering->program->bounds.items[order->bound].name);
    return false;
}

static void take_sizes(Given *given, Ordering *order) {
    if (given->broken) return;
    Value list = given_value(given, 2);
    int64_t most = dim_bound(given->context->lowering->program->bounds.items[order->bound].symbol);
    bool good = list.kind == VALUE_items && !list.items.names && list.items.count &&
                list.items.count < BUCKET_LIMIT;
    if (!good)
        given_refuse(given, 2, &list,
                     arena_format(given->context->lowering->arena, "a list of 1 to %d sizes",
                                  BUCKET_LIMIT - 1));
    for (size_t i = 0; good && i < list.items.count; i++)
        good = take_size(given, &list.items.values[i], most, order);
    given->broken |= !good;
}

/* Lengths. */

static NodeId report_length(const Context *inner, const Expression *length, const Value *value) {
    Diagnostic *d = report(inner, E0203, length->range, "`length` is one i32 or i64, not %s",
                           value_text(inner->lowering->arena, value));
    diagnostic_help(d, "`n: tokens |> length()` in a `map` is one");
    return NODE_NONE;
}

/* One i64 of each record; NODE_NONE after reporting. */
static NodeId lower_length_node(const Context *inner, const Expression *length) {
    Value value = lower_expression(inner, length);
    if (value.kind == VALUE_error) return NODE_NONE;
    if (value.kind == VALUE_number || value.kind == VALUE_size || value.kind == VALUE_field)
        return to_node(inner, &value, TYPE_i64, length->range);
    if (value.kind != VALUE_tensor || value_type(&value)->rank)
        return report_length(inner, length, &value);
    Element element = value_type(&value)->element;
    if (element == TYPE_i64) return value.node;
    if (element != TYPE_i32) return report_length(inner, length, &value);
    return graph_declared(inner->graph, OP_cast, value.node, type_scalar(TYPE_i64), length->range);
}

/* May it be asked once, before anything is trained? */
static bool is_settled(const Context *context, const Section *section, const Expression *length,
                       NodeId node) {
    if (varies(section, node)) {
        report(context, E0214, length->range,
               "`bucket` asks once for the length; it can't depend on the epoch");
        return false;
    }
    if (is_learned(section, node)) {
        report(context, E0214, length->range,
               "`bucket` asks for the length before texts become categories; it can't depend on "
               "them");
        return false;
    }
    return true;
}

static bool take_length(Given *given, Stream *stream, Ordering *order) {
    const Context *context = given->context;
    Arena *arena = context->lowering->arena;
    Context inner = record_context(context, stream);
    inner.scope = scope_new(arena, context->scope);
    put_record(context, inner.scope, &stream->record);
    NodeId node = lower_length_node(&inner, given->values[0]);
    if (node == NODE_NONE ||
        !is_settled(context, stream->pipeline->section, given->values[0], node))
        return false;
    const char *name = arena_format(arena, "%s.length", stream->pipeline->name);
    order->condition = extract_function(arena, inner.function, node, name);
    return true;
}

/* The stage. */

/* A shuffle that is new in each epoch stays so: it deals within buckets. Those of inputs are
 * settled, since lengths are asked for once. */
static void add_bucket(const Context *context, Pipeline *pipeline, Ordering order) {
    vector_each(Pipeline *, input, pipeline->join.inputs) settle_orders(*input);
    vector_push(context->lowering->arena, &pipeline->section->orders, order);
    Ordering *behind = &pipeline->section->orders.items[pipeline->section->orders.count - 1];
    if (behind == pipeline->section->orders.items || !behind[-1].each_epoch) return;
    behind[0] = behind[-1];
    behind[-1] = order;
}

static bool has_room(const Context *context, Range range, const Section *section) {
    if (section->orders.count < ORDER_LIMIT) return true;
    report(context, E0217, range, "more than %d stages choose or order the records", ORDER_LIMIT);
    return false;
}

Value lower_bucket(const Context *context, const Expression *call, const Value *piped) {
    static const char *const parameters[] = {"length", "size", "sizes", NULL};
    Pipeline *pipeline = piped->stream->pipeline;
    Ordering order = {.kind = ORDER_bucket};
    Given given = given_arguments(context, call, parameters, 3, "bucket(n, T, [32, 64])");
    take_bound(&given, &order);
    take_sizes(&given, &order);
    if (given.broken || !can_look_up(context, call->range, "`bucket`", pipeline) ||
        !has_end(context, call->range, "`bucket`", pipeline) ||
        !has_room(context, call->range, pipeline->section) ||
        !take_length(&given, piped->stream, &order))
        return value_error;
    add_bucket(context, pipeline, order);
    return *piped;
}

/* What has such a size. */

typedef struct Search {
    int bound;
    bool found;
} Search;

static void find_bound(Dim symbol, void *context) {
    Search *search = context;
    search->found |= dim_bounded_number(symbol) == search->bound;
}

/* The last axis that depends on the bound, or -1. */
static int last_axis(const Type *type, int bound) {
    Search search = {.bound = bound};
    for (int axis = type->rank; axis-- > 0;) {
        dim_each_symbol(type->dims[axis], find_bound, &search);
        if (search.found) return axis;
    }
    return -1;
}

bool fits_bucket(const Context *context, const Pipeline *pipeline) {
    const Ordering *bucket = bucket_of(pipeline);
    if (!bucket) return true;
    const char *size = context->lowering->program->bounds.items[bucket->bound].name;
    vector_each(Field, field, pipeline->section->fields) {
        if (last_axis(&field->type, bucket->bound) < 1) continue;
        Diagnostic *d =
            report(context, E0214, pipeline->range,
                   "a batch of `bucket` takes the first %s of `%s`, which is %s: %s can be its "
                   "first axis alone",
                   size, field->name, type_text(context->lowering->arena, &field->type), size);
        diagnostic_help(d, "`permute` it before it gets here, and back in a `map`");
        return false;
    }
    return true;
}

bool has_one_size(const Context *context, const Pipeline *pipeline, const char *name,
                  const Type *type, Range range) {
    const Ordering *bucket = bucket_of(pipeline);
    if (!bucket || last_axis(type, bucket->bound) < 0) return true;
    Diagnostic *d = report(context, E0214, range, "`%s` is %s, of another size in each bucket",
                           name, type_text(context->lowering->arena, type));
    diagnostic_help(d, "a sink takes what has one size: reduce it in a `map` behind `batch`");
    return false;
}
