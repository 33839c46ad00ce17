/* Gpu room: does the plan fit into the memory of the GPUs that it uses? */
#ifndef FLOW_DRIVER_GPU_ROOM_H
#define FLOW_DRIVER_GPU_ROOM_H

#include "compiler/driver/compilation.h"
#include "runtime/device/device.h"

/* Reports each GPU that has too little, with the largest values and what helps. */
void gpu_room_check(const Compilation *compilation, const Processor *processor, const Gpus *gpus);

#endif
