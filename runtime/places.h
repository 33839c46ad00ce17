/* Places: what a run knows of its data: where files are, what options say, what texts stand for. */
#ifndef FLOW_PLACES_H
#define FLOW_PLACES_H

#include "runtime/flow.h"

typedef struct Places {
    const char *folder;                      /* of the program */
    const char *const *strings;              /* one an option: the value of a string option */
    const struct Vocabularies *vocabularies; /* of the program; NULL: it has none */
    const FlowOption *options;               /* one an option; NULL: they have no names */
} Places;

/* The path itself, or the value of the string option whose index is option - 1. */
static inline const char *path_said(const Places *places, const char *path, int option) {
    return option ? places->strings[option - 1] : path;
}

/* Who names a path: "pipeline", "digits", "digits.flow:7"; the line may be NULL. */
typedef struct PathOwner {
    const char *what, *name, *line;
} PathOwner;

static inline PathOwner pipeline_owner(const FlowPipeline *pipeline) {
    return (PathOwner){"pipeline", pipeline->name, pipeline->line};
}

/* The failure, and who has named the path. option: as in path_said. */
FlowStatus path_blame(const Places *places, int option, PathOwner owner, FlowStatus failure);

/* What path_said says of a file that is written; fails when that is empty. */
FlowStatus path_to_write(const Places *places, const char *path, int option, PathOwner owner,
                         const char **said);

/* Finds the file that path_said says. The caller frees *found; it is NULL on failure, and where
 * nothing is said. */
FlowStatus path_to_read(const Places *places, const char *path, int option, PathOwner owner,
                        char **found);

/* Finds what the source's field is read from. The caller frees *found; it is NULL on failure, and
 * where the field has no path. */
FlowStatus path_of_field(const Places *places, const FlowPipeline *pipeline, const FlowField *field,
                         char **found);

#endif
