/* Match, tensors: element type and dimensions against those of a declared type. */
#include "compiler/lower/fact.h"
#include "compiler/lower/signature.h"

#include <ctype.h>
#include <string.h>

/* Where the names in a dimension got their sizes. */
static void note_bindings(const Match *match, Diagnostic *d, const Expression *dimension) {
    const Context *context = match->context;
    if (dimension->left) note_bindings(match, d, dimension->left);
    if (dimension->right) note_bindings(match, d, dimension->right);
    if (dimension->kind != EXPRESSION_name) return;
    const Binding *binding = scope_find(context->scope, dimension->name.text);
    if (!binding || binding->value.kind != VALUE_size) return;
    const char *size = dim_text(context->lowering->arena, binding->value.size);
    if (strcmp(size, dimension->name.text))
        diagnostic_note(d, binding->value.range, "%s = %s comes from here", dimension->name.text,
                        size);
}

/* The size of a name that only values told so far, `ids: i32 in 0..V`, is that of the shape that
 * has it, `table: f32[V, E]`, if they all lie below. */
static bool settle_size(const Match *match, const Expression *dimension, Dim actual) {
    Dimensions *table = match->context->lowering->dimensions;
    if (dimension->kind != EXPRESSION_name) return false;
    Binding *binding = scope_find(match->context->scope, dimension->name.text);
    if (!binding || !binding->at_least) return false;
    Dim zero = dim_constant(table, 0);
    if (!fact_within(table, (Fact){zero, binding->value.size}, zero, actual)) return false;
    binding->value = value_size(actual, match->range);
    binding->at_least = false;
    return true;
}

static bool match_dimension(const Match *match, const Expression *dimension, Dim actual,
                            const Value *value) {
    if (is_open(dimension) || settle_size(match, dimension, actual)) return true;
    Dim expected = dimension_size(match->context, dimension);
    if (!expected) return false;
    if (expected == actual || is_undecided(match->context, expected) ||
        is_undecided(match->context, actual))
        return true;
    Arena *arena = match->context->lowering->arena;
    Diagnostic *d =
        report(match->context, E0207, match->range, "%s expects %s with %s = %s, receives %s",
               match->what, declared_text(match->context, match->declared),
               dimension->kind == EXPRESSION_name ? dimension->name.text : "a size",
               dim_text(arena, expected), value_text(arena, value));
    if (!strcmp(dim_text(arena, expected), range_text(match->context, dimension->range)))
        d->text =
            arena_format(arena, "%s expects %s, receives %s", match->what,
                         declared_text(match->context, match->declared), value_text(arena, value));
    diagnostic_note(d, match->declared->range, "declared here");
    note_bindings(match, d, dimension);
    help_flatten(match, d, value);
    return false;
}

/* The declared type, with what `...` stands for written out. */
static const char *rest_text(const Match *match, const Items *rest) {
    Arena *arena = match->context->lowering->arena;
    const char *declared = declared_text(match->context, match->declared);
    const char *dots = strstr(declared, "...");
    if (!dots) return declared;
    Text text = text_new(arena);
    text_add_bytes(&text, declared, (size_t)(dots - declared));
    for (size_t i = 0; i < rest->count; i++)
        text_format(&text, "%s%s", i ? ", " : "", dim_text(arena, rest->values[i].size));
    text_add(&text, dots + strlen("..."));
    return text_string(&text);
}

static bool is_one(Dim size) {
    int64_t constant;
    return dim_is_constant(size, &constant) && constant == 1;
}

/* [B, 1] against [B]: a prediction of one value beside a plain number, most often. */
static void help_last_axis(Diagnostic *d, const Items *expected, const Dim *found, size_t count) {
    if (expected->count == count + 1 && is_one(expected->values[count].size))
        diagnostic_help(d, "`expand(…, -1)` gives it a last axis of size 1");
    if (count == expected->count + 1 && is_one(found[expected->count]))
        diagnostic_help(d, "`squeeze(…, -1)` takes its last axis off");
}

static bool match_rest(const Match *match, const Dim *dims, int count, const Value *value) {
    const Context *context = match->context;
    const Binding *known = scope_find(context->scope, "...");
    if (!known) {
        bind_rest(context, dims, count, match->range);
        return true;
    }
    bool same = known->value.items.count == (size_t)count;
    for (int i = 0; same && i < count; i++) same = known->value.items.values[i].size == dims[i];
    if (same) return true;
    Diagnostic *d = report_mismatch(match, E0207, value);
    d->text = arena_format(context->lowering->arena, "%s expects %s, receives %s", match->what,
                           rest_text(match, &known->value.items),
                           value_text(context->lowering->arena, value));
    diagnostic_note(d, known->value.range, "`...` comes from here");
    help_last_axis(d, &known->value.items, dims, (size_t)count);
    return false;
}

/* Binds and compares all dimensions of a shape whose rank fits. */
static bool match_dimensions(const Match *match, const Type *type, const Value *value) {
    const TypeTree *declared = match->declared;
    int count = (int)declared->dimensions.count, rest = find_ellipsis(declared);
    bind_free(match->context, declared, type, match->range);
    for (int i = 0; i < count; i++) {
        int at = axis_of_declared(declared, i, type->rank);
        bool fits = i == rest ? match_rest(match, type->dims + i, type->rank - count + 1, value)
                              : match_dimension(match, declared->dimensions.items[i],
                                                type->dims[at], value);
        if (!fits) return false;
    }
    return true;
}

/* The batch. */

static bool is_batch_first(const Context *context, const TypeTree *declared) {
    if (!declared->dimensions.count) return false;
    const Expression *first = declared->dimensions.items[0];
    return first->kind == EXPRESSION_name && !strcmp(first->name.text, "B") &&
           is_free(context, first);
}

/* Gives a record the batch that the signature asks for. */
static Value lift(const Match *match, const Value *value) {
    Lowering *lowering = match->context->lowering;
    if (!lowering->single) lowering->single = dim_symbol(lowering->dimensions, "B", 1, true);
    Type type = type_with(*value_type(value), 0, lowering->single);
    NodeId node = graph_declared(value->graph, OP_reshape, value->node, type, match->range);
    *match->lifted = true;
    Value lifted = *value;
    lifted.node = node;
    return lifted;
}

static bool wants_lift(const Match *match, const Type *type) {
    int count = (int)match->declared->dimensions.count;
    if (!match->lifted || !is_batch_first(match->context, match->declared)) return false;
    if (type->rank && dim_is_batch(type->dims[0])) return false;
    if (type->rank == RANK_LIMIT) return false;
    return find_ellipsis(match->declared) >= 0 || type->rank == count - 1;
}

static bool has_wanted_rank(const Match *match, const Type *type) {
    int count = (int)match->declared->dimensions.count;
    const Binding *rest = scope_find(match->context->scope, "...");
    if (find_ellipsis(match->declared) < 0)
        return type->rank == count ||
               (match->lifted && is_batch_first(match->context, match->declared) &&
                type->rank == count - 1);
    return rest ? type->rank == count - 1 + (int)rest->value.items.count : type->rank >= count - 1;
}

static bool match_element(const Match *match, Element element, const Value *value) {
    const Context *context = match->context;
    const Name *name = &match->declared->element;
    Element declared;
    if (element_by_name(name->text, &declared)) {
        if (declared == element) return true;
        Diagnostic *d = report_mismatch(match, E0203, value);
        if (has_wanted_rank(match, value_type(value)))
            diagnostic_help(d, "`cast(…, %s)`", name->text);
        return false;
    }
    const Binding *bound = scope_find(context->scope, name->text);
    if (bound && bound->value.kind == VALUE_element) {
        if (bound->value.element == element) return true;
        report_mismatch(match, E0203, value);
        return false;
    }
    if (!isupper((unsigned char)name->text[0])) {
        report_type(context, name);
        return false;
    }
    Value value_of = {.kind = VALUE_element, .range = match->range, .element = element};
    scope_put(context->lowering->arena, context->scope, name->text, value_of);
    return true;
}

Value match_tensor(const Match *match, Value value) {
    const Type *type = value_type(&value);
    int fixed = (int)match->declared->dimensions.count - (find_ellipsis(match->declared) >= 0);
    if (!match_element(match, type->element, &value)) return value_error;
    if (wants_lift(match, type)) {
        value = lift(match, &value);
        type = value_type(&value);
    }
    bool fits = find_ellipsis(match->declared) >= 0 ? type->rank >= fixed : type->rank == fixed;
    if (!fits) {
        report_mismatch(match, E0208, &value);
        return value_error;
    }
    Type copy = *type; /* matching may grow the graph */
    if (!match_dimensions(match, &copy, &value)) return value_error;
    return match_fact(match, value);
}
