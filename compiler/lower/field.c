/* Field: what a source's fields can become. A field of an open stream (the columns of a table, the
 * members of an archive) is only described until a use tells its type; then it is one of the
 * section's, and the source makes it so. */
#include "compiler/lower/field.h"

#include <math.h>
#include <string.h>

static Field *field_new(const Context *context, const char *name) {
    const Stream *stream = context->stream;
    Field *field = arena_new_item(context->lowering->arena, Field);
    *field = (Field){.name = name,
                     .column = name,
                     .path = stream->path,
                     .path_option = stream->path_option,
                     .line = stream->lines};
    return field;
}

/* Of the open stream. */
static Value field_value(const Context *context, const Field *field, FieldForm form, Range range) {
    return (Value){.kind = VALUE_field,
                   .range = range,
                   .form = form,
                   .field = field,
                   .stream = context->stream};
}

Value open_field(const Context *context, const char *name, Range range) {
    return field_value(context, field_new(context, name), context->stream->form, range);
}

/* Typing. */

static bool fits_form(const Value *field, const Type *type) {
    int64_t channels;
    switch (field->form) {
    case FORM_tensor:
    case FORM_value:
    case FORM_feature: return true;
    case FORM_columns: return type->rank == 1 && type->dims[0] == field->field->type.dims[0];
    case FORM_cell:
    case FORM_number: return type->rank == 0;
    case FORM_bytes: return type->element == TYPE_u8;
    case FORM_tokens: return type->element == TYPE_i32 && type->rank == 1;
    case FORM_image:
        return type->element == TYPE_u8 && type->rank == 3 &&
               dim_is_constant(type->dims[2], &channels) && is_channels(channels);
    case FORM_large: return false;
    }
    return false;
}

/* Does `channels = …` say something else? */
static bool has_other_channels(const Field *field, const Type *type) {
    int64_t channels;
    return field && field->picture.channels && type->rank == 3 &&
           dim_is_constant(type->dims[2], &channels) && channels != field->picture.channels;
}

static Value report_channels(const Context *context, const Value *field, const Type *type,
                             Range range) {
    report(context, E0203, range, "`%s` is decoded to %d channel%s, not %s", field_name(field),
           field->field->picture.channels, field->field->picture.channels == 1 ? "" : "s",
           type_text(context->lowering->arena, type));
    return value_error;
}

static void help_tokens(Diagnostic *d) {
    diagnostic_help(d, "`|> pad(128)` makes i32[128] of them, `|> length()` counts them, the stage "
                       "`pack(129)` lays all end to end");
}

static void help_bytes(Diagnostic *d, const Value *field) {
    const char *name = field_name(field);
    if (is_line(field))
        diagnostic_help(d,
                        "`integer(%s)` is its number, `%s |> : u8[80]` its bytes with zeros "
                        "behind them, `bytes(%s)` its tokens",
                        name, name, name);
    else
        diagnostic_help(d,
                        "`decode_jpeg(%s)`, `decode_png(%s)` and `integer(%s)` make values of it",
                        name, name, name);
}

void help_untyped(Diagnostic *d, const Value *field) {
    const char *name = field_name(field);
    if (field->form == FORM_bytes) help_bytes(d, field);
    else if (field->form == FORM_tokens) help_tokens(d);
    else if (field->form == FORM_image)
        diagnostic_help(d,
                        "say its size, `|> : u8[32, 32, 3]`, or give it one: `|> resize(32, 32)`");
    else if (field->form == FORM_large) diagnostic_help(d, "`|> center_crop(224, 224)`");
    else diagnostic_help(d, "say its type first: `%s |> : %s`", name, field_example(field));
}

/* What a field is in messages, and what it can be without a function. */
static const struct {
    const char *is, *becomes;
} forms[] = {
    [FORM_tensor] = {"a field of a file", ""},
    [FORM_columns] = {"columns of a table", "an array of another number of columns"},
    [FORM_value] = {"a JSON value", ""},
    [FORM_feature] = {"a feature", ""},
    [FORM_cell] = {"a cell of a table", "one number"},
    [FORM_number] = {"a number", "one number"},
    [FORM_bytes] = {"bytes", "u8[n] as it is"},
    [FORM_tokens] = {"tokens", "tokens, i32[n]"},
    [FORM_image] = {"an image", "u8[h, w, 3], u8[h, w, 4] or u8[h, w, 1] of grey"},
    [FORM_large] = {"an image to be cut", "an image to be cut"},
};

static bool report_form(const Context *context, const Value *field, const Type *type, Range range) {
    Diagnostic *d = report(context, E0203, range, "`%s` is %s, not %s", field_name(field),
                           forms[field->form].becomes, type_text(context->lowering->arena, type));
    if (field->form == FORM_bytes) help_bytes(d, field);
    if (field->form == FORM_tokens) help_tokens(d);
    if (field->form == FORM_image)
        diagnostic_help(d, "its values are 0..255: `cast(…, f32)` after `|> : u8[32, 32, 3]`");
    if (field->form == FORM_large) diagnostic_help(d, "`|> center_crop(224, 224)`");
    return false;
}

static bool are_same(const char *const *a, size_t a_count, const char *const *b, size_t b_count) {
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++) same = !strcmp(a[i], b[i]);
    return same;
}

static bool is_same(const Field *a, const Field *b) {
    bool same = a->vocabulary == b->vocabulary && a->unknown == b->unknown && a->column &&
                !strcmp(a->column, b->column) && a->decoder == b->decoder &&
                is_same_picture(&a->picture, &b->picture) && a->digits == b->digits &&
                a->fills == b->fills && a->filling == b->filling && a->columns == b->columns &&
                a->numbers == b->numbers && is_same_tokens(&a->tokens, &b->tokens) &&
                a->reads == b->reads;
    if (same && a->columns) same = a->type.dims[0] == b->type.dims[0];
    return same &&
           are_same(a->categories.items, a->categories.count, b->categories.items,
                    b->categories.count) &&
           are_same(a->except.items, a->except.count, b->except.items, b->except.count);
}

/* A name that no field of the section has. */
static const char *new_name(Arena *arena, const Section *section, const char *name) {
    int taken = 0;
    for (size_t i = 0; i < section->fields.count; i++)
        taken += !strcmp(section->fields.items[i].column, name);
    return taken ? arena_format(arena, "%s:%d", name, taken + 1) : name;
}

/* The place of a described field among the section's, where it is put when it is new. */
static size_t place_field(const Context *context, Section *section, const Field *described,
                          const Type *type) {
    Arena *arena = context->lowering->arena;
    for (size_t i = 0; i < section->fields.count; i++)
        if (is_same(&section->fields.items[i], described)) return i;
    Field field = *described;
    field.name = new_name(arena, section, field.column);
    field.type = *type;
    vector_push(arena, &section->fields, field);
    return section->fields.count - 1;
}

/* Every value that stands for the field and has no type yet. */
static void replace_field(Stream *stream, int index, const Value *typed) {
    for (size_t i = 0; i < stream->record.count; i++) {
        Value *same = &stream->record.values[i];
        if (same->kind == VALUE_field && !same->field && same->index == index) *same = *typed;
    }
}

Value type_field(const Context *context, const Value *field, Type type, Range range) {
    Stream *stream = field->stream;
    Section *section = stream->pipeline->section;
    if (has_other_channels(field->field, &type))
        return report_channels(context, field, &type, range);
    if (!fits_form(field, &type)) {
        report_form(context, field, &type, range);
        return value_error;
    }
    Context inner = *context;
    inner.function = &section->record;
    inner.graph = section->record.graph;
    size_t index =
        field->field ? place_field(context, section, field->field, &type) : (size_t)field->index;
    Field *declared = &section->fields.items[index];
    if (field->field) type = declared->type;
    declared->type = type;
    NodeId node =
        input_node(&inner, declared->name, INPUT_field, (int)index, type, type, field->range);
    if (node == NODE_NONE) return value_error;
    Value typed = value_tensor(inner.graph, node, field->range);
    if (field->form == FORM_tokens)
        typed = with_tokens_range(context, &field->field->tokens, 0, typed);
    if (!field->field) replace_field(stream, (int)index, &typed);
    return typed;
}

/* Calls. */

Field *describe(const FieldCall *call) {
    Field *field = arena_new_item(call->context->lowering->arena, Field);
    *field = *call->field.field;
    return field;
}

Value become(const FieldCall *call, const Field *field, FieldForm form) {
    Value value = call->field;
    value.field = field;
    value.form = form;
    value.range = call->call->range;
    return value;
}

/* What a function finds that takes something else. */
static const char *form_text(const Value *field) {
    if (field->field && field->field->reads && field->form == FORM_bytes)
        return "what a file holds";
    return forms[field->form].is;
}

bool expect(const FieldCall *call, FieldForm least, FieldForm most, const char *what) {
    const char *name = call->call->name.text;
    const Value *field = &call->field;
    if (field->field && field->form >= least && field->form <= most) return true;
    Diagnostic *d = report(call->context, E0203, call->call->range, "`%s` takes %s, `%s` is %s",
                           name, what, field_name(field), form_text(field));
    if (field->form == FORM_cell && !strcmp(name, "integer"))
        diagnostic_help(d, "`%s |> : i32` is a whole number", field_name(field));
    else if (field->form == FORM_cell && least > FORM_cell)
        diagnostic_help(d, "of the file that a cell names: `%s |> read_file() |> %s(…)`",
                        field_name(field), name);
    return false;
}

bool expect_unfilled(const FieldCall *call) {
    if (!call->field.field || !call->field.field->fills) return true;
    Diagnostic *d =
        report(call->context, E0203, call->call->range,
               "`%s` takes a field itself, not what `missing` makes of it", call->call->name.text);
    if (call->field.form == FORM_number && !strcmp(call->call->name.text, "category"))
        diagnostic_help(d, "an empty cell is the text `\"\"`");
    return false;
}

static bool expect_count(const FieldCall *call, size_t count, const char *example) {
    if (call->rest.count == count) return true;
    Diagnostic *d = report(call->context, E0204, call->call->range,
                           count ? "`%s` takes the field and %zu argument%s more"
                                 : "`%s` takes the field and nothing else",
                           call->call->name.text, count, count == 1 ? "" : "s");
    diagnostic_help(d, "`%s`", example);
    return false;
}

static Value lower_integer(const FieldCall *call) {
    if (!expect(call, FORM_feature, FORM_bytes, "the bytes of a field") ||
        !expect_count(call, 0, "integer(cls)"))
        return value_error;
    Field *field = describe(call);
    field->digits = true;
    return become(call, field, FORM_number);
}

/* What is said of the field from here on is said of the file that it names. */
static Value lower_read_file(const FieldCall *call) {
    bool plain = call->field.field && !call->field.field->reads;
    if (!expect_unfilled(call) ||
        !expect(call, plain ? FORM_cell : FORM_large, FORM_bytes, "the name of a file") ||
        !expect_count(call, 0, "read_file(line) |> decode_png()"))
        return value_error;
    Field *field = describe(call);
    field->reads = true;
    return become(call, field, FORM_bytes);
}

static Value lower_missing(const FieldCall *call) {
    bool given = call->field.field && call->field.field->digits;
    if (!expect(call, given ? FORM_cell : FORM_columns, FORM_feature, "a column") ||
        !expect_count(call, 1, "missing(age, 30)"))
        return value_error;
    const Expression *argument = call->rest.items[0].value;
    Value value = lower_expression(call->context, argument);
    Field *field = describe(call);
    field->fills = true;
    if (!to_number(call->context, &value, argument->range, &field->filling)) return value_error;
    return become(call, field, call->field.form == FORM_cell ? FORM_number : call->field.form);
}

enum { COLUMN_LIMIT = 1 << 20 };

/* What the source calls a column: its name, or without a header its number; NULL: it is neither. */
static const char *column_name(const Context *context, const Value *value) {
    bool header = !context->stream->pipeline->headless;
    bool number = value->kind == VALUE_number && value->number >= 0 &&
                  value->number < COLUMN_LIMIT && value->number == floor(value->number);
    if (value->kind == VALUE_string && header) return fixed_string(context, value);
    if (!number || header) return NULL;
    return arena_format(context->lowering->arena, "%.0f", value->number);
}

static Value lower_column(const Context *context, const Expression *call) {
    const Expression *argument = call->arguments.count == 1 ? call->arguments.items[0].value : NULL;
    Value value = argument ? lower_expression(context, argument) : (Value){.kind = VALUE_items};
    const char *name = column_name(context, &value);
    if (name) return open_field(context, name, call->range);
    if (value.kind == VALUE_error) return value_error;
    bool header = !context->stream->pipeline->headless;
    Diagnostic *d = report(context, E0204, call->range,
                           header ? "`column` takes the name of a column"
                                  : "without a header `column` takes a number, from 0");
    diagnostic_help(d, header ? "`column(\"total rooms\")`" : "`column(3)`");
    return value_error;
}

/* NULL after reporting. */
static const char *first_column(const Context *context, const Expression *argument) {
    Value value = lower_expression(context, argument);
    const char *name = column_name(context, &value);
    if (name || value.kind == VALUE_error) return name;
    bool header = !context->stream->pipeline->headless;
    Diagnostic *d =
        report(context, E0204, argument->range,
               header ? "a column is named here" : "without a header a column is a number, from 0");
    diagnostic_help(d, header ? "`columns(\"pixel0\", 784)`" : "`columns(1, 784)`");
    return NULL;
}

/* `except = ["id", "price"]` */
static bool except_argument(const Context *context, const Expression *argument, Field *field) {
    Value list = lower_expression(context, argument);
    bool good = list.kind == VALUE_items;
    if (list.kind == VALUE_error) return false;
    for (size_t i = 0; good && i < list.items.count; i++) {
        const char *name = column_name(context, &list.items.values[i]);
        good = name != NULL;
        vector_push(context->lowering->arena, &field->except, name);
    }
    if (!good)
        report(context, E0203, argument->range, "`except` takes a list of columns, not %s",
               value_text(context->lowering->arena, &list));
    return good;
}

static bool count_argument(const Context *context, const Expression *argument, Field *field) {
    Context fixing = *context;
    fixing.fixing = true;
    Value size = lower_expression(&fixing, argument);
    field->type.rank = 1;
    field->type.dims[0] = to_size(&fixing, &size, argument->range);
    return field->type.dims[0] && is_dimension(context, field->type.dims[0], argument->range);
}

/* What `columns` is given. */
typedef struct ColumnsCall {
    const Expression *first, *count, *except; /* or NULL */
} ColumnsCall;

/* `columns(n)`, `columns(n, except = […])`, `columns(first, n)` */
static bool read_columns(const Context *context, const Expression *call, ColumnsCall *columns) {
    bool good = context->stream->form == FORM_cell;
    *columns = (ColumnsCall){0};
    vector_each(Argument, argument, call->arguments) {
        const char *name = argument->name.text;
        const Expression **place = name ? &columns->except : &columns->count;
        if (!name && columns->count && !columns->first) {
            columns->first = columns->count;
            columns->count = NULL;
        }
        good = good && !*place && (!name || !strcmp(name, "except"));
        *place = argument->value;
    }
    if (good && columns->count && !(columns->first && columns->except)) return true;
    Diagnostic *d = report(context, E0204, call->range,
                           "`columns` takes the first column of a table and how many there are, "
                           "or how many columns hold numbers");
    diagnostic_help(d, "`columns(\"pixel0\", 784)`, `columns(9, except = [\"price\"])`");
    return false;
}

static Value lower_columns(const Context *context, const Expression *call) {
    ColumnsCall columns;
    if (!read_columns(context, call, &columns)) return value_error;
    const char *first = columns.first ? first_column(context, columns.first) : "columns";
    if (!first) return value_error;
    Field *field = field_new(context, first);
    field->columns = true;
    field->numbers = !columns.first;
    bool good = count_argument(context, columns.count, field) &&
                (!columns.except || except_argument(context, columns.except, field));
    return good ? field_value(context, field, FORM_columns, call->range) : value_error;
}

static const struct {
    const char *name;
    Value (*lower)(const FieldCall *call);
} functions[] = {{"category", lower_category},
                 {"missing", lower_missing},
                 {"integer", lower_integer},
                 {"bytes", lower_bytes},
                 {"characters", lower_characters},
                 {"bpe", lower_bpe},
                 {"pad", lower_pad},
                 {"length", lower_length},
                 {"read_file", lower_read_file},
                 {"decode", lower_decode},
                 {"decode_jpeg", lower_decode},
                 {"decode_png", lower_decode},
                 {"resize", lower_resize},
                 {"resize_short", lower_resize_short},
                 {"center_crop", lower_center_crop},
                 {"crop", lower_crop},
                 {"random_resized_crop", lower_random_resized_crop}};

bool is_field_function(const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return true;
    return false;
}

/* The field is what was piped, or the first argument. False: it is no field. */
static bool find_field(const Context *context, const Expression *expression, const Value *piped,
                       FieldCall *call) {
    *call = (FieldCall){.context = context, .call = expression};
    bool found = piped != NULL;
    if (piped) call->field = *piped;
    for (size_t i = 0; i < expression->arguments.count; i++) {
        const Argument *argument = &expression->arguments.items[i];
        if (!found) call->field = lower_expression(context, argument->value);
        else vector_push(context->lowering->arena, &call->rest, *argument);
        found = true;
    }
    return found && (call->field.kind == VALUE_field || call->field.kind == VALUE_error);
}

/* `pad` and `length` of what is no tokens are other functions. */
static bool suits(const FieldCall *call) {
    bool of_tokens =
        !strcmp(call->call->name.text, "pad") || !strcmp(call->call->name.text, "length");
    return !of_tokens || call->field.kind == VALUE_error || call->field.form == FORM_tokens;
}

static bool is_declared(const Context *context, const char *name) {
    const Unit *unit;
    return module_find(context->lowering->module, context->unit, name, &unit) ||
           is_operation_name(name);
}

static void report_no_field(const FieldCall *call) {
    const char *name = call->call->name.text;
    bool of_tokens = !strcmp(name, "length"), tensor = call->field.kind == VALUE_tensor;
    Diagnostic *d = report(call->context, E0203, call->call->range,
                           of_tokens ? "`%s` takes tokens of any number%s%s"
                                     : "`%s` takes a field of the source%s%s",
                           name, tensor ? ", this is " : "",
                           tensor ? value_text(call->context->lowering->arena, &call->field) : "");
    diagnostic_help(
        d, of_tokens ? "`line |> bytes() |> length()`"
                     : "it stands in the first `map`, before anything else is done to the field");
}

bool lower_field_call(const Context *context, const Expression *expression, const Value *piped,
                      Value *result) {
    const char *name = expression->name.text;
    FieldCall call;
    *result = value_error;
    if (!context->entering) return false;
    if (context->stream && !piped && !strcmp(name, "column")) {
        *result = lower_column(context, expression);
        return true;
    }
    if (context->stream && !piped && !strcmp(name, "columns")) {
        *result = lower_columns(context, expression);
        return true;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name)) continue;
        bool found = find_field(context, expression, piped, &call);
        found = found && suits(&call);
        if (found && call.field.kind == VALUE_field) *result = functions[i].lower(&call);
        if (found || is_declared(context, name)) return found;
        report_no_field(&call);
        return true;
    }
    return false;
}
