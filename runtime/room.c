/* Room: containers limit memory by control groups, of version 2 (memory.max) or of version 1
 * (memory.limit_in_bytes), of our group and all above it. */
#define _GNU_SOURCE
#include "runtime/room.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t physical(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX;
}

/* "max" is no number. */
static size_t read_limit(const char *folder, const char *group, const char *file) {
    char path[PATH_MAX + 64];
    unsigned long long number;
    snprintf(path, sizeof path, "%s%s/%s", folder, group, file);
    FILE *in = fopen(path, "re");
    if (!in) return SIZE_MAX;
    if (fscanf(in, "%llu", &number) != 1) number = SIZE_MAX;
    fclose(in);
    return (size_t)number;
}

/* The smallest limit from the group up to the root. */
static size_t limit_of(char *group, const char *folder, const char *file, size_t limit) {
    for (;;) {
        size_t here = read_limit(folder, group, file);
        if (here < limit) limit = here;
        char *slash = strrchr(group, '/');
        if (!slash) return limit;
        *slash = 0;
    }
}

/* Lines of /proc/self/cgroup are "0::/group" or "9:memory:/group". */
static size_t limit_by_line(char *line, size_t limit) {
    char *group = strchr(line, '/'), *name = strchr(line, ':');
    if (!group || !name) return limit;
    group[strcspn(group, "\n")] = 0;
    if (!strncmp(name, "::", 2)) return limit_of(group, "/sys/fs/cgroup", "memory.max", limit);
    if (strncmp(name, ":memory:", 8)) return limit;
    return limit_of(group, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", limit);
}

size_t room_of_machine(void) {
    char line[PATH_MAX];
    size_t limit = physical();
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in && fgets(line, sizeof line, in)) limit = limit_by_line(line, limit);
    if (in) fclose(in);
    return limit;
}
