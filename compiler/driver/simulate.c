/* Simulate: by the environment, since it is the runtime that looks for libraries, here and in the
 * program. */
#define _GNU_SOURCE
#include "compiler/driver/simulate.h"

#include "compiler/driver/compilation.h"
#include "compiler/driver/files.h"
#include "lang/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIMULATED_LIMIT = 16 }; /* what the library can do */

static bool is_good(const char *wanted) {
    char *end = NULL;
    if (strncmp(wanted, "gpu:", 4) || wanted[4] < '1' || wanted[4] > '9') return false;
    long count = strtol(wanted + 4, &end, 10);
    return !*end && count <= SIMULATED_LIMIT;
}

int simulate_gpus(Arena *arena, const Command *command, const Arguments *arguments) {
    const char *wanted = arguments->simulate;
    if (!wanted) return EXIT_ok;
    if (!is_good(wanted)) {
        fprintf(stderr, "flowc %s: --simulate is gpu:N, a number of GPUs from 1 to %d, not `%s`\n",
                command->name, SIMULATED_LIMIT, wanted);
        return EXIT_usage;
    }
    const Home *home = home_find(arena);
    if (!home) return EXIT_resource;
    const char *library =
        arena_format(arena, "%s/libflowsimcuda.so", path_folder(arena, home->runtime));
    if (!file_exists(library)) {
        fprintf(stderr,
                "flowc: --simulate: %s is missing; install flowc whole with `make install`\n",
                library);
        return EXIT_resource;
    }
    setenv("FLOWC_LIBCUDA", library, true);
    setenv("FLOWC_LIBNVRTC", library, true);
    setenv("FLOWC_NCCL", library, true);
    setenv("FLOWC_SIMULATE", wanted, true);
    return EXIT_ok;
}
