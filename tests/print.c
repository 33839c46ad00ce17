/* print FILE.flow: how the parser reads it. print FILE.graph [PASS…]: a graph, after passes. For
 * golden tests; errors go to standard output too. */
#include "compiler/passes/passes.h"
#include "lang/parse.h"

#include <stdio.h>
#include <string.h>

static const Pass *find_pass(const char *name) {
    for (int i = 0; i < pass_count; i++)
        if (!strcmp(passes[i].name, name)) return &passes[i];
    return NULL;
}

static int print_graph(Arena *arena, const Source *source, Diagnostics *diagnostics, char **names) {
    Graph *graph = graph_parse(arena, source, diagnostics);
    for (; graph && *names; names++) {
        const Pass *pass = find_pass(*names);
        if (!pass) return 2;
        graph = pass->run(arena, graph, diagnostics);
        const char *fault = graph ? graph_verify(arena, graph) : NULL;
        if (fault) return printf("broken by %s: %s\n", *names, fault) > 0;
    }
    Text text = text_new(arena);
    if (graph) graph_print(graph, &text);
    fputs(text_string(&text), stdout);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const char *why;
    Arena *arena = arena_new();
    const Source *source = source_read(arena, argv[1], &why);
    if (!source) return printf("%s: %s\n", argv[1], why) > 0;
    Diagnostics *diagnostics = diagnostics_new(arena);
    int status = 0;
    if (strstr(argv[1], ".graph")) {
        status = print_graph(arena, source, diagnostics, argv + 2);
    } else {
        Text text = text_new(arena);
        tree_print(parse(arena, source, diagnostics), &text);
        fputs(text_string(&text), stdout);
    }
    diagnostics_print(diagnostics, stdout, false);
    arena_free(arena);
    return status;
}
