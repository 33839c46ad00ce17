/* Record: the graph that computes one record. Every `map` of a section is lowered into it, so what
 * they do is one function when the program runs. */
#include "compiler/lower/field.h"
#include "compiler/lower/stream.h"

#include <string.h>

Context record_context(const Context *context, Stream *stream) {
    Context inner = *context;
    inner.function = &stream->pipeline->section->record;
    inner.graph = inner.function->graph;
    inner.stream = stream->open ? stream : NULL;
    inner.entering = true;
    inner.initialise = NULL;
    place_nodes(&inner);
    return inner;
}

Section *add_section(const Context *context, Pipeline *pipeline) {
    Arena *arena = context->lowering->arena;
    Section *section = arena_new_item(arena, Section);
    section->window = section->stride = dim_constant(context->lowering->dimensions, 1);
    section->record.name =
        pipeline->sections.count
            ? arena_format(arena, "%s.record%zu", pipeline->name, pipeline->sections.count + 1)
            : arena_format(arena, "%s.record", pipeline->name);
    section->record.graph = graph_new(arena, context->lowering->dimensions, section->record.name);
    section->record.of_record = true;
    vector_push(arena, &pipeline->sections, section);
    pipeline->section = section;
    return section;
}

void put_record(const Context *context, Scope *scope, const Items *record) {
    for (size_t i = 0; i < record->count; i++)
        scope_put(context->lowering->arena, scope, record->names[i], record->values[i]);
}

/* `x: …`, or the name that the value has by itself. */
static const char *argument_name(const Argument *argument) {
    const Expression *value = argument->value;
    if (argument->name.text) return argument->name.text;
    bool named = value->kind == EXPRESSION_name || value->kind == EXPRESSION_field;
    return named ? value->name.text : NULL;
}

static bool is_new_name(const Context *context, const Items *fields, size_t index,
                        const Argument *argument) {
    const char *name = fields->names[index];
    if (!name) {
        report(context, E0204, argument->value->range, "this field needs a name: `map(x: …)`");
        return false;
    }
    for (size_t j = 0; j < index; j++)
        if (fields->names[j] && !strcmp(fields->names[j], name)) {
            report(context, E0202,
                   argument->name.text ? argument->name.range : argument->value->range,
                   "field `%s` is given twice", name);
            return false;
        }
    return true;
}

Items lower_fields(const Context *context, const Context *inner, const Expression *call) {
    Items fields = items_new(context->lowering->arena, call->arguments.count);
    bool broken = !call->arguments.count;
    if (broken) report(context, E0204, call->range, "`map` makes at least one field: `map(x: …)`");
    for (size_t i = 0; i < call->arguments.count; i++) {
        const Argument *argument = &call->arguments.items[i];
        fields.names[i] = argument_name(argument);
        fields.values[i] = lower_expression(inner, argument->value);
        broken |= fields.values[i].kind == VALUE_error;
        broken |= !is_new_name(context, &fields, i, argument);
    }
    return broken ? (Items){0} : fields;
}

Value lower_map(const Context *context, const Expression *call, const Value *piped) {
    Stream *stream = piped->stream;
    Context inner = record_context(context, stream);
    inner.scope = scope_new(context->lowering->arena, context->scope);
    put_record(context, inner.scope, &stream->record);
    Items mapped = lower_fields(context, &inner, call);
    if (!mapped.names) return value_error;
    stream->record = mapped;
    stream->open = false;
    return *piped;
}

/* What the runtime holds of one record. */
static bool is_within_limits(const Context *context, const Stream *stream) {
    const Section *section = stream->pipeline->section;
    size_t checks = 0;
    vector_each(Node, node, section->record.graph->nodes) checks += node->op == OP_check;
    if (section->fields.count <= FIELD_LIMIT && section->outputs.count <= FIELD_LIMIT &&
        checks <= CHECK_LIMIT)
        return true;
    report(context, E0217, stream->pipeline->range, "a record has at most %d fields and %d checks",
           FIELD_LIMIT, CHECK_LIMIT);
    return false;
}

bool has_fields(const Context *context, const Stream *stream) {
    if (stream->record.count) return true;
    Diagnostic *d = report(context, E0204, stream->pipeline->range,
                           "a `map` has to make fields of this before there can be batches of it");
    diagnostic_help(d, "`|> map(x: [age, fare]) |> batch(64)`: columns are known there by name");
    return false;
}

static bool are_used(const Context *context, const Stream *stream) {
    const Section *section = stream->pipeline->section;
    for (size_t i = 0; i < section->fields.count; i++) {
        bool used = false;
        vector_each(Input, input, section->record.inputs)
            used |= input->kind == INPUT_field && input->index == (int)i;
        if (used) continue;
        Diagnostic *d = report(context, E0205, stream->pipeline->range,
                               "nothing uses the field `%s`, so its "
                               "type is not known",
                               section->fields.items[i].name);
        diagnostic_help(d, "leave it out, or use it in a `map`");
        return false;
    }
    return true;
}

/* Seed and epoch stand behind the fields, whose number is known now. */
static void number_inputs(Function *function, int fields) {
    vector_each(Input, input, function->inputs) {
        if (input->kind == INPUT_seed) input->index = fields;
        if (input->kind == INPUT_pass) input->index = fields + 1;
    }
}

static bool is_plain(const Section *section) {
    const Graph *graph = section->record.graph;
    if (graph->outputs.count != section->fields.count) return false;
    for (size_t i = 0; i < section->fields.count; i++) {
        const Node *node = graph_node(graph, graph->outputs.items[i].value);
        bool same = false;
        vector_each(Input, input, section->record.inputs)
            same |= node->op == OP_input && input->kind == INPUT_field && input->index == (int)i &&
                    !strcmp(input->name, node->name);
        if (!same) return false;
    }
    return true;
}

/* Of what nobody asked for an element type. */
Element usual_element(const Value *value) {
    if (value->kind == VALUE_tensor) return value_type(value)->element;
    if (value->kind == VALUE_items) return list_element(value);
    return value->kind == VALUE_field && value->field && value->field->digits ? TYPE_i32 : TYPE_f32;
}

/* Of an input of the section's record. */
typedef bool LeafTest(const Section *section, const Node *leaf);

static bool input_varies(const Section *section, const Node *leaf) {
    vector_each(Input, input, section->record.inputs) {
        if (strcmp(input->name, leaf->name)) continue;
        if (input->kind == INPUT_pass) return true;
        if (input->kind != INPUT_field) continue;
        const Field *field = &section->fields.items[input->index];
        if (field->varies || is_random(&field->picture)) return true;
    }
    return false;
}

static bool input_is_learned(const Section *section, const Node *leaf) {
    vector_each(Input, input, section->record.inputs) {
        if (strcmp(input->name, leaf->name) || input->kind != INPUT_field) continue;
        const Field *field = &section->fields.items[input->index];
        if (field->learned || field->vocabulary) return true;
    }
    return false;
}

/* Does the value follow from such an input? */
static bool follows(const Section *section, NodeId value, LeafTest *test) {
    const Graph *graph = section->record.graph;
    bool *needed = arena_new_array(graph->arena, bool, graph->nodes.count + 1);
    needed[value] = true;
    for (size_t id = (size_t)value + 1; id-- > 0;) {
        const Node *node = graph_node(graph, (NodeId)id);
        if (!needed[id]) continue;
        if (node->op == OP_input && test(section, node)) return true;
        for (int i = 0; i < node->input_count; i++) needed[node->inputs[i]] = true;
    }
    return false;
}

bool varies(const Section *section, NodeId value) {
    return follows(section, value, input_varies);
}

bool is_learned(const Section *section, NodeId value) {
    return follows(section, value, input_is_learned);
}

static bool add_output(const Context *inner, Section *section, const char *name, Value *value) {
    Arena *arena = inner->lowering->arena;
    if (value->kind == VALUE_error) return false;
    NodeId node = to_node(inner, value, usual_element(value), value->range);
    if (node == NODE_NONE) return false;
    Type type = graph_node(inner->graph, node)->type;
    graph_output(inner->graph, OUTPUT_result, name, node, NODE_NONE);
    vector_push(arena, &section->record.results, type);
    vector_push(arena, &section->outputs,
                (Field){.name = name,
                        .type = type,
                        .varies = varies(section, node),
                        .learned = is_learned(section, node)});
    return true;
}

bool finish_section(const Context *context, Stream *stream) {
    Context inner = record_context(context, stream);
    Section *section = stream->pipeline->section;
    if (!has_fields(context, stream)) return false;
    for (size_t i = 0; i < stream->record.count; i++)
        if (!add_output(&inner, section, stream->record.names[i], &stream->record.values[i]))
            return false;
    place_tees(&inner, stream);
    if (!is_within_limits(context, stream) || !are_used(context, stream)) return false;
    number_inputs(&section->record, (int)section->fields.count);
    vector_each(Ordering, order, section->orders)
        number_inputs(&order->condition, (int)section->fields.count);
    section->plain = is_plain(section) && !bucket_of(stream->pipeline);
    return fits_bucket(context, stream->pipeline);
}

Value batch_field(const Context *context, const Value *batch, const Name *name) {
    const Pipeline *pipeline = batch->stream->pipeline;
    const Section *section = pipeline->section;
    size_t count = batch->stream->record.count; /* behind them stand those of tees */
    Arena *arena = context->lowering->arena;
    const char **names = arena_new_array(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const Field *field = &section->outputs.items[i];
        names[i] = field->name;
        if (strcmp(field->name, name->text)) continue;
        Type type = field->type;
        if (type.rank == RANK_LIMIT) {
            report(context, E0208, name->range, "`%s` has too many dimensions for a batch",
                   name->text);
            return value_error;
        }
        type = type_with(type, 0, context->graph->batch);
        const char *label = arena_format(arena, "%s.%s", pipeline->name, name->text);
        NodeId node =
            input_node(context, label, INPUT_field, (int)i, type, field->type, name->range);
        Value value = value_tensor(context->graph, node, name->range);
        value.low = batch->stream->record.values[i].low;
        value.high = batch->stream->record.values[i].high;
        return value;
    }
    Diagnostic *d =
        report(context, E0212, name->range, "the records have no field `%s`", name->text);
    const char *nearest = nearest_name(name->text, names, count);
    help_nearest(d, nearest);
    if (!nearest) diagnostic_help(d, "their fields are %s", names_text(arena, names, count));
    diagnostic_note(d, pipeline->range, "they come from here");
    return value_error;
}
