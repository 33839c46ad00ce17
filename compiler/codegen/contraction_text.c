/* Contraction text: a matrix product with what is fused behind it, as parameters of the templates
 * matmul.c, few_columns.c, windows.c, winograd.c, winograd_weights.c and matmul_half.c: a struct of
 * pointers and values of the call, a function that fills it, one that turns finished rows of sums
 * into results, and macros. What is deep is multiplied by runtime/product, which product.c calls.
 */
#include "compiler/codegen/writer.h"

#include "compiler/passes/operand.h"
#include "runtime/product/product.h"

#include <assert.h>

const char *offset_expression(Writer *writer, const Digits *digits, const char *name) {
    Text sum = text_new(writer->arena);
    Dim below = dim_constant(writer->table, 1);
    for (int i = digits->count - 1; i >= 0; i--) {
        const Digit *digit = &digits->items[i];
        text_format(&sum, "%s(%s)", sum.size ? " + " : "", name);
        if (i + 1 < digits->count) text_format(&sum, " / %s", dim_expression(writer->arena, below));
        if (i) text_format(&sum, " %% %s", dim_expression(writer->arena, digit->size));
        text_format(&sum, " * %s", dim_expression(writer->arena, digit->stride));
        below = dim_multiply(writer->table, below, digit->size);
    }
    return sum.size ? text_string(&sum) : "0";
}

/* Of the index's last digit: what one more adds, and how many there are; size: of the index. */
static const char *step_expression(Writer *writer, const Digits *digits) {
    return digits->count ? dim_expression(writer->arena, digits->items[digits->count - 1].stride)
                         : "0";
}

static const char *run_expression(Writer *writer, const Digits *digits, Dim size) {
    return dim_expression(writer->arena,
                          digits->count ? digits->items[digits->count - 1].size : size);
}

static const char *bound_expression(Writer *writer, Dim dim) {
    return arena_format(writer->arena, "%lldLL", (long long)dim_bound(dim));
}

/* The kernel stores its sums as they are, and nothing else. */
static bool is_plain(const Writer *writer) {
    Element element = node_of(writer, writer->kernel->nodes[0])->type.element;
    return writer->kernel->node_count == 1 && !is_half(element);
}

/* Is the name wanted inside the loops of the tile? */
static bool in_tile(const Writer *writer, const char *name) {
    return !strcmp(writer->columns, name) || has_name(&writer->lines[LEVEL_row], name) ||
           has_name(&writer->lines[LEVEL_column], name) || has_name(&writer->stores, name) ||
           in_logs(writer, name) || in_fills(writer, name);
}

/* whole: all of a row's columns, which are a number. */
static void write_columns(Writer *writer, Text *text, bool whole) {
    text_format(text,
                "        FLOW_INDEPENDENT\n"
                "        for (int64_t n = 0; n < %s; n++) {\n"
                "            const int64_t c = %sn, i = r * %s + c;\n"
                "            (void)i;\n",
                whole ? writer->columns : "columns", whole ? "" : "first_column + ",
                writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], text, 3);
    move_lines(writer, &writer->stores, text, 3);
    text_add(text, "        }\n");
}

static void write_logged_columns(Writer *writer, Text *text) {
    text_format(text,
                "        for (int64_t part = 0, count; part < columns; part += count) {\n"
                "            const int64_t begin = r * %s + first_column + part;\n"
                "            count = flow_smaller(columns - part, FLOW_LOG);\n",
                writer->columns);
    declare_logs(writer, text, 3);
    text_add(text, "            FLOW_INDEPENDENT\n"
                   "            for (int64_t j = 0; j < count; j++) {\n"
                   "                const int64_t n = part + j, c = first_column + n, "
                   "i = begin + j;\n"
                   "                (void)n, (void)c;\n");
    move_lines(writer, &writer->lines[LEVEL_column], text, 4);
    move_lines(writer, &writer->stores, text, 4);
    text_add(text, "            }\n");
    use_logs(writer, text, 3, "begin");
    text_add(text, "        }\n");
}

/* Is an element's place all that its results take, so that whole rows may be one? */
static bool joins_rows(const Writer *writer) {
    static const char *const others[] = {"r", "c"};
    for (size_t i = 0; i < 2; i++)
        if (has_name(&writer->lines[LEVEL_column], others[i]) ||
            has_name(&writer->stores, others[i]))
            return false;
    return !writer->lines[LEVEL_row].size;
}

static void write_rows(Writer *writer, Text *text, bool whole) {
    bool joins = joins_rows(writer);
    if (joins)
        text_format(text, "    if (stride == %s && columns == stride) columns *= rows, rows = 1;\n",
                    writer->columns);
    text_add(text, "    for (int64_t m = 0; m < rows; m++) {\n"
                   "        const int64_t r = first_row + m;\n");
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    if (writer->logs) write_logged_columns(writer, text);
    else write_columns(writer, text, whole && !joins);
    text_add(text, "    }\n");
}

static void write_finish(Writer *writer, Text *text, bool whole) {
    const char *name = MARK_KERNEL;
    text_format(text,
                "static FLOW_ONE_COPY void %s_finish(\n"
                "    const struct %s *context, const %s *restrict tile, int64_t stride,\n"
                "    int64_t first_row, int64_t first_column, int64_t rows, int64_t columns) {\n"
                "    const int64_t batch = context->batch, *const sizes = context->sizes;\n"
                "    (void)batch, (void)sizes;\n",
                name, name,
                element_info[node_of(writer, writer->kernel->nodes[0])->type.element].computed);
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
    declare_faults(writer, text);
    text_add(text, "    (void)first_column, (void)columns;\n");
    if (writer->narrow) write_narrow_rows(writer, text, "first_row", "(first_row + rows)");
    else write_rows(writer, text, whole);
    tell_faults(writer, text, "context->guard", "context->");
    text_add(text, "}\n\n");
}

/* Of both operands in memory. */
static Element stored_element(const Writer *writer) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    return node_of(writer, contraction_operand(writer->graph, matmul, 0).node)->type.element;
}

/* fields: its operands, as members of a struct; values: of these. */
static void write_context(Writer *writer, Text *text, const char *fields, const char *values) {
    const char *name = MARK_KERNEL;
    text_format(text,
                "struct %s {\n    int64_t batch;\n    const int64_t *sizes;\n"
                "    %s;\n",
                name, fields);
    if (writer->kept.count) text_add(text, "    FlowGuard *guard;\n");
    vector_each(Pointer, pointer, writer->pointers)
        text_format(text, "    %s%s *%s;\n", pointer->written ? "" : "const ",
                    element_info[pointer->element].c, pointer->name);
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_call)
            text_format(text, "    %s %s;\n", variable->type ? variable->type : "int64_t",
                        variable->name);
    text_format(text,
                "};\n\nstatic inline struct %s %s_prepare(const FlowFrame *frame, "
                "const int64_t *operands) {\n",
                name, name);
    text_add(text, sizes_line);
    declare_pointers(writer, text);
    move_lines(writer, &writer->lines[LEVEL_call], text, 1);
    text_format(text, "    return (struct %s){batch, sizes, %s", name, values);
    if (writer->kept.count) text_add(text, ", frame->guard");
    vector_each(Pointer, pointer, writer->pointers) text_format(text, ", %s", pointer->name);
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_call) text_format(text, ", %s", variable->name);
    text_add(text, "};\n}\n\n");
}

const char *operand_address(Writer *writer, const ContractionOperand *operand) {
    int64_t start;
    const char *address = address_of(writer, operand->node);
    if (dim_is_constant(operand->start, &start) && !start) return address;
    return arena_format(writer->arena, "(const %s *)%s + %s",
                        element_info[node_of(writer, operand->node)->type.element].c, address,
                        dim_expression(writer->arena, operand->start));
}

const char *contraction_address(Writer *writer, int which) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    ContractionOperand operand = contraction_operand(writer->graph, matmul, which);
    return operand_address(writer, &operand);
}

const char *load_macro(Arena *arena, Element element) {
    return is_half(element) ? arena_format(arena, "flow_load_%s(a)", element_info[element].name)
                            : "(a)";
}

static bool is_number(Dim dim) {
    int64_t value;
    return dim_is_constant(dim, &value);
}

/* How many runs of the last digit are evenly spaced, if that is a number. */
static const char *runs_expression(Writer *writer, const Digits *digits) {
    Dim runs = digits->count > 1 ? digits->items[digits->count - 2].size : NULL;
    return runs && is_number(runs) ? dim_expression(writer->arena, runs) : "1";
}

static bool is_of_windows(const Writer *writer, const ContractionOperand *a,
                          const ContractionOperand *b) {
    return sees_windows(writer->graph, a, b, writer->loops->columns);
}

/* Asks for element i of what lies as the results do. context: with what leads to its members. Where
 * whole rows are asked for at once it is into the second cache: few lines may be on their way to
 * the nearest one, and all others wait for them. */
static const char *ask_macro(Writer *writer, const char *context) {
    const bool rows = stored_element(writer) == TYPE_bf16;
    Text text = text_new(writer->arena);
    vector_each(Pointer, pointer, writer->pointers)
        if (pointer->written || pointer->whole)
            text_format(&text, "%s__builtin_prefetch(%s%s + (i), %s)", text.size ? ", " : "",
                        context, pointer->name,
                        rows               ? "0, 2"
                        : pointer->written ? "1"
                                           : "0");
    return text.size ? text_string(&text) : "(void)0";
}

static const char *number_text(Arena *arena, int64_t number) {
    return arena_format(arena, "%lld", (long long)number);
}

static void write_results(Writer *writer, Text *text) {
    Arena *arena = writer->arena;
    const char *name = MARK_KERNEL;
    const Element stored = stored_element(writer);
    const bool plain = is_plain(writer);
    const Macro macros[] = {
        {"CONTEXT", arena_format(arena, "struct %s", name)},
        {"PREPARE", arena_format(arena, "%s_prepare", name)},
        {"PLAIN", plain ? "1" : "0"},
        {"RESULT", plain ? arena_format(arena, "context.%s", writer->pointers.items[0].name)
                         : "work->waiting"},
        {plain ? "FINISH(...)" : "FINISH",
         plain ? "(void)0" : arena_format(arena, "%s_finish", name)},
        {"ASK(i)", ask_macro(writer, "context.")},
        {"STORED", element_info[stored].c},
        {"LOAD(a)", load_macro(arena, stored)},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

/* The depth of a part, if the plan cuts it up: so many values of the depth's first axis, whole. */
static const char *part_expression(Writer *writer, const ContractionOperand *a) {
    const char *depth = dim_expression(writer->arena, writer->loops->depth);
    if (writer->kernel->parts == 1 || writer->gpu) return depth;
    const long long each = depth_of_windows(a);
    return arena_format(writer->arena, "(((%s) / %lld - 1) / %d + 1) * %lld", depth, each,
                        writer->kernel->parts, each);
}

static void write_sizes(Writer *writer, Text *text, const ContractionOperand *a) {
    Arena *arena = writer->arena;
    const Loops *loops = writer->loops;
    int64_t columns;
    const Macro macros[] = {
        {"OUTER", dim_expression(arena, loops->outer)},
        {"ROWS", dim_expression(arena, loops->rows)},
        {"DEPTH", dim_expression(arena, loops->depth)},
        {"COLUMNS", dim_expression(arena, loops->columns)},
        {"MOST_ROWS", bound_expression(writer, loops->rows)},
        {"MOST_DEPTH", bound_expression(writer, loops->depth)},
        {"MOST_COLUMNS", bound_expression(writer, loops->columns)},
        {"COLUMNS_VARY", dim_is_constant(loops->columns, &columns) ? "0" : "1"},
        {"BY_COLUMNS", writer->kernel->by_columns ? "1" : "0"},
        {"SHARE_BLOCK", share_block(writer)},
        {"PARTS", number_text(arena, writer->kernel->parts)},
        {"PART_DEPTH", part_expression(writer, a)},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

static void write_left(Writer *writer, Text *text, const ContractionOperand *a) {
    const Loops *loops = writer->loops;
    const Macro macros[] = {
        {"A_OUTER(s)", offset_expression(writer, &a->outer, "s")},
        {"A_ROW_AT(m)", offset_expression(writer, &a->first, "m")},
        {"A_DEPTH_AT(k)", offset_expression(writer, &a->second, "k")},
        {"A_ROW", step_expression(writer, &a->first)},
        {"A_DEPTH", step_expression(writer, &a->second)},
        {"A_ROW_RUN", run_expression(writer, &a->first, loops->rows)},
        {"A_ROW_RUNS", runs_expression(writer, &a->first)},
        {"A_DEPTH_RUN", run_expression(writer, &a->second, loops->depth)},
        {"A_TABLE", a->first.count > 1 || a->second.count > 1 ? "1" : "0"},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

static void write_padding(Writer *writer, Text *text, const ContractionOperand *a) {
    Arena *arena = writer->arena;
    const Padding padding = padding_of(writer, a);
    const Sides sides = sides_of(writer, a);
    const Macro macros[] = {
        {"A_INSIDE", number_text(arena, padding.count)},
        {"A_INSIDE_FIRST", number_text(arena, padding.first)},
        {"A_INSIDE_LINE", number_text(arena, padding.line)},
        {"A_INSIDE_LINES", number_text(arena, padding.lines)},
        {"A_INSIDE_BY_ROW", number_text(arena, padding.by_row)},
        {"A_INSIDE_BY_DEPTH", number_text(arena, padding.by_depth)},
        {"A_SIDE", number_text(arena, sides.count)},
        {"A_SIDE_FIRST", number_text(arena, sides.first)},
        {"A_SIDE_TAPS", number_text(arena, sides.taps)},
        {"A_SIDE_BY_ROW", number_text(arena, sides.by_row)},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

static void write_right(Writer *writer, Text *text, const ContractionOperand *b) {
    const Loops *loops = writer->loops;
    const Macro macros[] = {
        {"B_OUTER(s)", offset_expression(writer, &b->outer, "s")},
        {"B_DEPTH_AT(k)", offset_expression(writer, &b->first, "k")},
        {"B_COLUMN_AT(n)", offset_expression(writer, &b->second, "n")},
        {"B_DEPTH", step_expression(writer, &b->first)},
        {"B_COLUMN", step_expression(writer, &b->second)},
        {"B_DEPTH_RUN", run_expression(writer, &b->first, loops->depth)},
        {"B_COLUMN_RUN", run_expression(writer, &b->second, loops->columns)},
        {"B_TABLE", b->first.count > 1 ? "1" : "0"},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

static void write_winograd(Writer *writer, Text *text) {
    const Winograd *winograd = writer->kernel->winograd;
    if (!winograd) return;
    const Macro macros[] = {
        {"IMAGE_LINES", number_text(writer->arena, winograd->lines)},
        {"IMAGE_PLACES", number_text(writer->arena, winograd->places)},
        {"FEATURES", number_text(writer->arena, winograd->features)},
        {"A_IMAGE", number_text(writer->arena, winograd->image)},
        {"A_LINE", number_text(writer->arena, winograd->line)},
        {"A_IMAGE_LINES", number_text(writer->arena, winograd->seen_lines)},
        {"A_LINE_PLACES", number_text(writer->arena, winograd->seen_places)},
        {"A_LINES_BEFORE", number_text(writer->arena, winograd->lines_before)},
        {"A_PLACES_BEFORE", number_text(writer->arena, winograd->places_before)},
        {"PANEL", number_text(writer->arena, winograd->panel)},
        {"TILES_WANTED", number_text(writer->arena, winograd->tiles)},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

void write_contraction_parameters(Writer *writer, Text *text) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    const ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    write_results(writer, text);
    write_sizes(writer, text, &a);
    write_left(writer, text, &a);
    write_padding(writer, text, &a);
    write_right(writer, text, &b);
    write_triangle(writer, text);
    write_winograd(writer, text);
}

/* Of floats, with adjacent rows of a, and all else in one run: see few_columns.c. */
static bool has_few_columns(const Writer *writer, const ContractionOperand *a,
                            const ContractionOperand *b) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    int64_t columns;
    return matmul->type.element == TYPE_f32 && stored_element(writer) == TYPE_f32 &&
           dim_is_constant(writer->loops->columns, &columns) &&
           FLOW_FEW_COLUMNS(dim_bound(writer->loops->rows), dim_bound(writer->loops->depth),
                            columns, 16) &&
           is_run(&a->first) && a->second.count <= 1 && b->first.count <= 1 &&
           b->second.count <= 1 && !writer->kernel->by_columns && !has_triangle(writer->kernel);
}

static const char *template_of(const Writer *writer, const ContractionOperand *a,
                               const ContractionOperand *b) {
    const Winograd *winograd = writer->kernel->winograd;
    if (winograd) return winograd->weights ? "winograd_weights.c" : "winograd.c";
    if (stored_element(writer) == TYPE_bf16) return "matmul_half.c";
    if (is_of_windows(writer, a, b)) return "windows.c";
    if (is_compiled_ahead(writer->plan, writer->number)) return "product.c";
    return has_few_columns(writer, a, b) ? "few_columns.c" : "matmul.c";
}

/* Is it the template that is matmul.c where vectors are short? */
static bool is_few(const char *template) {
    return !strcmp(template, "few_columns.c");
}

static bool is_of_vectors(const char *template) {
    return !strcmp(template, "matmul.c") || is_few(template);
}

static bool leaves_zeros_there(const Writer *writer, const char *template,
                               const ContractionOperand *a) {
    return !strcmp(template, "matmul.c") && leaves_zeros(writer, a);
}

static bool takes_tiles(const Writer *writer) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    return !is_plain(writer) && is_of_vectors(template_of(writer, &a, &b));
}

/* With what of the results is computed on tiles in registers, in `tile`, if it can be. */
static Writer new_tile(Arena *arena, const FunctionPlan *plan, int kernel, Text *tile) {
    Writer writer = new_writer(arena, plan, kernel);
    *tile = text_new(arena);
    if (!takes_tiles(&writer) || write_tile(&writer, tile)) return writer;
    *tile = text_new(arena);
    return new_writer(arena, plan, kernel);
}

static bool calls_product(const Writer *writer) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    return !strcmp(template_of(writer, &a, &b), "product.c");
}

/* With the lines of what is stored. */
static Writer new_results(Arena *arena, const FunctionPlan *plan, int kernel, Text *tile) {
    Writer narrow = new_tile(arena, plan, kernel, tile);
    if (!is_plain(&narrow) && make_narrow_rows(&narrow)) return narrow;
    Writer writer = new_tile(arena, plan, kernel, tile);
    if (!is_plain(&writer) && calls_product(&writer)) pass_columns(&writer);
    writer.logs = logs_kept(&writer);
    store_values(&writer, INDEX_full);
    return writer;
}

/* A product that was compiled ahead, behind its context. */
static void write_call_of_product(Writer *writer, Text *text) {
    const char *name = MARK_KERNEL;
    bool plain = is_plain(writer);
    text_format(text,
                "#define KERNEL %s\n#define CONTEXT struct %s\n#define PREPARE %s_prepare\n"
                "#define PLAIN %d\n#define ASK(i) %s\n",
                name, name, name, plain, ask_macro(writer, "context->"));
    if (!plain) text_format(text, "#define FINISH %s_finish\n", name);
    write_triangle(writer, text);
    text_add(text, "#include \"product.c\"\n\n");
}

static void write_product(Writer *writer, Text *text) {
    const char *sums = is_plain(writer) ? writer->pointers.items[0].name : "NULL";
    define_product(writer, sums);
    text_add(text, "#include \"runtime/product/product.h\"\n");
    write_context(writer, text, "FlowProduct product", "product");
    if (!is_plain(writer)) write_finish(writer, text, false);
    write_call_of_product(writer, text);
}

/* How many values the kernel updates, if it stores nothing else; else 0. */
static int updates(const Writer *writer) {
    const KernelPlan *kernel = writer->kernel;
    int stored = 0, kept = 0;
    for (size_t at = 0; at < kernel->node_count; at++) {
        if (!is_stored(writer, kernel->nodes[at])) continue;
        stored++;
        kept += node_of(writer, kernel->nodes[at])->op == OP_keep;
    }
    return kept == stored ? kept : 0;
}

/* Are rows finished with all of their columns, not those of a panel or of a thread? */
static bool finishes_rows(const Writer *writer, const ContractionOperand *a,
                          const ContractionOperand *b) {
    const Winograd *winograd = writer->kernel->winograd;
    const bool panels =
        winograd && !winograd->weights && winograd->panel < dim_bound(writer->loops->columns);
    return is_of_windows(writer, a, b) && !writer->kernel->by_columns && !panels;
}

/* The template with its parameters; zeros: those that say whether it leaves some out; go_to: of
 * tile_text.c, or "". */
static void write_inclusion(Writer *writer, Text *text, const Text *tile, const char *template,
                            const char *name, const char *zeros, const char *go_to) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    text_format(text,
                "#define KERNEL %s\n#define ELEMENT %s\n#define UPDATES %d\n"
                "#define THIRDS %d\n%s",
                name, element_info[matmul->type.element].computed, updates(writer),
                takes_thirds(writer->plan, writer->number), zeros);
    text_add(text, tile->size ? text_string(tile)
                              : "#define APPLIES 0\n#define KEPT 0\n#define RESULTS 0\n");
    text_add(text, go_to);
    write_contraction_parameters(writer, text);
    text_format(text, "#include \"%s\"\n\n", template);
}

static void write_template(Writer *writer, Text *text, const Text *tile) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    if (writer->kernel->winograd) a.node = writer->kernel->winograd->seen;
    const char *left = operand_address(writer, &a), *right = operand_address(writer, &b);
    const char *fields =
        arena_format(writer->arena, "const %s *a, *b", element_info[stored_element(writer)].c);
    const char *values = arena_format(writer->arena, "%s, %s", left, right);
    if (writer->kernel->parts > 1) {
        const Place sums = {PLACE_memory, writer->kernel->parts_sums, -1};
        fields = arena_format(writer->arena, "%s;\n    %s *parts", fields,
                              element_info[matmul->type.element].computed);
        values = arena_format(writer->arena, "%s, %s", values, address_of_place(writer, sums));
    }
    write_context(writer, text, fields, values);
    if (!is_plain(writer)) write_finish(writer, text, finishes_rows(writer, &a, &b));
    const char *template = template_of(writer, &a, &b);
    const bool zeros = leaves_zeros_there(writer, template, &a);
    const char *dense = zeros ? MARK_KERNEL "_dense" : MARK_KERNEL;
    write_inclusion(writer, text, tile, template, dense,
                    zeros ? "#define LEAVES_ZEROS 0\n#define ZEROS_ALONG 0\n#define CALLED static\n"
                          : "#define LEAVES_ZEROS 0\n#define ZEROS_ALONG 0\n",
                    "");
    if (zeros)
        write_inclusion(writer, text, tile, template, MARK_KERNEL,
                        arena_format(writer->arena,
                                     "#define LEAVES_ZEROS 1\n#define DENSE_KERNEL %s\n"
                                     "#define ZEROS_ALONG %d\n#define ZEROS_CHANGE_NOTHING %d\n",
                                     dense, is_run(&a.second), zeros_change_nothing(writer)),
                        tile->size && updates(writer) > 1 ? writer->go_to : "");
}

KernelOperands write_contraction_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    Text tile;
    Writer writer = new_results(text->arena, plan, kernel, &tile);
    assert(node_of(&writer, writer.kernel->nodes[0])->op == OP_matmul);
    if (calls_product(&writer)) write_product(&writer, text);
    else write_template(&writer, text, &tile);
    return writer.operands;
}

static int64_t number_of_dim(Dim dim) {
    int64_t value;
    return dim_is_constant(dim, &value) ? value : 1;
}

/* Do columns or depths that no row sees take no time? windows.c goes over all. */
static bool leaves_out(const Writer *writer, const ContractionOperand *a,
                       const ContractionOperand *b) {
    return has_triangle(writer->kernel) && strcmp(template_of(writer, a, b), "windows.c");
}

Contraction contraction_of(Arena *arena, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(arena, plan, kernel);
    const Node *matmul = node_of(&writer, writer.kernel->nodes[0]);
    ContractionOperand a = contraction_operand(writer.graph, matmul, 0);
    ContractionOperand b = contraction_operand(writer.graph, matmul, 1);
    const Digits *rows = &a.first;
    return (Contraction){
        .template = template_of(&writer, &a, &b),
        .halves = stored_element(&writer) == TYPE_bf16,
        .size = matmul->type.element == TYPE_f64 ? 8 : 4,
        .rows = dim_bound(writer.loops->rows),
        .columns = dim_bound(writer.loops->columns),
        .depth = dim_bound(writer.loops->depth),
        .run = rows->count ? number_of_dim(rows->items[rows->count - 1].size) : 1,
        .runs = rows->count > 1 ? number_of_dim(rows->items[rows->count - 2].size) : 1,
        .padded = !writer.kernel->winograd && is_of_windows(&writer, &a, &b) &&
                  padding_of(&writer, &a).count,
        .winograd = writer.kernel->winograd,
        .triangle = leaves_out(&writer, &a, &b),
        .thirds = takes_thirds(plan, kernel),
        .by_columns = writer.kernel->by_columns,
        .leaves_zeros = leaves_zeros_there(&writer, template_of(&writer, &a, &b), &a),
        .zeros_along = is_run(&a.second),
        .updates = updates(&writer),
    };
}

static Tile winograd_tile(const Contraction *contraction, int lanes, int sums) {
    const Winograd *winograd = contraction->winograd;
    const int64_t across = FLOW_ACROSS(winograd->panel, lanes), line = (winograd->places + 1) / 2;
    const int vectors = FLOW_WINDOW_VECTORS(across), most = FLOW_WINDOW_MOST(sums, vectors);
    const int group = FLOW_GROUP(line, winograd->tiles);
    const int rows = winograd->weights ? FLOW_FEATURE_ROWS(most) : FLOW_GROUP_ROWS(group, most);
    return (Tile){rows, vectors * lanes};
}

Tile zeros_tile(const Contraction *contraction, int vector, int registers) {
    const int lanes = vector / contraction->size, sums = FLOW_SUMS_OF(registers);
    const int64_t across = FLOW_ACROSS(contraction->columns, lanes);
    const int vectors =
        FLOW_ZEROS_VECTORS(contraction->zeros_along, contraction->depth, across, vector, sums,
                           contraction->by_columns, contraction->updates);
    return (Tile){FLOW_ZEROS_ROWS(contraction->rows, sums, vectors, contraction->updates),
                  vectors * lanes};
}

Tile contraction_tile(const Contraction *contraction, int vector, int registers) {
    /* Two tiles by two that half.h computes at a time, where vectors are so wide. */
    enum { SIDE = 32, HALVES_VECTOR = 64 };
    int lanes = vector / contraction->size, sums = FLOW_SUMS_OF(registers);
    int64_t across = FLOW_ACROSS(contraction->columns, lanes);
    if (contraction->halves && vector == HALVES_VECTOR) return (Tile){SIDE, SIDE};
    if (!strcmp(contraction->template, "product.c"))
        return (Tile){sums / FLOW_PRODUCT_VECTORS, FLOW_PRODUCT_VECTORS * lanes};
    if (contraction->winograd) return winograd_tile(contraction, lanes, sums);
    if (is_few(contraction->template) &&
        FLOW_FEW_COLUMNS(contraction->rows, contraction->depth, contraction->columns, lanes))
        return (Tile){FLOW_ROW_VECTORS(contraction->rows, contraction->columns, lanes, sums) *
                          lanes,
                      (int)contraction->columns};
    if (strcmp(contraction->template, "windows.c")) {
        int vectors = FLOW_TILE_VECTORS(contraction->rows, contraction->depth, across, vector, sums,
                                        contraction->by_columns);
        return (Tile){FLOW_TILE_ROWS(contraction->rows, contraction->depth,
                                     contraction->updates == 1, sums, vectors),
                      vectors * lanes};
    }
    int vectors = FLOW_WINDOW_VECTORS(across), most = FLOW_WINDOW_MOST(sums, vectors);
    int times = FLOW_WINDOW_RUNS(contraction->run, contraction->runs, most);
    return (Tile){FLOW_WINDOW_ROWS(contraction->run, times, most), vectors * lanes};
}
