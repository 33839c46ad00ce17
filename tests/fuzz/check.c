/* Fuzz: any bytes as a program, through lowering, every pass, the plan and the generated text. */
#include "compiler/codegen/codegen.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"

#include <glob.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

enum { LIBRARY_LIMIT = 32 };

static size_t read_library(Arena *arena, Source **library) {
    glob_t found;
    size_t count = 0;
    if (glob("lang/std/*.flow", 0, NULL, &found)) abort(); /* run from the repository's root */
    for (size_t i = 0; i < found.gl_pathc && count < LIBRARY_LIMIT; i++) {
        const char *why;
        Source *source = source_read(arena, found.gl_pathv[i], &why);
        if (source) library[count++] = source;
    }
    globfree(&found);
    return count;
}

static bool run_passes(Program *program, Diagnostics *diagnostics) {
    for (int i = 0; i < pass_count; i++) {
        const char *broken = NULL;
        if (!pass_run(&passes[i], program, diagnostics, &broken)) {
            if (broken) abort();
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    Source *library[LIBRARY_LIMIT];
    Arena *arena = arena_new();
    size_t count = read_library(arena, library);
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source =
        source_from_text(arena, "fuzz.flow", size ? (const char *)bytes : "", size);
    const Module *module = module_load(arena, source, library, count, "", diagnostics);
    Program *program = NULL;
    if (!diagnostics->list.count)
        program = lower_program(arena, module, "fuzz", NULL, 0, diagnostics);
    if (program && !diagnostics->list.count && run_passes(program, diagnostics)) {
        const Plan *plan = plan_program(arena, program);
        codegen_trainer(arena, plan);
        codegen_library(arena, plan);
    }
    arena_free(arena);
    return 0;
}
