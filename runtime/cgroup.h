/* Cgroup: what control groups allow this process, of version 2 or 1: our group and all above it. */
#ifndef FLOW_CGROUP_H
#define FLOW_CGROUP_H

#include <stdbool.h>

/* A limit that the files in the folder of a group say; below 0: none. */
typedef double CgroupLimit(const char *folder);

/* The smallest; INFINITY where there is none. controller: as version 1 names it, "memory". */
double cgroup_limit(const char *controller, CgroupLimit *version_2, CgroupLimit *version_1);

/* The numbers that a file in the folder begins with. False: there is no such file, or something
 * else stands there, as "max". */
bool cgroup_numbers(const char *folder, const char *file, double *numbers, int count);

#endif
