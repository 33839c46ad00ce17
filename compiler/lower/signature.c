/* Signature: matching values against declared types, which binds the dimensions they name.
 *
 * A name in a shape that is neither in scope nor declared is a dimension of the signature: the
 * first value that has it binds it. `...` binds all dimensions between the fixed ones. `B` is the
 * batch: a value that has none is a batch of one record there. `?n` is a size that each record of
 * the data has for itself: it fits any, and no op takes what has it. */
#include "compiler/lower/fact.h"
#include "compiler/lower/lowering.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* One match: what is declared against what came. */
typedef struct Match {
    const Context *context;
    const TypeTree *declared;
    Range range;      /* of the value */
    const char *what; /* "`x`" */
    bool *lifted;     /* NULL: the value must bring its batch */
} Match;

static bool is_unbound(const Context *context, const char *name) {
    const Unit *unit;
    return !scope_find(context->scope, name) &&
           !module_find(context->lowering->module, context->unit, name, &unit);
}

static bool is_open(const Expression *dimension) {
    return dimension->kind == EXPRESSION_name && dimension->name.text[0] == '?';
}

/* A dimension that this signature may bind. */
static bool is_free(const Context *context, const Expression *dimension) {
    return dimension->kind == EXPRESSION_name && !is_open(dimension) &&
           is_unbound(context, dimension->name.text);
}

static int find_ellipsis(const TypeTree *declared) {
    for (size_t i = 0; i < declared->dimensions.count; i++)
        if (declared->dimensions.items[i]->kind == EXPRESSION_ellipsis) return (int)i;
    return -1;
}

static bool is_batch_first(const Context *context, const TypeTree *declared) {
    if (!declared->dimensions.count) return false;
    const Expression *first = declared->dimensions.items[0];
    return first->kind == EXPRESSION_name && !strcmp(first->name.text, "B") &&
           is_free(context, first);
}

static const char *declared_text(const Context *context, const TypeTree *declared) {
    return range_text(context, declared->range);
}

/* Where a matrix of records is asked for, a tensor of more dimensions may only need flatten. */
static void help_flatten(const Match *match, Diagnostic *d, const Value *value) {
    const ExpressionList *dimensions = &match->declared->dimensions;
    if (value->kind != VALUE_tensor || dimensions->count != 2) return;
    Dimensions *table = match->context->lowering->dimensions;
    const Type *type = value_type(value);
    bool batched = type->rank && dim_is_batch(type->dims[0]);
    Dim count = type_count(table, type, batched, type->rank);
    const Expression *features = dimensions->items[1];
    int64_t size;
    if (type->rank - batched < 2 || !count || !dim_is_constant(count, &size)) return;
    if (features->kind != EXPRESSION_name && features->number != (double)size) return;
    diagnostic_help(d, "`|> flatten()` makes one row of %lld values of each record",
                    (long long)size);
}

/* "`x` expects f32[B, 784], receives f32[10]" */
static Diagnostic *mismatch(const Match *match, ErrorCode code, const Value *value) {
    const Context *context = match->context;
    Diagnostic *d = report(context, code, match->range, "%s expects %s, receives %s", match->what,
                           declared_text(context, match->declared),
                           value_text(context->lowering->arena, value));
    diagnostic_note(d, match->declared->range, "declared here");
    help_flatten(match, d, value);
    return d;
}

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

static Dim dimension_size(const Context *context, const Expression *dimension) {
    if (is_open(dimension))
        return dim_symbol(context->lowering->dimensions, dimension->name.text, SIZE_UNKNOWN, false);
    Context fixing = *context;
    fixing.fixing = true;
    Value value = lower_expression(&fixing, dimension);
    return to_size(&fixing, &value, dimension->range);
}

/* Checked by itself, 2*(E/2) is not seen to be E: a call will tell. */
static bool is_undecided(const Context *context, Dim a, Dim b) {
    Arena *arena = context->lowering->arena;
    return context->checking &&
           (strchr(dim_text(arena, a), '/') || strchr(dim_text(arena, b), '/'));
}

static bool match_dimension(const Match *match, const Expression *dimension, Dim actual,
                            const Value *value) {
    if (is_open(dimension)) return true;
    Dim expected = dimension_size(match->context, dimension);
    if (!expected) return false;
    if (expected == actual || is_undecided(match->context, expected, actual)) return true;
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

static bool match_rest(const Match *match, const Dim *dims, int count, const Value *value) {
    const Context *context = match->context;
    const Binding *known = scope_find(context->scope, "...");
    Items items = items_new(context->lowering->arena, (size_t)count);
    for (int i = 0; i < count; i++) items.values[i] = value_size(dims[i], match->range);
    if (!known) {
        scope_put(context->lowering->arena, context->scope, "...",
                  (Value){.kind = VALUE_items, .range = match->range, .items = items});
        return true;
    }
    bool same = known->value.items.count == items.count;
    for (size_t i = 0; same && i < items.count; i++)
        same = known->value.items.values[i].size == items.values[i].size;
    if (same) return true;
    Diagnostic *d = mismatch(match, E0207, value);
    diagnostic_note(d, known->value.range, "`...` comes from here");
    return false;
}

/* Binds and compares all dimensions of a shape whose rank fits. */
static bool match_dimensions(const Match *match, const Type *type, const Value *value) {
    const Context *context = match->context;
    int count = (int)match->declared->dimensions.count, rest = find_ellipsis(match->declared);
    int stretch = type->rank - count; /* how many dimensions `...` has, less one */
    for (int i = 0; i < count; i++) {
        const Expression *dimension = match->declared->dimensions.items[i];
        int at = rest >= 0 && i > rest ? i + stretch : i;
        if (i != rest && is_free(context, dimension))
            scope_put(context->lowering->arena, context->scope, dimension->name.text,
                      value_size(type->dims[at], match->range));
    }
    for (int i = 0; i < count; i++) {
        const Expression *dimension = match->declared->dimensions.items[i];
        int at = rest >= 0 && i > rest ? i + stretch : i;
        bool fits = i == rest ? match_rest(match, type->dims + i, stretch + 1, value)
                              : match_dimension(match, dimension, type->dims[at], value);
        if (!fits) return false;
    }
    return true;
}

/* Gives a record the batch that the signature asks for. */
static Value lift(const Match *match, const Value *value) {
    Lowering *lowering = match->context->lowering;
    if (!lowering->single) lowering->single = dim_symbol(lowering->dimensions, "B", 1, true);
    Type type = *value_type(value);
    memmove(type.dims + 1, type.dims, sizeof(Dim) * (size_t)type.rank++);
    type.dims[0] = lowering->single;
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

/* What other languages call the types. */
static const char *nearest_type(const char *name) {
    static const char *const known[][2] = {
        {"float", "f32"}, {"float32", "f32"}, {"double", "f64"},   {"float64", "f64"},
        {"byte", "u8"},   {"uint8", "u8"},    {"int8", "i8"},      {"int32", "i32"},
        {"int64", "i64"}, {"long", "i64"},    {"boolean", "bool"}, {"str", "string"},
        {"half", "f16"},  {"float16", "f16"}, {"bfloat16", "bf16"}};
    static const char *const names[] = {"bool", "u8",  "i8",  "i32",    "i64",  "f16",   "bf16",
                                        "f32",  "f64", "int", "number", "path", "string"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i][0], name)) return known[i][1];
    return nearest_name(name, names, sizeof names / sizeof *names);
}

static bool is_compile_time(const char *name) {
    static const char *const names[] = {"int", "number", "path", "string"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static void report_type(const Context *context, const Name *name) {
    if (is_compile_time(name->text)) {
        report(context, E0205, name->range,
               "`%s` exists only while the program is compiled; "
               "a tensor has to stand here",
               name->text);
        return;
    }
    Diagnostic *d = report(context, E0205, name->range, "`%s` is no type", name->text);
    const char *nearest = nearest_type(name->text);
    help_nearest(d, nearest);
    if (!nearest) diagnostic_help(d, "the element types are bool u8 i8 i32 i64 f16 bf16 f32 f64");
}

static bool match_element(const Match *match, Element element, const Value *value) {
    const Context *context = match->context;
    const Name *name = &match->declared->element;
    Element declared;
    if (element_by_name(name->text, &declared)) {
        if (declared == element) return true;
        Diagnostic *d = mismatch(match, E0203, value);
        diagnostic_help(d, "`cast(…, %s)`", name->text);
        return false;
    }
    const Binding *bound = scope_find(context->scope, name->text);
    if (bound && bound->value.kind == VALUE_element) {
        if (bound->value.element == element) return true;
        mismatch(match, E0203, value);
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

static const char *source_field(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    while (node->input_count) node = graph_node(graph, node->inputs[0]);
    return node->op == OP_input ? node->name : NULL;
}

static void help_fact(const Match *match, Diagnostic *d, const Value *value, Dim low, Dim high) {
    Arena *arena = match->context->lowering->arena;
    const char *field = source_field(value->graph, value->node);
    const char *dot = field ? strrchr(field, '.') : NULL;
    diagnostic_help(d, "declare the range where the data enters: `-> (%s: %s in %s..%s)`",
                    dot ? dot + 1 : "y", element_info[value_type(value)->element].name,
                    dim_text(arena, low), dim_text(arena, high));
}

/* A check of each record where data enters; elsewhere the fact has to be known. */
static Value check_fact(const Match *match, const Value *value, Dim low, Dim high) {
    const Context *context = match->context;
    Arena *arena = context->lowering->arena;
    int64_t from, to;
    if (context->checking) return *value;
    bool entering = context->entering && source_field(value->graph, value->node);
    if (!entering || !dim_is_constant(low, &from) || !dim_is_constant(high, &to)) {
        const char *known = fact_text(arena, fact_of(context->lowering->dimensions, value));
        Diagnostic *d = report(context, E0211, match->range, "%s expects values in %s..%s, %s",
                               match->what, dim_text(arena, low), dim_text(arena, high), known);
        diagnostic_note(d, match->declared->range, "declared here");
        help_fact(match, d, value, low, high);
        return value_error;
    }
    Problem problem;
    Node node = {.op = OP_check,
                 .inputs = {value->node},
                 .low = from,
                 .high = to,
                 .name = source_field(value->graph, value->node),
                 .range = match->declared->range};
    NodeId id = graph_add(value->graph, node, &problem);
    if (id == NODE_NONE) {
        report(context, problem.code, match->range, "%s", problem.text);
        return value_error;
    }
    Value checked = *value;
    checked.node = id;
    return checked;
}

static Value match_fact(const Match *match, Value value) {
    const Context *context = match->context;
    if (!match->declared->low || value.kind != VALUE_tensor) return value;
    Dimensions *table = context->lowering->dimensions;
    Fact known = fact_of(table, &value);
    if (known.high && is_free(context, match->declared->high))
        scope_put(context->lowering->arena, context->scope, match->declared->high->name.text,
                  value_size(known.high, match->range));
    Dim low = dimension_size(context, match->declared->low);
    Dim high = dimension_size(context, match->declared->high);
    if (!low || !high) return value_error;
    if (!fact_within(table, known, low, high)) value = check_fact(match, &value, low, high);
    value.low = low;
    value.high = high;
    return value;
}

static Value match_tensor(const Match *match, Value value) {
    const Type *type = value_type(&value);
    int fixed = (int)match->declared->dimensions.count - (find_ellipsis(match->declared) >= 0);
    if (!match_element(match, type->element, &value)) return value_error;
    if (wants_lift(match, type)) {
        value = lift(match, &value);
        type = value_type(&value);
    }
    bool fits = find_ellipsis(match->declared) >= 0 ? type->rank >= fixed : type->rank == fixed;
    if (!fits) {
        mismatch(match, E0208, &value);
        return value_error;
    }
    Type copy = *type; /* matching may grow the graph */
    if (!match_dimensions(match, &copy, &value)) return value_error;
    return match_fact(match, value);
}

/* Has it sizes that only the data tells? */
static bool has_open_size(const TypeTree *declared) {
    for (size_t i = 0; i < declared->dimensions.count; i++)
        if (is_open(declared->dimensions.items[i])) return true;
    return false;
}

/* The first use of a source's field tells its type. */
static Value match_field(const Match *match, const Value *field) {
    const Context *context = match->context;
    Type type;
    bool known = match->declared->element.text != NULL;
    if (field->form == FORM_image && has_open_size(match->declared)) return *field;
    for (size_t i = 0; known && i < match->declared->dimensions.count; i++)
        known = !is_free(context, match->declared->dimensions.items[i]);
    if (!known || !resolve_type(context, match->declared, &type)) {
        Diagnostic *d = report(context, E0203, match->range, "the type of `%s` is not known here",
                               field_name(field));
        diagnostic_help(d, "say its type first: `%s |> : u8[28, 28]`", field_name(field));
        return value_error;
    }
    Value typed = type_field(context, field, type, match->range);
    return typed.kind == VALUE_error ? typed : match_tensor(match, typed);
}

/* A field that is there, is not declared and looks alike. */
static void help_field(Diagnostic *d, const Items *items, const TypeTree *declared,
                       const char *name) {
    for (size_t i = 0; items->names && i < items->count; i++) {
        bool wanted = !items->names[i];
        for (size_t j = 0; j < declared->fields.count && !wanted; j++) {
            const char *other = declared->fields.items[j].name.text;
            wanted = other && !strcmp(other, items->names[i]);
        }
        if (!wanted && nearest_name(name, &items->names[i], 1))
            diagnostic_help(d, "it has `%s`; is one of the two misspelt?", items->names[i]);
    }
}

static bool is_declared_field(const TypeTree *declared, const char *name) {
    for (size_t i = 0; i < declared->fields.count; i++) {
        const char *field = declared->fields.items[i].name.text;
        if (!field || !name || !strcmp(field, name)) return true;
    }
    return false;
}

/* Fields that are too many; those that are too few are found when they are matched. */
static bool has_extra_field(const Match *match, const Items *items) {
    const TypeTree *declared = match->declared;
    if (items->count <= declared->fields.count) return false;
    for (size_t i = 0; i < items->count; i++) {
        const char *name = items->names ? items->names[i] : NULL;
        if (is_declared_field(declared, name) && i + 1 < items->count) continue;
        Diagnostic *d =
            report(match->context, E0212, match->range, "%s has a field `%s` that is not declared",
                   match->what, name ? name : "?");
        diagnostic_note(d, declared->range, "declared here");
        return true;
    }
    return false;
}

static Items match_items(const Match *match, Items *items) {
    const TypeTree *declared = match->declared;
    Arena *arena = match->context->lowering->arena;
    Items result = items_new(arena, declared->fields.count);
    for (size_t i = 0; i < result.count; i++) {
        const FieldType *field = &declared->fields.items[i];
        bool named = field->name.text && items->names &&
                     (match->context->stream || (items->count && items->names[0]));
        const Value *found = named              ? items_find(items, field->name.text)
                             : i < items->count ? &items->values[i]
                                                : NULL;
        const char *name = field->name.text ? field->name.text : "?";
        Value opened;
        if (!found && named && match->context->stream) {
            opened = open_field(match->context, name, match->range);
            found = &opened;
        }
        if (!found) {
            Diagnostic *d = report(match->context, E0212, match->range, "%s has no field `%s`",
                                   match->what, name);
            diagnostic_note(d, declared->range, "declared here");
            help_field(d, items, declared, name);
            return (Items){0};
        }
        result.names[i] = field->name.text;
        result.values[i] = match_type(match->context, field->type, *found, match->range,
                                      arena_format(arena, "`%s`", name), match->lifted);
    }
    return result;
}

static Value match_record(const Match *match, Value value) {
    if (value.kind != VALUE_items && value.kind != VALUE_stream) {
        mismatch(match, E0203, &value);
        return value_error;
    }
    Items *items = value.kind == VALUE_stream ? &value.stream->record : &value.items;
    if (has_extra_field(match, items)) return value_error;
    Match inner = *match;
    Context record = *match->context;
    if (value.kind == VALUE_stream) {
        record.graph = value.stream->pipeline->section->record.graph;
        record.function = &value.stream->pipeline->section->record;
        record.entering = true;
        record.stream = value.stream->open ? value.stream : NULL;
        inner.context = &record;
    }
    Items matched = match_items(&inner, items);
    if (!matched.names) return value_error;
    if (value.kind == VALUE_stream) value.stream->record = matched;
    else value.items = matched;
    return value;
}

/* Numbers keep being numbers where a single one is asked for, so that they can still fold. */
static Value match_number(const Match *match, Value value) {
    const Context *context = match->context;
    Element element;
    if (!element_by_name(match->declared->element.text, &element)) element = TYPE_f32;
    if (!match->declared->dimensions.count && !match->declared->low) {
        bool whole = !is_floating(element);
        if (whole && value.kind == VALUE_number && value.number != floor(value.number)) {
            mismatch(match, E0203, &value);
            return value_error;
        }
        return value;
    }
    NodeId node = to_node(context, &value, element, match->range);
    return node == NODE_NONE
               ? value_error
               : match_tensor(match, value_tensor(context->graph, node, match->range));
}

/* A list where a tensor is asked for. */
static Value match_list(const Match *match, Value list) {
    const Context *context = match->context;
    Element element;
    if (!element_by_name(match->declared->element.text, &element)) element = list_element(&list);
    NodeId node = to_node(context, &list, element, match->range);
    return node == NODE_NONE
               ? value_error
               : match_tensor(match, value_tensor(context->graph, node, match->range));
}

/* The number a value is at compile time. */
static bool match_known(const Match *match, const Value *value, double *number) {
    bool numeric = value->kind == VALUE_number || value->kind == VALUE_truth ||
                   value->kind == VALUE_size || value->kind == VALUE_tensor;
    if (numeric) return to_number(match->context, value, match->range, number);
    mismatch(match, E0203, value);
    return false;
}

/* A size, or a whole number, which may be negative. */
static void match_int(const Match *match, Value *value) {
    double number;
    if (value->kind == VALUE_size) return;
    if (!match_known(match, value, &number)) {
        *value = value_error;
    } else if (number != floor(number)) {
        Diagnostic *d = report(match->context, E0203, match->range,
                               "%s expects a whole number, this is "
                               "%.15g",
                               match->what, number);
        diagnostic_note(d, match->declared->range, "declared here");
        *value = value_error;
    }
}

/* `int`, `number`, `string`, `path`: what exists only at compile time. False: another type. */
static bool match_compile_time(const Match *match, Value *value) {
    const char *name = match->declared->element.text;
    Context fixing = *match->context;
    fixing.fixing = true;
    if (!strcmp(name, "int") || !strcmp(name, "number")) {
        double number;
        if (value->kind == VALUE_option && value->index >= 0) {
            Option *option = &fixing.lowering->program->options.items[value->index];
            option->fixed = true;
            *value = value_number(option->number, value->range);
        }
        if (!strcmp(name, "int")) {
            match_int(match, value);
        } else if (!match_known(match, value, &number)) {
            *value = value_error;
        }
        return true;
    }
    if (strcmp(name, "string") && strcmp(name, "path")) return false;
    if (value->kind != VALUE_string) {
        mismatch(match, E0203, value);
        *value = value_error;
    }
    return true;
}

Value match_type(const Context *context, const TypeTree *declared, Value value, Range range,
                 const char *what, bool *lifted) {
    Match match = {context, declared, range, what, lifted};
    if (value.kind == VALUE_error) return value;
    if (!declared->element.text) return match_record(&match, value);
    if (match_compile_time(&match, &value)) return value;
    switch (value.kind) {
    case VALUE_number:
    case VALUE_truth:
    case VALUE_size:
    case VALUE_option: return match_number(&match, value);
    case VALUE_tensor: return match_tensor(&match, value);
    case VALUE_field: return match_field(&match, &value);
    case VALUE_items:
        if (value.items.count && !value.items.names) return match_list(&match, value);
        break;
    default: break;
    }
    mismatch(&match, E0203, &value);
    return value_error;
}

static bool resolve_element(const Context *context, const Name *name, Element *element) {
    if (element_by_name(name->text, element)) return true;
    const Binding *bound = scope_find(context->scope, name->text);
    if (bound && bound->value.kind == VALUE_element) {
        *element = bound->value.element;
        return true;
    }
    if (context->checking && isupper((unsigned char)name->text[0])) {
        *element = TYPE_f32;
        return true;
    }
    report_type(context, name);
    return false;
}

bool is_dimension(const Context *context, Dim size, Range range) {
    int64_t constant;
    if (!dim_is_constant(size, &constant) || constant >= 1) return true;
    report(context, E0211, range, "a dimension has at least size 1, not %lld", (long long)constant);
    return false;
}

static bool push_dimension(const Context *context, const TypeTree *declared, Type *type, Dim size) {
    if (!size || !is_dimension(context, size, declared->range)) return false;
    if (type->rank == RANK_LIMIT) {
        report(context, E0208, declared->range, "a tensor has at most %d dimensions", RANK_LIMIT);
        return false;
    }
    type->dims[type->rank++] = size;
    return true;
}

bool resolve_type(const Context *context, const TypeTree *declared, Type *type) {
    *type = (Type){0};
    if (!declared->element.text) {
        report(context, E0214, declared->range,
               "a record has no place here; one tensor is asked for");
        return false;
    }
    if (!resolve_element(context, &declared->element, &type->element)) return false;
    for (size_t i = 0; i < declared->dimensions.count; i++) {
        const Expression *dimension = declared->dimensions.items[i];
        if (dimension->kind != EXPRESSION_ellipsis) {
            if (!push_dimension(context, declared, type, dimension_size(context, dimension)))
                return false;
            continue;
        }
        const Binding *rest = scope_find(context->scope, "...");
        if (!rest) {
            report(context, E0214, dimension->range, "`...` is not known here");
            return false;
        }
        for (size_t j = 0; j < rest->value.items.count; j++)
            if (!push_dimension(context, declared, type, rest->value.items.values[j].size))
                return false;
    }
    bool sized = true;
    for (int i = 0; i < type->rank; i++) sized &= dim_bound(type->dims[i]) != SIZE_UNKNOWN;
    if (!sized || type_size_bound(type) >= 0) return true;
    report(context, E0216, declared->range, "%s is larger than 2^47 bytes",
           type_text(context->lowering->arena, type));
    return false;
}

bool bind_expected(const Context *context, const TypeTree *declared, const Type *expected) {
    if (!declared || !declared->element.text || !declared->dimensions.count) return true;
    int rest = find_ellipsis(declared), count = (int)declared->dimensions.count;
    if (rest < 0 ? expected->rank != count : expected->rank < count - 1) return false;
    int stretch = expected->rank - count;
    for (int i = 0; i < count; i++) {
        const Expression *dimension = declared->dimensions.items[i];
        int at = rest >= 0 && i > rest ? i + stretch : i;
        if (i != rest && is_free(context, dimension))
            scope_put(context->lowering->arena, context->scope, dimension->name.text,
                      value_size(expected->dims[at], dimension->range));
    }
    if (rest < 0 || scope_find(context->scope, "...")) return true;
    Items items = items_new(context->lowering->arena, (size_t)(stretch + 1));
    for (int i = 0; i <= stretch; i++)
        items.values[i] = value_size(expected->dims[rest + i], declared->range);
    scope_put(context->lowering->arena, context->scope, "...",
              (Value){.kind = VALUE_items, .range = declared->range, .items = items});
    return true;
}

static void bind_symbols_in(const Context *context, const Expression *expression) {
    Lowering *lowering = context->lowering;
    if (expression->left) bind_symbols_in(context, expression->left);
    if (expression->right) bind_symbols_in(context, expression->right);
    if (expression->kind == EXPRESSION_ellipsis && !scope_find(context->scope, "...")) {
        Items items = items_new(lowering->arena, 1);
        items.values[0] = value_size(dim_symbol(lowering->dimensions, "...", SIZE_UNKNOWN, false),
                                     expression->range);
        scope_put(lowering->arena, context->scope, "...",
                  (Value){.kind = VALUE_items, .range = expression->range, .items = items});
    }
    if (!is_free(context, expression)) return;
    bool batch = context->graph->batch && !strcmp(expression->name.text, "B");
    Dim symbol = batch
                     ? context->graph->batch
                     : dim_symbol(lowering->dimensions, expression->name.text, SIZE_UNKNOWN, false);
    scope_put(lowering->arena, context->scope, expression->name.text,
              value_size(symbol, expression->range));
}

void bind_symbols(const Context *context, const TypeTree *declared) {
    if (!declared) return;
    for (size_t i = 0; i < declared->dimensions.count; i++)
        bind_symbols_in(context, declared->dimensions.items[i]);
    if (declared->high) bind_symbols_in(context, declared->high);
    for (size_t i = 0; i < declared->fields.count; i++)
        bind_symbols(context, declared->fields.items[i].type);
}
