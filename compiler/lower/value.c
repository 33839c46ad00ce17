/* Value: constructors, scopes, and how values are called in messages. */
#include "compiler/lower/value.h"

#include <string.h>

enum { FEW_BINDINGS = 16 }; /* in one scope; these are searched one by one */

const Value value_error = {.kind = VALUE_error};

const RunNumber *run_number(const Value *option) {
    static const RunNumber numbers[] = {
        [-STEP_INDEX] = {"step", "the step", INPUT_step, TYPE_i64},
        [-EPOCH_INDEX] = {"epoch", "the epoch", INPUT_epoch, TYPE_f64},
        [-PLATEAU_INDEX] = {"plateau", "the plateau's factor", INPUT_plateau, TYPE_f32},
        [-PASS_INDEX] = {"epoch of the record", "the epoch", INPUT_pass, TYPE_i64},
    };
    return option->index < 0 ? &numbers[-option->index] : NULL;
}

Value value_number(double number, Range range) {
    return (Value){.kind = VALUE_number, .range = range, .number = number};
}

Value value_size(Dim size, Range range) {
    return (Value){.kind = VALUE_size, .range = range, .size = size};
}

const char any_string[] = "";

bool value_is_empty(const Value *value) {
    bool known = value->kind == VALUE_string && !value->index && value->string != any_string;
    return known && !*value->string;
}

Value value_string(const char *string, Range range) {
    return (Value){.kind = VALUE_string, .range = range, .string = string};
}

Value value_tensor(Graph *graph, NodeId node, Range range) {
    return (Value){.kind = VALUE_tensor, .range = range, .graph = graph, .node = node};
}

const Type *value_type(const Value *value) {
    return &graph_node(value->graph, value->node)->type;
}

bool value_is_number(const Value *value) {
    return value->kind == VALUE_number || value->kind == VALUE_size || value->kind == VALUE_truth ||
           value->kind == VALUE_option;
}

Scope *scope_new(Arena *arena, Scope *parent) {
    Scope *scope = arena_new_item(arena, Scope);
    scope->parent = parent;
    return scope;
}

Binding *scope_find_here(const Scope *scope, const char *name) {
    if (scope->bindings.count > FEW_BINDINGS) {
        uintptr_t place = (uintptr_t)map_get(&scope->places, name);
        return place ? &scope->bindings.items[place - 1] : NULL;
    }
    for (size_t i = scope->bindings.count; i-- > 0;)
        if (!strcmp(scope->bindings.items[i].name, name)) return &scope->bindings.items[i];
    return NULL;
}

Binding *scope_find(const Scope *scope, const char *name) {
    for (; scope; scope = scope->parent) {
        Binding *found = scope_find_here(scope, name);
        if (found) return found;
    }
    return NULL;
}

static void index_binding(Scope *scope, size_t place) {
    map_put(&scope->places, scope->bindings.items[place].name, (void *)(uintptr_t)(place + 1));
}

void scope_put(Arena *arena, Scope *scope, const char *name, Value value) {
    vector_push(arena, &scope->bindings, (Binding){.name = name, .value = value});
    size_t count = scope->bindings.count;
    if (count > FEW_BINDINGS + 1) index_binding(scope, count - 1);
    if (count != FEW_BINDINGS + 1) return;
    scope->places = map_new(arena);
    for (size_t i = 0; i < count; i++) index_binding(scope, i);
}

const char *field_example(const Value *field) {
    switch (field->form) {
    case FORM_number:
    case FORM_cell: return "f32";
    case FORM_value:
    case FORM_feature: return "f32[3]";
    default: return "u8[28, 28]";
    }
}

const char *field_name(const Value *field) {
    if (field->field) return field->field->name;
    return field->stream->pipeline->section->fields.items[field->index].name;
}

const Value *items_find(const Items *items, const char *name) {
    for (size_t i = 0; items->names && i < items->count; i++)
        if (items->names[i] && !strcmp(items->names[i], name)) return &items->values[i];
    return NULL;
}

Items items_new(Arena *arena, size_t count) {
    return (Items){count, arena_new_array(arena, const char *, count + 1),
                   arena_new_array(arena, Value, count + 1)};
}

/* "(f32[4], f32[5])" of tensors; NULL of others, or of many. */
static const char *tuple_text(Arena *arena, const Items *items) {
    enum { SHOWN = 4 };
    Text text = text_new(arena);
    if (!items->count || items->count > SHOWN) return NULL;
    for (size_t i = 0; i < items->count; i++) {
        if (items->values[i].kind != VALUE_tensor) return NULL;
        text_format(&text, "%s%s", i ? ", " : "(", type_text(arena, value_type(&items->values[i])));
    }
    text_add(&text, ")");
    return text_string(&text);
}

static const char *items_text(Arena *arena, const Items *items) {
    enum { SHOWN = 8 };
    const char *tuple = tuple_text(arena, items);
    bool named = items->count && items->names && items->names[0];
    if (!named && tuple) return tuple;
    if (!named)
        return items->count == 1 ? "a list of one value"
                                 : arena_format(arena, "%zu values", items->count);
    Text text = text_new(arena);
    for (size_t i = 0; i < items->count && i < SHOWN; i++)
        text_format(&text, "%s%s", i ? ", " : "a record (",
                    items->names[i] ? items->names[i] : "?");
    text_add(&text, items->count > SHOWN ? ", …)" : ")");
    return text_string(&text);
}

bool is_line(const Value *value) {
    return value->field && value->field->line && !value->field->reads;
}

static const char *bytes_text(const Value *value) {
    return is_line(value) ? "a text of any length" : "the bytes of a file";
}

const char *value_text(Arena *arena, const Value *value) {
    switch (value->kind) {
    case VALUE_error: return "an error";
    case VALUE_number: return arena_format(arena, "the number %.15g", value->number);
    case VALUE_size: return arena_format(arena, "the size %s", dim_text(arena, value->size));
    case VALUE_truth: return value->number ? "true" : "false";
    case VALUE_string: return "a string";
    case VALUE_element: return element_info[value->element].name;
    case VALUE_option: return run_number(value) ? run_number(value)->text : "an option";
    case VALUE_tensor: return type_text(arena, value_type(value));
    case VALUE_field:
        return value->form >= FORM_image     ? "an image of a size not known yet"
               : value->form == FORM_tokens  ? "tokens of any number"
               : value->form == FORM_bytes   ? bytes_text(value)
               : value->form == FORM_columns ? "columns of a table"
                                             : "a field of a type not known yet";
    case VALUE_all: return "`all` (axes)";
    case VALUE_items: return items_text(arena, &value->items);
    case VALUE_stream: return "a stream of records";
    case VALUE_batch: return "a batch of records";
    case VALUE_sink: return "the end of a stream";
    case VALUE_model: return "a model";
    case VALUE_stdout: return "standard output";
    case VALUE_instance:
        return arena_format(arena, "an instance of `%s`", value->instance->declaration->name.text);
    }
    return "";
}
