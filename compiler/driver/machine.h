/* Machine: the devices of this machine, as far as the command line lets the program see them. */
#ifndef FLOW_DRIVER_MACHINE_H
#define FLOW_DRIVER_MACHINE_H

#include "compiler/driver/arguments.h"
#include "runtime/device/device.h"

/* Leaves the GPUs that --visible-devices names, in that order, each with at most --gpu-memory.
 * False after printing what is wrong with the flags. */
bool machine_ask(const Arguments *arguments, Processor *processor, Gpus *gpus);

/* What --gpu-memory leaves of each; text: its value, or NULL. False after saying what is wrong. */
bool limit_memory(const char *text, Gpus *gpus);

/* Does a GPU of the list copy from another one by their link? */
bool gpu_reaches(const Gpus *gpus, int to, int from);

/* "12.4" of 12040; "of an unknown version" of 0 */
typedef struct VersionText {
    char text[32];
} VersionText;
VersionText version_text(int version);

/* "4 GiB", "812 MiB" */
const char *memory_text(Arena *arena, uint64_t bytes);

#endif
