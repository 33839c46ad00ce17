/* Kernel text: a kernel as C loops.
 *
 * Three sets of lines grow while values are asked for: those computed once a call, once a row and
 * once a column. A value is written where it is first wanted, at the outermost loop its index
 * allows, and is found by name afterwards. */
#include "compiler/codegen/kernel_text.h"

#include "compiler/codegen/names.h"

#include <assert.h>
#include <ctype.h>

enum { ROW_LIMIT = 4096, ROW_PART = 1024, COLUMN_PART = 256, WIDE_VECTOR = 16 };

typedef enum Level { LEVEL_call, LEVEL_row, LEVEL_column, LEVEL_count } Level;

/* An element's place in its value, as C. */
typedef struct Index {
    IndexKind kind;
    Level level;
    const char *text;
} Index;

/* A variable: the value of a node at an index, or (node NODE_NONE) an index computed from text. */
typedef struct Variable {
    NodeId node;
    const char *index, *name;
    Level level;
    int scope; /* it is known in: of its level */
    const char *type;
} Variable;

typedef struct Pointer {
    Place place;
    Element element;
    const char *name;
    bool written;
} Pointer;

typedef struct Writer {
    Arena *arena;
    Dimensions *table;
    const FunctionPlan *plan;
    const Graph *graph;
    const KernelPlan *kernel;
    const Loops *loops;
    int number; /* of the kernel, or NO_KERNEL */
    const char *prefix, *columns;
    Text lines[LEVEL_count], stores, body;
    int scopes[LEVEL_count];
    Vector(Variable) variables;
    Vector(Pointer) pointers;
    bool uses_rows; /* the row or the column by itself is wanted, not only the element */
    int *depths;    /* of kernel->nodes: loops over the row that come before the value is known */
    bool *buffered; /* of kernel->nodes: kept for a later loop over the row */
    int stage;      /* the loop over the row that is being written */
    int visiting;   /* place in kernel->nodes */
    int variable_count;
} Writer;

static const Node *node_of(const Writer *writer, NodeId id) {
    return graph_node(writer->graph, id);
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

static const char *count_expression(Writer *writer, const Type *type, int first, int last) {
    return dim_expression(writer->arena, type_count(writer->table, type, first, last));
}

/* Variables. */

static const char *find_variable(const Writer *writer, NodeId node, const char *index) {
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

/* A new variable with that value at the level of its index. */
static const char *define(Writer *writer, NodeId node, Index index, const char *type,
                          const char *expression) {
    const char *name = new_name(writer, node);
    text_format(&writer->lines[index.level], "const %s %s = %s;\n", type, name, expression);
    remember(writer, node, index, name, type);
    return name;
}

static const char *pointer_to(Writer *writer, NodeId id, bool written) {
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

/* Indices. */

static Index plain_index(Writer *writer, IndexKind kind) {
    if (kind == INDEX_row || kind == INDEX_column) writer->uses_rows = true;
    switch (kind) {
    case INDEX_zero: return (Index){kind, LEVEL_call, "0"};
    case INDEX_row: return (Index){kind, LEVEL_row, "r"};
    case INDEX_column: return (Index){kind, LEVEL_column, "c"};
    case INDEX_output: return (Index){kind, LEVEL_column, "o"};
    default: return (Index){INDEX_full, LEVEL_column, "i"};
    }
}

static Index computed_index(Writer *writer, Level level, const char *expression) {
    const char *known = find_variable(writer, NODE_NONE, expression);
    if (known) return (Index){INDEX_other, level, known};
    const char *name = new_name(writer, NODE_NONE);
    text_format(&writer->lines[level], "const int64_t %s = %s;\n", name, expression);
    remember(writer, NODE_NONE, (Index){INDEX_other, level, expression}, name, NULL);
    return (Index){INDEX_other, level, name};
}

static bool splits(Writer *writer, const Type *node, Index index) {
    return index.kind == INDEX_full && node->rank > 1 &&
           node->dims[node->rank - 1] == writer->loops->columns;
}

static bool is_one(Dim dim) {
    int64_t value;
    return dim_is_constant(dim, &value) && value == 1;
}

/* Adds the part of an operand's index that comes from axis `axis` of the node; `from` is the index
 * in the axes up to and including `inner`. */
static void add_axis(Writer *writer, Text *sum, const Type *node, const Type *operand, int axis,
                     int inner, const char *from) {
    int at = axis - (node->rank - operand->rank);
    if (at < 0 || is_one(operand->dims[at])) return;
    text_format(sum, "%s%s", sum->size ? " + " : "", from);
    if (axis < inner)
        text_format(sum, " / %s", count_expression(writer, node, axis + 1, inner + 1));
    if (axis > 0) text_format(sum, " %% %s", dim_expression(writer->arena, node->dims[axis]));
    if (at + 1 < operand->rank)
        text_format(sum, " * %s", count_expression(writer, operand, at + 1, operand->rank));
}

static Index broadcast_index(Writer *writer, const Type *node, const Type *operand, Index index) {
    Text sum = text_new(writer->arena);
    int rank = node->rank;
    if (!splits(writer, node, index)) {
        for (int axis = 0; axis < rank; axis++)
            add_axis(writer, &sum, node, operand, axis, rank - 1, index.text);
        return computed_index(writer, index.level, text_string(&sum));
    }
    writer->uses_rows = true;
    for (int axis = 0; axis < rank - 1; axis++)
        add_axis(writer, &sum, node, operand, axis, rank - 2, "r");
    const char *row = sum.size ? text_string(&sum) : "0";
    row = computed_index(writer, LEVEL_row, row).text;
    if (is_one(operand->dims[operand->rank - 1])) return (Index){INDEX_other, LEVEL_row, row};
    return computed_index(writer, LEVEL_column, arena_format(writer->arena, "%s + c", row));
}

static Index transposed_index(Writer *writer, const Type *node, Index index) {
    if (index.kind == INDEX_zero) return index;
    const char *p = dim_expression(writer->arena, node->dims[node->rank - 2]);
    const char *q = dim_expression(writer->arena, node->dims[node->rank - 1]);
    const char *x = index.text;
    if (!splits(writer, node, index))
        return computed_index(
            writer, index.level,
            arena_format(writer->arena,
                         "%s / (%s * %s) * (%s * %s) + %s %% %s * %s + %s / %s %% %s", x, p, q, p,
                         q, x, q, p, x, q, p));
    writer->uses_rows = true;
    Index row = computed_index(
        writer, LEVEL_row, arena_format(writer->arena, "r / %s * (%s * %s) + r %% %s", p, p, q, p));
    return computed_index(writer, LEVEL_column,
                          arena_format(writer->arena, "%s + c * %s", row.text, p));
}

static Index index_for(Writer *writer, const Node *node, int i, Index index) {
    const Type *operand = &node_of(writer, node->inputs[i])->type;
    if (node->op == OP_reshape) return index;
    if (node->op == OP_transpose) return transposed_index(writer, &node->type, index);
    IndexKind kind = operand_index(writer->table, writer->loops, index.kind, &node->type, operand);
    if (kind == INDEX_other && index.kind == INDEX_other) {
        int64_t count;
        Dim elements = type_count(writer->table, operand, 0, operand->rank);
        if (dim_is_constant(elements, &count) && count == 1) return plain_index(writer, INDEX_zero);
        if (elements == type_count(writer->table, &node->type, 0, node->type.rank)) return index;
    }
    if (kind == INDEX_other) return broadcast_index(writer, &node->type, operand, index);
    return kind == index.kind ? index : plain_index(writer, kind);
}

/* Values. */

static const char *value_of(Writer *writer, NodeId id, Index index);

/* The formula of an op with a, b, c, index and stream replaced. */
static const char *expand(Writer *writer, const Node *node, const char *const *operands,
                          const char *index) {
    Text text = text_new(writer->arena);
    for (const char *c = op_info[node->op].formula; *c;) {
        size_t size = 0;
        while (isalnum((unsigned char)c[size]) || c[size] == '_') size++;
        if (!size) {
            text_add_bytes(&text, c++, 1);
            continue;
        }
        if (size == 1 && *c >= 'a' && *c <= 'c') text_add(&text, operands[*c - 'a']);
        else if (size == 5 && !memcmp(c, "index", 5)) text_add(&text, index);
        else if (size == 6 && !memcmp(c, "stream", 6))
            text_format(&text, "%lldLL", (long long)node->stream);
        else text_add_bytes(&text, c, size);
        c += size;
    }
    return text_string(&text);
}

static const char *computed(Writer *writer, NodeId id, Index index) {
    const Node *node = node_of(writer, id);
    const char *operands[ARITY_LIMIT] = {"", "", ""};
    for (int i = 0; i < node->input_count; i++) {
        Index inner = op_info[node->op].class == LOOP_generate ? plain_index(writer, INDEX_zero)
                                                               : index_for(writer, node, i, index);
        operands[i] = value_of(writer, node->inputs[i], inner);
    }
    if (op_info[node->op].class == LOOP_move) return operands[0];
    const char *expression = expand(writer, node, operands, index.text);
    if (node->op == OP_cast && node->type.element == TYPE_bool)
        expression = arena_format(writer->arena, "%s != 0", operands[0]);
    return define(writer, id, index, element_info[node->type.element].c, expression);
}

static const char *uniform_sum(Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    Index zero = plain_index(writer, INDEX_zero);
    NodeId summand = strip_reshapes(writer->graph, node->inputs[0]);
    if (node_of(writer, summand)->op == OP_broadcast) summand = node_of(writer, summand)->inputs[0];
    const Type *summed = &node_of(writer, node->inputs[0])->type;
    const char *type = element_info[node->type.element].c;
    const char *a = value_of(writer, summand, zero);
    Dim total = type_count(writer->table, summed, 0, summed->rank);
    Dim kept = type_count(writer->table, &node->type, 0, node->type.rank);
    Dim count = dim_divide(writer->table, total, kept);
    return define(
        writer, id, zero, type,
        arena_format(writer->arena, "%s * (%s)%s", a, type, dim_expression(writer->arena, count)));
}

static int place_in_kernel(const Writer *writer, NodeId id) {
    size_t low = 0, high = writer->kernel->node_count;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (writer->kernel->nodes[middle] <= id) low = middle;
        else high = middle;
    }
    return (int)low;
}

static const char *own_value(Writer *writer, NodeId id, Index index) {
    const Node *node = node_of(writer, id);
    const char *type = element_info[node->type.element].c;
    if (node->op == OP_matmul) return define(writer, id, index, type, "tile[m * stride + n]");
    if (op_info[node->op].class == LOOP_reduce)
        return define(writer, id, index, type, arena_format(writer->arena, "y%u[j]", id));
    int at = place_in_kernel(writer, id);
    if (index.kind == INDEX_full && writer->depths && writer->depths[at] < writer->stage)
        return define(writer, id, index, type, arena_format(writer->arena, "t%u[j]", id));
    return computed(writer, id, index);
}

static const char *value_of(Writer *writer, NodeId id, Index index) {
    id = strip_reshapes(writer->graph, id);
    const Node *node = node_of(writer, id);
    if (node->op == OP_constant)
        return number_literal(writer->arena, node->type.element, node->number);
    const char *known = find_variable(writer, id, index.text);
    if (known) return known;
    if (node->kernel != NO_KERNEL && node->kernel == writer->number)
        return own_value(writer, id, index);
    if (writer->plan->places[id].kind != PLACE_none)
        return define(
            writer, id, index, element_info[node->type.element].c,
            arena_format(writer->arena, "%s[%s]", pointer_to(writer, id, false), index.text));
    return is_uniform_sum(writer->graph, node) ? uniform_sum(writer, id)
                                               : computed(writer, id, index);
}

static void store(Writer *writer, Text *text, NodeId id, Index index) {
    const char *value = value_of(writer, id, index);
    text_format(text, "%s[%s] = %s;\n", pointer_to(writer, id, true), index.text, value);
}

static bool is_stored(const Writer *writer, NodeId id) {
    return writer->plan->places[id].kind != PLACE_none;
}

/* Text. */

/* Adds lines, each after `depth` steps of indentation. */
static void add_lines(Text *text, const char *lines, int depth) {
    while (*lines) {
        size_t size = strcspn(lines, "\n");
        text_format(text, "%*s%.*s\n", 4 * depth, "", (int)size, lines);
        lines += size + (lines[size] == '\n');
    }
}

static void flush(Writer *writer, Text *from, Text *to, int depth) {
    add_lines(to, text_string(from), depth);
    *from = text_new(writer->arena);
}

static void next_scope(Writer *writer, Level level) {
    for (int i = level; i < LEVEL_count; i++) writer->scopes[i]++;
}

/* A record function's outputs are passed behind its fields. */
static int field_count(const FunctionPlan *plan) {
    int count = 0;
    vector_each(Input, input, plan->function->inputs)
        if (input->index >= count) count = input->index + 1;
    return count;
}

static const char *pointer_address(Writer *writer, const Pointer *pointer) {
    const char *type = element_info[pointer->element].c;
    const char *constant = pointer->written ? "" : "const ";
    if (pointer->place.kind == PLACE_memory)
        return arena_format(writer->arena, "(%s%s *)(frame->memory + %zu)", constant, type,
                            pointer->place.offset);
    int index = pointer->place.index;
    if (pointer->place.kind == PLACE_output) index += field_count(writer->plan);
    return arena_format(writer->arena, "(%s%s *)frame->inputs[%d]", constant, type, index);
}

static void declare_pointers(Writer *writer, Text *text) {
    vector_each(Pointer, pointer, writer->pointers)
        text_format(text, "    %s%s *restrict %s = %s;\n", pointer->written ? "" : "const ",
                    element_info[pointer->element].c, pointer->name,
                    pointer_address(writer, pointer));
}

static void write_head(Writer *writer, Text *text, const char *name) {
    text_format(text, "static void %s(const FlowFrame *frame, int thread, int threads) {\n", name);
    text_add(text, "    const int64_t batch = frame->batch;\n    (void)batch;\n");
    declare_pointers(writer, text);
    flush(writer, &writer->lines[LEVEL_call], text, 1);
    text_format(text,
                "    int64_t first, last;\n"
                "    flow_share(%s, thread, threads, &first, &last);\n",
                dim_expression(writer->arena, writer->kernel->share));
}

/* Rows. */

static void visit_depth(void *context, NodeId read, IndexKind index) {
    Writer *writer = context;
    (void)index;
    if (node_of(writer, read)->kernel != writer->number) return;
    int depth = writer->depths[place_in_kernel(writer, read)];
    if (depth > writer->stage) writer->stage = depth;
}

/* The loop over the row in which a node's operands are wanted. */
static int stage_of(Writer *writer, size_t at) {
    writer->stage = 0;
    each_read(writer->graph, writer->number, writer->loops, writer->kernel->nodes[at], visit_depth,
              writer);
    return writer->stage;
}

static bool is_reduction(const Writer *writer, NodeId id) {
    return op_info[node_of(writer, id)->op].class == LOOP_reduce;
}

static void visit_buffered(void *context, NodeId read, IndexKind index) {
    Writer *writer = context;
    if (node_of(writer, read)->kernel != writer->number || index != INDEX_full) return;
    int at = place_in_kernel(writer, read);
    if (writer->depths[at] < writer->stage) writer->buffered[at] = true;
}

static int find_stages(Writer *writer) {
    size_t count = writer->kernel->node_count;
    int last = 0;
    writer->depths = arena_new_array(writer->arena, int, count + 1);
    writer->buffered = arena_new_array(writer->arena, bool, count + 1);
    for (size_t at = 0; at < count; at++) {
        int stage = stage_of(writer, at);
        writer->depths[at] = stage + is_reduction(writer, writer->kernel->nodes[at]);
        if (writer->depths[at] > last) last = writer->depths[at];
    }
    for (size_t at = 0; at < count; at++) {
        writer->stage = writer->depths[at] - is_reduction(writer, writer->kernel->nodes[at]);
        each_read(writer->graph, writer->number, writer->loops, writer->kernel->nodes[at],
                  visit_buffered, writer);
    }
    return last;
}

static IndexKind own_index(Writer *writer, NodeId id) {
    return native_index(writer->table, writer->loops, &node_of(writer, id)->type);
}

/* What the loop of this stage leaves behind for others. */
static void write_row_values(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        bool reduction = is_reduction(writer, id);
        if (writer->depths[at] - reduction != writer->stage) continue;
        Index full = plain_index(writer, INDEX_full);
        if (reduction) {
            const char *value = value_of(writer, node_of(writer, id)->inputs[0], full);
            text_format(&writer->stores, "t%u[j] = %s;\n", id, value);
        } else if (own_index(writer, id) == INDEX_full) {
            if (is_stored(writer, id)) store(writer, &writer->stores, id, full);
            if (writer->buffered[at])
                text_format(&writer->stores, "t%u[j] = %s;\n", id, value_of(writer, id, full));
        }
    }
}

static void call_reductions(Writer *writer, Text *text, const char *part, int depth,
                            const char *count) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!is_reduction(writer, id) || writer->depths[at] - 1 != writer->stage) continue;
        const Node *node = node_of(writer, id);
        Element element = node_of(writer, node->inputs[0])->type.element;
        const char *suffix = element == TYPE_bool ? "u8" : element_info[element].name;
        const char *op = op_info[node->op].name;
        if (!strcmp(part, "start"))
            text_format(text, "%*sflow_row_%s_%s s%u = flow_row_%s_start_%s();\n", 4 * depth, "",
                        op, suffix, id, op, suffix);
        else if (!strcmp(part, "add"))
            text_format(text, "%*sflow_row_%s_add_%s(&s%u, t%u, %s);\n", 4 * depth, "", op, suffix,
                        id, id, count);
        else
            define(writer, id, plain_index(writer, INDEX_row), element_info[node->type.element].c,
                   arena_format(writer->arena, "flow_row_%s_end_%s(&s%u)", op, suffix, id));
    }
}

static bool stage_reduces(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_reduction(writer, writer->kernel->nodes[at]) &&
            writer->depths[at] - 1 == writer->stage)
            return true;
    return false;
}

static void write_row_loop(Writer *writer, bool whole) {
    Text *body = &writer->body;
    call_reductions(writer, body, "start", 2, NULL);
    int depth = 2;
    const char *count = writer->columns;
    if (!whole && stage_reduces(writer)) {
        text_format(body,
                    "        for (int64_t part = 0; part < %s; part += %d) {\n"
                    "            const int64_t count = flow_smaller(%s - part, %d);\n",
                    writer->columns, ROW_PART, writer->columns, ROW_PART);
        count = "count";
        depth = 3;
    }
    text_format(body, "%*sfor (int64_t j = 0; j < %s; j++) {\n", 4 * depth, "", count);
    text_format(body, "%*sconst int64_t c = %sj, i = r * %s + c;\n%*s(void)c, (void)i;\n",
                4 * depth + 4, "", depth == 3 ? "part + " : "", writer->columns, 4 * depth + 4, "");
    flush(writer, &writer->lines[LEVEL_column], body, depth + 1);
    flush(writer, &writer->stores, body, depth + 1);
    text_format(body, "%*s}\n", 4 * depth, "");
    call_reductions(writer, body, "add", depth, count);
    if (depth == 3) text_add(body, "        }\n");
    call_reductions(writer, body, "end", 2, NULL);
}

static void write_stage(Writer *writer, bool whole) {
    next_scope(writer, LEVEL_column);
    write_row_values(writer);
    if (!writer->stores.size) return;
    flush(writer, &writer->lines[LEVEL_row], &writer->body, 2);
    write_row_loop(writer, whole);
}

/* Buffers for one row, or for a part of one. */
static void declare_buffers(Writer *writer, Text *text, bool whole) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!writer->buffered[at] && !is_reduction(writer, id)) continue;
        const Node *node = node_of(writer, id);
        if (is_reduction(writer, id)) node = node_of(writer, node->inputs[0]);
        const char *columns = whole ? writer->columns : arena_format(writer->arena, "%d", ROW_PART);
        text_format(text, "        _Alignas(64) %s t%u[%s];\n", element_info[node->type.element].c,
                    id, columns);
    }
}

static void store_rows(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (own_index(writer, id) == INDEX_row && is_stored(writer, id))
            store(writer, &writer->stores, id, plain_index(writer, INDEX_row));
    }
    flush(writer, &writer->lines[LEVEL_row], &writer->body, 2);
    flush(writer, &writer->stores, &writer->body, 2);
}

/* Without reductions and broadcasts along a row, all rows are one loop. */
static void write_flat(Writer *writer, Text *text, const char *name) {
    write_row_values(writer);
    write_head(writer, text, name);
    text_format(text, "    for (int64_t i = first * %s; i < last * %s; i++) {\n", writer->columns,
                writer->columns);
    flush(writer, &writer->lines[LEVEL_column], text, 2);
    flush(writer, &writer->stores, text, 2);
    text_add(text, "    }\n}\n\n");
}

static void write_rows(Writer *writer, Text *text, const char *name) {
    int64_t columns;
    bool whole = dim_is_constant(writer->loops->columns, &columns) && columns <= ROW_LIMIT;
    int last = find_stages(writer);
    for (writer->stage = 0; writer->stage <= last; writer->stage++) write_stage(writer, whole);
    store_rows(writer);
    write_head(writer, text, name);
    text_add(text, "    for (int64_t r = first; r < last; r++) {\n");
    declare_buffers(writer, text, whole);
    text_add(text, text_string(&writer->body));
    text_add(text, "    }\n}\n\n");
}

static Writer new_writer(Arena *arena, const FunctionPlan *plan, int kernel, const char *prefix) {
    const KernelPlan *kernel_plan = kernel == NO_KERNEL ? NULL : &plan->kernels[kernel];
    Writer writer = {.arena = arena,
                     .table = plan->graph->dimensions,
                     .plan = plan,
                     .graph = plan->graph,
                     .kernel = kernel_plan,
                     .number = kernel,
                     .prefix = prefix};
    if (kernel_plan) {
        writer.loops = &kernel_plan->loops;
        writer.columns = dim_expression(arena, writer.loops->columns);
    }
    for (int i = 0; i < LEVEL_count; i++) writer.lines[i] = text_new(arena);
    writer.stores = writer.body = text_new(arena);
    return writer;
}

static void write_rows_kernel(Text *text, const FunctionPlan *plan, int kernel, const char *prefix,
                              const char *name) {
    Writer trial = new_writer(text->arena, plan, kernel, prefix);
    bool reduces = false;
    for (size_t i = 0; i < trial.kernel->node_count; i++)
        if (is_reduction(&trial, trial.kernel->nodes[i]) ||
            own_index(&trial, trial.kernel->nodes[i]) != INDEX_full)
            reduces = true;
    if (!reduces) {
        find_stages(&trial);
        trial.stage = 0;
        Writer attempt = trial;
        write_row_values(&attempt);
        if (!attempt.uses_rows) {
            write_flat(&trial, text, name);
            return;
        }
    }
    Writer writer = new_writer(text->arena, plan, kernel, prefix);
    write_rows(&writer, text, name);
}

/* Columns. */

static const char *initial_value(Writer *writer, const Node *node) {
    Element element = node->type.element;
    const char *initial = op_info[node->op].initial;
    static const char *const lowest[ELEMENT_COUNT] = {
        "0", "0", "INT8_MIN", "INT32_MIN", "INT64_MIN", "-__builtin_inff()", "-__builtin_inf()"};
    static const char *const highest[ELEMENT_COUNT] = {
        "1",         "UINT8_MAX",        "INT8_MAX",       "INT32_MAX",
        "INT64_MAX", "__builtin_inff()", "__builtin_inf()"};
    (void)writer;
    if (!strcmp(initial, "lowest")) return lowest[element];
    return strcmp(initial, "highest") ? "0" : highest[element];
}

static void write_column_step(Writer *writer, NodeId id) {
    const Node *node = node_of(writer, id);
    const char *a = value_of(writer, node->inputs[0], plain_index(writer, INDEX_full));
    Text *stores = &writer->stores;
    switch (node->op) {
    case OP_sum: text_format(stores, "y%u[j] = y%u[j] + %s;\n", id, id, a); break;
    case OP_max:
        text_format(stores, "y%u[j] = y%u[j] < %s ? %s : y%u[j];\n", id, id, a, a, id);
        break;
    case OP_min:
        text_format(stores, "y%u[j] = %s < y%u[j] ? %s : y%u[j];\n", id, a, id, a, id);
        break;
    default:
        text_format(stores,
                    "y%u[j] = d == 0 || z%u[j] < %s ? (int32_t)d : y%u[j];\n"
                    "z%u[j] = y%u[j] == (int32_t)d ? %s : z%u[j];\n",
                    id, id, a, id, id, id, a, id);
    }
}

static void declare_column_sums(Writer *writer, Text *text) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!is_reduction(writer, id)) continue;
        const Node *node = node_of(writer, id);
        const char *type = element_info[node->type.element].c;
        text_format(text, "        _Alignas(64) %s y%u[%d];\n", type, id, COLUMN_PART);
        if (node->op == OP_argmax)
            text_format(text, "        %s z%u[%d] = {0};\n",
                        element_info[node_of(writer, node->inputs[0])->type.element].c, id,
                        COLUMN_PART);
        text_format(text, "        for (int64_t j = 0; j < count; j++) y%u[j] = %s;\n", id,
                    initial_value(writer, node));
    }
}

static void write_columns_kernel(Text *text, const FunctionPlan *plan, int kernel,
                                 const char *prefix, const char *name) {
    Writer writer = new_writer(text->arena, plan, kernel, prefix);
    for (size_t at = 0; at < writer.kernel->node_count; at++)
        if (is_reduction(&writer, writer.kernel->nodes[at]))
            write_column_step(&writer, writer.kernel->nodes[at]);
    const char *columns = writer.columns;
    const char *depth = dim_expression(text->arena, writer.loops->depth);
    Text *body = &writer.body;
    declare_column_sums(&writer, body);
    text_format(body,
                "        for (int64_t d = 0; d < %s; d++) {\n"
                "            const int64_t r = output / %s * %s + d;\n",
                depth, columns, depth);
    flush(&writer, &writer.lines[LEVEL_row], body, 3);
    text_format(body,
                "            for (int64_t j = 0; j < count; j++) {\n"
                "                const int64_t c = output %% %s + j, i = r * %s + c;\n"
                "                (void)i;\n",
                columns, columns);
    flush(&writer, &writer.lines[LEVEL_column], body, 4);
    flush(&writer, &writer.stores, body, 4);
    text_add(body, "            }\n        }\n");
    next_scope(&writer, LEVEL_row);
    for (size_t at = 0; at < writer.kernel->node_count; at++)
        if (is_stored(&writer, writer.kernel->nodes[at]))
            store(&writer, &writer.stores, writer.kernel->nodes[at],
                  plain_index(&writer, INDEX_output));
    text_add(body, "        for (int64_t j = 0; j < count; j++) {\n"
                   "            const int64_t o = output + j;\n");
    flush(&writer, &writer.lines[LEVEL_column], body, 3);
    flush(&writer, &writer.stores, body, 3);
    text_add(body, "        }\n");
    write_head(&writer, text, name);
    text_format(text,
                "    for (int64_t output = first, count; output < last; output += count) {\n"
                "        count = flow_smaller(flow_smaller(last - output, %s - output %% %s), "
                "%d);\n",
                columns, columns, COLUMN_PART);
    text_add(text, text_string(body));
    text_add(text, "    }\n}\n\n");
}

/* Contractions. */

typedef struct Strides {
    const char *outer, *first, *second;
} Strides;

/* Strides of an operand of shape [..., x, y] (as used) along its leading axes, x and y. */
static Strides operand_strides(Writer *writer, NodeId id, bool collapsed) {
    const Type *type = &node_of(writer, id)->type;
    bool transposed;
    contraction_operand(writer->graph, id, &transposed);
    const char *x = dim_expression(writer->arena, type->dims[type->rank - 2]);
    const char *y = dim_expression(writer->arena, type->dims[type->rank - 1]);
    const char *outer = type->rank == 2 || collapsed
                            ? "0"
                            : count_expression(writer, type, type->rank - 2, type->rank);
    return transposed ? (Strides){outer, "1", x} : (Strides){outer, y, "1"};
}

/* The tile of sums kept in registers: wide where there are few rows, so that there are always
 * about eight independent sums. */
static void choose_tile(const Loops *loops, Element element, int *rows, int *vectors) {
    int64_t m = dim_bound(loops->rows), n = dim_bound(loops->columns);
    int64_t lanes = element == TYPE_f64 ? WIDE_VECTOR / 2 : WIDE_VECTOR;
    int64_t wide = (n + lanes - 1) / lanes;
    *rows = m >= 8 ? 8 : m >= 4 ? 4 : m >= 2 ? 2 : 1;
    int most = *rows == 8 ? 2 : *rows == 4 ? 3 : *rows == 2 ? 4 : 8;
    *vectors = (int)(wide < most ? wide : most);
}

/* Is the name wanted inside the loops of the tile? */
static bool in_tile(const Writer *writer, const char *name) {
    return strstr(text_string(&writer->lines[LEVEL_row]), name) ||
           strstr(text_string(&writer->lines[LEVEL_column]), name) ||
           strstr(text_string(&writer->stores), name);
}

static void write_finish(Writer *writer, Text *text, const char *name) {
    text_format(text,
                "static inline __attribute__((always_inline)) void %s_finish(\n"
                "    const struct %s *context, const %s *restrict tile, int64_t stride,\n"
                "    int64_t first_row, int64_t first_column, int64_t rows, int64_t columns) {\n"
                "    const int64_t batch = context->batch;\n    (void)batch;\n",
                name, name,
                element_info[node_of(writer, writer->kernel->nodes[0])->type.element].c);
    vector_each(Pointer, pointer, writer->pointers)
        if (in_tile(writer, pointer->name))
            text_format(text, "    %s%s *restrict %s = context->%s;\n",
                        pointer->written ? "" : "const ", element_info[pointer->element].c,
                        pointer->name, pointer->name);
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_call && in_tile(writer, variable->name))
            text_format(text, "    const %s %s = context->%s;\n",
                        variable->type ? variable->type : "int64_t", variable->name,
                        variable->name);
    text_add(text, "    for (int64_t m = 0; m < rows; m++) {\n"
                   "        const int64_t r = first_row + m;\n");
    flush(writer, &writer->lines[LEVEL_row], text, 2);
    text_format(text,
                "        for (int64_t n = 0; n < columns; n++) {\n"
                "            const int64_t c = first_column + n, i = r * %s + c;\n"
                "            (void)i;\n",
                writer->columns);
    flush(writer, &writer->lines[LEVEL_column], text, 3);
    flush(writer, &writer->stores, text, 3);
    text_add(text, "        }\n    }\n}\n\n");
}

static void write_context(Writer *writer, Text *text, const char *name, const char *a,
                          const char *b) {
    const char *element = element_info[node_of(writer, writer->kernel->nodes[0])->type.element].c;
    text_format(text, "struct %s {\n    int64_t batch;\n    const %s *a, *b;\n", name, element);
    vector_each(Pointer, pointer, writer->pointers)
        text_format(text, "    %s%s *%s;\n", pointer->written ? "" : "const ",
                    element_info[pointer->element].c, pointer->name);
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_call)
            text_format(text, "    %s %s;\n", variable->type ? variable->type : "int64_t",
                        variable->name);
    text_format(text, "};\n\nstatic inline struct %s %s_prepare(const FlowFrame *frame) {\n", name,
                name);
    text_add(text, "    const int64_t batch = frame->batch;\n");
    declare_pointers(writer, text);
    flush(writer, &writer->lines[LEVEL_call], text, 1);
    text_format(text, "    return (struct %s){batch, %s, %s", name, a, b);
    vector_each(Pointer, pointer, writer->pointers) text_format(text, ", %s", pointer->name);
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_call) text_format(text, ", %s", variable->name);
    text_add(text, "};\n}\n\n");
}

static const char *operand_address(Writer *writer, NodeId id) {
    Pointer pointer = {writer->plan->places[id], node_of(writer, id)->type.element, NULL, false};
    return pointer_address(writer, &pointer);
}

static void write_contraction_kernel(Text *text, const FunctionPlan *plan, int kernel,
                                     const char *prefix, const char *name) {
    Writer writer = new_writer(text->arena, plan, kernel, prefix);
    const Loops *loops = writer.loops;
    const Node *matmul = node_of(&writer, writer.kernel->nodes[0]);
    assert(matmul->op == OP_matmul);
    for (size_t at = 0; at < writer.kernel->node_count; at++)
        if (is_stored(&writer, writer.kernel->nodes[at]))
            store(&writer, &writer.stores, writer.kernel->nodes[at],
                  plain_index(&writer, INDEX_full));
    bool a_transposed, b_transposed;
    NodeId a = contraction_operand(writer.graph, matmul->inputs[0], &a_transposed);
    NodeId b = contraction_operand(writer.graph, matmul->inputs[1], &b_transposed);
    write_context(&writer, text, name, operand_address(&writer, a), operand_address(&writer, b));
    write_finish(&writer, text, name);
    bool collapsed = node_of(&writer, matmul->inputs[1])->type.rank == 2 && !a_transposed;
    Strides left = operand_strides(&writer, matmul->inputs[0], collapsed);
    Strides right = operand_strides(&writer, matmul->inputs[1], false);
    Arena *arena = text->arena;
    int rows, vectors;
    choose_tile(loops, matmul->type.element, &rows, &vectors);
    const char *lines[][2] = {
        {"KERNEL", name},
        {"CONTEXT", arena_format(arena, "struct %s", name)},
        {"PREPARE", arena_format(arena, "%s_prepare", name)},
        {"FINISH", arena_format(arena, "%s_finish", name)},
        {"ELEMENT", element_info[matmul->type.element].c},
        {"OUTER", dim_expression(arena, loops->outer)},
        {"ROWS", dim_expression(arena, loops->rows)},
        {"DEPTH", dim_expression(arena, loops->depth)},
        {"COLUMNS", dim_expression(arena, loops->columns)},
        {"A_OUTER", left.outer},
        {"A_ROW", left.first},
        {"A_DEPTH", left.second},
        {"B_OUTER", right.outer},
        {"B_DEPTH", right.first},
        {"B_COLUMN", right.second},
        {"BY_COLUMNS", writer.kernel->by_columns ? "1" : "0"},
        {"TILE_ROWS", arena_format(arena, "%d", rows)},
        {"TILE_VECTORS", arena_format(arena, "%d", vectors)},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        text_format(text, "#define %s %s\n", lines[i][0], lines[i][1]);
    text_add(text, "#include \"matmul.c\"\n\n");
}

/* Kernels and functions. */

static void write_comment(Text *text, const FunctionPlan *plan, int number) {
    const KernelPlan *kernel = &plan->kernels[number];
    Text comment = text_new(text->arena);
    const char *last_place = "";
    for (size_t i = 0; i < kernel->node_count && i < 12; i++) {
        const Node *node = graph_node(plan->graph, kernel->nodes[i]);
        const char *place = place_text(text->arena, node->range);
        if (*place && strcmp(place, last_place)) text_format(&comment, " %s", last_place = place);
        text_format(&comment, " %s%s", op_info[node->op].name,
                    i + 1 < kernel->node_count ? "," : "");
    }
    if (kernel->node_count > 12) text_add(&comment, " ...");
    NodeId last = kernel->nodes[kernel->node_count - 1];
    const char *type = type_text(text->arena, &graph_node(plan->graph, last)->type);
    text_format(text, "/* kernel %d:%s -> %s */\n", number,
                comment_text(text->arena, text_string(&comment)), comment_text(text->arena, type));
}

void write_kernel(Text *text, const FunctionPlan *plan, int kernel, const char *prefix) {
    const char *name = arena_format(text->arena, "%s_k%d", prefix, kernel);
    write_comment(text, plan, kernel);
    switch (plan->kernels[kernel].loops.kind) {
    case KERNEL_rows: write_rows_kernel(text, plan, kernel, prefix, name); break;
    case KERNEL_columns: write_columns_kernel(text, plan, kernel, prefix, name); break;
    case KERNEL_contraction: write_contraction_kernel(text, plan, kernel, prefix, name); break;
    }
}

static void write_kernels(Text *text, const FunctionPlan *plan, const char *prefix) {
    for (int i = 0; i < plan->kernel_count; i++) write_kernel(text, plan, plan->order[i], prefix);
}

static void write_calls(Text *text, const FunctionPlan *plan, const char *prefix,
                        const char *arguments) {
    for (int i = 0; i < plan->kernel_count; i++) {
        if (plan->kernels[plan->order[i]].barrier)
            text_add(text, "    flow_barrier(frame, thread, threads);\n");
        text_format(text, "    %s_k%d(%s);\n", prefix, plan->order[i], arguments);
    }
}

void write_function(Text *text, const FunctionPlan *plan, const char *prefix) {
    write_kernels(text, plan, prefix);
    text_format(text,
                "static void %s(const FlowFrame *frame, int thread, int threads) {\n"
                "    (void)frame, (void)thread, (void)threads;\n",
                prefix);
    write_calls(text, plan, prefix, "frame, thread, threads");
    if (plan->late.count) text_add(text, "    flow_barrier(frame, thread, threads);\n");
    vector_each(LateCopy, copy, plan->late)
        text_format(text, "    flow_late_copy(frame, thread, %zu, %zu, %zu);\n", copy->from,
                    copy->to, copy->size);
    text_add(text, "}\n\n");
}

void write_check(Text *text, const FunctionPlan *plan, NodeId id, int failure) {
    Writer writer = new_writer(text->arena, plan, NO_KERNEL, "");
    const Node *check = graph_node(plan->graph, id);
    const Type *type = &check->type;
    Loops loops = {KERNEL_rows, dim_constant(writer.table, 1),
                   type_count(writer.table, type, 0, type->rank), dim_constant(writer.table, 1),
                   dim_constant(writer.table, 1)};
    writer.loops = &loops;
    const char *value = value_of(&writer, check->inputs[0], plain_index(&writer, INDEX_full));
    text_add(text, "    {\n");
    Text inner = text_new(text->arena);
    declare_pointers(&writer, &inner);
    flush(&writer, &inner, text, 1);
    flush(&writer, &writer.lines[LEVEL_call], text, 2);
    flush(&writer, &writer.lines[LEVEL_row], text, 2);
    text_format(text, "        for (int64_t i = 0; i < %s; i++) {\n",
                dim_expression(text->arena, loops.rows));
    flush(&writer, &writer.lines[LEVEL_column], text, 3);
    text_format(text, "            if (!(%s >= %s && %s < %s)) return %d;\n        }\n    }\n",
                value, number_literal(text->arena, type->element, (double)check->low), value,
                number_literal(text->arena, type->element, (double)check->high), failure);
}

static void write_record_pointers(Text *text, const FunctionPlan *plan) {
    text_add(text, "    const void *const pointers[] = {");
    for (int i = 0; i < field_count(plan); i++) text_format(text, "fields[%d], ", i);
    for (size_t i = 0; i < plan->graph->outputs.count; i++) text_format(text, "outputs[%zu], ", i);
    text_add(text, "NULL};\n");
}

/* A value that goes to two outputs is computed once and copied. */
static void write_repeated_outputs(Text *text, const FunctionPlan *plan) {
    int index = 0;
    vector_each(Output, output, plan->graph->outputs) {
        NodeId source = strip_reshapes(plan->graph, output->value);
        int first = plan->places[source].index;
        if (first != index)
            text_format(text, "    __builtin_memcpy(outputs[%d], outputs[%d], %lld);\n", index,
                        first, (long long)type_size_bound(&graph_node(plan->graph, source)->type));
        index++;
    }
}

void write_record_function(Text *text, const FunctionPlan *plan, const char *prefix) {
    write_kernels(text, plan, prefix);
    text_format(text, "static int %s(const void *const *fields, void *const *outputs) {\n", prefix);
    bool large = plan->scratch_size > 1 << 16;
    text_format(text, "    %s_Alignas(64) char memory[%zu];\n",
                large ? "static _Thread_local " : "", plan->scratch_size ? plan->scratch_size : 64);
    write_record_pointers(text, plan);
    text_add(text, "    const FlowFrame record = {memory, pointers, 1, NULL}, *frame = &record;\n"
                   "    (void)frame, (void)fields;\n");
    for (int i = 0; i < plan->kernel_count; i++)
        text_format(text, "    %s_k%d(frame, 0, 1);\n", prefix, plan->order[i]);
    int failure = 0;
    for (NodeId id = 0; id < plan->graph->nodes.count; id++)
        if (graph_node(plan->graph, id)->op == OP_check) write_check(text, plan, id, ++failure);
    write_repeated_outputs(text, plan);
    text_add(text, "    return 0;\n}\n\n");
}
