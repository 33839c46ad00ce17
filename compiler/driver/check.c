/* flowc check, and what all commands begin with. */
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/select.h"

#include <stdio.h>

int command_compile(Compilation *compilation, Arguments *arguments, bool bake, Stop stop) {
    Arena *arena = arena_new(); /* lives as long as the process */
    if (arguments->output && same_file(arguments->output, arguments->file)) {
        fprintf(stderr, "flowc: %s would overwrite the program itself\n", arguments->output);
        return EXIT_usage;
    }
    *compilation = (Compilation){
        .arena = arena, .arguments = arguments, .home = home_find(arena), .bake = bake};
    if (!compilation->home) return EXIT_resource;
    int status = compile(compilation, stop);
    if (status != EXIT_ok || !compilation->remaining.count || !bake) return status;
    fprintf(stderr, "flowc: `%s` is no flag and no option of %s%s\n",
            compilation->remaining.items[0], arguments->file,
            flag_takers(arena, compilation->remaining.items[0]));
    return EXIT_usage;
}

int command_check(Arguments *arguments) {
    Compilation compilation;
    arguments->uses_gpus = arguments->explain; /* as `run` */
    Stop stop = arguments->explain || arguments->dump_ir ? STOP_plan : STOP_check;
    int status = command_compile(&compilation, arguments, true, stop);
    return status == EXIT_ok && !is_unnamed(&compilation) ? EXIT_usage : status;
}
