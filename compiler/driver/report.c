/* Report. */
#include "compiler/driver/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool wants_color(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !getenv("NO_COLOR") && !(term && !strcmp(term, "dumb"));
}

static bool wants_json(const Arguments *arguments) {
    return arguments->diagnostics && !strcmp(arguments->diagnostics, "json");
}

bool report_form_known(const Arguments *arguments) {
    const char *form = arguments->diagnostics;
    if (!form || !strcmp(form, "text") || wants_json(arguments)) return true;
    fprintf(stderr, "flowc: diagnostics are text or json, not `%s`\n", form);
    return false;
}

bool report_diagnostics(const Arguments *arguments, const Diagnostics *diagnostics) {
    if (!diagnostics->list.count) return false;
    if (wants_json(arguments)) diagnostics_print_json(diagnostics, stderr);
    else diagnostics_print(diagnostics, stderr, wants_color());
    return true;
}

void report_file(const Arguments *arguments, const char *path, const char *why) {
    if (!wants_json(arguments)) {
        fprintf(stderr, "flowc: %s: %s\n", path, why);
        return;
    }
    Arena *arena = arena_new();
    Diagnostics *diagnostics = diagnostics_new(arena);
    diagnostic_add(diagnostics, E0001, (Range){0}, "%s: %s", path, why);
    diagnostics_print_json(diagnostics, stderr);
    arena_free(arena);
}
