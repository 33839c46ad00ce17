/* GPU abreast text: elementwise kernels that are one launch. Those whose text is the same are
 * members of one formula; the operands of a launch are those of one member after the other,
 *
 *     its first block, its elements, its own operands
 *
 * formula by formula, then the blocks of all. A block finds the formula by comparing, and the
 * member by halving. */
#include "compiler/codegen/gpu_text.h"

typedef struct Member {
    KernelOperands operands;
    int64_t elements;
} Member;

typedef struct Formula {
    const char *text, *compared; /* compared: without hints */
    Vector(Member) members;
} Formula;

typedef Vector(Formula) Formulas;

/* What a thread does of a member, whose operands are `operands`. */
static const char *member_text(Writer *writer) {
    Text text = text_new(writer->arena), values = text_new(writer->arena);
    writer->gpu = true;
    store_values(writer, INDEX_full);
    declare_pointers(writer, &text);
    move_lines(writer, &writer->lines[LEVEL_call], &text, 1);
    declare_faults(writer, &text);
    move_lines(writer, &writer->lines[LEVEL_row], &values, 1);
    move_lines(writer, &writer->lines[LEVEL_column], &values, 1);
    move_lines(writer, &writer->stores, &values, 1);
    if (has_name(&values, "r") || has_name(&values, "c"))
        text_format(&text,
                    "    const int64_t r = i / %s, c = i - r * %s;\n"
                    "    (void)r, (void)c;\n",
                    writer->columns, writer->columns);
    text_add(&text, text_string(&values));
    tell_faults(writer, &text, "arguments.guard", "");
    return text_string(&text);
}

static Formula *formula_of(Arena *arena, Formulas *formulas, const char *text) {
    const char *compared = without_hints(arena, text);
    vector_each(Formula, known, *formulas)
        if (!strcmp(known->compared, compared)) return known;
    vector_push(arena, formulas, (Formula){.text = text, .compared = compared});
    return &formulas->items[formulas->count - 1];
}

/* Two members are of one formula if their texts without hints are the same. */
static Formulas find_formulas(Arena *arena, const FunctionPlan *plan, const Band *band) {
    Formulas formulas = {0};
    for (int i = 0; i < band->count; i++) {
        Writer writer = new_writer(arena, plan, band->kernels[i]);
        Formula *formula = formula_of(arena, &formulas, member_text(&writer));
        vector_push(arena, &formula->members,
                    (Member){writer.operands, elements_abreast(writer.kernel)});
    }
    return formulas;
}

static int stride_of(const Formula *formula) {
    return OPERANDS_OF_MEMBER + (int)formula->members.items[0].operands.count;
}

static KernelOperands joined_operands(Arena *arena, const Formulas *formulas, int gpu) {
    KernelOperands all = {0};
    int64_t blocks = 0;
    vector_each(Formula, formula, *formulas)
        vector_each(Member, member, formula->members) {
            vector_push(arena, &all, (KernelOperand){.value = blocks});
            vector_push(arena, &all, (KernelOperand){.value = member->elements});
            vector_each(KernelOperand, operand, member->operands)
                vector_push(arena, &all, *operand);
            blocks += (member->elements + GPU_THREADS - 1) / GPU_THREADS;
        }
    vector_push(arena, &all, (KernelOperand){.value = blocks});
    vector_push(arena, &all, (KernelOperand){.value = gpu});
    return all;
}

/* base: of the formula's first operand. */
static void write_formula(Writer *writer, Text *text, const Formula *formula, int base) {
    const int count = (int)formula->members.count, stride = stride_of(formula);
    Text own = text_new(writer->arena);
    text_add(&own, formula->text);
    text_format(text,
                "    if (FLOW_BLOCK >= all[%d] && FLOW_BLOCK < all[%d]) {\n"
                "        const int64_t *const member = flow_member(all + %d, %d, %d, FLOW_BLOCK);\n"
                "        const int64_t *const operands = member + %d;\n"
                "        const int64_t i = (FLOW_BLOCK - member[0]) * %d + FLOW_THREAD;\n"
                "        if (i >= member[1]) return;\n",
                base, base + count * stride, base, count, stride, OPERANDS_OF_MEMBER, GPU_THREADS);
    move_lines(writer, &own, text, 1);
    text_add(text, "    }\n");
}

KernelOperands write_gpu_abreast(GpuText *text, const FunctionPlan *plan, const Band *band) {
    Arena *arena = text->device.arena;
    Writer writer = new_writer(arena, plan, band->kernels[0]);
    const Formulas formulas = find_formulas(arena, plan, band);
    int base = 0;
    writer.gpu = true;
    write_gpu_start(&writer, &text->device, "");
    text_add(&text->device, "    const int64_t *const all = operands;\n");
    vector_each(Formula, formula, formulas) {
        write_formula(&writer, &text->device, formula, base);
        base += (int)formula->members.count * stride_of(formula);
    }
    text_add(&text->device, "}\n\n");
    writer.operands = joined_operands(arena, &formulas, writer.kernel->given.index);
    write_gpu_host(&writer, &text->host, arena_format(arena, "operands[%d]", base));
    return writer.operands;
}
