#include "runtime/room.h"

#include "runtime/cgroup.h"

#include <stdint.h>
#include <unistd.h>

static size_t physical(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX;
}

static double limit_2(const char *folder) {
    double bytes;
    return cgroup_numbers(folder, "memory.max", &bytes, 1) ? bytes : -1;
}

static double limit_1(const char *folder) {
    double bytes;
    return cgroup_numbers(folder, "memory.limit_in_bytes", &bytes, 1) ? bytes : -1;
}

size_t room_of_machine(void) {
    size_t all = physical();
    double limit = cgroup_limit("memory", limit_2, limit_1);
    return limit < (double)all ? (size_t)limit : all;
}
