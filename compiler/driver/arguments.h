/* Arguments: flowc's command line. */
#ifndef FLOW_DRIVER_ARGUMENTS_H
#define FLOW_DRIVER_ARGUMENTS_H

#include "lang/base/vector.h"

#include <stdbool.h>

typedef Vector(const char *) Strings;

typedef Vector(int) Capabilities; /* kinds of GPUs: 90 of compute capability 9.0 */

typedef struct Arguments {
    const char *file;   /* the .flow file */
    const char *output; /* -o */
    const char *target; /* --target, or NULL: what this machine has (run), all (build, export) */
    Capabilities capabilities; /* of GPUs in --target */
    bool names_sm_90a;         /* --target does: then sm_90 will not do */
    const char *emit;          /* --emit: "exe", "c" or "cuda" */
    const char *format;        /* --format of a picture: "html" or "dot" */
    const char *weights;       /* --weights of an export */
    const char *compiler;      /* --cc */
    const char *dump_ir;       /* --dump-ir: a pass, "" for all, NULL for none */
    const char *visible_devices, *gpu_memory, *path; /* --visible-devices, --gpu-memory, --path */
    const char *simulate;                            /* --simulate: "gpu:2" */
    const char *all_reduce;                          /* --all-reduce: "nccl" or "peer" */
    const char *device;                              /* --device: "gpu(1)" */
    const char *machine;                             /* --machine: a profile */
    const char *lock;                                /* --lock: "", or a file */
    bool uses_gpus;                                  /* what the command makes may run on them */
    bool deploys;                                    /* it makes a library of exports */
    bool predicts;                                   /* the command makes nothing */
    const char *diagnostics;                         /* --diagnostics: "text" or "json" */
    bool exact;                                      /* --exact */
    bool time_passes, explain, keep, no_cache, bundle, soft_placement, verbose, check, ops, help;
    bool compiles;   /* a flag is given that does more than to decide */
    Strings words;   /* all that was given */
    Strings link;    /* --link: files of C functions */
    Strings program; /* what follows the file: names of what is meant, options of the program, more
                        files */
} Arguments;

/* What the arguments are for. */
typedef struct Command {
    const char *name;
    const char *operands; /* as help shows them; in [brackets]: none are needed */
    const char *help;
    const char *flags; /* names of the flags it takes, blank-separated */
    int (*run)(Arguments *arguments);
} Command;

/* Fills *arguments from argv after the command's name. False after printing why to stderr. */
bool arguments_parse(const Command *command, int argc, char **argv, Arena *arena,
                     Arguments *arguments);

/* "; it is a flag of run, build": the commands that take it; "" where none does. */
const char *flag_takers(Arena *arena, const char *argument);

/* The command's own help, on standard output. */
void arguments_help(const Command *command);

#endif
