/* Builtin: the table of builtins.def, and how a call's arguments become parameters. */
#include "compiler/lower/builtin.h"

#include <string.h>

static const Builtin builtins[] = {
#define BUILTIN(name, needed, positions, ...) \
    {#name, needed, positions, {__VA_ARGS__}, call_##name},
#include "compiler/lower/builtins.def"
#undef BUILTIN
};

const Builtin *find_builtin(const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(builtins[i].name, name)) return &builtins[i];
    return NULL;
}

const char *nearest_builtin(const char *name) {
    const char *names[sizeof builtins / sizeof *builtins];
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) names[i] = builtins[i].name;
    return nearest_name(name, names, sizeof names / sizeof *names);
}

static int parameter_count(const Builtin *builtin) {
    int count = 0;
    while (count < PARAMETER_LIMIT && builtin->parameters[count]) count++;
    return count;
}

static void bind(BuiltinCall *call, int which, Value value, Range range) {
    if (call->given[which]) {
        report(call->context, E0204, range, "`%s` is given `%s` twice", call->builtin->name,
               call->builtin->parameters[which]);
        fail_call(call);
    }
    if (value.kind == VALUE_error) fail_call(call);
    if (!value.range.source) value.range = range;
    call->given[which] = true;
    call->values[which] = value;
}

/* `reshape(x, B, 784)` has to be `reshape(x, [B, 784])`. */
static bool takes_list(const char *name) {
    static const char *const names[] = {"reshape", "broadcast",      "permute",      "tile",
                                        "iota",    "random_uniform", "random_normal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static void bind_position(BuiltinCall *call, int position, Value value, Range range) {
    const Builtin *builtin = call->builtin;
    if (position < builtin->positions) {
        bind(call, position, value, range);
        return;
    }
    Diagnostic *d =
        report(call->context, E0204, range, "`%s` takes %d argument%s, this is one more",
               builtin->name, builtin->positions, builtin->positions == 1 ? "" : "s");
    if (!strcmp(builtin->name, "max") || !strcmp(builtin->name, "min"))
        diagnostic_help(d, "the larger of two values is maximum(a, b), the smaller minimum(a, b)");
    else if (takes_list(builtin->name)) diagnostic_help(d, "sizes stand in one list: `[2, 3]`");
    else if (parameter_count(builtin) > builtin->positions)
        diagnostic_help(d, "`%s = …` says what it is", builtin->parameters[builtin->positions]);
    fail_call(call);
}

static void bind_name(BuiltinCall *call, const Name *name, Value value, Range range) {
    const Builtin *builtin = call->builtin;
    int count = parameter_count(builtin), which = 0;
    while (which < count && strcmp(builtin->parameters[which], name->text)) which++;
    if (which < count) {
        bind(call, which, value, range);
        return;
    }
    Diagnostic *d = report(call->context, E0204, name->range, "`%s` has no argument `%s`",
                           builtin->name, name->text);
    const char *nearest = nearest_name(name->text, builtin->parameters, (size_t)count);
    help_nearest(d, nearest);
    if (!nearest)
        diagnostic_help(
            d, "its arguments are %s",
            names_text(call->context->lowering->arena, builtin->parameters, (size_t)count));
    fail_call(call);
}

/* `...` is an argument of size alone. */
static Value lower_argument(const BuiltinCall *call, const Context *outside,
                            const Expression *argument) {
    if (argument->kind != EXPRESSION_ellipsis || call->builtin->lower != call_size)
        return lower_expression(outside, argument);
    return (Value){.kind = VALUE_items, .range = argument->range, .string = "..."};
}

static void bind_all(BuiltinCall *call, const Value *piped) {
    int position = 0;
    Context outside = *call->context;
    outside.expected = NULL;
    if (piped) bind_position(call, position++, *piped, piped->range);
    vector_each(Argument, argument, call->expression->arguments) {
        Value value = lower_argument(call, &outside, argument->value);
        Range range = argument->value->range;
        if (argument->name.text) bind_name(call, &argument->name, value, range);
        else bind_position(call, position++, value, range);
    }
    for (int i = 0; i < call->builtin->needed && !call->broken; i++) {
        if (call->given[i]) continue;
        report(call->context, E0204, call->range, "`%s` needs `%s`", call->builtin->name,
               call->builtin->parameters[i]);
        fail_call(call);
    }
}

Value run_builtin(BuiltinCall *call, const Value *piped) {
    bind_all(call, piped);
    bool tensor = !strcmp(call->builtin->parameters[0], "x");
    if (call->broken || (tensor && !tensor_argument(call, 0))) return value_error;
    return call->builtin->lower(call);
}
