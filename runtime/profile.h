/* Profile: how long the kernels of a run's functions take, by each thread, and how long it waits
 * for the others before them. Each thread notes its own calls, one after the other; what they add
 * up to is read when no function runs. Noting takes about 50 ns a call.
 *
 * What the first thread does beside kernels is noted by name. A profile of NULL notes nothing. */
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

/* Of the first thread: what it does from now until it leaves, less kernels, and less what it enters
 * and leaves meanwhile. what: outlives the profile. */
int64_t profile_enter(const Profile *profile);
void profile_leave(Profile *profile, int64_t entered, const char *what);

/* Nanoseconds that are known otherwise, of what was entered last. */
void profile_spend(Profile *profile, int64_t nanoseconds, const char *what);

/* What all runs do. */
extern const char profile_opening[], profile_batches_awaited[], profile_batches_made[],
    profile_threads_meet[], profile_closing[];

/* Prints, to standard error, where the time went, with a table for each function that was called,
 * and draws it as SVG at the path, unless that is NULL. */
FlowStatus profile_tell(const Profile *profile, const char *path);

#endif
