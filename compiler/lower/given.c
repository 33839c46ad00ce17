#include "compiler/lower/given.h"

#include <math.h>
#include <string.h>

static int find_parameter(const Given *given, const Argument *argument, size_t position) {
    for (int i = 0; given->parameters[i]; i++)
        if (argument->name.text ? !strcmp(argument->name.text, given->parameters[i])
                                : i == (int)position)
            return i;
    return -1;
}

Given given_arguments(const FieldCall *call, const char *const *parameters, int required,
                      const char *example) {
    Given given = {.call = call, .parameters = parameters};
    bool good = true;
    for (size_t i = 0; i < call->rest.count; i++) {
        int which = find_parameter(&given, call->rest.items[i], i);
        good = good && which >= 0 && !given.values[which];
        if (which >= 0) given.values[which] = call->rest.items[i]->value;
    }
    for (int i = 0; i < required; i++) good = good && given.values[i];
    if (good) return given;
    Text text = text_new(call->context->lowering->arena);
    for (int i = 0; parameters[i]; i++) text_format(&text, "%s`%s`", i ? ", " : "", parameters[i]);
    Diagnostic *d = report(call->context, E0204, call->call->range, "`%s` takes the field and %s",
                           call->call->name.text, text_string(&text));
    diagnostic_help(d, "`%s`", example);
    given.broken = true;
    return given;
}

Value given_value(Given *given, int which) {
    Context fixing = *given->call->context;
    fixing.fixing = true;
    return lower_expression(&fixing, given->values[which]);
}

void given_refuse(Given *given, int which, const Value *value, const char *what) {
    Arena *arena = given->call->context->lowering->arena;
    given->broken = true;
    if (value->kind == VALUE_error) return;
    report(given->call->context, E0211, given->values[which]->range, "`%s` is %s, not %s",
           given->parameters[which], what,
           value->kind == VALUE_string ? arena_format(arena, "\"%s\"", value->string)
                                       : value_text(arena, value));
}

double given_number(Given *given, int which, double otherwise, double least, double most) {
    double number = otherwise;
    if (given->broken || !given->values[which]) return otherwise;
    Value value = given_value(given, which);
    Context fixing = *given->call->context;
    fixing.fixing = true;
    if (value.kind == VALUE_error ||
        !to_number(&fixing, &value, given->values[which]->range, &number))
        given->broken = true;
    else if (number != floor(number) || number < least || number > most)
        given_refuse(given, which, &value,
                     arena_format(given->call->context->lowering->arena,
                                  "a whole number from %.15g to %.15g", least, most));
    return number;
}

bool given_truth(Given *given, int which, bool otherwise) {
    if (given->broken || !given->values[which]) return otherwise;
    Value value = given_value(given, which);
    if (value.kind != VALUE_truth) given_refuse(given, which, &value, "true or false");
    return value.number != 0;
}

const char *given_choice(Given *given, int which, const char *const *texts) {
    Arena *arena = given->call->context->lowering->arena;
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
    Context fixing = *given->call->context;
    fixing.fixing = true;
    if (given->broken) return NULL;
    Value size = given_value(given, which);
    Range range = given->values[which]->range;
    Dim dim = to_size(&fixing, &size, range);
    given->broken = !dim || !is_dimension(&fixing, dim, range);
    return given->broken ? NULL : dim;
}

Value given_string(Given *given, int which) {
    if (given->broken || !given->values[which]) return value_error;
    Value value = lower_expression(given->call->context, given->values[which]);
    if (value.kind == VALUE_string) return value;
    given_refuse(given, which, &value, "a text");
    return value_error;
}
