/* Pack: the tokens of all texts, laid end to end, become rows of one size. */
#include "compiler/lower/given.h"
#include "compiler/lower/stream.h"

#include <string.h>

/* The record's only field, which is tokens; NULL after reporting. */
static const Value *only_tokens(const Context *context, const Expression *call,
                                const Stream *stream) {
    const Value *field = &stream->record.values[0];
    if (stream->record.count == 1 && field->kind == VALUE_field && field->form == FORM_tokens)
        return field;
    Diagnostic *d = report(context, E0203, call->range,
                           "`pack` takes records whose only field is tokens of any number");
    diagnostic_help(d, "`map(ids: bpe(text, \"vocab.json\", \"merges.txt\")) |> pack(129)`");
    return NULL;
}

/* What the runtime gets of a text: where its tokens lie, and how many. */
static Value as_span(const Context *context, Stream *stream, const Value *tokens) {
    Field *field = arena_new_item(context->lowering->arena, Field);
    Value span = *tokens;
    *field = *tokens->field;
    field->tokens.use = "span";
    span.field = field;
    span.form = FORM_tensor;
    Dim two = dim_constant(context->lowering->dimensions, 2);
    Context inner = record_context(context, stream);
    return type_field(&inner, &span, (Type){.element = TYPE_i64, .rank = 1, .dims = {two}},
                      tokens->range);
}

static Value add_rows(const Context *context, Stream *stream, const TextTokens *tokens,
                      Range range) {
    Section *section = stream->pipeline->section;
    Context inner = record_context(context, stream);
    Field field = {.name = stream->record.names[0],
                   .type = {.element = TYPE_i32, .rank = 1, .dims = {section->window}}};
    if (type_size_bound(&field.type) < 0) {
        report(context, E0216, range, "a row of `%s` is larger than 2^47 bytes", field.name);
        return value_error;
    }
    vector_push(context->lowering->arena, &section->fields, field);
    NodeId node = input_node(&inner, field.name, INPUT_field, 0, field.type, field.type, range);
    return with_tokens_range(context, tokens, section->separator,
                             value_tensor(inner.graph, node, range));
}

/* After a filter or a shuffle the section that made the tokens is finished as any other. */
static Section *new_section(const Context *context, const Expression *call, Stream *stream) {
    Pipeline *pipeline = stream->pipeline;
    settle_orders(pipeline);
    if (!finish_section(context, stream)) return NULL;
    if (pipeline->sections.count < SECTION_LIMIT) return add_section(context, pipeline);
    report(context, E0217, call->range, "a pipeline has at most %d windows", SECTION_LIMIT - 1);
    return NULL;
}

Value lower_pack(const Context *context, const Expression *call, const Value *piped) {
    static const char *const parameters[] = {"size", "stride", "separator", NULL};
    Stream *stream = piped->stream;
    Given given = given_arguments(context, call, parameters, 1,
                                  "pack(129)`, `pack(129, stride = 128, separator = 0)");
    Dim size = given_distance(&given, 0, NULL), stride = given_distance(&given, 1, size);
    double separator = given_number(&given, 2, -1, 0, INT32_MAX - 1);
    if (given.broken || !can_look_up(context, call->range, "`pack`", stream->pipeline))
        return value_error;
    const Value *tokens = only_tokens(context, call, stream);
    if (!tokens) return value_error;
    const TextTokens *described = &tokens->field->tokens;
    stream->record.values[0] = as_span(context, stream, tokens);
    Section *section = new_section(context, call, stream);
    if (!section) return value_error;
    section->window = size;
    section->stride = stride;
    section->packs = true;
    section->separator = separator;
    stream->open = false;
    stream->record.values[0] = add_rows(context, stream, described, call->range);
    return stream->record.values[0].kind == VALUE_error ? value_error : *piped;
}
