/* Deciding: by which profile it is decided what runs on a GPU, or by which lock. */
#ifndef FLOW_DRIVER_DECIDING_H
#define FLOW_DRIVER_DECIDING_H

#include "compiler/driver/compilation.h"
#include "runtime/device/device.h"

/* Before a plan is made, where --device does not say it for all. processor and gpus: as asked, or
 * no GPU where nobody asked. Sets compilation->decisions if there is anything to decide by.
 * EXIT_ok, or what to exit with after printing why. */
int decide_devices(Compilation *compilation, const Processor *processor, const Gpus *gpus);

/* Notes the GPUs of --machine's profile as those that code may be written for. */
int foretell_gpus(Compilation *compilation);

#endif
