/* Processor: what Linux says of it, and what a container leaves of its memory. */
#define _GNU_SOURCE
#include "runtime/device/device.h"

#include "runtime/cpus.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void find_name(Device *device) {
    char line[512];
    struct utsname system;
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && !device->name[0] && fgets(line, sizeof line, in)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        for (size_t size = strlen(line); strchr(" \n", line[size - 1]);) line[--size] = 0;
        snprintf(device->name, sizeof device->name, "%.150s", colon + 1 + strspn(colon + 1, " "));
    }
    if (in) fclose(in);
    if (!device->name[0] && !uname(&system))
        snprintf(device->name, sizeof device->name, "%.150s", system.machine);
}

static uint64_t smaller_by(const char *path, uint64_t memory) {
    unsigned long long limit;
    FILE *in = fopen(path, "re");
    if (in && fscanf(in, "%llu", &limit) == 1 && limit && limit < memory) memory = limit;
    if (in) fclose(in);
    return memory;
}

/* Lines of /proc/self/cgroup are "0::/group" or "4:memory:/group"; in a container the group may be
 * seen as the root. */
static uint64_t limit_by_line(char *line, uint64_t memory) {
    char path[PATH_MAX + 64], *group = strchr(line, '/');
    bool second = !strncmp(line, "0::", 3);
    if (!group || (!second && !strstr(line, ":memory:"))) return memory;
    group[strcspn(group, "\n")] = 0;
    const char *folder = second ? "" : "/memory";
    const char *file = second ? "memory.max" : "memory.limit_in_bytes";
    snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/%s", folder, group, file);
    memory = smaller_by(path, memory);
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", folder, file);
    return smaller_by(path, memory);
}

static uint64_t memory_available(void) {
    char line[PATH_MAX];
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in && fgets(line, sizeof line, in)) memory = limit_by_line(line, memory);
    if (in) fclose(in);
    return memory;
}

/* As templates/dispatch.c chooses. */
static const char *vector_level(void) {
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return "x86-64-v3";
    return "x86-64";
#else
    return "";
#endif
}

Processor processor_ask(void) {
    Processor processor = {.cores = cpus_available(), .level = vector_level()};
    find_name(&processor.device);
    processor.device.memory = memory_available();
    return processor;
}
