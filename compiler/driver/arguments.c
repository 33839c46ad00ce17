/* Arguments: one table of flags for all commands. */
#include "compiler/driver/arguments.h"

#include "lang/base/text.h"
#include "lang/diagnostic.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef enum FlagKind { FLAG_switch, FLAG_value, FLAG_optional, FLAG_list } FlagKind;

typedef struct Flag {
    const char *name;
    char letter;
    FlagKind kind;
    size_t offset;
    const char *value, *help;
} Flag;

#define FIELD(name) offsetof(Arguments, name)
static const Flag flags[] = {
    {"output", 'o', FLAG_value, FIELD(output), "PATH", "where to put what is made"},
    {"target", 0, FLAG_value, FIELD(target), "LEVEL",
     "processor: native, x86-64, x86-64-v3, x86-64-v4 or all (chosen when it starts; default: "
     "FLOWC_TARGET; programs that are built are for all); build: with kinds of GPUs, as "
     "x86-64-v3,sm_80,sm_90, whose code is then built in"},
    {"emit", 0, FLAG_value, FIELD(emit), "KIND",
     "exe; c: a folder of C and a Makefile; cuda: a file of the kernels for GPUs"},
    {"format", 0, FLAG_value, FIELD(format), "KIND", "html or dot"},
    {"weights", 0, FLAG_value, FIELD(weights), "FILE", "trained weights to put beside the library"},
    {"diagnostics", 0, FLAG_value, FIELD(diagnostics), "KIND",
     "text, or json: one object a line, for editors"},
    {"cc", 0, FLAG_value, FIELD(compiler), "PROGRAM",
     "the C compiler (default: FLOWC_CC, gcc, clang)"},
    {"soft-placement", 0, FLAG_switch, FIELD(soft_placement), NULL,
     "run on the CPU what wants a device that is not here, and say so"},
    {"device", 0, FLAG_value, FIELD(device), "DEVICE",
     "where to run what the program places nowhere: cpu, gpu or gpu(1) (default: "
     "FLOWC_DEVICE, or by what it takes)"},
    {"machine", 0, FLAG_value, FIELD(machine), "PROFILE",
     "the machine to place for, as `flowc calibrate` describes one"},
    {"lock", 0, FLAG_optional, FIELD(lock), "FILE",
     "where everything runs, as a file: FILE.lock (explain: write it)"},
    {"visible-devices", 0, FLAG_value, FIELD(visible_devices), "LIST",
     "the GPUs to use, as 0,1; or none"},
    {"gpu-memory", 0, FLAG_value, FIELD(gpu_memory), "SIZE", "the most memory of a GPU, as 4GiB"},
    {"all-reduce", 0, FLAG_value, FIELD(all_reduce), "KIND",
     "how replicas add up: nccl, or peer, in their order (default: FLOWC_ALL_REDUCE, or nccl where "
     "it is)"},
    {"simulate", 0, FLAG_value, FIELD(simulate), "gpu:N",
     "instead of the machine's GPUs N that the CPU stands in for: slow, to test programs"},
    {"link", 0, FLAG_list, FIELD(link), "FILES",
     "C functions that `extern fn` calls: .c, .o, .a, .so, with `,` between"},
    {"path", 0, FLAG_value, FIELD(path), "FOLDERS",
     "where imports are looked for, with `:` between; then in FLOW_PATH"},
    {"exact", 0, FLAG_switch, FIELD(exact), NULL,
     "functions rounded as well as the C library's in f64, no reciprocals, products one by one; "
     "slower"},
    {"bundle", 0, FLAG_switch, FIELD(bundle), NULL, "put LLVM's libomp beside the program"},
    {"dump-ir", 0, FLAG_optional, FIELD(dump_ir), "PASS",
     "print the graphs: lower, a pass, plan; or all"},
    {"time-passes", 0, FLAG_switch, FIELD(time_passes), NULL, "print how long each step took"},
    {"explain", 0, FLAG_switch, FIELD(explain), NULL, "print kernels, memory and what is fused"},
    {"keep", 0, FLAG_switch, FIELD(keep), NULL, "keep the generated files and say where they are"},
    {"no-cache", 0, FLAG_switch, FIELD(no_cache), NULL, "build anew"},
    {"ops", 0, FLAG_switch, FIELD(ops), NULL, "list the operations too"},
    {"check", 0, FLAG_switch, FIELD(check), NULL, "write nothing; exit 1 when a file would change"},
    {"verbose", 'v', FLAG_switch, FIELD(verbose), NULL, "print the commands that are run"},
    {"help", 'h', FLAG_switch, FIELD(help), NULL, "this text"},
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags };

/* Those that only decide what a program comes to, by what the line says of them (recall.h). */
static const char deciding[] = "target diagnostics cc device path exact time-passes help";

static bool has_name(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

static bool takes(const Command *command, const Flag *flag) {
    return has_name(command->flags, flag->name) || !strcmp(flag->name, "help");
}

/* The flag that argument spells ("--name", "--name=value", "-n"), and its value if it has one. */
static const Flag *find_flag(const Command *command, const char *argument, const char **value) {
    *value = NULL;
    for (int i = 0; i < FLAG_COUNT; i++) {
        const Flag *flag = &flags[i];
        size_t length = strlen(flag->name);
        if (!takes(command, flag)) continue;
        if (flag->letter && argument[1] == flag->letter && !argument[2]) return flag;
        if (strncmp(argument, "--", 2) || strncmp(argument + 2, flag->name, length)) continue;
        if (argument[2 + length] == '=') *value = argument + 3 + length;
        if (*value || !argument[2 + length]) return flag;
    }
    return NULL;
}

const char *flag_takers(Arena *arena, const char *argument) {
    static const Command all[] = {
#define COMMAND(name, operands, help, flags) {#name, operands, help, flags, NULL},
#include "compiler/driver/commands.def"
#undef COMMAND
    };
    const char *value;
    Text text = text_new(arena);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*argument == '-' && find_flag(&all[i], argument, &value))
            text_format(&text, "%s%s", text.size ? ", " : "; it is a flag of ", all[i].name);
    return text_string(&text);
}

static void add_items(Arena *arena, Strings *list, const char *items) {
    while (*items) {
        size_t length = strcspn(items, ",");
        if (length) vector_push(arena, list, arena_copy(arena, items, length));
        items += length + (items[length] == ',');
    }
}

static void set(Arena *arena, Arguments *arguments, const Flag *flag, const char *value) {
    char *field = (char *)arguments + flag->offset;
    if (flag->kind == FLAG_switch) *(bool *)field = true;
    else if (flag->kind == FLAG_list) add_items(arena, (Strings *)field, value);
    else *(const char **)field = value;
    arguments->compiles |= !has_name(deciding, flag->name);
}

static bool usage_error(const Command *command, const char *what, const char *argument,
                        const char *more) {
    fprintf(stderr, "flowc %s: %s `%s`%s\n", command->name, what, argument, more);
    fprintf(stderr, "try `flowc %s --help`\n", command->name);
    return false;
}

/* One flag at argv[*at]; its value may be the next argument. */
static bool parse_flag(const Command *command, int argc, char **argv, int *at, Arena *arena,
                       Arguments *arguments, const Flag *flag, const char *value) {
    if (value && flag->kind == FLAG_switch)
        return usage_error(command, "no value belongs to", argv[*at], "");
    if (!value && flag->kind == FLAG_optional) value = "";
    if (!value && (flag->kind == FLAG_value || flag->kind == FLAG_list)) {
        if (*at + 1 >= argc) return usage_error(command, "a value is missing after", argv[*at], "");
        value = argv[++*at];
    }
    set(arena, arguments, flag, value);
    return true;
}

bool arguments_parse(const Command *command, int argc, char **argv, Arena *arena,
                     Arguments *arguments) {
    bool own = true; /* until `--` */
    for (int at = 0; at < argc; at++) vector_push(arena, &arguments->words, argv[at]);
    for (int at = 0; at < argc; at++) {
        const char *value, *argument = argv[at];
        if (own && !strcmp(argument, "--")) {
            own = false;
            continue;
        }
        bool is_flag = own && argument[0] == '-' && argument[1];
        const Flag *flag = is_flag ? find_flag(command, argument, &value) : NULL;
        if (flag && arguments->file && !strcmp(flag->name, "help") && !strcmp(command->name, "run"))
            flag = NULL; /* the program's own */
        if (flag) {
            if (!parse_flag(command, argc, argv, &at, arena, arguments, flag, value)) return false;
        } else if (!arguments->file && is_flag) {
            return usage_error(command, "there is no flag", argument, flag_takers(arena, argument));
        } else if (!arguments->file) {
            arguments->file = argument;
        } else {
            vector_push(arena, &arguments->program, argument);
        }
    }
    if (arguments->file && !*command->operands)
        return usage_error(command, "nothing is done with", arguments->file, "");
    bool complete = arguments->file || *command->operands != 'F';
    if (complete || arguments->help) return true;
    fprintf(stderr, "flowc %s: which .flow file?\n", command->name);
    fprintf(stderr, "try `flowc %s --help`\n", command->name);
    return false;
}

void arguments_help(const Command *command) {
    printf("flowc %s [FLAGS] %s\n%s\n\n", command->name, command->operands, command->help);
    for (int i = 0; i < FLAG_COUNT; i++) {
        const Flag *flag = &flags[i];
        if (!takes(command, flag)) continue;
        char left[64];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s%s", flag->letter ? "-" : "  ",
                 flag->letter ? flag->letter : ' ', flag->letter ? ", " : " ", flag->name,
                 flag->kind == FLAG_optional ? "[" : "", flag->value ? "=" : "",
                 flag->value ? flag->value : "");
        printf("  %s%s%*s %s\n", left, flag->kind == FLAG_optional ? "]" : "",
               (int)(26 - strlen(left) - (flag->kind == FLAG_optional)), "", flag->help);
    }
}
