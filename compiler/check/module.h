/* Module: a program's files and what each of them declares.
 *
 * A name is looked up from the file that uses it: its own declarations, then those of its imports
 * in order, then the standard library. So a program may give a library name a new meaning for
 * itself without changing what the library's own code means by it. */
#ifndef FLOW_CHECK_MODULE_H
#define FLOW_CHECK_MODULE_H

#include "lang/base/map.h"
#include "lang/diagnostic.h"
#include "lang/tree.h"

enum { IMPORT_LIMIT = 256 }; /* files of one program */

/* One file, or one declaration of the library. */
typedef struct Unit {
    Tree *tree;
    Map names; /* to Declaration * */
    Vector(struct Unit *) imports;
    bool library; /* part of the standard library */
} Unit;

/* A file that was looked for, each time. */
typedef struct Looked {
    const char *path, *full; /* path_full of it */
    const Source *source;    /* NULL: it can't be read */
} Looked;

typedef Vector(Looked) LookedList;

typedef struct Module {
    Arena *arena;
    Unit *program;          /* the file that was asked for */
    Vector(Unit *) units;   /* all but the library's, the program first */
    LookedList looked;      /* for the program, then for each import */
    Vector(Unit *) library; /* of each of its declarations that was looked up */
    struct Loader *loader;
} Module;

/* Parses the source and what it imports; a declaration of the library when its name is looked up.
 * An import is looked for beside the file that names it, then in the folders of `search`, which has
 * `:` between them. Never NULL; errors stand in diagnostics. */
Module *module_load(Arena *arena, const Source *source, Source *const *library,
                    size_t library_count, const char *search, Diagnostics *diagnostics);

/* The declaration that name means in the unit, and the unit that declares it; or NULL. */
const Declaration *module_find(const Module *module, const Unit *from, const char *name,
                               const Unit **declared_in);

/* The declared name nearest to a misspelt one, or NULL. */
const char *module_nearest(const Module *module, const Unit *from, const char *name);

#endif
