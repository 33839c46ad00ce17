/* Diagnostic: what a user is told about a program, with the places it speaks of.
 *
 *     Diagnostic *d = diagnostic_add(list, E0207, range, "expects %s features", text);
 *     diagnostic_note(d, other_range, "8192 comes from here");
 *     diagnostic_help(d, "drop `in =`");
 *
 * The codes are errors.def; each is stable and has a title. A second diagnostic of the same code
 * at the same range is dropped (a function checked for two calls reports once). */
#ifndef FLOW_LANG_DIAGNOSTIC_H
#define FLOW_LANG_DIAGNOSTIC_H

#include "lang/base/vector.h"
#include "lang/source.h"

#include <stdio.h>

typedef enum ErrorCode {
#define ERROR(code, title) code,
#include "lang/errors.def"
#undef ERROR
} ErrorCode;

enum {
    DIAGNOSTIC_LIMIT = 50,  /* errors printed; the rest is counted */
    DIAGNOSTIC_STORE = 1000 /* errors kept; hostile input can cause millions */
};

typedef struct Note {
    Range range; /* source NULL: the note has no place */
    const char *text;
} Note;

typedef struct Diagnostic {
    Arena *arena;
    ErrorCode code;
    Range range;
    const char *text; /* what is wrong, on the first line behind the title */
    Vector(Note) notes;
    const char *help; /* or NULL */
} Diagnostic;

typedef struct Diagnostics {
    Arena *arena;
    Vector(Diagnostic *) list;
    size_t unlisted; /* came after the list was full */
} Diagnostics;

Diagnostics *diagnostics_new(Arena *arena);

/* Never NULL: a dropped duplicate is returned too, but not listed. */
Diagnostic *diagnostic_add(Diagnostics *diagnostics, ErrorCode code, Range range,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
void diagnostic_note(Diagnostic *diagnostic, Range range, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diagnostic_help(Diagnostic *diagnostic, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints all, in order of place, and a last line with the count. Control characters of the
 * source are shown as `?`, tabs as blanks. */
void diagnostics_print(const Diagnostics *diagnostics, FILE *file, bool color);

/* One, or all that were kept in the same order, each as a JSON object on a line of its own:
 *
 *     {"code": "E0207", "severity": "error", "title": "…", "message": "…", "place": PLACE,
 *      "notes": [{"message": "…", "place": PLACE}], "help": "…"}
 *     PLACE: {"file": "x.flow", "begin": {"line": 3, "column": 7, "byte": 41}, "end": {…}}
 *
 * Lines and columns count from 1, columns in code points; bytes from 0; end is behind the last.
 * place and help are null where there is none. Bytes that are no UTF-8 become U+FFFD. */
void diagnostic_print_json(const Diagnostic *diagnostic, FILE *file);
void diagnostics_print_json(const Diagnostics *diagnostics, FILE *file);

const char *error_title(ErrorCode code);
const char *error_name(ErrorCode code); /* "E0207" */

/* The candidate nearest to name by edit distance, if it is near enough to be meant; else NULL. A
 * candidate may be NULL, which is near to nothing. */
const char *nearest_name(const char *name, const char *const *candidates, size_t count);

#endif
