/* Definitions: lines of values, read again as what each defines. Inside codegen/. */
#ifndef FLOW_CODEGEN_DEFINITIONS_H
#define FLOW_CODEGEN_DEFINITIONS_H

#include "compiler/codegen/writer.h"

/* `const type name = value;` */
typedef struct Definition {
    const char *type; /* with the space or the star behind it */
    const char *name, *value;
    bool loads;    /* from a GPU's memory */
    bool is_place; /* it says where something lies */
} Definition;

typedef Vector(Definition) Definitions;

/* Adds those of all lines, of which each is one, to its end. False: a line is something else. */
bool read_definitions(Arena *arena, const Text *lines, Definitions *all);

/* Of each: do the users speak of it, or does one that they speak of, in turn? Those of which `ends`
 * is true speak of nothing; NULL: none is. */
typedef bool EndsThere(const Definition *definition);
bool *find_wanted(Arena *arena, const Definitions *all, const char *users, EndsThere *ends);

void write_definition(Text *text, int depth, const Definition *definition, const char *value);

#endif
