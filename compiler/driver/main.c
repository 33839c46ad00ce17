/* Flowc: the command line. */
#include "compiler/driver/all_reduce.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/report.h"
#include "compiler/driver/simulate.h"

#include <locale.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const Command commands[] = {
#define COMMAND(name, operands, help, flags) {#name, operands, help, flags, command_##name},
#include "compiler/driver/commands.def"
#undef COMMAND
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int usage(FILE *file, int status) {
    fprintf(file, "flowc: dataflow programs, compiled\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  flowc %-7s %s\n", commands[i].name, commands[i].help);
    fprintf(file, "\n  flowc COMMAND --help  what a command is given\n"
                  "  flowc --version\n");
    return status;
}

static const Command *find_command(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
    const char *nearest = nearest_name(name, names, COMMAND_COUNT);
    fprintf(stderr, "flowc: there is no command `%s`", name);
    if (nearest) fprintf(stderr, "; did you mean `%s`?", nearest);
    fprintf(stderr, "\n");
    return EXIT_usage;
}

/* What was printed may not have arrived. */
static int finish_output(void) {
    if (!fflush(stdout) && !ferror(stdout)) return EXIT_ok;
    fprintf(stderr, "flowc: standard output: %s\n", strerror(errno));
    return EXIT_resource;
}

static int run_command(Arena *arena, const Command *command, Arguments *arguments) {
    if (arguments->help) arguments_help(command);
    if (arguments->help) return EXIT_ok;
    if (!report_form_known(arguments)) return EXIT_usage;
    int status = simulate_gpus(arena, command, arguments);
    if (status == EXIT_ok) status = all_reduce_set(command, arguments);
    return status == EXIT_ok ? command->run(arguments) : status;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* writing fails instead, here and in tools that are called */
    if (argc < 2) return usage(stderr, EXIT_usage);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) return usage(stdout, EXIT_ok);
    if (!strcmp(argv[1], "--version")) return printf("flowc %s\n", FLOWC_VERSION) < 0;
    if (!strcmp(argv[1], "help")) return usage(stdout, EXIT_ok);
    const Command *command = find_command(argv[1]);
    if (!command) return unknown_command(argv[1]);
    Arena *arena = arena_new();
    Arguments arguments = {0};
    int status = EXIT_usage;
    if (arguments_parse(command, argc - 2, argv + 2, arena, &arguments))
        status = run_command(arena, command, &arguments);
    arena_free(arena);
    return status == EXIT_ok ? finish_output() : status;
}
