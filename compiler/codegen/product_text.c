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

/* What calls tell of a product: its numbers, and in C those that no operand can say. */
typedef struct Told {
    Writer *writer;
    int64_t numbers[FLOW_PRODUCT_NUMBERS];
    Text others;
} Told;

static void tell(Told *told, size_t offset, const char *name, Dim size) {
    int64_t *number = &told->numbers[(offset - offsetof(FlowProduct, outer)) / sizeof(int64_t)];
    if (!operand_of_size(size, number))
        text_format(&told->others, "product.%s = %s;\n", name,
                    dim_expression(told->writer->arena, size));
}

static void tell_number(Told *told, size_t offset, int64_t number) {
    tell(told, offset, "", dim_constant(told->writer->table, number));
}

#define TELL(told, member, size) tell(told, offsetof(FlowProduct, member), #member, size)
#define TELL_NUMBER(told, member, number) tell_number(told, offsetof(FlowProduct, member), number)

static void tell_digits(Told *told, size_t offset, const char *name, const Digits *digits) {
    Arena *arena = told->writer->arena;
    tell_number(told, offset + offsetof(FlowDigits, count), digits->count ? digits->count : 1);
    for (int i = 0; i < FLOW_DIGITS; i++) {
        const size_t at = offset + (size_t)i * sizeof(int64_t);
        const size_t size = at + offsetof(FlowDigits, size);
        if (i >= digits->count) {
            tell_number(told, size, 1);
            continue;
        }
        tell(told, size, arena_format(arena, "%s.size[%d]", name, i), digits->items[i].size);
        tell(told, at + offsetof(FlowDigits, stride), arena_format(arena, "%s.stride[%d]", name, i),
             digits->items[i].stride);
    }
}

#define TELL_DIGITS(told, member, digits) \
    tell_digits(told, offsetof(FlowProduct, member), #member, digits)

static void tell_sizes(Told *told) {
    const Writer *writer = told->writer;
    const Loops *loops = writer->loops;
    TELL(told, outer, loops->outer);
    TELL(told, rows, loops->rows);
    TELL(told, depth, loops->depth);
    TELL(told, columns, loops->columns);
    TELL_NUMBER(told, by_columns, writer->kernel->by_columns);
    TELL_NUMBER(told, thirds, takes_thirds(writer->plan, writer->number));
    TELL_NUMBER(told, most_rows, dim_bound(loops->rows));
    TELL_NUMBER(told, most_depth, dim_bound(loops->depth));
}

/* Of the last digit: what one more adds, and how many there are, where `all` is of the index. */
static Dim step_of(const Told *told, const Digits *digits) {
    return digits->count ? digits->items[digits->count - 1].stride
                         : dim_constant(told->writer->table, 0);
}

static Dim run_of(const Digits *digits, Dim all) {
    return digits->count ? digits->items[digits->count - 1].size : all;
}

static void tell_operands(Told *told, const ContractionOperand *a, const ContractionOperand *b) {
    const Loops *loops = told->writer->loops;
    TELL(told, a_row, step_of(told, &a->first));
    TELL(told, a_depth, step_of(told, &a->second));
    TELL(told, b_depth, step_of(told, &b->first));
    TELL(told, b_column, step_of(told, &b->second));
    TELL(told, a_row_run, run_of(&a->first, loops->rows));
    TELL(told, a_depth_run, run_of(&a->second, loops->depth));
    TELL_NUMBER(told, in_runs, a->first.count > 1 || a->second.count > 1);
    TELL_DIGITS(told, a_slices, &a->outer);
    TELL_DIGITS(told, b_slices, &b->outer);
    TELL_DIGITS(told, a_rows, &a->first);
    TELL_DIGITS(told, a_depths, &a->second);
}

static const char *place_of(Writer *writer, const ContractionOperand *operand) {
    return arena_format(writer->arena, "(const float *)%s + %s", address_of(writer, operand->node),
                        passed_size(writer, operand->start));
}

void define_product(Writer *writer, const char *sums) {
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    const ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    Told told = {.writer = writer, .others = text_new(writer->arena)};
    Text *lines = &writer->lines[LEVEL_call];
    tell_sizes(&told);
    tell_operands(&told, &a, &b);
    text_format(lines, "FlowProduct product = {.a = %s, ", place_of(writer, &a));
    text_format(lines, ".b = %s, .sums = %s};\n", place_of(writer, &b), sums);
    text_format(lines, "flow_read_product(&product, operands + %zu, batch);\n",
                writer->operands.count);
    for (size_t i = 0; i < FLOW_PRODUCT_NUMBERS; i++) passed_number(writer, told.numbers[i]);
    text_add(lines, text_string(&told.others));
}
