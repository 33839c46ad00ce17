/* Size text: sizes as numbers, or as places in a table of what a run computes; and whether those
 * of a run fit each other. */
#include "compiler/codegen/table_text.h"

#include "compiler/codegen/names.h"

int run_size_number(Arena *arena, DimList *sizes, Dim size) {
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->items[i] == size) return (int)i;
    vector_push(arena, sizes, size);
    return (int)sizes->count - 1;
}

const char *size_initialiser(Arena *arena, DimList *sizes, Dim size) {
    if (has_bounded(size)) return arena_format(arena, "~%d", run_size_number(arena, sizes, size));
    return arena_format(arena, "%lld", (long long)dim_bound(size));
}

static const char *size_of_batch(Arena *arena, DimList *sizes, Dim size) {
    int64_t number;
    if (dim_is_constant(size, &number)) return arena_format(arena, "%lld", (long long)number);
    return arena_format(arena, "~%d", run_size_number(arena, sizes, size));
}

typedef const char *WriteSize(Arena *arena, DimList *sizes, Dim size);

static const char *type_text_with(Arena *arena, DimList *sizes, const Type *type, WriteSize *size) {
    Text text = text_new(arena);
    text_format(&text, "{FLOW_%s, %d, {", element_info[type->element].name, type->rank);
    for (int i = 0; i < type->rank; i++)
        text_format(&text, "%s%s", i ? ", " : "", size(arena, sizes, type->dims[i]));
    text_add(&text, type->rank ? "}}" : "0}}");
    return text_string(&text);
}

const char *type_initialiser(Arena *arena, DimList *sizes, const Type *type) {
    return type_text_with(arena, sizes, type, size_initialiser);
}

const char *batch_type_initialiser(Arena *arena, DimList *sizes, const Type *type) {
    return type_text_with(arena, sizes, type, size_of_batch);
}

void print_bounds(Printer *printer) {
    if (!printer->program->bounds.count) return;
    text_add(printer->text, "static const FlowBound bounds[] = {\n");
    vector_each(Bound, bound, printer->program->bounds)
        text_format(printer->text, "    {%s, %lld},\n", string_text(printer, bound->name),
                    (long long)dim_bound(bound->symbol));
    text_add(printer->text, "};\n\n");
}

void print_sizes(Printer *printer) {
    Text *text = printer->text;
    if (!printer->sizes.count) return;
    for (size_t i = 0; i < printer->sizes.count; i++)
        text_format(text,
                    "static int64_t size_%zu(int64_t batch, const int64_t *sizes) {\n"
                    "    (void)batch, (void)sizes;\n    return %s;\n}\n",
                    i, dim_expression(printer->arena, printer->sizes.items[i]));
    text_add(text, "static FlowSize *const sizes[] = {");
    for (size_t i = 0; i < printer->sizes.count; i++)
        text_format(text, "%ssize_%zu", i ? ", " : "", i);
    text_add(text, "};\n\n");
}

/* Quotients of bounded dimensions, each once. */
typedef struct Quotients {
    Printer *printer;
    Map known;
    Text text;
} Quotients;

static void print_quotient(Dim dividend, Dim divisor, void *context) {
    Quotients *quotients = context;
    Arena *arena = quotients->printer->arena;
    const char *text =
        dim_text(arena, dim_divide(quotients->printer->program->dimensions, dividend, divisor));
    if (!dim_is_bounded(dividend) || map_get(&quotients->known, text)) return;
    map_put(&quotients->known, text, quotients);
    text_format(&quotients->text, "    if (%s %% %s) return %s;\n", dim_expression(arena, dividend),
                dim_expression(arena, divisor), string_text(quotients->printer, text));
}

bool print_misfit(Printer *printer) {
    Quotients quotients = {printer, map_new(printer->arena), text_new(printer->arena)};
    if (!printer->program->bounds.count) return false;
    vector_each(FunctionPlan *, plan, printer->plan->functions)
        vector_each(Node, node, (*plan)->graph->nodes)
            for (int i = 0; i < node->type.rank; i++)
                dim_each_quotient(node->type.dims[i], print_quotient, &quotients);
    vector_each(Dim, size, printer->sizes) dim_each_quotient(*size, print_quotient, &quotients);
    text_format(printer->text,
                "static const char *misfit(const int64_t *sizes) {\n    (void)sizes;\n%s"
                "    return NULL;\n}\n\n",
                text_string(&quotients.text));
    return true;
}
