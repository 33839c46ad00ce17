#include "runtime/cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool cgroup_numbers(const char *folder, const char *file, double *numbers, int count) {
    char path[PATH_MAX + 64];
    int found = 0;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *in = fopen(path, "re");
    while (in && found < count && fscanf(in, "%lf", &numbers[found]) == 1) found++;
    if (in) fclose(in);
    return found == count;
}

/* From the group up to the root. */
static double least_above(const char *root, char *group, CgroupLimit *limit_of, double limit) {
    char folder[PATH_MAX + 64];
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", root, group);
        double here = limit_of(folder);
        if (here >= 0 && here < limit) limit = here;
        char *slash = strrchr(group, '/');
        if (!slash) return limit;
        *slash = 0;
    }
}

/* Has a list with commas the word? */
static bool has_word(const char *list, size_t size, const char *word) {
    size_t length = strlen(word);
    for (const char *end = list + size; list < end; list++) {
        size_t next = strcspn(list, ",:");
        if (next == length && !memcmp(list, word, length)) return true;
        list += next;
    }
    return false;
}

/* Lines of /proc/self/cgroup are "0::/group" or "3:cpu,cpuacct:/group". */
static double limit_by_line(char *line, const char *controller, CgroupLimit *version_2,
                            CgroupLimit *version_1, double limit) {
    char root[256], *names = strchr(line, ':'), *end = names ? strchr(names + 1, ':') : NULL;
    if (!end || end[1] != '/') return limit;
    char *group = end + 1;
    names++;
    group[strcspn(group, "\n")] = 0;
    if (names == end) return least_above("/sys/fs/cgroup", group, version_2, limit);
    if (!has_word(names, (size_t)(end - names), controller)) return limit;
    snprintf(root, sizeof root, "/sys/fs/cgroup/%s", controller);
    return least_above(root, group, version_1, limit);
}

double cgroup_limit(const char *controller, CgroupLimit *version_2, CgroupLimit *version_1) {
    char line[PATH_MAX];
    double limit = INFINITY;
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in && fgets(line, sizeof line, in))
        limit = limit_by_line(line, controller, version_2, version_1, limit);
    if (in) fclose(in);
    return limit;
}
