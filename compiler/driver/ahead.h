/* Ahead: programs that are built for GPUs of other machines. --target=x86-64-v3,sm_80,sm_90 names
 * kinds of GPUs by their compute capability without its dot; NVRTC compiles for them when the
 * program is built, and a GPU need not be here. */
#ifndef FLOW_DRIVER_AHEAD_H
#define FLOW_DRIVER_AHEAD_H

#include "compiler/driver/compilation.h"
#include "compiler/codegen/codegen.h"
#include "runtime/device/device.h"

/* Moves what --target says of GPUs to arguments->capabilities, sorted. EXIT_ok, or what to exit
 * with. */
int ahead_parse(Arena *arena, Arguments *arguments);

/* Where there are such: the program may use so many GPUs, here or elsewhere. */
void ahead_expect(const Arguments *arguments, Gpus *gpus, int count);

/* For a program that will start no compiler: where --target names no kind of GPU, those that are
 * here. EXIT_ok, or what to exit with. */
int ahead_for_here(Arena *arena, Arguments *arguments, const Generated *generated);

/* Adds the program's text for GPUs, if it has one, and what it is compiled to: for each of those
 * kinds, and for the last one what drivers compile for later GPUs. EXIT_ok, or what to exit
 * with. */
int ahead_add(const Compilation *compilation, Generated *generated);

#endif
