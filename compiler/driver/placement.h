/* Placement: does this machine have what the program asks for? */
#ifndef FLOW_DRIVER_PLACEMENT_H
#define FLOW_DRIVER_PLACEMENT_H

#include "compiler/driver/compilation.h"

/* Before a plan is made: notes how many GPUs code may be written for, if the program wants one.
 * EXIT_ok, or what to exit with. */
int find_gpus(Compilation *compilation);

/* Is there, of so many GPUs, the one that --device names? Where placement is soft the CPU stands in
 * for it. False after printing why not; missing: why there is none. */
bool has_usual(const Compilation *compilation, int gpus, const char *missing);

/* So many that the last one that the program or --device names is among them. */
int wanted_gpus(const Compilation *compilation);

/* Before passes: notes in functions how many GPUs each compute a share of their batches. */
int find_replicas(Compilation *compilation);

/* The same where nobody is asked: so many as the program may have. */
void suppose_replicas(Compilation *compilation);

/* Every device that the program insists on and that is missing is an error; with --soft-placement
 * it is said on standard error that the CPU stands in for it. EXIT_ok, or what to exit with. */
int settle_devices(Compilation *compilation);

#endif
