/* Profiles: where that of this machine lies, and what is taken for one that nobody measured. */
#ifndef FLOW_DRIVER_PROFILES_H
#define FLOW_DRIVER_PROFILES_H

#include "compiler/balance/profile.h"
#include "runtime/device/device.h"

/* XDG_CONFIG_HOME/flowc/machine.profile, or in ~/.config; NULL: neither is set. */
const char *profile_place(Arena *arena);

/* NULL after printing what is wrong with the file, or that it can't be read. */
const Profile *profile_read(Arena *arena, const char *path);

/* By names and counts. */
Profile *profile_guess(Arena *arena, const Processor *processor, const Gpus *gpus);

/* Of each device what is stored of one with its name, unless that is of a stand-in; else a guess.
 * NULL after printing that what is stored is broken. */
const Profile *profile_of_machine(Arena *arena, const Processor *processor, const Gpus *gpus);

#endif
