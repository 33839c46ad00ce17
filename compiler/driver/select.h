/* Select: which of a file's programs is meant, by names on the command line. */
#ifndef FLOW_DRIVER_SELECT_H
#define FLOW_DRIVER_SELECT_H

#include "compiler/driver/compilation.h"

/* Leaves the train blocks, or the exports, that are named; all where none is. EXIT_ok, or what to
 * exit with after printing why. */
int select_trains(Compilation *compilation);
int select_exports(Compilation *compilation);

/* Is there anything to "run" or to "build"? False after printing that there is nothing. */
bool has_trainer(const Compilation *compilation, const char *verb);

/* False after printing that the command takes no names, if one is given. */
bool is_unnamed(const Compilation *compilation);

/* Is the program only to tell of itself (--help, --version)? */
bool is_asked_about(const Compilation *compilation);

/* Is it clear which train block a run is of? False after printing which there are. */
bool has_one_train(const Compilation *compilation);

#endif
