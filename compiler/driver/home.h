/* Home: where flowc's own files are: the library in .flow, the templates, the runtime. Found from
 * the place of the executable, so that an installation can be moved. */
#ifndef FLOW_DRIVER_HOME_H
#define FLOW_DRIVER_HOME_H

#include "lang/base/vector.h"
#include "lang/source.h"

typedef struct Home {
    const char *share;   /* holds lang/std, compiler/codegen/templates, runtime */
    const char *runtime; /* libflowrt.a */
    Vector(Source *) library;
} Home;

/* NULL after printing what is missing. */
const Home *home_find(Arena *arena);

/* The same without the library, which is not read. False: it isn't where it has to be. */
bool home_place(Arena *arena, Home *home);

/* Visits the paths of the library's files, in the order of their names. */
typedef void VisitFile(void *context, const char *path);
void home_each_file(Arena *arena, const Home *home, VisitFile *visit, void *context);

#endif
