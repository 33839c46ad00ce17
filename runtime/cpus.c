/* Cpus: containers limit time, not processors, so the quotas of the control groups count
 * too: of version 2 (cpu.max) and of version 1 (cpu.cfs_quota_us), of our group and all
 * above it. */
#define _GNU_SOURCE
#include "runtime/cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int allowed_by_affinity(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static double read_number(const char *folder, const char *group, const char *file) {
    char path[PATH_MAX + 64];
    double number;
    snprintf(path, sizeof path, "%s%s/%s", folder, group, file);
    FILE *in = fopen(path, "re");
    if (!in) return -1;
    if (fscanf(in, "%lf", &number) != 1) number = -1;
    fclose(in);
    return number;
}

static double quota_2(const char *group) {
    char path[PATH_MAX + 64];
    double quota, period;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    FILE *in = fopen(path, "re");
    if (!in) return -1;
    int count = fscanf(in, "%lf %lf", &quota, &period);
    fclose(in);
    return count == 2 && period > 0 ? quota / period : -1;
}

static double quota_1(const char *group) {
    double quota = read_number("/sys/fs/cgroup/cpu", group, "cpu.cfs_quota_us");
    double period = read_number("/sys/fs/cgroup/cpu", group, "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? quota / period : -1;
}

static double smaller(double limit, double quota) {
    return quota > 0 && quota < limit ? quota : limit;
}

/* The smallest quota from the group up to the root. */
static double limit_of(char *group, double (*quota)(const char *), double limit) {
    for (;;) {
        limit = smaller(limit, quota(group));
        char *slash = strrchr(group, '/');
        if (!slash) return limit;
        *slash = 0;
    }
}

/* Lines of /proc/self/cgroup are "0::/group" or "3:cpu,cpuacct:/group". */
static double limit_by_line(char *line, double limit) {
    char *group = strchr(line, '/'), *name = strchr(line, ':');
    if (!group || !name) return limit;
    group[strcspn(group, "\n")] = 0;
    if (!strncmp(name, "::", 2)) return limit_of(group, quota_2, limit);
    return strstr(name, "cpu:") || strstr(name, "cpu,") ? limit_of(group, quota_1, limit) : limit;
}

int cpus_available(void) {
    char line[PATH_MAX];
    double limit = allowed_by_affinity();
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in && fgets(line, sizeof line, in)) limit = limit_by_line(line, limit);
    if (in) fclose(in);
    return limit < 1 ? 1 : (int)limit;
}
