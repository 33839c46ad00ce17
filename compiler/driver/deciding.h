/* Deciding: by which profile it is decided what runs on a GPU, or by which lock. */
#ifndef FLOW_DRIVER_DECIDING_H
#define FLOW_DRIVER_DECIDING_H

#include "compiler/driver/compilation.h"
#include "runtime/device/device.h"

/* Before a plan is made, where --device does not say it for all. processor and gpus: as asked, or
 * no GPU where nobody asked. Sets compilation->decisions if there is anything to decide by.
 * EXIT_ok, or what to exit with after printing why. */
int decide_devices(Compilation *compilation, const Processor *processor, const Gpus *gpus);

/* Where the program's lock is: as --lock says, or "x.lock" beside it. */
const char *lock_place(const Compilation *compilation);
bool is_locked(const Compilation *compilation);

/* Writes the decisions there, or with --check compares. EXIT_ok, or what to exit with. */
int keep_decisions(const Compilation *compilation);

/* Notes the GPUs of --machine's profile as those that code may be written for. */
int foretell_gpus(Compilation *compilation);

#endif
