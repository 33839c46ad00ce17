/* Places: what a run knows of its data: where files are, what options say, what texts stand for. */
#ifndef FLOW_PLACES_H
#define FLOW_PLACES_H

typedef struct Places {
    const char *folder;                      /* of the program */
    const char *const *strings;              /* one an option: the value of a string option */
    const struct Vocabularies *vocabularies; /* of the program; NULL: it has none */
} Places;

/* The path itself, or the value of the string option whose index is option - 1. */
static inline const char *path_said(const Places *places, const char *path, int option) {
    return option ? places->strings[option - 1] : path;
}

#endif
