/* Binary: binary("file", header = 16, label: u8, image: u8[3, 32, 32]). The fields of a record are
 * types, which stand where other calls have values. */
#include "compiler/lower/stream.h"

#include <string.h>

static bool is_element(const Expression *expression, Element *element) {
    return expression->kind == EXPRESSION_name && element_by_name(expression->name.text, element);
}

static bool is_type(const Expression *expression) {
    Element element;
    if (expression->kind == EXPRESSION_index) expression = expression->left;
    return is_element(expression, &element);
}

static bool read_type(const Context *context, const Expression *expression, Type *type) {
    bool shaped = expression->kind == EXPRESSION_index;
    TypeTree declared = {.range = expression->range,
                         .element = shaped ? expression->left->name : expression->name};
    if (shaped) declared.dimensions = expression->items;
    Context fixing = *context;
    fixing.fixing = true;
    if (!resolve_type(&fixing, &declared, type)) return false;
    if (type->element != TYPE_bool) return true;
    Diagnostic *d = report(context, E0203, expression->range, "a byte may be no bool");
    diagnostic_help(d, "read it as u8 and compare: `flag == 1`");
    return false;
}

static bool is_header(const Argument *argument) {
    return argument->name.text && !strcmp(argument->name.text, "header") &&
           !is_type(argument->value);
}

static bool add_binary_field(const Context *context, Stream *stream, const Value *path,
                             const Argument *argument) {
    Type type;
    for (size_t i = 0; i < stream->record.count; i++)
        if (!strcmp(stream->record.names[i], argument->name.text)) {
            report(context, E0202, argument->name.range, "field `%s` is given twice",
                   argument->name.text);
            return false;
        }
    if (!read_type(context, argument->value, &type)) return false;
    add_typed_field(context, stream, argument->name.text, path, type, argument->name.range);
    return true;
}

/* binary("file", header = 16, …): what a field is. */
static bool open_binary_argument(const Context *context, Stream *stream, const Value *path,
                                 const Argument *argument) {
    double header;
    if (is_header(argument)) {
        if (!whole_number(context, argument->value, "header", 0, (double)(1 << 30), &header))
            return false;
        stream->pipeline->header_size = (int64_t)header;
        return true;
    }
    if (argument->name.text && is_type(argument->value))
        return add_binary_field(context, stream, path, argument);
    Diagnostic *d = report(context, E0204, argument->value->range,
                           "`binary` takes the name and the type of each field of a record");
    diagnostic_help(d, "`binary(\"file\", header = 16, label: u8, image: u8[3, 32, 32])`");
    return false;
}

bool open_binary(const Context *context, const Expression *call, Stream *stream) {
    const Argument *first = call->arguments.count ? &call->arguments.items[0] : NULL;
    Value path = {.kind = VALUE_items};
    if (first && !first->name.text) path = lower_expression(context, first->value);
    if (path.kind == VALUE_error) return false;
    if (path.kind != VALUE_string || call->arguments.count < 2) {
        Diagnostic *d = report(context, E0204, call->range,
                               "`binary` takes the name of a file and the fields of a record");
        diagnostic_help(d, "`binary(\"file\", label: u8, image: u8[3, 32, 32])`");
        return false;
    }
    if (!take_path(context, stream->pipeline, &path, first->value->range)) return false;
    for (size_t i = 1; i < call->arguments.count; i++)
        if (!open_binary_argument(context, stream, &path, &call->arguments.items[i])) return false;
    if (stream->record.count) return true;
    report(context, E0204, call->range, "a record of `binary` has at least one field");
    return false;
}
