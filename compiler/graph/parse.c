/* Parse: graph text, as graph_print writes it and people write it in tests.
 *
 *     graph "name" batch B <= 64         the batch and the bounds may be missing
 *       dim T <= 1024
 *       %0 = input "x" : f32[B, 784]     every node has the next number
 *       %1 = sum %0 axes=[1]             the type may be left out where it follows
 *       %2 = view %0 [i0, (2*i1 - 1)/2] fill 0 : f32[B, 9]     i0 is axis 0 of the result
 *       %3 = transpose %0                short for the view that exchanges the last two axes
 *       %4 = exp %1 @gpu(0)              the wanted device: @cpu, @gpu(k), @prefer(gpu(k))
 *       result "y" %1
 *       update "w" %3 of %2
 *       %4 = scan %3 turns=T carried=1 scanned=1 shared=0 backwards {
 *         …                              its body: nodes and results; `backwards` may be missing
 *       }
 *       %5 = part %4 0
 *
 * Line ends are blanks, `#` starts a comment. Nodes are appended as they are written, nothing is
 * simplified. The reader stops at the first error: `failed` makes every later step do nothing. */
#include "compiler/graph/build.h"
#include "compiler/graph/movement.h"
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIM_STEP_LIMIT = 64, /* operators and brackets in one size */
    BODY_DEPTH_LIMIT = 8,
    OPERAND_LIMIT = 1 << 16, /* of each kind, of one scan */
};

typedef struct Reader {
    Arena *arena;
    const Source *source;
    uint32_t at, begin; /* begin: of the last word */
    Diagnostics *diagnostics;
    Graph *graph;
    Map symbols; /* from a name to its Dim */
    int dim_steps;
    int depth; /* bodies around */
    bool failed;
} Reader;

/* Words. */

static void fail(Reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(Reader *reader, const char *format, ...) {
    va_list arguments;
    if (reader->failed) return;
    reader->failed = true;
    va_start(arguments, format);
    uint32_t end = reader->at > reader->begin ? reader->at : reader->begin + 1;
    if (end > reader->source->size) end = reader->source->size;
    Range range = {reader->source, reader->begin < end ? reader->begin : end, end};
    diagnostic_add(reader->diagnostics, E0101, range, "%s",
                   arena_format_list(reader->arena, format, arguments));
    va_end(arguments);
}

static char peek(const Reader *reader) {
    return reader->at < reader->source->size ? reader->source->text[reader->at] : 0;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void skip_blanks(Reader *reader) {
    while (is_space(peek(reader)) || peek(reader) == '#') {
        bool comment = peek(reader) == '#';
        while (comment && reader->at < reader->source->size && peek(reader) != '\n') reader->at++;
        if (is_space(peek(reader))) reader->at++;
    }
    reader->begin = reader->at;
}

static bool at_end(Reader *reader) {
    skip_blanks(reader);
    return reader->failed || reader->at >= reader->source->size;
}

/* Takes the punctuation if it comes next. */
static bool take(Reader *reader, const char *mark) {
    skip_blanks(reader);
    size_t size = strlen(mark);
    if (reader->failed || reader->source->size - reader->at < size) return false;
    if (memcmp(reader->source->text + reader->at, mark, size)) return false;
    reader->at += (uint32_t)size;
    return true;
}

static void expect(Reader *reader, const char *mark) {
    if (!take(reader, mark)) fail(reader, "expected `%s`", mark);
}

/* The name that comes next, "" if none does. */
static const char *read_name(Reader *reader) {
    skip_blanks(reader);
    while (is_letter(peek(reader)) || (reader->at > reader->begin && is_digit(peek(reader))))
        reader->at++;
    return arena_copy(reader->arena, reader->source->text + reader->begin,
                      reader->at - reader->begin);
}

static bool take_name(Reader *reader, const char *name) {
    uint32_t before = (skip_blanks(reader), reader->at);
    if (!reader->failed && !strcmp(read_name(reader), name)) return true;
    reader->at = before;
    return false;
}

static int64_t read_integer(Reader *reader) {
    skip_blanks(reader);
    if (peek(reader) == '-') reader->at++;
    uint32_t digits = reader->at;
    while (is_digit(peek(reader))) reader->at++;
    errno = 0;
    long long value = strtoll(reader->source->text + reader->begin, NULL, 10);
    if (reader->at == digits) fail(reader, "expected a whole number");
    else if (errno) fail(reader, "the number is too large");
    return reader->failed ? 0 : value;
}

static double read_number(Reader *reader) {
    skip_blanks(reader);
    while (is_letter(peek(reader)) || is_digit(peek(reader)) ||
           (peek(reader) && strchr("+-.", peek(reader))))
        reader->at++;
    const char *word =
        arena_copy(reader->arena, reader->source->text + reader->begin, reader->at - reader->begin);
    char *end;
    double value = strtod(word, &end);
    if (!*word || *end) fail(reader, "expected a number");
    return value;
}

static int digit_value(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands behind a backslash. */
static char read_escape(Reader *reader) {
    char c = peek(reader);
    reader->at++;
    if (c == '"' || c == '\\') return c;
    int high = digit_value(peek(reader)), low = -1;
    if (high >= 0 && reader->at + 1 < reader->source->size)
        low = digit_value(reader->source->text[reader->at + 1]);
    if (c != 'x' || low < 0 || !(high | low)) {
        fail(reader, "unknown escape");
        return 0;
    }
    reader->at += 2;
    return (char)(high << 4 | low);
}

static const char *read_string(Reader *reader) {
    Text text = text_new(reader->arena);
    expect(reader, "\"");
    while (!reader->failed && peek(reader) != '"') {
        char c = peek(reader);
        if (!c || c == '\n') fail(reader, "expected `\"`");
        reader->at++;
        if (c == '\\') c = read_escape(reader);
        text_add_bytes(&text, &c, 1);
    }
    if (!reader->failed) reader->at++;
    return text_string(&text);
}

/* Types. */

static Dim read_sum(Reader *reader);

static Dim one(const Reader *reader) {
    return dim_constant(reader->graph->dimensions, 1);
}

static bool dim_step(Reader *reader) {
    if (++reader->dim_steps > DIM_STEP_LIMIT) fail(reader, "the size is too complicated");
    return !reader->failed;
}

static Dim read_atom(Reader *reader) {
    if (take(reader, "(")) {
        Dim inner = dim_step(reader) ? read_sum(reader) : one(reader);
        expect(reader, ")");
        return inner;
    }
    if (is_digit(peek(reader)) || peek(reader) == '-') {
        int64_t value = read_integer(reader);
        if (value > DIMENSION_LIMIT || value < -DIMENSION_LIMIT)
            fail(reader, "a size is at most 2^40");
        return dim_constant(reader->graph->dimensions, value);
    }
    const char *name = read_name(reader);
    Dim symbol = map_get(&reader->symbols, name);
    if (!*name) fail(reader, "expected a size");
    else if (!symbol) fail(reader, "unknown dimension `%s`", name);
    return symbol ? symbol : one(reader);
}

typedef Dim Arithmetic(Dimensions *table, Dim a, Dim b);

static Dim apply(Reader *reader, Arithmetic *operation, Dim a, Dim b) {
    Dim result = dim_step(reader) ? operation(reader->graph->dimensions, a, b) : one(reader);
    if (!result) fail(reader, "no such size");
    return result ? result : one(reader);
}

static Dim read_product(Reader *reader) {
    Dim left = read_atom(reader);
    while (!reader->failed) {
        if (take(reader, "*")) left = apply(reader, dim_multiply, left, read_atom(reader));
        else if (take(reader, "/")) left = apply(reader, dim_divide, left, read_atom(reader));
        else break;
    }
    return left;
}

static Dim read_sum(Reader *reader) {
    Dim left = read_product(reader);
    while (!reader->failed) {
        if (take(reader, "+")) left = apply(reader, dim_add, left, read_product(reader));
        else if (take(reader, "-")) left = apply(reader, dim_subtract, left, read_product(reader));
        else break;
    }
    return left;
}

static Dim read_dim(Reader *reader) {
    reader->dim_steps = 0;
    Dim dim = read_sum(reader);
    if (dim_bound(dim) < 1) fail(reader, "a size is at least 1");
    return dim;
}

static Type read_type(Reader *reader) {
    Type type = {0};
    const char *name = read_name(reader);
    if (!element_by_name(name, &type.element)) fail(reader, "unknown element type `%s`", name);
    if (!take(reader, "[")) return type;
    do {
        if (type.rank == RANK_LIMIT) fail(reader, "at most %d dimensions", RANK_LIMIT);
        if (!reader->failed) type.dims[type.rank++] = read_dim(reader);
    } while (take(reader, ","));
    expect(reader, "]");
    return type;
}

/* Nodes. */

static NodeId read_id(Reader *reader) {
    expect(reader, "%");
    if (!is_digit(peek(reader))) fail(reader, "expected the number of a node");
    int64_t id = reader->failed ? 0 : read_integer(reader);
    if (id >= (int64_t)reader->graph->nodes.count && !reader->failed)
        fail(reader, "there is no node %%%lld yet", (long long)id);
    return reader->failed ? 0 : (NodeId)id;
}

static uint32_t read_axes(Reader *reader) {
    uint32_t axes = 0;
    expect(reader, "[");
    while (!reader->failed && !take(reader, "]")) {
        int64_t axis = read_integer(reader);
        if (axis < 0 || axis >= RANK_LIMIT) fail(reader, "there is no such axis");
        else axes |= 1u << axis;
        if (!take(reader, ",")) skip_blanks(reader);
    }
    return axes;
}

static bool take_attribute(Reader *reader, const char *name) {
    if (!take_name(reader, name)) return false;
    expect(reader, "=");
    return true;
}

static int read_count(Reader *reader, const char *name) {
    if (!take_attribute(reader, name)) fail(reader, "expected `%s=`", name);
    int64_t count = reader->failed ? 0 : read_integer(reader);
    if (count < 0 || count > OPERAND_LIMIT) fail(reader, "no such number of operands");
    return (int)count;
}

static void read_line(Reader *reader);

static const Graph *read_body(Reader *reader) {
    Graph *outside = reader->graph;
    Graph *body = graph_new(reader->arena, outside->dimensions, outside->name);
    if (++reader->depth > BODY_DEPTH_LIMIT) fail(reader, "bodies are nested too deeply");
    body->batch = outside->batch;
    reader->graph = body;
    expect(reader, "{");
    while (!reader->failed && !take(reader, "}")) read_line(reader);
    reader->graph = outside;
    reader->depth--;
    return body;
}

static void read_scan(Reader *reader, Node *node) {
    Scan *scan = arena_new_item(reader->arena, Scan);
    if (!take_attribute(reader, "turns")) fail(reader, "expected `turns=`");
    scan->turns = reader->failed ? one(reader) : read_dim(reader);
    scan->carried = read_count(reader, "carried");
    scan->scanned = read_count(reader, "scanned");
    scan->shared = read_count(reader, "shared");
    scan->backwards = take_name(reader, "backwards");
    scan->body = read_body(reader);
    node->scan = scan;
}

static void begin_list(Reader *reader, const char *name) {
    if (!take_attribute(reader, name)) fail(reader, "expected `%s=`", name);
    expect(reader, "[");
}

/* Is there another item? */
static bool take_item(Reader *reader, size_t count) {
    if (reader->failed || take(reader, "]")) return false;
    if (count) expect(reader, ",");
    return !reader->failed;
}

static void read_external(Reader *reader, Node *node) {
    External *external = arena_new_item(reader->arena, External);
    external->name = read_string(reader);
    if (!reader->failed && external_name_problem(external->name))
        fail(reader, "no name of a C function");
    begin_list(reader, "sizes");
    while (take_item(reader, external->sizes.count))
        vector_push(reader->arena, &external->sizes, read_dim(reader));
    begin_list(reader, "gives");
    while (take_item(reader, external->results.count))
        vector_push(reader->arena, &external->results, read_type(reader));
    node->external = external;
}

static int read_part(Reader *reader) {
    int64_t part = read_integer(reader);
    if (part < 0 || part > OPERAND_LIMIT) fail(reader, "no such part");
    return (int)part;
}

static void read_attributes(Reader *reader, Node *node) {
    if (op_info[node->op].class == LOOP_reduce && take_attribute(reader, "axes"))
        node->axes = read_axes(reader);
    if (op_info[node->op].class == LOOP_generate && take_attribute(reader, "stream"))
        node->stream = read_integer(reader);
    if (node->op == OP_check && take_attribute(reader, "name")) node->name = read_string(reader);
}

/* Views. */

/* The axis that the word i0, i1 … names; -1 and nothing is taken when none comes next. */
static int take_axis(Reader *reader) {
    uint32_t before = (skip_blanks(reader), reader->at);
    const char *name = read_name(reader);
    if (name[0] == 'i' && name[1] >= '0' && name[1] < '0' + RANK_LIMIT && !name[2])
        return name[1] - '0';
    reader->at = before;
    return -1;
}

/* `2*i1` or `i1`; false when what comes next is a size. */
static bool take_multiple(Reader *reader, int64_t sign, Coordinate *sum) {
    uint32_t before = (skip_blanks(reader), reader->at);
    int64_t factor = 1;
    bool written = is_digit(peek(reader)) || peek(reader) == '-';
    if (written) factor = read_integer(reader);
    int axis = !written || take(reader, "*") ? take_axis(reader) : -1;
    if (axis < 0) reader->at = before;
    else if (llabs(factor) > FACTOR_LIMIT) fail(reader, "the factor is too large");
    else sum->factors[axis] += sign * factor;
    return axis >= 0;
}

static void read_term(Reader *reader, int64_t sign, Coordinate *sum) {
    if (take(reader, "-")) sign = -sign;
    if (reader->failed || take_multiple(reader, sign, sum)) return;
    Dim part = read_product(reader);
    sum->start = apply(reader, sign < 0 ? dim_subtract : dim_add, sum->start, part);
}

static Coordinate read_coordinate(Reader *reader) {
    Coordinate sum = coordinate_along(dim_constant(reader->graph->dimensions, 0), -1);
    bool divided = take(reader, "(");
    reader->dim_steps = 0;
    read_term(reader, 1, &sum);
    while (!reader->failed) {
        if (take(reader, "+")) read_term(reader, 1, &sum);
        else if (take(reader, "-")) read_term(reader, -1, &sum);
        else break;
    }
    if (!divided) return sum;
    expect(reader, ")");
    expect(reader, "/");
    sum.divisor = reader->failed ? 1 : read_integer(reader);
    return sum;
}

static void read_view(Reader *reader, Node *node) {
    View view = {0};
    expect(reader, "[");
    while (!reader->failed && !take(reader, "]")) {
        if (view.rank == RANK_LIMIT) fail(reader, "at most %d coordinates", RANK_LIMIT);
        else view.coordinates[view.rank++] = read_coordinate(reader);
        if (!take(reader, ",")) skip_blanks(reader);
    }
    if (take_name(reader, "fill")) view.fill = read_number(reader);
    View *kept = arena_new_item(reader->arena, View);
    *kept = view;
    node->view = kept;
}

/* What follows `transpose`: the type goes with it. */
static void read_transpose(Reader *reader, Node *node) {
    node->op = OP_view;
    node->inputs[0] = read_id(reader);
    Type type = reader->failed ? (Type){0} : graph_node(reader->graph, node->inputs[0])->type;
    if (type.rank < 2) fail(reader, "transpose takes a matrix");
    if (reader->failed) return;
    View *view = arena_new_item(reader->arena, View);
    *view = view_transposition(reader->graph->dimensions, type.rank);
    node->view = view;
    node->type = type;
    node->type.dims[type.rank - 2] = type.dims[type.rank - 1];
    node->type.dims[type.rank - 1] = type.dims[type.rank - 2];
}

static void read_operands(Reader *reader, Node *node) {
    for (int i = 0; i < op_info[node->op].arity; i++) node->inputs[i] = read_id(reader);
    if (node->op == OP_constant) node->number = read_number(reader);
    if (node->op == OP_view) read_view(reader, node);
    if (node->op == OP_scan) read_scan(reader, node);
    if (node->op == OP_extern) read_external(reader, node);
    if (node->op == OP_part) node->part = read_part(reader);
    if (node->op == OP_input || node->op == OP_weight) node->name = read_string(reader);
    if (node->op == OP_check) {
        node->low = read_integer(reader);
        expect(reader, "..");
        node->high = read_integer(reader);
    }
    read_attributes(reader, node);
}

static Placement read_device(Reader *reader) {
    Placement device = {.device = DEVICE_cpu};
    if (take_name(reader, "cpu")) return device;
    device.device = DEVICE_gpu;
    if (!take_name(reader, "gpu")) fail(reader, "expected `cpu` or `gpu`");
    expect(reader, "(");
    int64_t index = read_integer(reader);
    if (index < 0 || index >= GPU_LIMIT) fail(reader, "there is no such GPU");
    device.index = (int)index;
    expect(reader, ")");
    return device;
}

static Placement read_placement(Reader *reader) {
    uint32_t begin = (skip_blanks(reader), reader->at);
    if (!take(reader, "@")) return (Placement){0};
    bool soft = take_name(reader, "prefer");
    if (soft) expect(reader, "(");
    Placement placement = read_device(reader);
    if (soft) expect(reader, ")");
    placement.soft = soft;
    placement.range = (Range){reader->source, begin, reader->at};
    return placement;
}

static void read_kernel(Reader *reader, Node *node) {
    node->kernel = NO_KERNEL;
    if (!take_name(reader, "kernel")) return;
    expect(reader, "=");
    int64_t kernel = read_integer(reader);
    if (kernel < 0 || kernel >= NODE_LIMIT) fail(reader, "no such kernel");
    if (reader->failed) return;
    node->kernel = (int)kernel;
    if (kernel >= reader->graph->kernel_count) reader->graph->kernel_count = (int)kernel + 1;
}

/* The written type, or none for the ops whose type follows. */
static bool read_node_type(Reader *reader, Node *node) {
    if (take(reader, ":")) {
        node->type = read_type(reader);
        return true;
    }
    if (op_info[node->op].gives == GIVES_declared && !node->type.rank)
        fail(reader, "expected a type");
    return false;
}

static void append_node(Reader *reader, Node *node, bool typed) {
    Problem problem;
    if (reader->failed) return;
    if (node->op == OP_constant) node->number = element_round(node->type.element, node->number);
    NodeId id = graph_append(reader->graph, *node, &problem);
    reader->begin = node->range.begin;
    if (id == NODE_NONE) {
        fail(reader, "%s", problem.text);
        return;
    }
    const Type *type = &graph_node(reader->graph, id)->type;
    if (typed && !type_equal(type, &node->type))
        fail(reader, "the type is %s", type_text(reader->arena, type));
}

static void read_node(Reader *reader) {
    Node node = {.range = {reader->source, reader->begin, reader->begin}};
    int64_t id = read_integer(reader);
    if (id != (int64_t)reader->graph->nodes.count)
        fail(reader, "expected node %%%zu", reader->graph->nodes.count);
    expect(reader, "=");
    const char *name = read_name(reader);
    bool transpose = !strcmp(name, "transpose");
    if (!transpose && !op_by_name(name, &node.op)) fail(reader, "unknown op `%s`", name);
    if (reader->failed) return;
    (transpose ? read_transpose : read_operands)(reader, &node);
    const Type exchanged = node.type;
    bool typed = read_node_type(reader, &node);
    if (transpose && !shape_equal(&exchanged, &node.type))
        fail(reader, "the type is %s", type_text(reader->arena, &exchanged));
    node.range.end = reader->at;
    node.placement = read_placement(reader);
    read_kernel(reader, &node);
    append_node(reader, &node, typed);
}

/* The graph. */

static Dim read_symbol(Reader *reader, bool batch) {
    const char *name = read_name(reader);
    int64_t bound = SIZE_UNKNOWN;
    if (!*name) fail(reader, "expected a name");
    if (map_get(&reader->symbols, name)) fail(reader, "dimension `%s` is declared twice", name);
    if (take(reader, "<=")) bound = read_integer(reader);
    if (bound != SIZE_UNKNOWN && (bound < 1 || bound > DIMENSION_LIMIT))
        fail(reader, "a size is from 1 to 2^40");
    Dim symbol = dim_symbol(reader->graph->dimensions, name, bound, batch);
    map_put(&reader->symbols, name, (void *)symbol);
    return symbol;
}

static void read_output(Reader *reader, OutputKind kind) {
    const char *name = read_string(reader);
    NodeId value = read_id(reader), target = NODE_NONE;
    if (kind == OUTPUT_update) {
        if (!take_name(reader, "of")) fail(reader, "expected `of`");
        target = read_id(reader);
    }
    if (!reader->failed) graph_output(reader->graph, kind, name, value, target);
}

static void read_header(Reader *reader) {
    if (!take_name(reader, "graph")) fail(reader, "expected `graph`");
    const char *name = read_string(reader);
    reader->graph = graph_new(reader->arena, dimensions_new(reader->arena), name);
    if (take_name(reader, "batch")) reader->graph->batch = read_symbol(reader, true);
}

static void read_line(Reader *reader) {
    if (take(reader, "%")) {
        reader->begin = reader->at - 1;
        read_node(reader);
    } else if (take_name(reader, "dim")) read_symbol(reader, false);
    else if (take_name(reader, "result")) read_output(reader, OUTPUT_result);
    else if (take_name(reader, "update")) read_output(reader, OUTPUT_update);
    else fail(reader, "expected a node, `dim`, `result` or `update`");
}

Graph *graph_parse(Arena *arena, const Source *source, Diagnostics *diagnostics) {
    Reader reader = {
        .arena = arena, .source = source, .diagnostics = diagnostics, .symbols = map_new(arena)};
    read_header(&reader);
    while (!at_end(&reader)) read_line(&reader);
    const char *broken = reader.failed ? NULL : graph_verify(arena, reader.graph);
    if (broken) fail(&reader, "%s", broken);
    return reader.failed ? NULL : reader.graph;
}
