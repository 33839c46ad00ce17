/* Cpus: containers limit time, not processors, so the quotas of the control groups count too. */
#define _GNU_SOURCE
#include "runtime/cpus.h"

#include "runtime/cgroup.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static int allowed_by_affinity(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static double ratio(double quota, double period) {
    return quota > 0 && period > 0 ? quota / period : -1;
}

static double quota_2(const char *folder) {
    double numbers[2];
    return cgroup_numbers(folder, "cpu.max", numbers, 2) ? ratio(numbers[0], numbers[1]) : -1;
}

static double quota_1(const char *folder) {
    double quota, period;
    return cgroup_numbers(folder, "cpu.cfs_quota_us", &quota, 1) &&
                   cgroup_numbers(folder, "cpu.cfs_period_us", &period, 1)
               ? ratio(quota, period)
               : -1;
}

int cpus_now(void) {
    double limit = cgroup_limit("cpu", quota_2, quota_1);
    int allowed = allowed_by_affinity();
    if (limit >= allowed) return allowed;
    return limit < 1 ? 1 : (int)limit;
}

/* Asked of the system once: it takes ten files. */
int cpus_available(void) {
    static atomic_int available;
    int known = atomic_load(&available);
    if (known) return known;
    known = cpus_now();
    atomic_store(&available, known);
    return known;
}
