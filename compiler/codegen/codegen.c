/* Codegen: the files of a generated program. */
#include "compiler/codegen/codegen.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/program_text.h"

static void add_file(Arena *arena, Generated *generated, const char *name, const Text *text) {
    vector_push(arena, &generated->files, (GeneratedFile){name, text_string(text)});
}

static void add_program(Arena *arena, Generated *generated, const Plan *plan, bool trains) {
    Text text = text_new(arena), device = text_new(arena);
    vector_push(arena, &generated->units, (CodeUnit){.name = "program.c"});
    write_program(&text, plan, trains, generated, &device);
    if (trains) text_add(&text, "#include \"main.c\"\n");
    add_file(arena, generated, "program.c", &text);
    generated->units.items[0].weight = text.size / TABLE_BYTES;
    if (device.size) add_file(arena, generated, "program.cu", &device);
}

static void add_unit_list(Arena *arena, Generated *generated) {
    Text text = text_new(arena);
    text_add(&text, "UNITS =");
    vector_each(CodeUnit, unit, generated->units) text_format(&text, " %s", unit->name);
    text_add(&text, "\n");
    add_file(arena, generated, "units.mk", &text);
}

Generated codegen_trainer(Arena *arena, const Plan *plan) {
    Generated generated = {0};
    add_program(arena, &generated, plan, true);
    add_unit_list(arena, &generated);
    return generated;
}

Generated codegen_library(Arena *arena, const Plan *plan) {
    const Program *program = plan->program;
    Generated generated = {0};
    const char *header = arena_format(arena, "%s.h", public_name(arena, program->name));
    Text interface = text_new(arena), header_text = text_new(arena);
    add_program(arena, &generated, plan, false);
    text_format(&interface, "/* What %s offers. */\n#include \"%s\"\n\n", header, header);
    write_library(&interface, plan);
    add_file(arena, &generated, "interface.c", &interface);
    write_header(&header_text, plan);
    add_file(arena, &generated, header, &header_text);
    return generated;
}
