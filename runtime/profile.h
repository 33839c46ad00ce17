/* Profile: how long the kernels of a run's functions take, by each thread, and how long it waits
 * for the others before them. Each thread notes its own calls, one after the other; what they add
 * up to is read when no function runs. Noting takes about 50 ns a call. */
#ifndef FLOW_PROFILE_H
#define FLOW_PROFILE_H

#include "runtime/flow.h"

typedef struct Profile Profile;

/* threads: the most that run a function together. On failure *profile is NULL. */
FlowStatus profile_new(int threads, Profile **profile);
void profile_free(Profile *profile);

/* *observer: what is to see the calls of the function; the profile's, and NULL for a profile of
 * NULL. Not thread-safe. */
FlowStatus profile_watch(Profile *profile, const FlowFunction *function, FlowObserver **observer);

/* Prints, to standard error, a table for each function that was called, and draws them as SVG at
 * the path, unless it is NULL. A profile of NULL says nothing. */
FlowStatus profile_tell(const Profile *profile, const char *path);

#endif
