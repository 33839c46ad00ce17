#include "compiler/lower/given.h"

#include "compiler/lower/stream.h"

#include <string.h>

static int find_parameter(const Given *given, const Argument *argument, size_t position) {
    for (int i = 0; given->parameters[i]; i++)
        if (argument->name.text ? !strcmp(argument->name.text, given->parameters[i])
                                : i == (int)position)
            return i;
    return -1;
}

/* "the field, `size`; if wanted `value`, `cut`": the first `required` have no default. */
static const char *parameters_text(const Given *given, int required, const char *before) {
    Text text = text_new(given->context->lowering->arena);
    text_add(&text, before);
    for (int i = 0; given->parameters[i]; i++)
        text_format(&text, "%s`%s`",
                    i == required  ? "; if wanted "
                    : i || *before ? ", "
                                   : "",
                    given->parameters[i]);
    if (!given->parameters[0]) text_add(&text, " and nothing else");
    return text_string(&text);
}

static void take_arguments(Given *given, const ArgumentList *arguments, int required,
                           const char *before, const char *example) {
    bool good = true;
    for (size_t i = 0; i < arguments->count; i++) {
        int which = find_parameter(given, &arguments->items[i], i);
        good = good && which >= 0 && !given->values[which];
        if (which >= 0) given->values[which] = arguments->items[i].value;
    }
    for (int i = 0; i < required; i++) good = good && given->values[i];
    if (good) return;
    Diagnostic *d = report(given->context, E0204, given->call->range, "`%s` takes %s",
                           given->call->name.text, parameters_text(given, required, before));
    diagnostic_help(d, "`%s`", example);
    given->broken = true;
}

Given given_arguments(const Context *context, const Expression *call, const char *const *parameters,
                      int required, const char *example) {
    Given given = {.context = context, .call = call, .parameters = parameters};
    take_arguments(&given, &call->arguments, required, "", example);
    return given;
}

Given given_behind_field(const FieldCall *call, const char *const *parameters, int required,
                         const char *example) {
    Given given = {.context = call->context, .call = call->call, .parameters = parameters};
    take_arguments(&given, &call->rest, required, "the field", example);
    return given;
}

Value given_value(Given *given, int which) {
    Context fixing = *given->context;
    fixing.fixing = true;
    return lower_expression(&fixing, given->values[which]);
}

static void refuse(Given *given, ErrorCode code, int which, const Value *value, const char *what) {
    Arena *arena = given->context->lowering->arena;
    given->broken = true;
    if (value->kind == VALUE_error) return;
    report(given->context, code, given->values[which]->range, "`%s` is %s, not %s",
           given->parameters[which], what,
           value->kind == VALUE_string ? arena_format(arena, "\"%s\"", value->string)
                                       : value_text(arena, value));
}

void given_refuse(Given *given, int which, const Value *value, const char *what) {
    refuse(given, E0211, which, value, what);
}

double given_number(Given *given, int which, double otherwise, double least, double most) {
    double number = otherwise;
    if (given->broken || !given->values[which]) return otherwise;
    given->broken = !whole_number(given->context, given->values[which], given->parameters[which],
                                  least, most, &number);
    return number;
}

bool given_truth(Given *given, int which, bool otherwise) {
    if (given->broken || !given->values[which]) return otherwise;
    Value value = given_value(given, which);
    if (value.kind != VALUE_truth) refuse(given, E0203, which, &value, "true or false");
    return value.number != 0;
}

const char *given_choice(Given *given, int which, const char *const *texts) {
    Arena *arena = given->context->lowering->arena;
    if (given->broken || !given->values[which]) return texts[0];
    Value value = given_value(given, which);
    Text all = text_new(arena);
    if (value.kind == VALUE_string && value.string == any_string) return texts[0];
    for (int i = 0; texts[i]; i++) {
        if (value.kind == VALUE_string && !strcmp(value.string, texts[i])) return texts[i];
        text_format(&all, "%s\"%s\"", i ? ", " : "one of ", texts[i]);
    }
    given_refuse(given, which, &value, text_string(&all));
    return texts[0];
}

Dim given_size(Given *given, int which) {
    Context fixing = *given->context;
    fixing.fixing = true;
    if (given->broken) return NULL;
    Value size = given_value(given, which);
    Range range = given->values[which]->range;
    Dim dim = to_size(&fixing, &size, range);
    given->broken = !dim || !is_dimension(&fixing, dim, range);
    return given->broken ? NULL : dim;
}

/* A size that no run chooses is any other number. */
static bool is_open(const Value *value) {
    int64_t known;
    return value->kind == VALUE_size && !dim_is_constant(value->size, &known);
}

Dim given_distance(Given *given, int which, Dim otherwise) {
    const Context *context = given->context;
    if (given->broken || !given->values[which]) return otherwise;
    Value value = given_value(given, which);
    if (is_open(&value)) {
        given->broken = !is_dimension(context, value.size, given->values[which]->range);
        return value.size;
    }
    double number = given_number(given, which, 1, 1, 1 << 24);
    return dim_constant(context->lowering->dimensions, (int64_t)number);
}

Value given_string(Given *given, int which) {
    if (given->broken || !given->values[which]) return value_error;
    Value value = lower_expression(given->context, given->values[which]);
    if (value.kind == VALUE_string) return value;
    refuse(given, E0203, which, &value, "a text");
    return value_error;
}
