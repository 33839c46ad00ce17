/* Toolchain. */
#define _GNU_SOURCE
#include "compiler/driver/toolchain.h"

#include "compiler/codegen/flags.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/files.h"
#include "compiler/driver/objects.h"
#include "compiler/driver/parts.h"
#include "lang/base/path.h"
#include "lang/base/text.h"
#include "runtime/half.h"

#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__
static const Level all_levels[] = {{"x86-64-v4", "-march=x86-64-v4", "flow_program_v4"},
                                   {"x86-64-v3", "-march=x86-64-v3", "flow_program_v3"},
                                   {"x86-64", "-march=x86-64", "flow_program_v1"}};

const char *toolchain_native(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    return v3 ? "x86-64-v3" : "x86-64";
}
#else
static const Level all_levels[] = {{"aarch64", "-march=armv8-a", "flow_program"}};

const char *toolchain_native(void) {
    return "aarch64";
}
#endif

enum { ALL_LEVELS = sizeof all_levels / sizeof *all_levels };

static const char *half_means(void) {
    switch (flow_half_means()) {
    case FLOW_HALF_vectors: return "-DFLOW_HALF_MEANS=FLOW_HALF_vectors";
    case FLOW_HALF_pairs: return "-DFLOW_HALF_MEANS=FLOW_HALF_pairs";
    default: return NULL;
    }
}

static bool choose_levels(Toolchain *toolchain, const char *target) {
    const bool all = !strcmp(target, "all"), native = !strcmp(target, "native");
    if (native) target = toolchain_native();
    toolchain->half_means = native ? half_means() : NULL;
    for (int i = 0; i < ALL_LEVELS; i++)
        if (all || !strcmp(all_levels[i].name, target))
            toolchain->levels[toolchain->level_count++] = all_levels[i];
    if (toolchain->level_count) return true;
    fprintf(stderr, "flowc: there is no target `%s`; there are native, all", target);
    for (int i = 0; i < ALL_LEVELS; i++) fprintf(stderr, ", %s", all_levels[i].name);
    if (strstr(target, "sm_"))
        fprintf(stderr, "; kinds of GPUs are for `flowc build` and `export`\n");
    else
        fprintf(stderr,
                "; for other processors there is --emit=c, whose Makefile takes a cross compiler "
                "(make CC=aarch64-linux-gnu-gcc ARCH=-march=armv8-a)\n");
    return false;
}

static bool in_path(const char *name) {
    const char *path = getenv("PATH");
    if (strchr(name, '/')) return !access(name, X_OK);
    char full[4096];
    while (path && *path) {
        size_t length = strcspn(path, ":");
        snprintf(full, sizeof full, "%.*s/%s", (int)length, path, name);
        if (!access(full, X_OK)) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

const char *toolchain_compiler(const char *asked) {
    static const char *const usual[] = {"gcc", "clang", "clang-19", "cc"};
    if (!asked) asked = getenv("FLOWC_CC");
    if (asked) return in_path(asked) ? asked : NULL;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (in_path(usual[i])) return usual[i];
    return NULL;
}

static bool find_compiler(Toolchain *toolchain, const char *asked) {
    toolchain->compiler = toolchain_compiler(asked);
    if (toolchain->compiler) return true;
    if (!asked) asked = getenv("FLOWC_CC");
    fprintf(stderr,
            "flowc: there is no C compiler%s%s; install gcc (Debian: apt-get install gcc)\n",
            asked ? " " : "", asked ? asked : "");
    return false;
}

const char *toolchain_omp(Arena *arena) {
    static const char *const places[] = {
        FLOWC_LLVM "/lib/libomp.so", "/usr/lib/llvm-*/lib/libomp.so",
        "/usr/lib/*/libomp.so",      "/usr/local/lib/libomp.so",
        "/usr/lib/libomp.so",        "/usr/lib64/libomp.so"};
    const char *omp = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !omp; i++) {
        glob_t found;
        if (!glob(places[i], 0, NULL, &found) && found.gl_pathc)
            omp = path_folder(arena, arena_copy(arena, found.gl_pathv[found.gl_pathc - 1],
                                                strlen(found.gl_pathv[found.gl_pathc - 1])));
        globfree(&found);
    }
    return omp;
}

static bool find_omp(Toolchain *toolchain) {
    toolchain->omp = toolchain_omp(toolchain->arena);
    if (toolchain->omp) return true;
    fprintf(stderr,
            "flowc: LLVM's OpenMP runtime is missing (Debian: apt-get install libomp-19-dev)\n");
    return false;
}

int toolchain_find(Toolchain *toolchain, const Arguments *arguments, const char *otherwise) {
    const char *target = arguments->target ? arguments->target : getenv("FLOWC_TARGET");
    toolchain->verbose = arguments->verbose;
    toolchain->fresh = arguments->no_cache;
    if (!choose_levels(toolchain, target && *target ? target : otherwise)) return EXIT_usage;
    return find_compiler(toolchain, arguments->compiler) && find_omp(toolchain) ? EXIT_ok
                                                                                : EXIT_resource;
}

static bool has_string(const Strings *strings, const char *string) {
    for (size_t i = 0; i < strings->count; i++)
        if (!strcmp(strings->items[i], string)) return true;
    return false;
}

/* The words of a command that are not among them yet. */
static void add_text(Arena *arena, Strings *words, const char *text) {
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        const char *word = arena_copy(arena, text, length);
        if (!has_string(words, word)) vector_push(arena, words, word);
    }
}

void toolchain_use(Toolchain *toolchain, const Program *program) {
    for (const Part *part = parts; part->name; part++)
        if (part->used(program, part->name))
            add_text(toolchain->arena, &toolchain->libraries, part->words);
}

/* Compiling. */

static void add_words(Arena *arena, Strings *words, const char *const *more) {
    for (; *more; more++) vector_push(arena, words, *more);
}

/* What a sanitizer finds ends the program, as it does in the runtime's code. Null pointers and what
 * lies outside of an object are found by addresses, too; to look for them at each access takes half
 * of the time to compile. */
static void add_sanitizer(Arena *arena, Strings *words) {
    if (!*FLOWC_SANITIZE) return;
    vector_push(arena, words, "-fsanitize=" FLOWC_SANITIZE);
    vector_push(arena, words, "-fno-sanitize=null,object-size");
    vector_push(arena, words, "-fno-sanitize-recover=all");
}

const char *const include_folders[] = {"/compiler/codegen/templates", "/compiler/ops", "/runtime",
                                       "", NULL};

static void add_include_folders(const Toolchain *toolchain, const char *folder, Strings *words) {
    Arena *arena = toolchain->arena;
    vector_push(arena, words, arena_format(arena, "-I%s", folder));
    for (int i = 0; include_folders[i]; i++)
        vector_push(arena, words,
                    arena_format(arena, "-I%s%s", toolchain->home->share, include_folders[i]));
}

typedef struct MadeObject {
    const char *path, *object;
} MadeObject;

/* Compilers at work, as many as there are processors. */
typedef struct Team {
    const Toolchain *toolchain;
    const char *folder;
    Processes working;
    Vector(MadeObject) made; /* to be kept */
    bool failed;
} Team;

static size_t processor_count(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
}

static void wait_for_one(Team *team) {
    if (process_wait_any(&team->working)) team->failed = true;
}

static void keep_objects(const Team *team) {
    vector_each(MadeObject, made, team->made)
        object_keep(team->toolchain->arena, made->path, made->object);
    if (team->made.count) objects_limit(team->toolchain->arena);
}

static bool wait_for_all(Team *team) {
    while (team->working.count) wait_for_one(team);
    if (!team->failed) keep_objects(team);
    return !team->failed;
}

/* The compiler and what it is told but for files and folders. more: words of its own. */
static Strings compiler_words(const Toolchain *toolchain, const Strings *more) {
    Strings words = {0};
    vector_push(toolchain->arena, &words, toolchain->compiler);
    vector_push(toolchain->arena, &words, sizeof FLOWC_SANITIZE > 1 ? "-O1" : "-O3");
#if defined __x86_64__
    vector_push(toolchain->arena, &words, "-mprefer-vector-width=512");
#endif
    add_words(toolchain->arena, &words, code_flags(toolchain->arena, toolchain->compiler));
    add_sanitizer(toolchain->arena, &words);
    if (toolchain->half_means) /* what is there for others takes time to compile */
        vector_push(toolchain->arena, &words, toolchain->half_means);
    vector_each(const char *, word, *more) vector_push(toolchain->arena, &words, *word);
    return words;
}

const char *toolchain_key(const Toolchain *toolchain) {
    Text key = text_new(toolchain->arena);
    text_format(&key, "%s %s %s", FLOWC_VERSION, toolchain->compiler, toolchain->omp);
    for (int i = 0; i < toolchain->level_count; i++)
        text_format(&key, " %s", toolchain->levels[i].name);
    Strings words = compiler_words(toolchain, &(Strings){0});
    vector_each(const char *, word, words) text_format(&key, " %s", *word);
    return text_string(&key);
}

/* Compiles one file to an object. Nothing is started after a failure. */
static void compile_file(Team *team, const char *source, const char *object, const Strings *more) {
    Arena *arena = team->toolchain->arena;
    Strings words = compiler_words(team->toolchain, more);
    while (team->working.count >= processor_count()) wait_for_one(team);
    if (team->failed) return;
    add_include_folders(team->toolchain, team->folder, &words);
    vector_push(arena, &words, "-c");
    vector_push(arena, &words, source);
    vector_push(arena, &words, "-o");
    vector_push(arena, &words, object);
    vector_push(arena, &team->working, process_start(arena, &words, team->toolchain->verbose));
}

/* The same, of a file that includes nothing but flowc's own: which was compiled before, perhaps. */
static void compile_own(Team *team, const char *source, const char *object, const Strings *more) {
    const Toolchain *toolchain = team->toolchain;
    Strings words = compiler_words(toolchain, more);
    const char *path = object_path(toolchain, source, &words);
    if (path && !toolchain->fresh && object_take(toolchain->arena, path, object)) return;
    compile_file(team, source, object, more);
    if (path) vector_push(toolchain->arena, &team->made, (MadeObject){path, object});
}

static int by_weight(const void *a, const void *b) {
    const CodeUnit *x = *(const CodeUnit *const *)a, *y = *(const CodeUnit *const *)b;
    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1) : (x > y) - (x < y);
}

/* Those that take longest first: then no processor is left with a long one at the end. */
static const CodeUnit **longest_first(Arena *arena, const Generated *generated) {
    const size_t count = generated->units.count;
    const CodeUnit **units = arena_new_array(arena, const CodeUnit *, count);
    for (size_t i = 0; i < count; i++) units[i] = &generated->units.items[i];
    qsort(units, count, sizeof *units, by_weight);
    return units;
}

static const char *object_of(const Team *team, const CodeUnit *unit, const Level *level) {
    return arena_format(team->toolchain->arena, "%s/%s-%s.o", team->folder, unit->name,
                        level->name);
}

/* Compiles the units for one level and adds the objects. The first is the program's, which has its
 * folder and main. */
static void compile_units(Team *team, const Generated *generated, const Level *level,
                          const char *define, bool has_main, Strings *objects) {
    Arena *arena = team->toolchain->arena;
    Strings more = {0}, main = {0};
    vector_push(arena, &more, level->march);
    vector_push(arena, &more, arena_format(arena, "-DFLOW_PROGRAM_NAME=%s", level->symbol));
    vector_each(const char *, word, more) vector_push(arena, &main, *word);
    vector_push(arena, &main, arena_format(arena, "-DFLOW_FOLDER=%s", define));
    if (!has_main) vector_push(arena, &main, "-DFLOW_NO_MAIN");
    const CodeUnit **units = longest_first(arena, generated);
    for (size_t i = 0; i < generated->units.count; i++) {
        const char *source = arena_format(arena, "%s/%s", team->folder, units[i]->name);
        compile_own(team, source, object_of(team, units[i], level),
                    units[i] == generated->units.items ? &main : &more);
    }
    vector_each(CodeUnit, unit, generated->units)
        vector_push(arena, objects, object_of(team, unit, level));
}

/* The C files given by --link, for the least processor that is meant, and the objects; shared
 * libraries go where the linker finds them when the program starts. */
static void compile_linked(Team *team, Strings *objects) {
    const Toolchain *toolchain = team->toolchain;
    Arena *arena = toolchain->arena;
    Strings more = {0};
    vector_push(arena, &more, toolchain->levels[toolchain->level_count - 1].march);
    vector_each(const char *, file, toolchain->linked) {
        const char *object = *file;
        if (is_shared(*file)) continue;
        if (is_source(*file)) {
            object = arena_format(arena, "%s/linked%zu.o", team->folder,
                                  (size_t)(file - toolchain->linked.items));
            compile_file(team, *file, object, &more);
        }
        vector_push(arena, objects, object);
    }
}

static void add_shared(const Toolchain *toolchain, Strings *words) {
    Arena *arena = toolchain->arena;
    vector_each(const char *, file, toolchain->linked) {
        if (!is_shared(*file)) continue;
        vector_push(arena, words, *file);
        vector_push(arena, words, arena_format(arena, "-Wl,-rpath,%s", path_folder(arena, *file)));
    }
}

/* What picks the program of one of several levels. */
static void compile_dispatch(Team *team, bool has_main, Strings *objects) {
    const Toolchain *toolchain = team->toolchain;
    Arena *arena = toolchain->arena;
    Strings more = {0};
    const char *object = arena_format(arena, "%s/dispatch.o", team->folder);
    const char *source =
        arena_format(arena, "%s/compiler/codegen/templates/dispatch.c", toolchain->home->share);
    for (int i = 0; i < toolchain->level_count; i++)
        vector_push(arena, &more, arena_format(arena, "-DHAVE_%s", toolchain->levels[i].symbol));
    if (!has_main) vector_push(arena, &more, "-DFLOW_NO_MAIN");
    compile_own(team, source, object, &more);
    vector_push(arena, objects, object);
}

/* The units for each level, and the dispatch where there is a choice. */
static void compile_levels(Team *team, const Generated *generated, const char *define,
                           bool has_main, Strings *objects) {
    const Toolchain *toolchain = team->toolchain;
    bool single = toolchain->level_count == 1 && has_main;
    for (int i = 0; i < toolchain->level_count; i++)
        compile_units(team, generated, &toolchain->levels[i], define, single, objects);
    if (!single) compile_dispatch(team, has_main, objects);
}

/* It takes half the time; what users give may be made for the usual one. */
static bool has_quick_linker(const Toolchain *toolchain) {
    return !*FLOWC_SANITIZE && !toolchain->linked.count && in_path("ld.gold");
}

static Strings link_words(const Toolchain *toolchain, const Strings *objects, const char *output) {
    Arena *arena = toolchain->arena;
    Strings words = {0};
    vector_push(arena, &words, toolchain->compiler);
    add_sanitizer(arena, &words);
    vector_push(arena, &words, "-Wl,--gc-sections");
    if (!*FLOWC_SANITIZE) vector_push(arena, &words, "-s");
    if (has_quick_linker(toolchain)) vector_push(arena, &words, "-fuse-ld=gold");
    vector_push(arena, &words, "-o");
    vector_push(arena, &words, output);
    for (size_t i = 0; i < objects->count; i++) vector_push(arena, &words, objects->items[i]);
    vector_push(arena, &words, toolchain->home->runtime);
    return words;
}

bool toolchain_program(const Toolchain *toolchain, const Generated *generated, const char *folder,
                       const char *name, const char *define, bool bundle) {
    Arena *arena = toolchain->arena;
    Strings objects = {0};
    Team team = {.toolchain = toolchain, .folder = folder};
    compile_levels(&team, generated, define, true, &objects);
    compile_linked(&team, &objects);
    if (!wait_for_all(&team) || !externals_defined(toolchain, &objects)) return false;
    Strings words = link_words(toolchain, &objects, arena_format(arena, "%s/%s", folder, name));
    static const char *const libraries[] = {"-l:libz.a", "-lm", "-ldl", "-lpthread", NULL};
    vector_push(arena, &words, arena_format(arena, "%s/libomp.so", toolchain->omp));
    vector_push(arena, &words,
                bundle ? "-Wl,-rpath,$ORIGIN"
                       : arena_format(arena, "-Wl,-rpath,%s", toolchain->omp));
    vector_each(const char *, library, toolchain->libraries) vector_push(arena, &words, *library);
    add_shared(toolchain, &words);
    add_words(arena, &words, libraries);
    return !process_wait(process_start(arena, &words, toolchain->verbose));
}

/* Libraries. */

static bool run_words(const Toolchain *toolchain, const char *const *words) {
    Strings list = {0};
    add_words(toolchain->arena, &list, words);
    return !process_wait(process_start(toolchain->arena, &list, toolchain->verbose));
}

/* One object of all objects and what they need of the runtime, with only the names of the public
 * interface left visible: two such libraries can be linked into one program. */
static bool join_objects(const Toolchain *toolchain, const Strings *objects, const char *joined,
                         const char *name) {
    Arena *arena = toolchain->arena;
    Strings words = {0};
    static const char *const start[] = {"ld", "-r", "-o", NULL};
    add_words(arena, &words, start);
    vector_push(arena, &words, joined);
    for (size_t i = 0; i < objects->count; i++) vector_push(arena, &words, objects->items[i]);
    vector_push(arena, &words, toolchain->home->runtime);
    if (process_wait(process_start(arena, &words, toolchain->verbose))) return false;
    const char *visible = arena_format(arena, "--keep-global-symbol=%s_*", name);
    return run_words(toolchain, (const char *const[]){"objcopy", "--wildcard", visible,
                                                      "--strip-unneeded", joined, NULL});
}

bool toolchain_library(const Toolchain *toolchain, const Generated *generated, const char *folder,
                       const char *name) {
    Arena *arena = toolchain->arena;
    Strings objects = {0}, none = {0};
    Team team = {.toolchain = toolchain, .folder = folder};
    compile_levels(&team, generated, "\"\"", false, &objects);
    const char *wrapper = arena_format(arena, "%s/interface.o", folder);
    compile_file(&team, arena_format(arena, "%s/interface.c", folder), wrapper, &none);
    vector_push(arena, &objects, wrapper);
    compile_linked(&team, &objects);
    if (!wait_for_all(&team) || !externals_defined(toolchain, &objects)) return false;
    const char *joined = arena_format(arena, "%s/%s.o", folder, name);
    const char *archive = arena_format(arena, "%s/lib%s.a", folder, name);
    const char *shared = arena_format(arena, "%s/lib%s.so", folder, name);
    const char *soname = arena_format(arena, "-Wl,-soname,lib%s.so", name);
    const char *sanitizer = *FLOWC_SANITIZE ? "-fsanitize=" FLOWC_SANITIZE : "-Wl,-z,defs";
    Strings words = {0};
    add_words(arena, &words,
              (const char *const[]){toolchain->compiler, "-shared", soname, sanitizer, "-o", shared,
                                    joined, NULL});
    add_shared(toolchain, &words);
    add_words(arena, &words, (const char *const[]){"-l:libz.a", "-lm", "-lpthread", NULL});
    return join_objects(toolchain, &objects, joined, name) &&
           run_words(toolchain, (const char *const[]){"ar", "rcs", archive, joined, NULL}) &&
           !process_wait(process_start(arena, &words, toolchain->verbose));
}
