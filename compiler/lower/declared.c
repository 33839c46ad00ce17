/* Declared: types as they are written: the names in them, and what they are once all are bound. */
#include "compiler/lower/signature.h"

#include <ctype.h>
#include <string.h>

/* Names. */

static bool is_unbound(const Context *context, const char *name) {
    const Unit *unit;
    return !scope_find(context->scope, name) &&
           !module_find(context->lowering->module, context->unit, name, &unit);
}

bool is_open(const Expression *dimension) {
    return dimension->kind == EXPRESSION_name && dimension->name.text[0] == '?';
}

bool is_free(const Context *context, const Expression *dimension) {
    return dimension->kind == EXPRESSION_name && !is_open(dimension) &&
           is_unbound(context, dimension->name.text);
}

int find_ellipsis(const TypeTree *declared) {
    for (size_t i = 0; i < declared->dimensions.count; i++)
        if (declared->dimensions.items[i]->kind == EXPRESSION_ellipsis) return (int)i;
    return -1;
}

Dim dimension_size(const Context *context, const Expression *dimension) {
    if (is_open(dimension))
        return dim_symbol(context->lowering->dimensions, dimension->name.text, SIZE_UNKNOWN, false);
    Context fixing = *context;
    fixing.fixing = true;
    Value value = lower_expression(&fixing, dimension);
    return to_size(&fixing, &value, dimension->range);
}

int axis_of_declared(const TypeTree *declared, int dimension, int rank) {
    int rest = find_ellipsis(declared), count = (int)declared->dimensions.count;
    return rest >= 0 && dimension > rest ? dimension + rank - count : dimension;
}

void bind_free(const Context *context, const TypeTree *declared, const Type *type, Range range) {
    for (int i = 0; i < (int)declared->dimensions.count; i++) {
        const Expression *dimension = declared->dimensions.items[i];
        if (!is_free(context, dimension)) continue;
        Dim size = type->dims[axis_of_declared(declared, i, type->rank)];
        scope_put(context->lowering->arena, context->scope, dimension->name.text,
                  value_size(size, range.source ? range : dimension->range));
    }
}

void bind_rest(const Context *context, const Dim *dims, int count, Range range) {
    Items items = items_new(context->lowering->arena, (size_t)count);
    for (int i = 0; i < count; i++) items.values[i] = value_size(dims[i], range);
    scope_put(context->lowering->arena, context->scope, "...",
              (Value){.kind = VALUE_items, .range = range, .items = items});
}

static void find_quotient(Dim dividend, Dim divisor, void *found) {
    (void)dividend, (void)divisor;
    *(bool *)found = true;
}

bool is_undecided(const Context *context, Dim size) {
    bool found = false;
    if (context->checking) dim_each_quotient(size, find_quotient, &found);
    return found;
}

/* Types. */

enum { COMPILE_TIME_COUNT = 4 };

static const char *const compile_time_types[COMPILE_TIME_COUNT] = {"int", "number", "path",
                                                                   "string"};

/* What other languages call the types. */
static const char *nearest_type(const char *name) {
    static const char *const known[][2] = {
        {"float", "f32"}, {"float32", "f32"}, {"double", "f64"},   {"float64", "f64"},
        {"byte", "u8"},   {"uint8", "u8"},    {"int8", "i8"},      {"int32", "i32"},
        {"int64", "i64"}, {"long", "i64"},    {"boolean", "bool"}, {"str", "string"},
        {"half", "f16"},  {"float16", "f16"}, {"bfloat16", "bf16"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i][0], name)) return known[i][1];
    const char *names[ELEMENT_COUNT + COMPILE_TIME_COUNT];
    for (int i = 0; i < ELEMENT_COUNT; i++) names[i] = element_info[i].name;
    memcpy(names + ELEMENT_COUNT, compile_time_types, sizeof compile_time_types);
    return nearest_name(name, names, sizeof names / sizeof *names);
}

bool is_compile_time(const char *name) {
    for (int i = 0; i < COMPILE_TIME_COUNT; i++)
        if (!strcmp(compile_time_types[i], name)) return true;
    return false;
}

void report_type(const Context *context, const Name *name) {
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
    if (nearest) return;
    Text all = text_new(context->lowering->arena);
    for (int i = 0; i < ELEMENT_COUNT; i++) text_format(&all, " %s", element_info[i].name);
    diagnostic_help(d, "the element types are%s", text_string(&all));
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
    int64_t constant, most = dim_bound(size);
    if (most >= 1) return true;
    if (dim_is_constant(size, &constant))
        report(context, E0211, range, "a dimension has at least size 1, not %lld",
               (long long)constant);
    else
        report(context, E0211, range, "a dimension has at least size 1, %s is at most %lld",
               dim_text(context->lowering->arena, size), (long long)most);
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
    const char *excess = type_excess(context->lowering->dimensions, type);
    if (!excess) return true;
    report(context, E0216, declared->range, "%s %s", type_text(context->lowering->arena, type),
           excess);
    return false;
}

bool bind_expected(const Context *context, const TypeTree *declared, const Type *expected) {
    if (!declared || !declared->element.text || !declared->dimensions.count) return true;
    int rest = find_ellipsis(declared), count = (int)declared->dimensions.count;
    if (rest < 0 ? expected->rank != count : expected->rank < count - 1) return false;
    bind_free(context, declared, expected, (Range){0});
    if (rest >= 0 && !scope_find(context->scope, "..."))
        bind_rest(context, expected->dims + rest, expected->rank - count + 1, declared->range);
    return true;
}

static void bind_symbols_in(const Context *context, const Expression *expression) {
    Lowering *lowering = context->lowering;
    if (expression->left) bind_symbols_in(context, expression->left);
    if (expression->right) bind_symbols_in(context, expression->right);
    if (expression->kind == EXPRESSION_ellipsis && !scope_find(context->scope, "...")) {
        Dim rest = dim_symbol(lowering->dimensions, "...", SIZE_UNKNOWN, false);
        bind_rest(context, &rest, 1, expression->range);
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
