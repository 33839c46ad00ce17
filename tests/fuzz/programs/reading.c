/* Reading. */
#include "tests/fuzz/programs/reading.h"

#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "lang/format.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

/* Lowering. */

typedef Vector(Source *) Sources;

static Sources read_library(Arena *arena) {
    Sources library = {0};
    glob_t found = {0};
    const char *why;
    if (glob("lang/std/*.flow", 0, NULL, &found)) return library;
    for (size_t i = 0; i < found.gl_pathc; i++)
        vector_push(arena, &library, source_read(arena, found.gl_pathv[i], &why));
    globfree(&found);
    return library;
}

static Program *lower(Arena *arena, const Sources *library, const Text *text, FILE *complaints) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "made.flow", text_string(text), text->size);
    const Module *module =
        module_load(arena, source, library->items, library->count, NULL, diagnostics);
    Program *program = lower_program(arena, module, "made", NULL, 0, diagnostics);
    diagnostics_print(diagnostics, complaints, false);
    return diagnostics->list.count ? NULL : program;
}

static bool differentiate_all(Arena *arena, Program *program, FILE *complaints) {
    const char *broken = NULL;
    Diagnostics *diagnostics = diagnostics_new(arena);
    bool sound = pass_run(&passes[0], program, diagnostics, &broken);
    diagnostics_print(diagnostics, complaints, false);
    if (broken) fprintf(complaints, "broken by %s\n", broken);
    return sound && !diagnostics->list.count;
}

/* Graphs as text. */

/* Without the comments that say where a node comes from. */
static const char *text_of(Arena *arena, const Graph *graph) {
    Text text = text_new(arena), plain = text_new(arena);
    graph_print(graph, &text);
    for (const char *line = text_string(&text); *line; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "\n");
        for (size_t i = 0; i + 2 < size; i++)
            if (!memcmp(line + i, " # ", 3)) size = i;
        while (size && line[size - 1] == ' ') size--;
        text_add_bytes(&plain, line, size);
        text_add(&plain, "\n");
    }
    return text_string(&plain);
}

static bool reads_back(Arena *arena, const Graph *graph, FILE *complaints) {
    const char *text = text_of(arena, graph);
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "made.graph", text, strlen(text));
    const Graph *again = graph_parse(arena, source, diagnostics);
    if (again && !strcmp(text, text_of(arena, again))) return true;
    diagnostics_print(diagnostics, complaints, false);
    fprintf(complaints, "this graph is not read back as it is written:\n%s", text);
    return false;
}

static bool all_read_back(Arena *arena, Program *program, FILE *complaints) {
    FunctionList functions = program_functions(arena, program);
    vector_each(Function *, function, functions)
        if (!reads_back(arena, (*function)->graph, complaints)) return false;
    return true;
}

static bool same_graphs(Arena *arena, Program *a, Program *b) {
    FunctionList from_a = program_functions(arena, a), from_b = program_functions(arena, b);
    if (from_a.count != from_b.count) return false;
    for (size_t i = 0; i < from_a.count; i++)
        if (strcmp(text_of(arena, from_a.items[i]->graph), text_of(arena, from_b.items[i]->graph)))
            return false;
    return true;
}

/* Formatting. */

static const Text *formatted(Arena *arena, const Text *text) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    return format(arena, source_from_text(arena, "made.flow", text_string(text), text->size),
                  diagnostics);
}

static bool formats_well(Arena *arena, const Sources *library, const Text *text, Program *program,
                         FILE *complaints) {
    const Text *once = formatted(arena, text), *twice = once ? formatted(arena, once) : NULL;
    if (!twice || strcmp(text_string(once), text_string(twice))) {
        fprintf(complaints, "formatting again changes it\n");
        return false;
    }
    Program *again = lower(arena, library, once, complaints);
    if (again && same_graphs(arena, program, again)) return true;
    fprintf(complaints, "formatting changes its meaning\n");
    return false;
}

Program *read_program(Arena *arena, const Text *text, FILE *complaints) {
    Sources library = read_library(arena);
    Program *program = lower(arena, &library, text, complaints);
    bool sound = program && formats_well(arena, &library, text, program, complaints) &&
                 all_read_back(arena, program, complaints) &&
                 differentiate_all(arena, program, complaints) &&
                 all_read_back(arena, program, complaints);
    return sound ? program : NULL;
}
