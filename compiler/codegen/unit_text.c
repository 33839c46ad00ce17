/* Unit text. How many units there are follows from the kernels alone, not from the machine: the
 * same program is the same text everywhere. */
#include "compiler/codegen/unit_text.h"

enum {
    UNIT_WEIGHT = 1 << 17,       /* bytes of kernels that are worth a compiler of their own */
    CONTRACTION_WEIGHT = 1 << 13 /* bytes that take as long to compile as a contraction */
};

static size_t weight_of(const SharedKernel *kernel) {
    bool contraction = kernel->plan->kernels[kernel->number].loops.kind == KERNEL_contraction;
    return strlen(kernel->text) + (contraction ? CONTRACTION_WEIGHT : 0);
}

static void add_text(Arena *arena, Generated *generated, const char *name, const Text *text) {
    vector_push(arena, &generated->files, (GeneratedFile){name, text_string(text)});
}

/* Several programs may be linked together: one for each kind of processor. */
static void add_declarations(const Kernels *kernels, Generated *generated) {
    Text text = text_new(kernels->arena);
    text_add(&text, "/* The kernels, which lie in several files. */\n"
                    "#include \"program.h\"\n\n");
    vector_each(SharedKernel, kernel, kernels->list)
        text_format(&text, "#define %s FLOW_OF_PROGRAM(%s)\n", kernel->name, kernel->name);
    text_add(&text, "\n");
    vector_each(SharedKernel, kernel, kernels->list)
        text_format(&text, "FlowKernel %s;\n", kernel->name);
    add_text(kernels->arena, generated, "kernels.h", &text);
}

/* Kernels from *next on, up to the weight. */
static void add_unit(const Kernels *kernels, Generated *generated, int number, size_t *next,
                     size_t most) {
    Text text = text_new(kernels->arena);
    const char *name = arena_format(kernels->arena, "kernels_%d.c", number);
    text_add(&text, "#define FLOW_KERNEL /* called from program.c */\n"
                    "#include \"kernels.h\"\n\n");
    for (size_t weight = 0; *next < kernels->list.count && weight < most; (*next)++) {
        write_kernel(&text, &kernels->list.items[*next]);
        weight += weight_of(&kernels->list.items[*next]);
    }
    add_text(kernels->arena, generated, name, &text);
    vector_push(kernels->arena, &generated->units, name);
}

bool add_kernel_units(const Kernels *kernels, Generated *generated) {
    size_t weight = 0, next = 0;
    vector_each(SharedKernel, kernel, kernels->list) weight += weight_of(kernel);
    if (weight <= UNIT_WEIGHT) return false;
    size_t units = (weight + UNIT_WEIGHT - 1) / UNIT_WEIGHT;
    add_declarations(kernels, generated);
    for (int number = 1; next < kernels->list.count; number++)
        add_unit(kernels, generated, number, &next, weight / units);
    return true;
}
