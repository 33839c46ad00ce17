/* Compilation: from a file's name to a plan, with the reports asked for on the way. */
#ifndef FLOW_DRIVER_COMPILATION_H
#define FLOW_DRIVER_COMPILATION_H

#include "compiler/check/module.h"
#include "compiler/driver/arguments.h"
#include "compiler/driver/home.h"
#include "compiler/plan/plan.h"

/* Exit codes, the same as those of built programs. */
enum { EXIT_ok = 0, EXIT_program = 1, EXIT_usage = 2, EXIT_resource = 3, EXIT_internal = 70 };

/* check: after fuse, too; where it can't be known whether there are replicas, it goes by some. */
typedef enum Stop { STOP_check, STOP_fuse, STOP_plan } Stop;

typedef struct Compilation {
    Arena *arena;
    const Arguments *arguments;
    const Home *home;
    bool bake;       /* every option given becomes the program's default, not only fixed ones */
    bool recomputes; /* every train block does, whatever it says: to see what that would save */
    Diagnostics *diagnostics;
    const Module *module; /* the files of the program */
    Program *program;
    Plan *plan;                        /* STOP_plan */
    const struct Decisions *decisions; /* what runs on a GPU by its cost; NULL: nobody decided */
    Strings names;                     /* program arguments that name a part of the program */
    Strings remaining;                 /* those left, when fixed options are taken out as well */
} Compilation;

/* Compiles as far as asked; diagnostics go to standard error. EXIT_ok, or what to exit with. */
int compile(Compilation *compilation, Stop stop);

/* Of a clock that only goes forward. */
double seconds(void);

/* Prints how long a step took, when asked to; *since: its start, and then its end. */
void report_time(const Compilation *compilation, const char *name, double *since);

/* True after printing the diagnostics, if there are any. */
bool compilation_failed(const Compilation *compilation);

#endif
