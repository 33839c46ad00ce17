/* Tile text: what follows a product as functions that matmul.c calls while a tile of sums is in
 * registers:
 *
 *   NAME_apply        makes results of a vector of sums; gives a sum of those that are only kept
 *                     if they are finite
 *   NAME_put_results  stores them
 *   NAME_go_to        moves pointers to the first element of a tile, from which all others lie at
 *                     numbers then; gives what is left of its place: 0, or all if none can move.
 *                     It is no part of the text, but the writer's go_to, for matmul_beside.h
 *   NAME_keep         stores of them what is kept
 *   NAME_is_closed    are new values not to be kept at all in this call?
 *
 * Vectors have the arithmetic of the language, comparisons and choices by them, and little else:
 * what needs more, or other elements than those side by side, is left to loops over tiles that were
 * stored. */
#include "compiler/codegen/writer.h"

#include <string.h>

/* The element of row r and column c: the tile's first one, and a number that the compiler adds to
 * addresses, where rows are as long as a number says. */
static const char in_tile[] = "first + further";

static bool is_same_element(const Writer *writer, const Node *node) {
    return node->type.element == node_of(writer, writer->kernel->nodes[0])->type.element &&
           !is_half(node->type.element);
}

/* Does the next column have the next element? */
static bool is_adjacent(const Writer *writer, const char *index) {
    if (!strcmp(index, "i") || !strcmp(index, "c")) return true;
    vector_each(Variable, variable, writer->variables) {
        size_t size = strlen(variable->index);
        if (variable->node == NODE_NONE && !strcmp(variable->name, index))
            return size > 4 && !strcmp(variable->index + size - 4, " + c");
    }
    return false;
}

const char *vector_load(Writer *writer, NodeId id, Index index) {
    if (!is_same_element(writer, node_of(writer, id)) || !is_adjacent(writer, index.text))
        writer->refused = true;
    load_text(writer, id, index.text); /* which notes that the pointer is read */
    const char *pointer = pointer_to(writer, id, false);
    const bool in_place = !strcmp(index.text, "i");
    return arena_format(writer->arena, "FLOW_GET(%s + %s)", pointer,
                        in_place ? in_tile : index.text);
}

const char *vector_store(Writer *writer, NodeId id, const char *value) {
    if (!is_same_element(writer, node_of(writer, id))) writer->refused = true;
    pointer_to(writer, id, true); /* which notes that it is written */
    vector_push(writer->arena, &writer->results, (Result){id, value});
    return arena_format(writer->arena, "results[%zu] = %s;\n", writer->results.count - 1, value);
}

static const char vector_name[] = "VECTOR", choice_name[] = "CHOICE";

const char *vector_type(const Node *node) {
    return node->type.element == TYPE_bool ? choice_name : vector_name;
}

static bool has_type(const Writer *writer, const char *value, const char *type) {
    vector_each(Variable, variable, writer->variables)
        if (!strcmp(variable->name, value)) return variable->type && !strcmp(variable->type, type);
    return false;
}

static bool is_vector(const Writer *writer, const char *value) {
    return has_type(writer, value, vector_name);
}

/* An operand: a number is in all lanes. */
static const char *as_vector(Writer *writer, const char *value) {
    return is_vector(writer, value) ? value
                                    : arena_format(writer->arena, "%s - (VECTOR){0}", value);
}

static bool has_operators(Op op) {
    return op == OP_add || op == OP_subtract || op == OP_multiply || op == OP_divide ||
           op == OP_negate;
}

/* Of an op that is a function of vectors of lanes.h. */
static const char *called_formula(Writer *writer, const Node *node, const char *const *operands) {
    const char *name = op_info[node->op].name;
    Text text = text_new(writer->arena);
    text_format(&text, "FLOW_JOIN(KERNEL, _%s)(", name);
    for (int i = 0; i < node->input_count; i++)
        text_format(&text, "%s%s", i ? ", " : "",
                    has_type(writer, operands[i], choice_name) ? operands[i]
                                                               : as_vector(writer, operands[i]));
    text_add(&text, ")");
    return text_string(&text);
}

static bool is_called(Op op) {
    return op == OP_sqrt || op == OP_maximum || op == OP_minimum || op == OP_select;
}

static bool is_comparison(Op op) {
    return op == OP_less || op == OP_less_equal || op == OP_equal || op == OP_not_equal;
}

/* Of vectors; other elements than those of the sums are refused. */
static const char *comparison(Writer *writer, const Node *node, const char *const *operands) {
    if (!is_same_element(writer, node_of(writer, node->inputs[0]))) writer->refused = true;
    const char *vectors[] = {as_vector(writer, operands[0]), as_vector(writer, operands[1]), ""};
    return formula_text(writer, node, vectors, "", "");
}

static bool is_product(const Writer *writer, NodeId id) {
    const Node *node = node_of(writer, strip_reshapes(writer->graph, id));
    while (node->op == OP_negate)
        node = node_of(writer, strip_reshapes(writer->graph, node->inputs[0]));
    return node->op == OP_multiply;
}

/* Either of two products that are added can become one operation with the sum, and the compiler's
 * choice may not be the same in all copies of this code: so it is the first. */
static bool is_rounded_first(const Writer *writer, const Node *node) {
    return (node->op == OP_add || node->op == OP_subtract) && is_product(writer, node->inputs[0]) &&
           is_product(writer, node->inputs[1]);
}

const char *vector_formula(Writer *writer, const Node *node, const char *const *operands) {
    bool has_vector = false;
    for (int i = 0; i < node->input_count; i++) has_vector |= is_vector(writer, operands[i]);
    if (!has_vector) writer->refused = true;
    if (is_comparison(node->op)) return comparison(writer, node, operands);
    if (!is_same_element(writer, node)) writer->refused = true;
    if (node->op == OP_select && !has_type(writer, operands[0], choice_name))
        writer->refused = true;
    if (is_called(node->op)) return called_formula(writer, node, operands);
    if (!has_operators(node->op)) writer->refused = true;
    const char *chosen[ARITY_LIMIT] = {operands[0], operands[1], operands[2]};
    if (is_rounded_first(writer, node) && is_vector(writer, operands[1]))
        chosen[1] = arena_format(writer->arena, "FLOW_JOIN(KERNEL, _rounded)(%s)", operands[1]);
    return formula_text(writer, node, chosen, "", "");
}

const char *vector_keep(Writer *writer, const char *const *operands) {
    bool by_lane = has_type(writer, operands[0], choice_name); /* as of a weight of one element */
    if (by_lane || !is_vector(writer, operands[1]) || !is_vector(writer, operands[2]))
        writer->refused = true;
    else text_format(&writer->lines[LEVEL_column], "(void)%s;\n", operands[2]);
    return operands[1];
}

/* Declares what a function's lines speak of. */
static void write_known(const Writer *writer, Text *text, const Text *lines) {
    vector_each(Pointer, pointer, writer->pointers)
        if (has_name(lines, pointer->name))
            text_format(text, "    %s%s *%s = context->%s;\n", pointer->written ? "" : "const ",
                        element_info[pointer->element].c, pointer->name, pointer->name);
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_call && has_name(lines, variable->name))
            text_format(text, "    const %s %s = context->%s;\n",
                        variable->type ? variable->type : "int64_t", variable->name,
                        variable->name);
}

static const Kept *kept_of(const Writer *writer, const Result *result) {
    vector_each(Kept, kept, writer->kept)
        if (kept->node == result->node) return kept;
    return NULL;
}

/* The sum of all that is kept: not finite where one of them is not. */
static const char *kept_sum(const Writer *writer) {
    Text sum = text_new(writer->arena);
    vector_each(Result, result, writer->results)
        if (kept_of(writer, result))
            text_format(&sum, "%s%s", sum.size ? " + " : "", result->value);
    return sum.size ? text_string(&sum) : "sums";
}

/* The lines of a column, loads and their places first. A load of the first lanes may take branches,
 * and only between two of those does the compiler make one operation of a product and a sum: all
 * arithmetic is behind them, or what becomes one would hang on the tile. */
static void move_loads_first(Writer *writer, Text *lines) {
    Text *column = &writer->lines[LEVEL_column];
    Text loads = text_new(writer->arena), others = text_new(writer->arena);
    for (const char *line = text_string(column), *end; *line; line = end) {
        end = strchr(line, '\n') + 1;
        const char *text = arena_copy(writer->arena, line, (size_t)(end - line));
        const bool loads_or_places =
            strstr(text, " = FLOW_GET(") || !strncmp(text, "const int64_t p", 15);
        text_add(loads_or_places ? &loads : &others, text);
    }
    *column = text_new(writer->arena);
    move_lines(writer, &loads, lines, 1);
    move_lines(writer, &others, lines, 1);
}

/* Is it read and written at elements of the tile? */
static bool is_in_tile(const Pointer *pointer) {
    return pointer->whole || pointer->written;
}

static bool can_move(const Writer *writer, const Text *lines) {
    vector_each(Pointer, pointer, writer->pointers)
        if (is_in_tile(pointer) && pointer->apart) return false;
    return !has_name(lines, "i");
}

static const char *go_to_text(const Writer *writer, bool moves) {
    Text text = text_new(writer->arena);
    text_format(&text,
                "FLOW_TILE int64_t FLOW_JOIN(KERNEL, _go_to)(struct %s *context, int64_t first) {\n"
                "    (void)context;\n",
                MARK_KERNEL);
    vector_each(Pointer, pointer, writer->pointers)
        if (moves && is_in_tile(pointer))
            text_format(&text, "    context->%s += first;\n    FLOW_OPAQUE(context->%s);\n",
                        pointer->name, pointer->name);
    text_format(&text, "    return %s;\n}\n\n", moves ? "0" : "first");
    return text_string(&text);
}

static void write_apply(Writer *writer, Text *text) {
    Text lines = text_new(writer->arena);
    move_lines(writer, &writer->lines[LEVEL_row], &lines, 1);
    move_loads_first(writer, &lines);
    move_lines(writer, &writer->stores, &lines, 1);
    text_format(text,
                "FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _apply)(\n"
                "    const struct %s *context, VECTOR sums, VECTOR *results, int64_t first,\n"
                "    int64_t further, int64_t r, int64_t c, const int whole, int64_t lanes) {\n"
                "    const int64_t batch = context->batch, *const sizes = context->sizes;\n"
                "    (void)batch, (void)sizes, (void)r, (void)c, (void)whole, (void)lanes;\n",
                MARK_KERNEL);
    write_known(writer, text, &lines);
    text_format(text, "    const int64_t i = %s;\n    (void)i;\n", in_tile);
    text_add(text, text_string(&lines));
    text_format(text, "    return %s;\n}\n\n", kept_sum(writer));
    writer->go_to = go_to_text(writer, can_move(writer, &lines));
}

static void write_is_closed(Writer *writer, Text *text) {
    Text closed = text_new(writer->arena);
    text_add(&closed, "0");
    vector_each(Kept, kept, writer->kept) text_format(&closed, " | ((%s) == 0)", kept->step);
    text_format(text,
                "FLOW_TILE int FLOW_JOIN(KERNEL, _is_closed)(const struct %s *context) {\n    "
                "(void)context;\n",
                MARK_KERNEL);
    write_known(writer, text, &closed);
    text_format(text, "    return %s;\n}\n\n", text_string(&closed));
}

static void write_put(Writer *writer, Text *text) {
    Text lines = text_new(writer->arena);
    vector_each(Result, result, writer->results)
        text_format(&lines, "    FLOW_PUT(%s + %s, results[%zu]);\n",
                    pointer_to(writer, result->node, true), in_tile,
                    (size_t)(result - writer->results.items));
    text_format(text,
                "FLOW_TILE void FLOW_JOIN(KERNEL, _put_results)(\n"
                "    const struct %s *context, const VECTOR *results, int64_t first,\n"
                "    int64_t further, const int whole, int64_t lanes) {\n"
                "    (void)whole, (void)lanes;\n",
                MARK_KERNEL);
    write_known(writer, text, &lines);
    text_format(text, "%s}\n\n", text_string(&lines));
}

static void write_keep(Writer *writer, Text *text) {
    Text lines = text_new(writer->arena);
    vector_each(Result, result, writer->results) {
        const Kept *kept = kept_of(writer, result);
        const char *to = pointer_to(writer, result->node, true);
        size_t number = (size_t)(result - writer->results.items);
        if (kept)
            text_format(&lines,
                        "    flow_hold_back(context->guard, flow_put_kept_%s(%s + i, held + %zu * "
                        "apart, lanes, %s, %s), %s);\n",
                        element_info[node_of(writer, kept->node)->type.element].name, to, number,
                        kept->step, kept->good, kept->place);
        else
            text_format(&lines,
                        "    __builtin_memcpy(%s + i, held + %zu * apart, (size_t)lanes * sizeof "
                        "*held);\n",
                        to, number);
    }
    text_format(text,
                "static __attribute__((noinline, cold)) void FLOW_JOIN(KERNEL, _keep)(\n"
                "    const struct %s *context, const ELEMENT *held, int64_t apart, int64_t i,\n"
                "    int64_t lanes) {\n",
                MARK_KERNEL);
    write_known(writer, text, &lines);
    text_format(text, "%s}\n\n", text_string(&lines));
}

bool lies_on_old(const Writer *writer, NodeId keep) {
    NodeId old = strip_reshapes(writer->graph, node_of(writer, keep)->inputs[2]);
    const Place *place = &writer->plan->places[keep], *known = &writer->plan->places[old];
    return place->kind == known->kind && place->offset == known->offset;
}

static bool can_keep(const Writer *writer) {
    bool keeps = false;
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (node_of(writer, id)->op != OP_keep || !is_stored(writer, id)) continue;
        /* What is held is settled where it goes: there lies what it would replace. */
        if (!lies_on_old(writer, id)) return false;
        keeps = true;
    }
    return !keeps || can_log_kept(writer);
}

bool write_tile(Writer *writer, Text *text) {
    if (!can_keep(writer)) return false;
    writer->vectors = writer->logs = true;
    store_values(writer, INDEX_full);
    if (writer->refused) return false;
    text_format(
        text,
        "#define APPLIES 1\n#define KEPT %d\n#define RESULTS %zu\n#include \"product/lanes.h\"\n\n",
        writer->kept.count > 0, writer->results.count);
    write_apply(writer, text);
    write_put(writer, text);
    if (writer->kept.count) {
        write_is_closed(writer, text);
        write_keep(writer, text);
    }
    writer->vectors = writer->logs = false;
    writer->kept.count = 0;
    next_scope(writer, LEVEL_row);
    return true;
}
