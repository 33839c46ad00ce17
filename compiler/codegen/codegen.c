/* Codegen: the files of a generated program. */
#include "compiler/codegen/codegen.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/program_text.h"

static void add_file(Arena *arena, Generated *generated, const char *name, const Text *text) {
    vector_push(arena, &generated->files, (GeneratedFile){name, text_string(text)});
}

Generated codegen_trainer(Arena *arena, const Program *program, const Plan *plan) {
    Generated generated = {0};
    Text text = text_new(arena);
    (void)program;
    write_program(&text, plan, true);
    text_add(&text, "#include \"main.c\"\n");
    add_file(arena, &generated, "program.c", &text);
    return generated;
}

Generated codegen_library(Arena *arena, const Program *program, const Plan *plan) {
    Generated generated = {0};
    const char *header = arena_format(arena, "%s.h", public_name(arena, program->name));
    Text text = text_new(arena), interface = text_new(arena), header_text = text_new(arena);
    write_program(&text, plan, false);
    add_file(arena, &generated, "program.c", &text);
    text_format(&interface, "/* What %s offers. */\n#include \"%s\"\n\n", header, header);
    write_library(&interface, program);
    add_file(arena, &generated, "interface.c", &interface);
    write_header(&header_text, program);
    add_file(arena, &generated, header, &header_text);
    return generated;
}
