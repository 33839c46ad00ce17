/* All-reduce: how replicas put together what each of them has, as a program is going to find it. */
#ifndef FLOW_DRIVER_ALL_REDUCE_H
#define FLOW_DRIVER_ALL_REDUCE_H

#include "compiler/driver/arguments.h"

#include "runtime/device/nccl.h"

/* --all-reduce holds for this process and the program that it becomes. EXIT_ok, or EXIT_usage. */
int all_reduce_set(const Command *command, const Arguments *arguments);

AllReduce all_reduce_find(bool exact, AllReduceText *text);

/* What is known of a machine that is not this one: "by NCCL where it is, else by copies …". */
const char *all_reduce_elsewhere(bool exact);

#endif
