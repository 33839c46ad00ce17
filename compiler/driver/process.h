/* Process: running other programs, without a shell and with a clean environment. */
#ifndef FLOW_DRIVER_PROCESS_H
#define FLOW_DRIVER_PROCESS_H

#include "compiler/driver/arguments.h"

typedef struct Process {
    int id; /* of the process; < 0: it could not be started */
    const char *name;
} Process;

typedef Vector(Process) Processes;

/* Starts words[0] (looked for in PATH). It sees PATH, HOME and TMPDIR, and nothing that would
 * change what a compiler does. */
Process process_start(Arena *arena, const Strings *words, bool show);

/* Runs words[0] and waits; what it prints, up to 256 MiB, or NULL when it fails or prints more. */
const char *process_output(Arena *arena, const Strings *words, size_t *size);

/* 0 when it ended well, else its exit code, after printing it; 127 when it could not be started. */
int process_wait(Process process);

/* The same of whichever of them ends first, which is taken out of the list. */
int process_wait_any(Processes *processes);

/* Replaces this process, with the whole environment. folder: removed before, unless NULL. Returns
 * only on failure, which errno tells. */
void process_become(Arena *arena, const char *path, const Strings *words, const char *folder);

#endif
