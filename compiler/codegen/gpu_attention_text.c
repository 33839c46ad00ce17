/* GPU attention text: a product whose left operand, the weights, is computed on the way, by
 * cuda_attention.h. An element of the scores becomes one of the weights by the same lines of values
 * as in any other kernel; what is fused behind the product is done as behind any other. */
#include "compiler/codegen/definitions.h"
#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/gpu_tile.h"

#include <string.h>

enum {
    BLOCK_ROWS = 128, /* of results; eight warps of 16 */
    NARROW = 64,      /* columns, and depths of scores */
};

typedef struct Attending {
    Writer *writer;
    const Attention *attention;
    Text *text;
} Attending;

/* An operand whose lines are rows of results, or come by. */
typedef struct Lines {
    ContractionOperand operand;
    bool first; /* the lines are what its first axis counts: rows of a, the depth of b */
} Lines;

static Lines lines_of(const Attending *all, NodeId product, int which, bool first) {
    const Node *node = node_of(all->writer, product);
    return (Lines){contraction_operand(all->writer->graph, node, which), first};
}

/* Of a product of scores: what has queries, or what has keys. */
static Lines queries_of(const Attending *all, NodeId product) {
    return lines_of(all, product, 0, true);
}

static Lines keys_of(const Attending *all, NodeId product) {
    return lines_of(all, product, 1, false);
}

static const Digits *line_digits(const Lines *lines) {
    return lines->first ? &lines->operand.first : &lines->operand.second;
}

static const Digits *depth_digits(const Lines *lines) {
    return lines->first ? &lines->operand.second : &lines->operand.first;
}

static bool same_digits(const Digits *a, const Digits *b) {
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; i++)
        if (a->items[i].size != b->items[i].size || a->items[i].stride != b->items[i].stride)
            return false;
    return true;
}

static bool same_lines(const Lines *a, const Lines *b) {
    return a->operand.node == b->operand.node && a->operand.start == b->operand.start &&
           same_digits(&a->operand.outer, &b->operand.outer) &&
           same_digits(line_digits(a), line_digits(b)) &&
           same_digits(depth_digits(a), depth_digits(b));
}

/* Macros and the pointer of an operand. own: its lines are those of the block's rows. */
static void write_lines(const Attending *all, const Lines *lines, bool own, int number) {
    Writer *writer = all->writer;
    text_format(all->text,
                "#define %s_%d(s, l, k) (%s + %s + %s)\n"
                "#define %sVECTOR_%d %d\n"
                "    const STORED *const %s_%d = (const STORED *)(%s);\n",
                own ? "OWN" : "COME", number, offset_expression(writer, &lines->operand.outer, "s"),
                offset_expression(writer, line_digits(lines), "l"),
                offset_expression(writer, depth_digits(lines), "k"), own ? "OWN_" : "", number,
                gpu_vector(writer, &lines->operand, line_digits(lines), depth_digits(lines)),
                own ? "own" : "come", number, operand_address(writer, &lines->operand));
}

static void write_product(const Attending *all, NodeId product, int number) {
    const Lines queries = queries_of(all, product), keys = keys_of(all, product);
    const bool turned = all->attention->turned;
    write_lines(all, turned ? &keys : &queries, true, number);
    write_lines(all, turned ? &queries : &keys, false, number);
}

static const char *depth_of(const Attending *all, NodeId product) {
    if (product == NODE_NONE) return "0";
    const Loops loops = node_loops(all->writer->graph, node_of(all->writer, product));
    return dim_expression(all->writer->arena, loops.depth);
}

/* Which of what comes by is what the weights weigh: 2 is nothing else. */
static int weighed(const Attending *all, const Lines *values) {
    const Attention *attention = all->attention;
    const NodeId products[] = {attention->scores, attention->second};
    for (int i = 0; i < 2 && products[i] != NODE_NONE; i++) {
        const Lines come =
            attention->turned ? queries_of(all, products[i]) : keys_of(all, products[i]);
        if (same_lines(&come, values)) return i;
    }
    return 2;
}

static Element stored_element(const Writer *writer, const Lines *lines) {
    return node_of(writer, lines->operand.node)->type.element;
}

/* How elements are stored and multiplied. */
static void write_element(const Attending *all, Element stored) {
    Arena *arena = all->writer->arena;
    const char *name = element_info[stored].name;
    const Macro macros[] = {
        {"ELEMENT", "float"},
        {"STORED", element_info[stored].c},
        {"LOAD(a)", load_macro(arena, stored)},
        {"TENSOR", is_half(stored) ? "1" : "0"},
        {"MULTIPLY", arena_format(arena, "FLOW_MULTIPLY_%s", name)},
        {"PACK", arena_format(arena, "FLOW_PACK_%s", name)},
    };
    write_macros(all->text, macros, sizeof macros / sizeof *macros);
}

static void write_form(const Attending *all, const Lines *values) {
    Arena *arena = all->writer->arena;
    const Attention *attention = all->attention;
    const Macro macros[] = {
        {"FORWARD", attention->forward ? "1" : "0"},
        {"TURNED", attention->turned ? "1" : "0"},
        {"SECOND", attention->second != NODE_NONE ? "1" : "0"},
        {"WEIGHED", arena_format(arena, "%d", weighed(all, values))},
        {"CAUSAL", attention->mask != NODE_NONE ? "1" : "0"},
        {"SEEN", arena_format(arena, "%lld", (long long)attention->seen)},
    };
    write_macros(all->text, macros, sizeof macros / sizeof *macros);
}

static bool is_narrow(const Writer *writer, NodeId product) {
    int64_t depth;
    const Loops loops = node_loops(writer->graph, node_of(writer, product));
    return dim_is_constant(loops.depth, &depth) && depth <= NARROW;
}

static bool is_narrow_all(const Attending *all) {
    const Attention *attention = all->attention;
    int64_t columns;
    return is_narrow(all->writer, attention->scores) &&
           (attention->second == NODE_NONE || is_narrow(all->writer, attention->second)) &&
           dim_is_constant(all->writer->loops->columns, &columns) && columns <= NARROW;
}

/* Two blocks of a multiprocessor hide each other's waits, where there are as many, and tensor cores
 * leave registers for two: what a thread has of its own rows grows with the depth of the scores,
 * its sums with the columns. */
static const char *blocks_abreast(const Attending *all, const Lines *values) {
    const Loops *loops = all->writer->loops;
    const double blocks =
        (double)dim_bound(loops->outer) * (double)((dim_bound(loops->rows) - 1) / BLOCK_ROWS + 1);
    const bool halves = is_half(stored_element(all->writer, values));
    return halves && blocks >= 2.0 * gpu_tiles_enough && is_narrow_all(all)
               ? "(1 + FLOW_TENSOR_CORES)"
               : "1";
}

static void write_sizes(const Attending *all, const Lines *values) {
    const Writer *writer = all->writer;
    const Attention *attention = all->attention;
    const Macro macros[] = {
        {"ROWS", dim_expression(writer->arena, writer->loops->rows)},
        {"COLUMNS", writer->columns},
        {"COMING", dim_expression(writer->arena, writer->loops->depth)},
        {"QUERIES", attention->turned ? "COMING" : "ROWS"},
        {"KEYS", attention->turned ? "ROWS" : "COMING"},
        {"DEPTH_0", depth_of(all, attention->scores)},
        {"DEPTH_1", depth_of(all, attention->second)},
        {"DEPTH_2", "COLUMNS"},
        {"TILE_ROWS", arena_format(writer->arena, "%d", BLOCK_ROWS)},
        {"ABREAST", blocks_abreast(all, values)},
    };
    write_macros(all->text, macros, sizeof macros / sizeof *macros);
}

static void write_parameters(const Attending *all, const Lines *values) {
    write_element(all, stored_element(all->writer, values));
    write_form(all, values);
    write_sizes(all, values);
}

static void write_operands(const Attending *all, const Lines *values) {
    const Attention *attention = all->attention;
    write_product(all, attention->scores, 0);
    if (attention->second != NODE_NONE) write_product(all, attention->second, 1);
    if (weighed(all, values) == 2) write_lines(all, values, false, 2);
}

/* What the loop knows needs no numbers of rows and columns. */
static void define_mask(Writer *writer, NodeId choice, Index full) {
    const Node *node = node_of(writer, choice);
    const Index at = operand_index_text(writer, node, 0, full);
    const NodeId seen = strip_reshapes(writer->graph, node->inputs[0]);
    text_format(&writer->lines[at.level], "(void)%s;\n", at.text);
    define_variable(writer, seen, at, "bool", "SEES_ALL || key <= query + SEEN");
}

/* exp is FLOW_POWER. */
static void define_quickly(Writer *writer, NodeId id, Index full) {
    const Node *node = node_of(writer, id);
    if (node->op != OP_exp) return;
    const char *a = value_of(writer, node->inputs[0], operand_index_text(writer, node, 0, full));
    define_value(writer, id, full, arena_format(writer->arena, "FLOW_POWER(%s)", a));
}

/* Of what the weights are made of, unless the program is to be exact. */
static void define_made(Writer *writer, const Attention *attention, Index full) {
    for (size_t i = 0; i < attention->made_count && !writer->graph->wishes.exact; i++) {
        const NodeId id = attention->made[i];
        if (id <= attention->weights && node_of(writer, id)->type.element == TYPE_f32)
            define_quickly(writer, id, full);
    }
}

/* Of a kernel whose rows are queries, of all slices, and whose columns are keys. */
static Loops weight_loops(const Writer *writer, const Attention *attention) {
    const Loops product = node_loops(writer->graph, node_of(writer, attention->scores));
    const Dim one = dim_constant(writer->table, 1);
    return (Loops){.kind = KERNEL_rows,
                   .outer = one,
                   .rows = dim_multiply(writer->table, product.outer, product.rows),
                   .depth = one,
                   .columns = product.columns};
}

/* The lines that make a weight of scores; and, taken apart, those of its query alone. */
typedef struct Weights {
    Text lines;
    Definitions of_query;
    const bool *wanted; /* of them: those that the lines speak of */
} Weights;

/* Where something lies, each element finds for itself. */
static bool is_number(const Definition *line) {
    return !line->is_place;
}

static bool is_found_once(const Weights *weights, const Definition *line) {
    return weights->wanted[line - weights->of_query.items] && is_number(line);
}

/* Takes them apart from the lines, if there are few: for more a block's memory has no room. */
static void take_apart(Writer *writer, Weights *weights) {
    enum { FEW = 8 };
    Text *row = &writer->lines[LEVEL_row];
    int count = 0;
    const bool known = read_definitions(writer->arena, row, &weights->of_query);
    weights->wanted = find_wanted(writer->arena, &weights->of_query,
                                  text_string(&writer->lines[LEVEL_column]), is_number);
    vector_each(Definition, line, weights->of_query) count += is_found_once(weights, line);
    if (known && count <= FEW) *row = text_new(writer->arena);
    else weights->of_query.count = 0;
}

static void make_weight(Writer *writer, const Attention *attention, Weights *weights) {
    const Index full = plain_index(writer, INDEX_full);
    define_variable(writer, attention->scores, full, "float", "scores[n]");
    if (attention->second != NODE_NONE)
        define_variable(writer, attention->second, full, "float", "seconds[n]");
    if (attention->mask != NODE_NONE) define_mask(writer, attention->mask, full);
    define_made(writer, attention, full);
    const char *weight = value_of(writer, attention->weights, full);
    text_format(&writer->lines[LEVEL_column], "scores[n] = %s;\n", weight);
    take_apart(writer, weights);
    move_lines(writer, &writer->lines[LEVEL_row], &weights->lines, 3);
    move_lines(writer, &writer->lines[LEVEL_column], &weights->lines, 3);
}

static Weights make_weights(Writer *writer, const Attention *attention) {
    const Loops *own = writer->loops, loops = weight_loops(writer, attention);
    const char *columns = writer->columns;
    Weights weights = {.lines = text_new(writer->arena)};
    writer->loops = &loops;
    writer->columns = dim_expression(writer->arena, loops.columns);
    make_weight(writer, attention, &weights);
    next_scope(writer, LEVEL_row);
    writer->loops = own;
    writer->columns = columns;
    return weights;
}

static bool finds_once(const Weights *weights) {
    vector_each(Definition, line, weights->of_query)
        if (is_found_once(weights, line)) return true;
    return false;
}

/* What each query has, is found once: of a block's own queries the thread keeps it; of those that
 * come by, a thread each finds it for all, in one of two places in turn. */
static void keep_of_queries(const Weights *weights, Text *text, bool turned) {
    vector_each(Definition, line, weights->of_query) {
        if (!is_found_once(weights, line)) continue;
        if (turned)
            text_format(text, "    FLOW_SHARED(%.*s, of_%s, 2 * ACROSS);\n",
                        (int)strlen(line->type) - 1, line->type, line->name);
        else text_format(text, "    %sof_%s[2];\n", line->type, line->name);
    }
}

static void find_of_queries(Arena *arena, const Weights *weights, Text *text, bool turned) {
    const int depth = turned ? 3 : 2;
    const Definitions *all = &weights->of_query;
    Text found = text_new(arena), kept = text_new(arena);
    vector_each(Definition, line, *all) {
        if (!is_found_once(weights, line)) continue;
        text_format(&found, "%s\n", line->name);
        if (turned)
            text_format(&kept, "%*sFLOW_PUT(of_%s, turn + FLOW_THREAD, %s);\n", 4 * depth, "",
                        line->name, line->name);
        else text_format(&kept, "%*sof_%s[h] = %s;\n", 4 * depth, "", line->name, line->name);
    }
    const bool *wanted = find_wanted(arena, all, text_string(&found), NULL);
    for (size_t i = 0; i < all->count; i++)
        if (wanted[i]) write_definition(text, depth, &all->items[i], all->items[i].value);
    text_add(text, text_string(&kept));
}

static void write_own_queries(Arena *arena, const Weights *weights, Text *text) {
    keep_of_queries(weights, text, false);
    text_add(text, "    FLOW_UNROLL for (int h = 0; h < 2; h++) {\n"
                   "        const int64_t query = first_row + own_row + h * 8;\n"
                   "        const int64_t r = slice * QUERIES + query;\n"
                   "        (void)r;\n"
                   "        if (query >= QUERIES) continue;\n");
    find_of_queries(arena, weights, text, false);
    text_add(text, "    }\n");
}

static void write_coming_queries(Arena *arena, const Weights *weights, Text *text) {
    text_add(text, "        const int turn = (int)((coming - first_come) / ACROSS % 2) * ACROSS;\n"
                   "        if (FLOW_THREAD < ACROSS && coming + FLOW_THREAD < QUERIES) {\n"
                   "            const int64_t r = slice * QUERIES + coming + FLOW_THREAD;\n"
                   "            (void)r;\n");
    find_of_queries(arena, weights, text, true);
    text_add(text, "        }\n");
}

/* The lines of an element take it from there. */
static void take_of_query(Writer *writer, const Weights *weights, Text *text, bool turned) {
    vector_each(Definition, line, weights->of_query) {
        const char *value = line->value;
        if (!weights->wanted[line - weights->of_query.items]) continue;
        if (is_number(line) && turned)
            value = arena_format(writer->arena, "FLOW_GET(of_%s, turn + COLUMN_OF(n))", line->name);
        else if (is_number(line))
            value = arena_format(writer->arena, "of_%s[n %% 4 / 2]", line->name);
        write_definition(text, 3, line, value);
    }
}

/* Scores become weights. */
static void weigh_tile(const Attending *all, const Weights *weights, bool sees_all) {
    Text *const text = all->text;
    text_format(
        text,
        "        enum { SEES_ALL = %d };\n"
        "        FLOW_UNROLL for (int n = 0; n < SCORES; n++) {\n"
        "            const int own = (int)first_row + ROW_OF(n);\n"
        "            const int come = (int)coming + COLUMN_OF(n);\n"
        "            const int query = TURNED ? come : own, key = TURNED ? own : come;\n"
        "            if (!is_whole && (query >= (int)(QUERIES) || key >= (int)(KEYS))) {\n"
        "                scores[n] = FORWARD ? -__builtin_inff() : 0;\n"
        "                continue;\n"
        "            }\n"
        "            const int64_t c = key, r = slice * QUERIES + query, i = r * KEYS + c;\n"
        "            (void)i;\n",
        sees_all);
    take_of_query(all->writer, weights, text, all->attention->turned);
    text_add(text, text_string(&weights->lines));
    text_add(text, "        }\n");
}

/* Most tiles lie where the rows of a warp see, or are seen by, all that comes: no choice there. */
static void weigh_tiles(const Attending *all, const Weights *weights) {
    Text *const text = all->text;
    if (all->attention->mask == NODE_NONE) {
        text_add(text, "        (void)see_all;\n");
        weigh_tile(all, weights, true);
        return;
    }
    text_add(text, "        if (see_all) {\n");
    weigh_tile(all, weights, true);
    text_add(text, "        } else {\n");
    weigh_tile(all, weights, false);
    text_add(text, "        }\n");
}

static void write_weights(const Attending *all, const Weights *weights) {
    Text *const text = all->text;
    const bool turned = all->attention->turned, any = finds_once(weights);
    text_add(text, "#include \"cuda_attention.h\"\n");
    if (any && turned) keep_of_queries(weights, text, true);
    if (any && !turned) write_own_queries(all->writer->arena, weights, text);
    text_add(text,
             "    for (int64_t coming = first_come; coming < last_come; coming += ACROSS) {\n");
    if (any && turned) write_coming_queries(all->writer->arena, weights, text);
    text_add(text, "#include \"cuda_scores.h\"\n");
    weigh_tiles(all, weights);
    text_add(text, "#include \"cuda_weigh.h\"\n"
                   "    }\n");
}

/* What the way back wants of a softmax. */
static void write_rows_left(const Attending *all) {
    Writer *writer = all->writer;
    const NodeId left[] = {all->attention->most, all->attention->total};
    static const char *const values[] = {"most[h]", "total[h]"};
    text_add(all->text, "#include \"cuda_weighed.h\"\n");
    text_add(all->text, "    FLOW_UNROLL for (int h = 0; h < 2; h++) {\n"
                        "        const int64_t row = first_row + own_row + h * 8;\n"
                        "        const int64_t r = slice * ROWS + row;\n"
                        "        (void)r;\n"
                        "        if (lane % 4 || row >= ROWS) continue;\n");
    for (int i = 0; i < 2; i++)
        if (is_stored(writer, left[i]))
            text_format(all->text, "        %s", store_text(writer, left[i], "r", values[i]));
    text_add(all->text, "    }\n");
}

/* Adds the lines of what is stored of each sum. */
static void store_results(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        const NodeId id = writer->kernel->nodes[at];
        if (is_stored(writer, id) && !is_reduction(writer, id))
            store_value(writer, id, plain_index(writer, INDEX_full));
    }
}

const char *gpu_attention_form(const Writer *writer) {
    const Attention *attention = writer->kernel->attention;
    const Node *scores = node_of(writer, attention->scores);
    const ContractionOperand a = contraction_operand(writer->graph, scores, 0);
    const bool halves = is_half(node_of(writer, a.node)->type.element);
    return arena_format(writer->arena, "cuda_attention.h%s, a block for %d %s%s; %s%s",
                        halves ? " by cuda_attention_mma.h from sm_80 on" : "", BLOCK_ROWS,
                        attention->turned ? "keys" : "queries",
                        attention->mask != NODE_NONE ? ", what they don't see left out" : "",
                        attention->forward ? "scores, their softmax" : "weights again",
                        attention->second != NODE_NONE ? " and their gradient" : "");
}

const char *write_gpu_attention(Writer *writer, Text *text) {
    const Attending all = {writer, writer->kernel->attention, text};
    const Lines values = lines_of(&all, all.attention->product, 1, true);
    Weights weights = make_weights(writer, all.attention);
    Text body = text_new(writer->arena);
    const Attending inside = {writer, all.attention, &body};
    write_operands(&inside, &values);
    write_parameters(&all, &values);
    write_weights(&inside, &weights);
    if (all.attention->forward) write_rows_left(&inside);
    store_results(writer);
    writer->abreast = "ABREAST";
    write_gpu_head(writer, text);
    text_add(text, text_string(&body));
    write_gpu_sums(writer, text, "float");
    write_gpu_tail(writer, text);
    return arena_format(
        writer->arena, "(%s) * (%s)", dim_expression(writer->arena, writer->loops->outer),
        gpu_blocks(writer, dim_expression(writer->arena, writer->loops->rows), BLOCK_ROWS));
}
