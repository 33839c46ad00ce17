/* Commands: what flowc can be told to do, one file each. Each returns the exit code. */
#ifndef FLOW_DRIVER_COMMANDS_H
#define FLOW_DRIVER_COMMANDS_H

#include "compiler/driver/compilation.h"

#define COMMAND(name, operands, help, flags) int command_##name(Arguments *arguments);
#include "compiler/driver/commands.def"
#undef COMMAND

/* Compiles and plans the file of the arguments. *compilation is ready when EXIT_ok. */
int command_compile(Compilation *compilation, Arguments *arguments, bool bake, Stop stop);

#endif
