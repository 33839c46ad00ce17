/* Gpu. */
#include "tests/codegen/gpu.h"

#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/gpu_tile.h"
#include "tests/codegen/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *wanted(void) {
    const char *text = getenv("FLOWC_TEST_GPU");
    return text && *text ? text : NULL;
}

bool gpu_is_wanted(void) {
    return wanted() != NULL;
}

/* Asked for each element. */
bool gpu_rounds_floats(void) {
    static bool known, rounds;
    const char *text = known ? NULL : getenv("FLOWC_TEST_TF32");
    if (!known) rounds = gpu_is_wanted() && text && *text;
    known = true;
    return rounds;
}

static bool by_driver(void) {
    return wanted() && !strcmp(wanted(), "driver");
}

/* A GPU that nobody holds is started anew for each test. */
static void hold_gpu(void) {
    const char *name = getenv("FLOWC_LIBCUDA");
    void *context, *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW);
    int (*initialise)(unsigned) = NULL, (*retain)(void **, int) = NULL;
    if (!library) return;
    *(void **)&initialise = dlsym(library, "cuInit");
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    if (initialise && retain && !initialise(0)) retain(&context, 0);
}

void gpu_take(Program *program) {
    static bool held;
    if (by_driver() && !held) hold_gpu();
    held = true;
    const char *tiles = getenv("FLOWC_TEST_TILES");
    if (tiles && *tiles) gpu_tiles_enough = gpu_threads_enough = atoi(tiles);
    program->gpus = 1;
    program->deploys_on_gpus = true;
    program->usual = (Placement){.device = DEVICE_gpu};
}

/* The runtime's own launches, with the kernels as text. */
static const char *driver_sources(Arena *arena, const char *path) {
    return arena_format(
        arena,
        "$(awk -v folders='compiler/codegen/templates compiler/ops runtime .' "
        "-f tests/codegen/expand.awk %s >%s.text) -DDEVICE_TEXT='\"\\\"%s.text\\\"\"' "
        "tests/codegen/launch_driver.c -Wl,--wrap=flow_gpu_begin -Wl,--wrap=flow_gpu_end "
        "%s",
        path, path, path, runtime_archive(arena));
}

const char *gpu_sources(Arena *arena, const char *path) {
    if (by_driver()) return driver_sources(arena, path);
    const char *groups = getenv("FLOWC_TEST_WARPGROUPS");
    return arena_format(
        arena, "-DFLOW_SIMULATED -DFLOW_WARPGROUPS=%s -x c %s -x none tests/codegen/launch.c %s",
        groups && *groups ? groups : "0", path,
        runtime_is_compiled() ? "runtime/device/simulated*.c runtime/device/fiber.c" : "");
}
