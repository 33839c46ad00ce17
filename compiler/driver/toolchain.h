/* Toolchain: from generated C to programs and libraries, by the system's compiler. */
#ifndef FLOW_DRIVER_TOOLCHAIN_H
#define FLOW_DRIVER_TOOLCHAIN_H

#include "compiler/codegen/codegen.h"
#include "compiler/driver/home.h"
#include "compiler/graph/external.h"
#include "compiler/graph/program.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/process.h"

enum { LEVEL_LIMIT = 3 };

/* A kind of processor that code is compiled for. */
typedef struct Level {
    const char *name;   /* "x86-64-v4" */
    const char *march;  /* "-march=x86-64-v4" */
    const char *symbol; /* "flow_program_v4" */
} Level;

typedef struct Toolchain {
    Arena *arena;
    const Home *home;
    const char *compiler; /* a name or path */
    const char *omp;      /* the folder of LLVM's libomp.so */
    bool verbose;
    const char *half_means; /* what the processor that is meant has for products of bf16, as a word
                               for the compiler; or NULL: it isn't known, or tiles, which a program
                               has to ask for */
    bool fresh;             /* objects of earlier builds are not taken */
    Strings libraries;      /* that the program needs beside those of all programs */
    Strings linked;         /* files of C functions */
    ExternalList externals; /* the functions that are called */
    Diagnostics *diagnostics;
    Level levels[LEVEL_LIMIT];
    int level_count; /* several: chosen when the program starts */
} Toolchain;

/* target: a level's name, "native", "all" or NULL (then `otherwise`). 0, or the exit code after
 * printing what is missing or wrong, and the fix. */
int toolchain_find(Toolchain *toolchain, const Arguments *arguments, const char *otherwise);

/* The name of the level that this machine's processor has. */
const char *toolchain_native(void);

/* The C compiler that is asked for, else that of $FLOWC_CC, else a usual one; NULL: it is not
 * there. */
const char *toolchain_compiler(const char *asked);

/* The folder of the newest libomp of those in the places where Debian and others put it; NULL. */
const char *toolchain_omp(Arena *arena);

/* The libraries of the parts that the program's pipelines use. */
void toolchain_use(Toolchain *toolchain, const Program *program);

/* The files of C functions and which of them the program calls. 0, or the exit code after printing
 * what is wrong with a file. A function that none has is a diagnostic of what links them. */
int toolchain_link(Toolchain *toolchain, const Compilation *compilation, Program *program);

/* What builds a trainer of the program: all three of these. 0, or the exit code. */
int toolchain_for_trainer(Toolchain *toolchain, const Compilation *compilation,
                          const char *otherwise);

/* Below the share folder: where what generated code includes is looked for; ends with NULL. */
extern const char *const include_folders[];

/* link.c. */

/* Is it a C source, which is compiled before it is linked? */
bool is_source(const char *path);
bool is_shared(const char *path);

/* Reports each function that no object has. False: some are missing. */
bool externals_defined(const Toolchain *toolchain, const Strings *objects);

/* What a source is after its preprocessor, which has read what it includes; of other files, their
 * bytes. NULL after printing why. */
const char *linked_content(const Toolchain *toolchain, const char *path, size_t *size);

/* Everything but the sources that decides what comes out: for the name of a cache entry. */
const char *toolchain_key(const Toolchain *toolchain);

/* Compiles the units, which lie in FOLDER, for all levels and links FOLDER/NAME. define: of
 * FLOW_FOLDER, a C string literal. bundle: libomp is looked for beside the program. False after
 * the compiler printed why. */
bool toolchain_program(const Toolchain *toolchain, const Generated *generated, const char *folder,
                       const char *name, const char *define, bool bundle);

/* libNAME.a and libNAME.so from the units and interface.c in FOLDER. */
bool toolchain_library(const Toolchain *toolchain, const Generated *generated, const char *folder,
                       const char *name);

#endif
