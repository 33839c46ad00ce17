/* flowc build: a trainer, or the C that makes one. */
#define _GNU_SOURCE
#include "compiler/codegen/flags.h"
#include "compiler/driver/ahead.h"
#include "compiler/driver/cache.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/device_text.h"
#include "compiler/driver/files.h"
#include "compiler/driver/parts.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/select.h"
#include "lang/base/path.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *path) {
    fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
    return EXIT_resource;
}

/* Copies what the pattern matches below the share folder, to the same place below `to`. */
static bool copy_matching(const Compilation *compilation, const char *pattern, const char *to,
                          bool flat) {
    Arena *arena = compilation->arena;
    const char *share = compilation->home->share;
    glob_t found;
    bool good = !glob(arena_format(arena, "%s/%s", share, pattern), 0, NULL, &found);
    for (size_t i = 0; good && i < found.gl_pathc; i++) {
        const char *below = found.gl_pathv[i] + strlen(share) + 1;
        const char *target = arena_format(arena, "%s/%s", to, flat ? path_name(below) : below);
        good = folder_make(path_folder(arena, target), 0777) &&
               file_copy(arena, found.gl_pathv[i], target, 0644);
    }
    globfree(&found);
    return good;
}

/* What --link names has to mean nothing to make. */
static bool have_plain_names(const Compilation *compilation) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
    vector_each(const char *, path, compilation->arguments->link) {
        const char *name = path_name(*path);
        if (strspn(name, plain) == strlen(name)) continue;
        fprintf(stderr,
                "flowc: --link=%s: a Makefile can't name it; rename it to letters, digits "
                "and _ . + -\n",
                *path);
        return false;
    }
    return true;
}

/* Copies what --link names into linked/. */
static bool copy_linked(const Compilation *compilation, const char *folder) {
    Arena *arena = compilation->arena;
    vector_each(const char *, path, compilation->arguments->link) {
        const char *name = path_name(*path),
                   *to = arena_format(arena, "%s/linked/%s", folder, name);
        if (!folder_make(path_folder(arena, to), 0777) || !file_copy(arena, *path, to, 0644))
            return false;
    }
    return true;
}

static void add_gcc_flags(Text *text) {
    text_add(text, "\nGCC_FLAGS =");
    for (int i = 0; gcc_flags[i]; i++) text_format(text, " %s", gcc_flags[i]);
}

/* The libraries of the program's parts, and the sources of those that it has no use for. */
static bool write_libraries(const Compilation *compilation, const char *folder) {
    Toolchain toolchain = {.arena = compilation->arena};
    toolchain_use(&toolchain, compilation->program);
    Text text = text_new(compilation->arena);
    text_add(&text, "OMITTED = runtime/device/simulated%.c runtime/device/fiber.c");
    for (const Part *part = parts; part->name; part++)
        if (*part->words && !part->used(compilation->program, part->name))
            text_format(&text, " %s", part->file);
    text_add(&text, "\nLIBRARIES =");
    vector_each(const char *, library, toolchain.libraries) text_format(&text, " %s", *library);
    text_add(&text, "\nLINKED =");
    vector_each(const char *, path, compilation->arguments->link)
        text_format(&text, " linked/%s", path_name(*path));
    add_gcc_flags(&text);
    text_add(&text, "\n");
    const char *path = arena_format(compilation->arena, "%s/libraries.mk", folder);
    return file_write(path, text_string(&text), text.size);
}

/* The generated C, the templates it includes, the runtime and a Makefile. */
static int emit_c(const Compilation *compilation, const Generated *generated, const char *folder) {
    static const char *const runtime[] = {"runtime/*.[ch]", "runtime/*/*.c", "runtime/*/*.h",
                                          "runtime/*/*.def"};
    if (!have_plain_names(compilation)) return EXIT_usage;
    bool good = folder_make(folder, 0777);
    for (size_t i = 0; good && i < sizeof runtime / sizeof *runtime; i++) {
        bool copied = copy_matching(compilation, runtime[i], folder, false);
        good = copied || i; /* a pattern of the last three may match nothing */
    }
    good = good && copy_matching(compilation, "compiler/codegen/templates/*.[ch]", folder, true) &&
           copy_matching(compilation, "compiler/ops/kernel.h", folder, true) &&
           file_copy(compilation->arena,
                     arena_format(compilation->arena, "%s/compiler/codegen/templates/standalone.mk",
                                  compilation->home->share),
                     arena_format(compilation->arena, "%s/Makefile", folder), 0644);
    good = good && copy_linked(compilation, folder) && write_libraries(compilation, folder);
    if (!good) return failed(folder);
    return write_generated(compilation->arena, generated, folder) ? EXIT_ok : EXIT_resource;
}

typedef enum Emit { EMIT_exe, EMIT_c, EMIT_cuda } Emit;

static bool parse_emit(const char *text, Emit *emit) {
    static const char *const names[] = {[EMIT_exe] = "exe", [EMIT_c] = "c", [EMIT_cuda] = "cuda"};
    *emit = EMIT_exe;
    for (Emit known = EMIT_exe; text && known <= EMIT_cuda; known++)
        if (!strcmp(text, names[known])) return *emit = known, true;
    if (text) fprintf(stderr, "flowc build: --emit is exe, c or cuda, not `%s`\n", text);
    return !text;
}

/* What NVRTC is given, as one file. */
static int emit_cuda(const Compilation *compilation, const Generated *generated) {
    const char *name = compilation->program->name, *output = compilation->arguments->output;
    if (!output) output = arena_format(compilation->arena, "%s.cu", name);
    if (!has_device_text(generated)) {
        fprintf(stderr,
                "flowc build: nothing of `%s` runs on a GPU; `--device=gpu` places there "
                "what the program places nowhere\n",
                name);
        return EXIT_program;
    }
    const char *text = device_text(compilation->arena, compilation->home, generated);
    if (!text) return EXIT_resource;
    return file_write(output, text, strlen(text)) ? EXIT_ok : failed(output);
}

static int bundle_omp(const Toolchain *toolchain, const char *output) {
    Arena *arena = toolchain->arena;
    const char *beside = arena_format(arena, "%s/libomp.so.5", path_folder(arena, output));
    const char *library = arena_format(arena, "%s/libomp.so", toolchain->omp);
    return file_copy(arena, library, beside, 0755) ? EXIT_ok : failed(beside);
}

static int build_program(const Toolchain *toolchain, const Arguments *arguments,
                         const Generated *generated, const char *output) {
    Arena *arena = toolchain->arena;
    const char *folder = scratch_folder(arena);
    if (!folder) return EXIT_resource;
    int status = EXIT_resource;
    if (write_generated(arena, generated, folder) &&
        toolchain_program(toolchain, generated, folder, "program", "\"\"", arguments->bundle))
        status = file_copy(arena, arena_format(arena, "%s/program", folder), output, 0755)
                     ? EXIT_ok
                     : failed(output);
    if (arguments->keep) fprintf(stderr, "flowc: the generated files are in %s\n", folder);
    else folder_remove(folder);
    return status == EXIT_ok && arguments->bundle ? bundle_omp(toolchain, output) : status;
}

int command_build(Arguments *arguments) {
    Compilation compilation;
    arguments->uses_gpus = true;
    int status = ahead_parse(arena_new(), arguments); /* lives as long as the process */
    if (status == EXIT_ok) status = command_compile(&compilation, arguments, true, STOP_plan);
    if (status != EXIT_ok) return status;
    if (!has_trainer(&compilation, "build")) return EXIT_program;
    Emit emit;
    if (!parse_emit(arguments->emit, &emit)) return EXIT_usage;
    status = select_trains(&compilation);
    if (status == EXIT_ok) status = settle_devices(&compilation);
    if (status != EXIT_ok) return status;
    const char *output = arguments->output ? arguments->output : compilation.program->name;
    double since = seconds();
    Generated generated = codegen_trainer(compilation.arena, compilation.plan);
    if (emit == EMIT_cuda) return emit_cuda(&compilation, &generated);
    status = ahead_add(&compilation, &generated);
    if (status != EXIT_ok) return status;
    report_time(&compilation, "codegen", &since);
    if (emit == EMIT_c) return emit_c(&compilation, &generated, output);
    Toolchain toolchain;
    status = toolchain_for_trainer(&toolchain, &compilation, "all");
    if (status != EXIT_ok) return status;
    status = build_program(&toolchain, arguments, &generated, output);
    if (compilation_failed(&compilation)) status = EXIT_program;
    report_time(&compilation, "compile", &since);
    return status;
}
