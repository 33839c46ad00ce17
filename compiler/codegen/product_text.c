/* Product text: what a product that was compiled ahead is told: where its operands lie, and its
 * sizes and distances, which each call gives, so that one kernel serves products of all sizes. */
#include "compiler/codegen/writer.h"

#include "runtime/product/product.h"

/* Is there so much to add up that it takes no longer with sizes that are not numbers? */
static bool is_large(const Loops *loops) {
    int64_t rows = dim_bound(loops->rows), columns = dim_bound(loops->columns);
    int64_t depth = dim_bound(loops->depth);
    double slice = (double)rows * (double)columns * (double)depth;
    if (rows < FLOW_PRODUCT_ROWS || columns < FLOW_PRODUCT_COLUMNS) return false;
    if (depth >= FLOW_PRODUCT_DEPTH) return slice >= FLOW_PRODUCT_WORK;
    return depth >= FLOW_PRODUCT_LEAST_DEPTH &&
           slice * (double)dim_bound(loops->outer) >= FLOW_PRODUCT_MUCH_WORK;
}

bool multiplies_floats(const FunctionPlan *plan, int kernel, int runs) {
    const KernelPlan *planned = &plan->kernels[kernel];
    const Node *matmul = graph_node(plan->graph, planned->nodes[0]);
    if (matmul->op != OP_matmul || matmul->type.element != TYPE_f32 || planned->winograd)
        return false;
    ContractionOperand a = contraction_operand(plan->graph, matmul, 0);
    ContractionOperand b = contraction_operand(plan->graph, matmul, 1);
    return a.first.count <= runs && a.second.count <= runs && b.first.count <= 1 &&
           b.second.count <= 1 && a.outer.count <= FLOW_DIGITS && b.outer.count <= FLOW_DIGITS &&
           graph_node(plan->graph, a.node)->type.element == TYPE_f32 &&
           !sees_windows(plan->graph, &a, &b, planned->loops.columns);
}

bool is_compiled_ahead(const FunctionPlan *plan, int kernel) {
    return multiplies_floats(plan, kernel, FLOW_DIGITS) && is_large(&plan->kernels[kernel].loops);
}

/* Of the last digit: what one more adds, and how many there are; size: of the index. */
static const char *step(Writer *writer, const Digits *digits) {
    if (!digits->count) return passed_number(writer, 0);
    return passed_size(writer, digits->items[digits->count - 1].stride);
}

static const char *run(Writer *writer, const Digits *digits, Dim size) {
    return passed_size(writer, digits->count ? digits->items[digits->count - 1].size : size);
}

/* All FLOW_DIGITS of them, whatever their count is: the text is the same. */
static const char *digits_text(Writer *writer, const Digits *digits) {
    Text sizes = text_new(writer->arena), strides = text_new(writer->arena);
    Dim one = dim_constant(writer->table, 1), none = dim_constant(writer->table, 0);
    const char *count = passed_number(writer, digits->count ? digits->count : 1);
    for (int i = 0; i < FLOW_DIGITS; i++) {
        bool known = i < digits->count;
        text_format(&sizes, "%s%s", i ? ", " : "",
                    passed_size(writer, known ? digits->items[i].size : one));
        text_format(&strides, "%s%s", i ? ", " : "",
                    passed_size(writer, known ? digits->items[i].stride : none));
    }
    return arena_format(writer->arena, "{%s, {%s}, {%s}}", count, text_string(&sizes),
                        text_string(&strides));
}

static void add_field(Text *text, const char *name, const char *value) {
    text_format(text, ", .%s = %s", name, value);
}

static void add_sizes(Writer *writer, Text *text) {
    const Loops *loops = writer->loops;
    add_field(text, "outer", passed_size(writer, loops->outer));
    add_field(text, "rows", passed_size(writer, loops->rows));
    add_field(text, "depth", passed_size(writer, loops->depth));
    add_field(text, "columns", passed_size(writer, loops->columns));
    add_field(text, "by_columns", passed_number(writer, writer->kernel->by_columns));
    add_field(text, "thirds", passed_number(writer, takes_thirds(writer->plan, writer->number)));
    add_field(text, "most_rows", passed_number(writer, dim_bound(loops->rows)));
    add_field(text, "most_depth", passed_number(writer, dim_bound(loops->depth)));
}

static void add_left(Writer *writer, Text *text, const ContractionOperand *a) {
    add_field(text, "a_row", step(writer, &a->first));
    add_field(text, "a_depth", step(writer, &a->second));
    add_field(text, "a_row_run", run(writer, &a->first, writer->loops->rows));
    add_field(text, "a_depth_run", run(writer, &a->second, writer->loops->depth));
    add_field(text, "in_runs", passed_number(writer, a->first.count > 1 || a->second.count > 1));
    add_field(text, "a_slices", digits_text(writer, &a->outer));
    add_field(text, "a_rows", digits_text(writer, &a->first));
    add_field(text, "a_depths", digits_text(writer, &a->second));
}

static const char *place_of(Writer *writer, const ContractionOperand *operand) {
    return arena_format(writer->arena, "(const float *)%s + %s", address_of(writer, operand->node),
                        passed_size(writer, operand->start));
}

const char *product_initialiser(Writer *writer, const char *sums) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    Text text = text_new(writer->arena);
    text_format(&text, "{.a = %s", place_of(writer, &a));
    add_field(&text, "b", place_of(writer, &b));
    add_field(&text, "sums", sums);
    add_sizes(writer, &text);
    add_left(writer, &text, &a);
    add_field(&text, "b_depth", step(writer, &b.first));
    add_field(&text, "b_column", step(writer, &b.second));
    add_field(&text, "b_slices", digits_text(writer, &b.outer));
    text_add(&text, "}");
    return text_string(&text);
}
