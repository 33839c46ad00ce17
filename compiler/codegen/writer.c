/* Writer: the text of a kernel while it grows, and what is known in it. */
#include "compiler/codegen/writer.h"

#include "compiler/codegen/names.h"

#include <assert.h>

Writer new_writer(Arena *arena, const FunctionPlan *plan, int kernel) {
    const KernelPlan *kernel_plan = kernel == NO_KERNEL ? NULL : &plan->kernels[kernel];
    Writer writer = {.arena = arena,
                     .table = plan->graph->dimensions,
                     .plan = plan,
                     .graph = plan->graph,
                     .kernel = kernel_plan,
                     .number = kernel};
    if (kernel_plan) {
        writer.loops = &kernel_plan->loops;
        writer.columns = dim_expression(arena, writer.loops->columns);
    }
    for (int i = 0; i < LEVEL_count; i++) writer.lines[i] = text_new(arena);
    writer.stores = writer.body = text_new(arena);
    return writer;
}

const Node *node_of(const Writer *writer, NodeId id) {
    return graph_node(writer->graph, id);
}

bool is_reduction(const Writer *writer, NodeId id) {
    return op_info[node_of(writer, id)->op].class == LOOP_reduce;
}

bool is_stored(const Writer *writer, NodeId id) {
    return writer->plan->places[id].kind != PLACE_none;
}

size_t place_in_kernel(const Writer *writer, NodeId id) {
    size_t low = 0, high = writer->kernel->node_count;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (writer->kernel->nodes[middle] <= id) low = middle;
        else high = middle;
    }
    return low;
}

/* Dimensions. */

static int64_t symbol_as(Dim symbol, const void *context) {
    if (!dim_is_batch(symbol) && dim_bound(symbol) != SIZE_UNKNOWN) return dim_bound(symbol);
    return *(const int64_t *)context;
}

/* The batch is the only symbol left: the dimension is a polynomial of it. */
const char *dim_expression(Arena *arena, Dim dim) {
    int64_t value, at[4];
    if (dim_is_constant(dim, &value)) return arena_format(arena, "%lld", (long long)value);
    for (int64_t i = 0; i < 4; i++) at[i] = dim_evaluate(dim, symbol_as, &i);
    int64_t twice_square = at[2] - 2 * at[1] + at[0], square = twice_square / 2;
    int64_t linear = at[1] - at[0] - square;
    assert(at[3] == 9 * square + 3 * linear + at[0] && twice_square % 2 == 0);
    if (!square && linear == 1 && !at[0]) return "batch";
    if (!square && !at[0]) return arena_format(arena, "(%lld * batch)", (long long)linear);
    return arena_format(arena, "(%lld * batch * batch + %lld * batch + %lld)", (long long)square,
                        (long long)linear, (long long)at[0]);
}

const char *count_expression(Writer *writer, const Type *type, int first, int last) {
    return dim_expression(writer->arena, type_count(writer->table, type, first, last));
}

/* Variables. */

const char *find_variable(const Writer *writer, NodeId node, const char *index) {
    for (size_t i = writer->variables.count; i-- > 0;) {
        const Variable *variable = &writer->variables.items[i];
        if (variable->node == node && variable->scope == writer->scopes[variable->level] &&
            !strcmp(variable->index, index))
            return variable->name;
    }
    return NULL;
}

static const char *hint_of(const Node *node) {
    if (!node->name) return op_info[node->op].name;
    const char *slash = strrchr(node->name, '/');
    return slash ? slash + 1 : node->name;
}

static const char *new_name(Writer *writer, NodeId node) {
    const char *hint = node == NODE_NONE ? NULL : hint_of(node_of(writer, node));
    for (size_t i = 0; i < writer->variables.count && node != NODE_NONE; i++)
        if (writer->variables.items[i].node == node)
            return arena_format(writer->arena, "%s_%d", safe_name(writer->arena, 'v', node, hint),
                                ++writer->variable_count);
    return node == NODE_NONE ? arena_format(writer->arena, "p%d", ++writer->variable_count)
                             : safe_name(writer->arena, 'v', node, hint);
}

static void remember(Writer *writer, NodeId node, Index index, const char *name, const char *type) {
    vector_push(writer->arena, &writer->variables,
                (Variable){node, index.text, name, index.level, writer->scopes[index.level], type});
}

const char *define_variable(Writer *writer, NodeId node, Index index, const char *type,
                            const char *expression) {
    const char *name = new_name(writer, node);
    text_format(&writer->lines[index.level], "const %s %s = %s;\n", type, name, expression);
    remember(writer, node, index, name, type);
    return name;
}

Index define_index(Writer *writer, Level level, const char *expression) {
    const char *known = find_variable(writer, NODE_NONE, expression);
    if (known) return (Index){INDEX_other, level, known};
    const char *name = new_name(writer, NODE_NONE);
    text_format(&writer->lines[level], "const int64_t %s = %s;\n", name, expression);
    remember(writer, NODE_NONE, (Index){INDEX_other, level, expression}, name, NULL);
    return (Index){INDEX_other, level, name};
}

/* Pointers. */

const char *pointer_to(Writer *writer, NodeId id, bool written) {
    Place place = writer->plan->places[id];
    assert(place.kind != PLACE_none);
    vector_each(Pointer, known, writer->pointers)
        if (known->place.kind == place.kind && known->place.offset == place.offset &&
            (place.kind == PLACE_memory || known->place.index == place.index)) {
            known->written |= written;
            return known->name;
        }
    const char *name = safe_name(writer->arena, 'b', id, hint_of(node_of(writer, id)));
    vector_push(writer->arena, &writer->pointers,
                (Pointer){place, node_of(writer, id)->type.element, name, written});
    return name;
}

int field_count(const FunctionPlan *plan) {
    int count = 0;
    vector_each(Input, input, plan->function->inputs)
        if (input->index >= count) count = input->index + 1;
    return count;
}

const char *pointer_address(Writer *writer, const Pointer *pointer) {
    const char *type = element_info[pointer->element].c;
    const char *constant = pointer->written ? "" : "const ";
    if (pointer->place.kind == PLACE_memory)
        return arena_format(writer->arena, "(%s%s *)(frame->memory + %zu)", constant, type,
                            pointer->place.offset);
    int index = pointer->place.index;
    if (pointer->place.kind == PLACE_output) index += field_count(writer->plan);
    return arena_format(writer->arena, "(%s%s *)frame->inputs[%d]", constant, type, index);
}

void declare_pointers(Writer *writer, Text *text) {
    vector_each(Pointer, pointer, writer->pointers)
        text_format(text, "    %s%s *restrict %s = %s;\n", pointer->written ? "" : "const ",
                    element_info[pointer->element].c, pointer->name,
                    pointer_address(writer, pointer));
}

/* Lines. */

static void add_lines(Text *text, const char *lines, int depth) {
    while (*lines) {
        size_t size = strcspn(lines, "\n");
        text_format(text, "%*s%.*s\n", 4 * depth, "", (int)size, lines);
        lines += size + (lines[size] == '\n');
    }
}

void move_lines(Writer *writer, Text *from, Text *to, int depth) {
    add_lines(to, text_string(from), depth);
    *from = text_new(writer->arena);
}

void next_scope(Writer *writer, Level level) {
    for (int i = level; i < LEVEL_count; i++) writer->scopes[i]++;
}

void write_head(Writer *writer, Text *text, const char *name) {
    text_format(text, "static void %s(const FlowFrame *frame, int thread, int threads) {\n", name);
    text_add(text, "    const int64_t batch = frame->batch;\n    (void)batch;\n");
    declare_pointers(writer, text);
    move_lines(writer, &writer->lines[LEVEL_call], text, 1);
    text_format(text,
                "    int64_t first, last;\n"
                "    flow_share(%s, thread, threads, &first, &last);\n",
                dim_expression(writer->arena, writer->kernel->share));
}
