/* Signature: matching values against declared types, which binds the dimensions they name.
 *
 * A name in a shape that is neither in scope nor declared is a dimension of the signature: the
 * first value that has it binds it. `...` binds all dimensions between the fixed ones. `B` is the
 * batch: a value that has none is a batch of one record there. `?n` is a size that each record of
 * the data has for itself: it fits any, and no op takes what has it. */
#include "compiler/lower/signature.h"

#include <math.h>
#include <string.h>

const char *declared_text(const Context *context, const TypeTree *declared) {
    return range_text(context, declared->range);
}

void help_flatten(const Match *match, Diagnostic *d, const Value *value) {
    const ExpressionList *dimensions = &match->declared->dimensions;
    if (value->kind != VALUE_tensor || dimensions->count != 2) return;
    if (!dimensions->items[0]->name.text || strcmp(dimensions->items[0]->name.text, "B")) return;
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

Diagnostic *report_mismatch(const Match *match, ErrorCode code, const Value *value) {
    const Context *context = match->context;
    Diagnostic *d = report(context, code, match->range, "%s expects %s, receives %s", match->what,
                           declared_text(context, match->declared),
                           value_text(context->lowering->arena, value));
    diagnostic_note(d, match->declared->range, "declared here");
    help_flatten(match, d, value);
    return d;
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
    if (field->form >= FORM_image && has_open_size(match->declared)) return *field;
    for (size_t i = 0; known && i < match->declared->dimensions.count; i++)
        known = !is_free(context, match->declared->dimensions.items[i]);
    if (!known || !resolve_type(context, match->declared, &type)) {
        Diagnostic *d = report(context, E0203, match->range, "the type of `%s` is not known here",
                               field_name(field));
        help_untyped(d, field);
        return value_error;
    }
    Value typed = type_field(context, field, type, match->range);
    return typed.kind == VALUE_error ? typed : match_tensor(match, typed);
}

/* Numbers keep being numbers where a single one is asked for, so that they can still fold. */
static Value match_number(const Match *match, Value value) {
    const Context *context = match->context;
    Element element;
    if (!element_by_name(match->declared->element.text, &element)) element = TYPE_f32;
    if (!match->declared->dimensions.count && !match->declared->low) {
        bool whole = !is_floating(element);
        if (whole && value.kind == VALUE_number && value.number != floor(value.number)) {
            report_mismatch(match, E0203, &value);
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
    report_mismatch(match, E0203, value);
    return false;
}

/* A size, or a whole number, which may be negative. */
static void match_int(const Match *match, Value *value) {
    double number;
    if (value->kind == VALUE_size) return;
    if (!match_known(match, value, &number)) {
        *value = value_error;
    } else if (number != floor(number)) {
        const char *written = range_text(match->context, match->range);
        bool division = strchr(written, '/') && !strchr(written, '\n');
        Diagnostic *d =
            report(match->context, E0203, match->range,
                   "%s expects a whole number, %s%s%s is %.15g", match->what, division ? "`" : "",
                   division ? written : "this", division ? "`" : "", number);
        diagnostic_note(d, match->declared->range, "declared here");
        *value = value_error;
    }
}

/* `int`, `number`, `string`, `path`: what exists only at compile time. False: another type. */
static bool match_compile_time(const Match *match, Value *value) {
    const char *name = match->declared->element.text;
    if (!strcmp(name, "int") || !strcmp(name, "number")) {
        double number;
        if (value->kind == VALUE_option && !run_number(value))
            *value = value_number(fixed_number(match->context, value), value->range);
        if (!strcmp(name, "int")) {
            match_int(match, value);
        } else if (!match_known(match, value, &number)) {
            *value = value_error;
        }
        return true;
    }
    if (strcmp(name, "string") && strcmp(name, "path")) return false;
    if (value->kind != VALUE_string) {
        report_mismatch(match, E0203, value);
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
    report_mismatch(&match, E0203, &value);
    return value_error;
}
