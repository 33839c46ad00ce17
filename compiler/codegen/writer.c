/* Writer: the text of a kernel while it grows, and what is known in it. */
#include "compiler/codegen/writer.h"

#include "compiler/codegen/names.h"
#include "runtime/size.h"

#include <assert.h>
#include <string.h>

Writer new_writer(Arena *arena, const FunctionPlan *plan, int kernel) {
    const KernelPlan *kernel_plan = kernel == NO_KERNEL ? NULL : &plan->kernels[kernel];
    Writer writer = {.arena = arena,
                     .table = plan->graph->dimensions,
                     .plan = plan,
                     .graph = plan->graph,
                     .kernel = kernel_plan,
                     .number = kernel,
                     .mentioned = map_new(arena),
                     .latest_index = -1};
    if (kernel_plan) {
        writer.loops = &kernel_plan->loops;
        writer.columns = dim_expression(arena, writer.loops->columns);
        writer.depth = dim_expression(arena, writer.loops->depth);
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

bool is_known(const Writer *writer, NodeId id) {
    return writer->kernel->again && is_reduction(writer, id) && is_stored(writer, id);
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

/* Names. */

/* NULL: the text does not speak of the node yet. */
static Mention *find_mention(const Writer *writer, NodeId id) {
    uintptr_t known = (uintptr_t)map_get_bytes(&writer->mentioned, &id, sizeof id);
    return known ? &writer->mentions.items[known - 1] : NULL;
}

static Mention *mention_of(Writer *writer, NodeId id) {
    Mention *known = find_mention(writer, id);
    if (known) return known;
    vector_push(writer->arena, &writer->mentions, (Mention){id, -1});
    map_put_bytes(&writer->mentioned, &id, sizeof id, (void *)(uintptr_t)writer->mentions.count);
    return &writer->mentions.items[writer->mentions.count - 1];
}

unsigned number_of(Writer *writer, NodeId id) {
    return (unsigned)(mention_of(writer, id) - writer->mentions.items);
}

static const char *node_name(Writer *writer, char prefix, NodeId id) {
    const Node *node = node_of(writer, id);
    const char *slash = node->name ? strrchr(node->name, '/') : NULL;
    const char *hint = slash ? slash + 1 : node->name ? node->name : op_info[node->op].name;
    return marked_name(writer->arena, prefix, number_of(writer, id), hint);
}

/* Dimensions. */

const char sizes_line[] = "    const int64_t batch = frame->batch, *const sizes = frame->sizes;\n"
                          "    (void)batch, (void)sizes;\n";

static int64_t symbol_as(Dim symbol, const void *context) {
    if (!dim_is_batch(symbol) && dim_bound(symbol) != SIZE_UNKNOWN) return dim_bound(symbol);
    return *(const int64_t *)context;
}

/* Of the batch alone: square * batch^2 + linear * batch + constant. */
typedef struct Polynomial {
    int64_t square, linear, constant;
} Polynomial;

static Polynomial polynomial_of(Dim dim) {
    int64_t at[4];
    for (int64_t i = 0; i < 4; i++) at[i] = dim_evaluate(dim, symbol_as, &i);
    int64_t twice_square = at[2] - 2 * at[1] + at[0], square = twice_square / 2;
    int64_t linear = at[1] - at[0] - square;
    assert(at[3] == 9 * square + 3 * linear + at[0] && twice_square % 2 == 0);
    return (Polynomial){square, linear, at[0]};
}

static const char *batch_expression(Arena *arena, Dim dim) {
    const Polynomial of = polynomial_of(dim);
    if (!of.square && of.linear == 1 && !of.constant) return "batch";
    if (!of.square && !of.constant)
        return arena_format(arena, "(%lld * batch)", (long long)of.linear);
    return arena_format(arena, "(%lld * batch * batch + %lld * batch + %lld)", (long long)of.square,
                        (long long)of.linear, (long long)of.constant);
}

static void find_bounded(Dim symbol, void *found) {
    if (dim_bounded_number(symbol) >= 0) *(bool *)found = true;
}

bool has_bounded(Dim dim) {
    bool found = false;
    dim_each_symbol(dim, find_bounded, &found);
    return found;
}

bool operand_of_size(Dim dim, int64_t *operand) {
    if (dim_is_constant(dim, operand)) return true;
    if (has_bounded(dim)) return false;
    const Polynomial of = polynomial_of(dim);
    *operand = FLOW_OF_RECORDS + of.linear;
    return !of.square && !of.constant;
}

static const char *symbol_expression(Dim symbol, void *arena) {
    int number = dim_bounded_number(symbol);
    if (number >= 0) return arena_format(arena, "sizes[%d]", number);
    if (dim_is_batch(symbol) || dim_bound(symbol) == SIZE_UNKNOWN) return "batch";
    return arena_format(arena, "%lld", (long long)dim_bound(symbol));
}

const char *dim_expression(Arena *arena, Dim dim) {
    int64_t value;
    Text text = text_new(arena);
    if (dim_is_constant(dim, &value)) return arena_format(arena, "%lld", (long long)value);
    if (!has_bounded(dim)) return batch_expression(arena, dim);
    if (dim_is_symbol(dim)) return symbol_expression(dim, arena);
    text_add(&text, "(");
    dim_print_as(dim, symbol_expression, arena, &text);
    text_add(&text, ")");
    return text_string(&text);
}

const char *count_expression(Writer *writer, const Type *type, int first, int last) {
    return dim_expression(writer->arena, type_count(writer->table, type, first, last));
}

/* Variables. */

/* The latest variable of a node, or (NODE_NONE) of an index; -1: there is none. */
static int latest_variable(const Writer *writer, NodeId node) {
    if (node == NODE_NONE) return writer->latest_index;
    const Mention *mention = find_mention(writer, node);
    return mention ? mention->variable : -1;
}

const char *find_variable(const Writer *writer, NodeId node, Level level, const char *index) {
    for (int i = latest_variable(writer, node); i >= 0;) {
        const Variable *variable = &writer->variables.items[i];
        bool visible =
            variable->level <= level && variable->scope == writer->scopes[variable->level];
        if (visible && !strcmp(variable->index, index)) return variable->name;
        i = variable->previous;
    }
    return NULL;
}

static const char *new_name(Writer *writer, NodeId node) {
    if (node == NODE_NONE) return arena_format(writer->arena, "p%d", ++writer->variable_count);
    const char *name = node_name(writer, 'v', node);
    bool taken = latest_variable(writer, node) >= 0;
    return taken ? arena_format(writer->arena, "%s_%d", name, ++writer->variable_count) : name;
}

static void remember(Writer *writer, NodeId node, Index index, const char *name, const char *type) {
    int previous = latest_variable(writer, node), latest = (int)writer->variables.count;
    vector_push(writer->arena, &writer->variables,
                (Variable){node, index.text, name, index.level, writer->scopes[index.level], type,
                           previous});
    if (node == NODE_NONE) writer->latest_index = latest;
    else mention_of(writer, node)->variable = latest;
}

const char *define_variable(Writer *writer, NodeId node, Index index, const char *type,
                            const char *expression) {
    const char *name = new_name(writer, node);
    text_format(&writer->lines[index.level], "const %s %s = %s;\n", type, name, expression);
    remember(writer, node, index, name, type);
    return name;
}

Index define_index(Writer *writer, Level level, const char *expression) {
    const char *known = find_variable(writer, NODE_NONE, level, expression);
    if (known) return (Index){.kind = INDEX_other, .level = level, .text = known};
    const char *name = new_name(writer, NODE_NONE);
    const char *line = arena_format(writer->arena, "const int64_t %s = %s;\n", name, expression);
    if (writer->narrow && level == LEVEL_column)
        vector_push(writer->arena, &writer->fills, (Fill){.name = name, .line = line});
    else text_add(&writer->lines[level], line);
    const Index index = {.kind = INDEX_other, .level = level, .text = expression};
    remember(writer, NODE_NONE, index, name, NULL);
    return (Index){.kind = INDEX_other, .level = level, .text = name};
}

const char *define_row(Writer *writer, const char *type, int64_t count, const char *value) {
    const char *row = arena_format(writer->arena, "[%lld] = {[0 ... %lld] = %s}", (long long)count,
                                   (long long)count - 1, value);
    const Index index = {.kind = INDEX_other,
                         .level = LEVEL_call,
                         .text = arena_format(writer->arena, "%s%s", type, row)};
    const char *known = find_variable(writer, NODE_NONE, LEVEL_call, index.text);
    if (known) return known;
    const char *name = new_name(writer, NODE_NONE);
    text_format(&writer->lines[LEVEL_call], "static const %s %s%s;\n", type, name, row);
    remember(writer, NODE_NONE, index, name, NULL);
    return name;
}

/* KernelOperands and pointers. */

int field_count(const FunctionPlan *plan) {
    int count = 0;
    vector_each(Input, input, plan->function->inputs)
        if (input->index >= count) count = input->index + 1;
    return count;
}

int input_count(const FunctionPlan *plan) {
    return (int)plan->function->inputs.count;
}

int64_t passed_place(const FunctionPlan *plan, Place place) {
    switch (place.kind) {
    case PLACE_memory: return (int64_t)place.offset;
    case PLACE_input: return ~(int64_t)place.index;
    case PLACE_band: return ~(int64_t)(place.index + input_count(plan));
    default: return ~(int64_t)(place.index + field_count(plan));
    }
}

static int place_operand(Writer *writer, Place place) {
    assert(place.kind != PLACE_none);
    int64_t value = passed_place(writer->plan, place);
    for (size_t i = 0; i < writer->operands.count; i++)
        if (writer->operands.items[i].is_place && writer->operands.items[i].value == value)
            return (int)i;
    vector_push(writer->arena, &writer->operands,
                (KernelOperand){.is_place = true, .value = value});
    return (int)writer->operands.count - 1;
}

/* Text for one call only says its operands itself. */
static const char *operand_text(const Writer *writer, int operand) {
    if (writer->number != NO_KERNEL) return arena_format(writer->arena, "operands[%d]", operand);
    return arena_format(writer->arena, "%lldLL", (long long)writer->operands.items[operand].value);
}

const char *operand_of_place(Writer *writer, Place place) {
    return operand_text(writer, place_operand(writer, place));
}

void write_macros(Text *text, const Macro *macros, size_t count) {
    for (size_t i = 0; i < count; i++)
        text_format(text, "#define %s %s\n", macros[i].name, macros[i].value);
}

static const char *passed(Writer *writer, KernelOperand operand) {
    vector_push(writer->arena, &writer->operands, operand);
    return operand_text(writer, (int)writer->operands.count - 1);
}

const char *passed_number(Writer *writer, int64_t number) {
    return passed(writer, (KernelOperand){.value = number});
}

const char *passed_real(Writer *writer, double number) {
    KernelOperand operand = {.is_real = true};
    memcpy(&operand.value, &number, sizeof number);
    return passed(writer, operand);
}

const char *passed_size(Writer *writer, Dim size) {
    int64_t operand;
    if (!operand_of_size(size, &operand)) return dim_expression(writer->arena, size);
    return arena_format(writer->arena, "flow_size(%s, batch)", passed_number(writer, operand));
}

const char *number_operand(Writer *writer, int64_t number) {
    return define_index(writer, LEVEL_call, passed_number(writer, number)).text;
}

void pass_columns(Writer *writer) {
    int64_t columns;
    if (dim_is_constant(writer->loops->columns, &columns))
        writer->columns = number_operand(writer, columns);
}

void pass_loops(Writer *writer) {
    enum { LEAST = 256 /* elements */ };
    const Loops *loops = writer->loops;
    double elements = (double)dim_bound(loops->rows) * (double)dim_bound(loops->columns) *
                      (double)dim_bound(loops->depth);
    const Function *function = writer->plan->function;
    if (function->of_record || (elements < LEAST && !function->once)) return;
    writer->passes_sizes = true;
    pass_columns(writer);
}

const char *place_number(Writer *writer, NodeId id) {
    int operand = place_operand(writer, writer->plan->places[id]);
    return define_index(writer, LEVEL_call, operand_text(writer, operand)).text;
}

/* step: 0, or that of a pointer. */
static const char *address_text(Writer *writer, int operand, size_t step) {
    const char *place = operand_text(writer, operand);
    return step ? arena_format(writer->arena, "flow_at_record(%s, %zu)", place, step)
                : arena_format(writer->arena, "flow_at(frame, %s)", place);
}

static size_t step_of(const Writer *writer, NodeId id) {
    bool together = writer->gpu && makes_records(writer->plan->function);
    return together ? record_step(&node_of(writer, id)->type) : 0;
}

const char *address_of_place(Writer *writer, Place place) {
    return address_text(writer, place_operand(writer, place), 0);
}

const char *address_of(Writer *writer, NodeId id) {
    return address_text(writer, place_operand(writer, writer->plan->places[id]),
                        step_of(writer, id));
}

const char *pointer_to(Writer *writer, NodeId id, bool written) {
    int operand = place_operand(writer, writer->plan->places[id]);
    vector_each(Pointer, known, writer->pointers)
        if (known->operand == operand) {
            known->written |= written;
            return known->name;
        }
    const char *name = node_name(writer, 'b', id);
    vector_push(writer->arena, &writer->pointers,
                (Pointer){.operand = operand,
                          .element = node_of(writer, id)->type.element,
                          .name = name,
                          .step = step_of(writer, id),
                          .written = written});
    return name;
}

void declare_pointers(Writer *writer, Text *text) {
    vector_each(Pointer, pointer, writer->pointers) {
        const char *type = arena_format(writer->arena, "%s%s *", pointer->written ? "" : "const ",
                                        element_info[pointer->element].c);
        text_format(text, "    %srestrict %s = %s%s;\n", type, pointer->name,
                    writer->gpu ? arena_format(writer->arena, "(%s)", type) : "",
                    address_text(writer, pointer->operand, pointer->step));
    }
}

/* Lines. */

void add_lines(Text *text, const char *lines, int depth) {
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

bool line_has_name(const char *start, const char *name) {
    size_t size = strlen(name);
    for (const char *at = start; (at = strstr(at, name)); at += size)
        if ((at == start || !is_word(at[-1])) && !is_word(at[size])) return true;
    return false;
}

bool has_name(const Text *text, const char *name) {
    return line_has_name(text_string(text), name);
}

void next_scope(Writer *writer, Level level) {
    for (int i = level; i < LEVEL_count; i++) writer->scopes[i]++;
}

const char *share_block(Writer *writer) {
    const int64_t each =
        count_of_record(writer->table, writer->kernel->share, writer->kernel->records);
    if (!each) return "FLOW_SHARE_BLOCK";
    return writer->passes_sizes ? passed_number(writer, each)
                                : arena_format(writer->arena, "%lld", (long long)each);
}

void write_head(Writer *writer, Text *text) {
    text_format(text,
                "FLOW_KERNEL void %s(const FlowFrame *frame, const int64_t *operands, "
                "int thread, int threads) {\n",
                MARK_KERNEL);
    text_add(text, sizes_line);
    declare_pointers(writer, text);
    move_lines(writer, &writer->lines[LEVEL_call], text, 1);
    Dim share = writer->kernel->share;
    const char *rows =
        writer->passes_sizes ? passed_size(writer, share) : dim_expression(writer->arena, share);
    text_format(text,
                "    int64_t first, last;\n"
                "    flow_share(%s, %s, thread, threads, &first, &last);\n",
                rows, share_block(writer));
    declare_faults(writer, text);
}

void write_tail(Writer *writer, Text *text) {
    tell_faults(writer, text, "frame->guard", "");
    if (streams(writer)) text_add(text, "    flow_stream_end();\n");
    text_add(text, "}\n\n");
}
