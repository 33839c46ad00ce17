/* Simulate: GPUs that the CPU stands in for. */
#ifndef FLOW_DRIVER_SIMULATE_H
#define FLOW_DRIVER_SIMULATE_H

#include "compiler/driver/arguments.h"

/* With --simulate=gpu:N: from now on this process, and the program that it becomes, find N GPUs
 * that lib/flowc/libflowsimcuda.so makes up, and no others. EXIT_ok, or what to exit with. */
int simulate_gpus(Arena *arena, const Command *command, const Arguments *arguments);

#endif
