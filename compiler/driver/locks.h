/* Locks: the file that keeps what runs where, beside a program or where --lock says. */
#ifndef FLOW_DRIVER_LOCKS_H
#define FLOW_DRIVER_LOCKS_H

#include "compiler/driver/compilation.h"

/* "x.lock" beside x.flow, unless --lock names another. */
const char *lock_place(const Compilation *compilation);

/* Is it given, or there? */
bool is_locked(const Compilation *compilation);

/* False after printing that --device or --machine says it, too. FLOWC_DEVICE gives way. */
bool lock_is_alone(Compilation *compilation);

/* Before a plan is made: what the lock says is what was decided. EXIT_ok, or what to exit with
 * after printing why it can't be. */
int apply_lock(Compilation *compilation);

/* Writes the decisions there, or with --check compares. EXIT_ok, or what to exit with. */
int keep_decisions(const Compilation *compilation);

#endif
