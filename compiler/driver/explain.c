/* flowc explain: the page of an error code, or the list of them; or what a program does with its
 * data. */
#include "compiler/driver/commands.h"
#include "compiler/driver/explain.h"
#include "compiler/driver/files.h"
#include "compiler/driver/locks.h"
#include "compiler/driver/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const codes[] = {
#define ERROR(code, title) #code,
#include "lang/errors.def"
#undef ERROR
};
enum { CODE_COUNT = sizeof codes / sizeof *codes };

static int list_codes(void) {
    for (int i = 0; i < CODE_COUNT; i++) printf("%s  %s\n", codes[i], error_title((ErrorCode)i));
    printf("\nflowc explain CODE says more.\n");
    return EXIT_ok;
}

/* `E0207`, `e207`, `207`; NULL when there is none. */
static const char *find_code(const char *given) {
    const char *digits = given + (*given == 'E' || *given == 'e');
    char *end;
    unsigned long number = strtoul(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end) return NULL;
    for (int i = 0; i < CODE_COUNT; i++)
        if (strtoul(codes[i] + 1, NULL, 10) == number) return codes[i];
    return NULL;
}

/* Markdown as text: what stands between fences is indented, headings lose their marks. */
static void print_page(const char *page) {
    bool code = false;
    for (size_t size; *page; page += size + (page[size] == '\n')) {
        size = strcspn(page, "\n");
        bool fence = !strncmp(page, "```", 3);
        code ^= fence;
        size_t mark = code ? 0 : strspn(page, "#");
        if (mark) mark += page[mark] == ' ';
        if (!fence) printf("%s%.*s\n", code && size ? "    " : "", (int)(size - mark), page + mark);
    }
}

static int explain(const char *code) {
    size_t size;
    Arena *arena = arena_new();
    const Home *home = home_find(arena);
    if (!home) return EXIT_resource;
    const char *path = arena_format(arena, "%s/lang/errors/%s.md", home->share, code);
    const char *page = file_read(arena, path, &size);
    if (page) print_page(page);
    else fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
    arena_free(arena);
    return page ? EXIT_ok : EXIT_resource;
}

static int explain_file(Arguments *arguments) {
    Compilation compilation;
    arguments->uses_gpus = arguments->predicts = true;
    int status = command_compile(&compilation, arguments, true, STOP_plan);
    if (status == EXIT_ok && !has_trainer(&compilation, "explain")) status = EXIT_program;
    if (status == EXIT_ok) status = select_trains(&compilation);
    if (status != EXIT_ok) return status;
    Text text = text_new(compilation.arena);
    if (arguments->lock) return keep_decisions(&compilation);
    explain_program(compilation.plan, !arguments->machine, &text);
    if (compilation.decisions) explain_placement(&compilation, &text);
    explain_links(&compilation, &text);
    if (compilation.decisions && is_locked(&compilation))
        text_format(&text, "%s decides for `run` and `build`, not what is said here\n",
                    lock_place(&compilation));
    fputs(text_string(&text), stdout);
    return EXIT_ok;
}

static bool is_program(const char *name) {
    size_t size = strlen(name);
    return size > 5 && !strcmp(name + size - 5, ".flow");
}

int command_explain(Arguments *arguments) {
    if (!arguments->file) return list_codes();
    if (is_program(arguments->file)) return explain_file(arguments);
    const char *code = find_code(arguments->file);
    if (code) return explain(code);
    fprintf(
        stderr,
        "flowc: there is no error code `%s`; `flowc explain` lists them, `flowc explain x.flow` "
        "explains a program\n",
        arguments->file);
    return EXIT_usage;
}
