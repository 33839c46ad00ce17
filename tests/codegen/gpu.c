/* Gpu. */
#include "tests/codegen/gpu.h"

#include <stdlib.h>

bool gpu_is_wanted(void) {
    const char *wanted = getenv("FLOWC_TEST_GPU");
    return wanted && *wanted;
}

void gpu_take(Program *program) {
    program->gpus = 1;
    program->deploys_on_gpus = true;
    program->usual = (Placement){.device = DEVICE_gpu};
}

const char *gpu_sources(Arena *arena, const char *path) {
    return arena_format(arena,
                        "-DFLOW_SIMULATED -x c %s -x none tests/codegen/launch.c "
                        "runtime/device/simulated*.c runtime/device/fiber.c",
                        path);
}
