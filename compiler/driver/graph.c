/* flowc graph: pictures. */
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/select.h"
#include "compiler/passes/passes.h"
#include "compiler/picture/picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The graph that says most: a step if there is one, else an export, else what there is. */
static const Graph *main_graph(Program *program) {
    if (program->trains.count) return program->trains.items[0].step.graph;
    if (program->exports.count) return program->exports.items[0].function.graph;
    FunctionList functions = program_functions(program->arena, program);
    return functions.count ? functions.items[0]->graph : NULL;
}

int command_graph(Arguments *arguments) {
    Compilation compilation;
    int status = command_compile(&compilation, arguments, true, STOP_fuse);
    if (status != EXIT_ok) return status;
    if (!is_unnamed(&compilation)) return EXIT_usage;
    bool dot = arguments->format && !strcmp(arguments->format, "dot");
    if (arguments->format && !dot && strcmp(arguments->format, "html")) {
        fprintf(stderr, "flowc: a picture is html or dot, not `%s`\n", arguments->format);
        return EXIT_usage;
    }
    const Graph *graph = main_graph(compilation.program);
    if (!graph) {
        fprintf(stderr, "flowc: %s computes nothing\n", arguments->file);
        return EXIT_program;
    }
    Text text = text_new(compilation.arena);
    if (dot) picture_dot(graph, &text);
    else picture_html(graph, &text);
    const char *output = arguments->output;
    if (!output || !strcmp(output, "-"))
        return fputs(text_string(&text), stdout) < 0 ? EXIT_resource : EXIT_ok;
    if (file_write(output, text_string(&text), text.size)) return EXIT_ok;
    fprintf(stderr, "flowc: %s: %s\n", output, strerror(errno));
    return EXIT_resource;
}
