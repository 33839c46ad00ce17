/* Unit text. How many units there are follows from the kernels alone, not from the machine: the
 * same program is the same text everywhere. */
#include "compiler/codegen/unit_text.h"

#include "compiler/codegen/names.h"

enum {
    APART_WEIGHT = 8 << 10, /* bytes of kernels that are worth units of their own */
    UNIT_WEIGHT = 40 << 10, /* and those of one at most, whose compiler takes long to begin */
    WEIGHT_STEP = 2 << 10,
    CONTRACTION_WEIGHT = 4 << 10, /* bytes that take as long to compile as a contraction */
    MOST_UNITS = 32
};

typedef Vector(const SharedKernel *) KernelList;

bool is_apart(const SharedKernel *kernel) {
    return kernel->named < kernel->calls;
}

/* Does its text include a template that takes long to compile? */
static bool is_long(const SharedKernel *kernel) {
    const char *template = strstr(kernel->text, "#include \"");
    return template && !strstr(template, "product.c");
}

static size_t weight_of(const SharedKernel *kernel) {
    return strlen(kernel->text) + (is_long(kernel) ? CONTRACTION_WEIGHT : 0);
}

/* Those of the units; what takes long is begun first. */
static KernelList kernels_apart(const Kernels *kernels) {
    KernelList list = {0};
    for (int turn = 1; turn >= 0; turn--)
        vector_each(SharedKernel, kernel, kernels->list)
            if (is_apart(kernel) && is_long(kernel) == turn)
                vector_push(kernels->arena, &list, kernel);
    return list;
}

static void add_declaration(Text *text, const char *name) {
    text_format(text, "FLOW_SHARED_KERNEL(%s);\n", name);
}

void write_kernel_declarations(Text *text, const Kernels *kernels) {
    KernelList list = kernels_apart(kernels);
    vector_each(const SharedKernel *, kernel, list) add_declaration(text, (*kernel)->name);
    text_add(text, "\n");
}

/* Of the kernels that the text names, and no others: what else the program has does not change the
 * unit. */
static void add_declarations(Text *text, const KernelList *list, const char *body) {
    Arena *arena = text->arena;
    Map known = map_new(arena), declared = map_new(arena);
    vector_each(const SharedKernel *, kernel, *list)
        map_put(&known, (*kernel)->name, (void *)(*kernel)->name);
    for (const char *at = body; (at = strchr(at, 'k')); at++) {
        size_t length = 0;
        while (is_word(at[length])) length++;
        const bool begins = at == body || !is_word(at[-1]);
        const char *name = begins ? map_get_bytes(&known, at, length) : NULL;
        if (!name || map_get(&declared, name)) continue;
        add_declaration(text, name);
        map_put(&declared, name, (void *)name);
    }
    text_add(text, "\n");
}

static bool calls_row_functions(Arena *arena, const char *body) {
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].class == LOOP_row &&
            strstr(body, arena_format(arena, "flow_%s_", op_info[op].name)))
            return true;
    return false;
}

/* Does it call flow_row_sum_add_f32 or another that is named after those elements? */
static bool reduces(const char *body, const char *element) {
    static const char start[] = "flow_row_";
    for (const char *at = body; (at = strstr(at, start)); at += sizeof start - 1) {
        size_t length = sizeof start - 1, last = 0;
        for (; is_word(at[length]); length++)
            if (at[length] == '_') last = length + 1;
        if (last && length - last == strlen(element) && !memcmp(at + last, element, length - last))
            return true;
    }
    return false;
}

void write_prologue(Text *text, const char *body, bool exact) {
    for (int element = 0; element < ELEMENT_COUNT; element++)
        if (reduces(body, element_info[element].name))
            text_format(text, "#define FLOW_REDUCES_%s /* see loops.h */\n",
                        element_info[element].name);
    if (!calls_row_functions(text->arena, body))
        text_add(text, "#define FLOW_NO_ROW_FUNCTIONS /* see row.h */\n");
    if (exact) text_add(text, "#define FLOW_EXACT /* see kernel.h */\n");
    text_add(text, "#include \"program.h\"\n\n");
}

/* Kernels from *next on, one at least and else those whose middle lies in the weight. Several
 * programs may be linked together, one for each kind of processor: so the names are the
 * program's. */
static void add_unit(const Kernels *kernels, const KernelList *list, Generated *generated,
                     int number, size_t *next, size_t most) {
    Arena *arena = kernels->arena;
    Text text = text_new(arena), body = text_new(arena);
    const char *name = arena_format(arena, "kernels_%d.c", number);
    size_t weight = 0;
    for (; *next < list->count; (*next)++) {
        const SharedKernel *kernel = list->items[*next];
        if (weight && weight + weight_of(kernel) / 2 > most) break;
        weight += weight_of(kernel);
        write_kernel(&body, kernel);
    }
    text_add(&text, "#define FLOW_KERNEL /* called from program.c */\n");
    write_prologue(&text, text_string(&body), kernels->exact);
    add_declarations(&text, list, text_string(&body));
    text_add(&text, text_string(&body));
    vector_push(arena, &generated->files, (GeneratedFile){name, text_string(&text)});
    vector_push(arena, &generated->units, (CodeUnit){name, weight});
}

/* Of units of about the same weight, in pairs for processors that come so; in steps, so that small
 * changes of a program leave the units before them as they are. */
static size_t unit_weight(size_t all) {
    size_t pairs = (all + 2 * UNIT_WEIGHT - 1) / (2 * UNIT_WEIGHT);
    if (pairs > MOST_UNITS / 2) pairs = MOST_UNITS / 2;
    return (all / (2 * pairs) / WEIGHT_STEP + 1) * WEIGHT_STEP;
}

bool add_kernel_units(const Kernels *kernels, Generated *generated) {
    size_t weight = 0, next = 0;
    KernelList list = kernels_apart(kernels);
    vector_each(const SharedKernel *, kernel, list) weight += weight_of(*kernel);
    if (weight < APART_WEIGHT) return false;
    const size_t most = unit_weight(weight);
    for (int number = 1; next < list.count; number++)
        add_unit(kernels, &list, generated, number, &next, most);
    return true;
}
