/* Compiler: NVRTC by the system's C compiler. The text is C by the words of cuda.h; it may include
 * what is given with it, and flowc's own headers, which lie beside this library. */
#define _GNU_SOURCE
#include "runtime/device/standin/standin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RESULT_success = 0,
    RESULT_out_of_memory = 1,
    RESULT_creation = 2,
    RESULT_input = 3,
    RESULT_program = 4,
    RESULT_option = 5,
    RESULT_compilation = 6,
    RESULT_internal = 11,
    ARGUMENTS_MOST = 64,
};

typedef struct Source {
    char *name, *text;
} Source;

typedef struct Program {
    Source *sources; /* the text itself, then headers */
    int count;
    char *log;
    char *image; /* room for the head, then the library; NULL: not compiled */
    size_t size;
    ImageHead head;
} Program;

static const char *const texts[] = {
    "NVRTC_SUCCESS",
    "NVRTC_ERROR_OUT_OF_MEMORY",
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "NVRTC_ERROR_INVALID_INPUT",
    "NVRTC_ERROR_INVALID_PROGRAM",
    "NVRTC_ERROR_INVALID_OPTION",
    "NVRTC_ERROR_COMPILATION",
};

API const char *nvrtcGetErrorString(int result) {
    int known = sizeof texts / sizeof *texts;
    return result >= 0 && result < known ? texts[result] : "NVRTC_ERROR_INTERNAL_ERROR";
}

API int nvrtcVersion(int *major, int *minor) {
    *major = (int)standin_setting("FLOWC_SIMULATE_NVRTC", 12);
    *minor = 4;
    return RESULT_success;
}

static const int known[] = {75, 80, 86, 10 * MAJOR + MINOR};

API int nvrtcGetNumSupportedArchs(int *count) {
    *count = sizeof known / sizeof *known;
    return RESULT_success;
}

API int nvrtcGetSupportedArchs(int *architectures) {
    memcpy(architectures, known, sizeof known);
    return RESULT_success;
}

/* Programs. */

API int nvrtcDestroyProgram(Program **program) {
    if (!program || !*program) return RESULT_program;
    for (int i = 0; i < (*program)->count; i++) {
        free((*program)->sources[i].name);
        free((*program)->sources[i].text);
    }
    free((*program)->sources);
    free((*program)->log);
    free((*program)->image);
    free(*program);
    *program = NULL;
    return RESULT_success;
}

static bool add_source(Program *program, const char *name, const char *text) {
    Source *source = &program->sources[program->count++];
    *source = (Source){.name = strdup(name), .text = strdup(text)};
    return source->name && source->text;
}

API int nvrtcCreateProgram(Program **made, const char *text, const char *name, int count,
                           const char *const *headers, const char *const *names) {
    if (!made || !text || count < 0 || (count && (!headers || !names))) return RESULT_input;
    Program *program = *made = calloc(1, sizeof *program);
    if (!program) return RESULT_out_of_memory;
    program->sources = calloc((size_t)count + 1, sizeof *program->sources);
    program->log = strdup("");
    bool good = program->sources && program->log && add_source(program, name ? name : "", text);
    for (int i = 0; i < count && good; i++) good = add_source(program, names[i], headers[i]);
    if (!good) nvrtcDestroyProgram(made);
    return good ? RESULT_success : RESULT_out_of_memory;
}

/* Files. */

static bool write_file(const char *path, const char *text) {
    FILE *out = fopen(path, "we");
    if (!out) return false;
    bool good = fputs(text, out) >= 0;
    return !fclose(out) && good;
}

/* There is no room, which the log says. */
static int unwritten(Program *program, const char *path) {
    char *log;
    if (asprintf(&log, "%s: %s", path, strerror(errno)) < 0) return RESULT_out_of_memory;
    free(program->log);
    program->log = log;
    return RESULT_out_of_memory;
}

/* The folders of a path below `folder` are there. */
static void make_folders(const char *folder, const char *name) {
    char path[PATH_MAX];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name);
        mkdir(path, 0700);
    }
}

static bool is_inside(const char *name) {
    return *name && *name != '/' && !strstr(name, "..");
}

static bool write_sources(const Program *program, const char *folder) {
    char path[PATH_MAX];
    for (int i = 1; i < program->count; i++) {
        const char *name = program->sources[i].name;
        if (!is_inside(name)) return false;
        make_folders(folder, name);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (!write_file(path, program->sources[i].text)) return false;
    }
    snprintf(path, sizeof path, "%s/kernels.c", folder);
    return write_file(path, program->sources[0].text);
}

/* The file, after `before` free bytes, and a NUL. */
static char *read_file(const char *path, size_t before, size_t *size) {
    struct stat about;
    FILE *in = fopen(path, "re");
    if (!in) return NULL;
    char *bytes = fstat(fileno(in), &about) ? NULL : calloc(1, before + (size_t)about.st_size + 1);
    if (bytes) *size = fread(bytes + before, 1, (size_t)about.st_size, in);
    fclose(in);
    return bytes;
}

static void remove_folder(const char *folder) {
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) return; /* what is left is in /tmp */
}

/* Options. */

typedef struct Command {
    char *words[ARGUMENTS_MOST];
    int count;
    int architecture;
    bool is_virtual, is_alone; /* for all later GPUs; for this one alone: "sm_90a" */
} Command;

__attribute__((format(printf, 2, 3))) static void add_word(Command *command, const char *format,
                                                           ...) {
    va_list arguments;
    va_start(arguments, format);
    if (command->count < ARGUMENTS_MOST - 1 &&
        vasprintf(&command->words[command->count], format, arguments) >= 0)
        command->count++;
    va_end(arguments);
}

static void free_words(Command *command) {
    for (int i = 0; i < command->count; i++) free(command->words[i]);
}

/* "sm_90", "sm_90a", "compute_90" */
static bool read_architecture(Command *command, const char *text) {
    command->is_virtual = !strncmp(text, "compute_", 8);
    if (!command->is_virtual && strncmp(text, "sm_", 3)) return false;
    char *end;
    command->architecture = (int)strtol(strchr(text, '_') + 1, &end, 10);
    command->is_alone = *end == 'a';
    if (command->is_alone && command->architecture == 90) add_word(command, "-DFLOW_WARPGROUPS=1");
    return command->architecture >= 50 && (!*end || (*end == 'a' && !end[1]));
}

static const char *value_of(const char *option, const char *name) {
    size_t length = strlen(name);
    return strncmp(option, name, length) ? NULL : option + length;
}

/* What a C compiler knows under the same name goes there, what only NVRTC knows is left out. */
static bool add_option(Command *command, const char *option) {
    const char *value;
    if ((value = value_of(option, "--gpu-architecture=")) || (value = value_of(option, "-arch=")))
        return read_architecture(command, value);
    if (!strncmp(option, "-D", 2) || !strncmp(option, "-I", 2)) add_word(command, "%s", option);
    if (!strcmp(option, "--fmad=false")) add_word(command, "-ffp-contract=off");
    return *option == '-';
}

/* Where flowc's headers are: from lib/flowc/ in share/flowc/. */
static bool add_headers(Command *command) {
    static const char *const parts[] = {"", "runtime", "compiler/ops",
                                        "compiler/codegen/templates"};
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr((void *)nvrtcVersion, &info) || !realpath(info.dli_fname, path)) return false;
    for (int up = 0; up < 3 && strrchr(path, '/'); up++) *strrchr(path, '/') = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        add_word(command, "-I%s/share/flowc/%s", path, parts[i]);
    return true;
}

static int make_command(Command *command, const char *folder, int count,
                        const char *const *options) {
    static const char *const plain[] = {"-std=gnu11",
                                        "-O1",
                                        "-fPIC",
                                        "-shared",
                                        "-w",
                                        "-fwrapv",
                                        "-ffp-contract=fast",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-DFLOW_SIMULATED"};
    const char *compiler = getenv("FLOWC_CC");
    *command = (Command){.architecture = 10 * MAJOR + MINOR};
    add_word(command, "%s", compiler && *compiler ? compiler : "cc");
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) add_word(command, "%s", plain[i]);
    for (int i = 0; i < count; i++)
        if (!add_option(command, options[i])) return RESULT_option;
    add_word(command, "-I%s", folder);
    if (!add_headers(command)) return RESULT_internal;
    add_word(command, "%s/kernels.c", folder);
    add_word(command, "-o%s/kernels.so", folder);
    add_word(command, "-lm");
    return RESULT_success;
}

static bool run(const Command *command, const char *log) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    bool started =
        !posix_spawnp(&child, command->words[0], &actions, NULL, command->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return started && waitpid(child, &status, 0) == child && !status;
}

static int keep_image(Program *program, const Command *command, const char *path) {
    size_t size = 0;
    char *image = read_file(path, sizeof(ImageHead), &size);
    if (!image) return RESULT_internal;
    program->head = (ImageHead){.mark = IMAGE_MARK,
                                .architecture = command->architecture,
                                .is_virtual = command->is_virtual,
                                .is_alone = command->is_alone,
                                .size = size};
    free(program->image);
    program->image = image;
    program->size = sizeof(ImageHead) + size;
    return RESULT_success;
}

static int compile_in(Program *program, const char *folder, const Command *command) {
    char library[PATH_MAX], log[PATH_MAX];
    size_t size = 0;
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    if (!write_sources(program, folder)) return unwritten(program, folder);
    bool compiled = run(command, log);
    char *said = read_file(log, 0, &size);
    if (said) {
        free(program->log);
        program->log = said;
    }
    return compiled ? keep_image(program, command, library) : RESULT_compilation;
}

static int demanded_fault(void) {
    const char *fault = getenv("FLOWC_SIMULATE_FAULT");
    if (!fault || strncmp(fault, "nvrtcCompileProgram:", 20)) return RESULT_success;
    if (strstr(fault, ":HANG"))
        for (;;) pause();
    if (strstr(fault, ":CRASH")) raise(SIGSEGV);
    return RESULT_internal;
}

API int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    char folder[] = "/tmp/flowc-nvrtc-XXXXXX";
    if (!program) return RESULT_program;
    int fault = demanded_fault();
    if (fault) return fault;
    if (!mkdtemp(folder)) return RESULT_internal;
    Command command;
    int result = make_command(&command, folder, count, options);
    if (!result) result = compile_in(program, folder, &command);
    free_words(&command);
    remove_folder(folder);
    return result;
}

/* What came of it. */

API int nvrtcGetProgramLogSize(const Program *program, size_t *size) {
    *size = strlen(program->log) + 1;
    return RESULT_success;
}

API int nvrtcGetProgramLog(const Program *program, char *log) {
    strcpy(log, program->log);
    return RESULT_success;
}

static int give_image(const Program *program, bool is_virtual, char *image) {
    ImageHead head = program->head;
    head.is_virtual = is_virtual;
    memcpy(program->image, &head, sizeof head);
    memcpy(image, program->image, program->size);
    return RESULT_success;
}

/* A virtual architecture has no binary. */
API int nvrtcGetCUBINSize(const Program *program, size_t *size) {
    *size = program->head.is_virtual ? 0 : program->size;
    return program->image ? RESULT_success : RESULT_program;
}

API int nvrtcGetCUBIN(const Program *program, char *image) {
    if (!program->image || program->head.is_virtual) return RESULT_program;
    return give_image(program, false, image);
}

API int nvrtcGetPTXSize(const Program *program, size_t *size) {
    *size = program->size;
    return program->image ? RESULT_success : RESULT_program;
}

API int nvrtcGetPTX(const Program *program, char *image) {
    return program->image ? give_image(program, true, image) : RESULT_program;
}
