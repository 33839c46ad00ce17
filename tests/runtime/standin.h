/* Stand-in: for tests whose GPUs, NVRTC and NCCL it is. */
#ifndef FLOW_TEST_STANDIN_H
#define FLOW_TEST_STANDIN_H

#include "runtime/device/gpus.h"
#include "runtime/device/pinned.h"
#include "tests/runtime/test.h"

/* gpus: "gpu:2" */
static inline void test_standin(const char *gpus) {
    char path[512];
    const char *build = getenv("BUILD");
    char *full = realpath(build ? build : "build", NULL);
    snprintf(path, sizeof path, "%.400s/lib/flowc/libflowsimcuda.so", full ? full : "");
    free(full);
    setenv("FLOWC_LIBCUDA", path, 1);
    setenv("FLOWC_LIBNVRTC", path, 1);
    setenv("FLOWC_NCCL", path, 1);
    setenv("FLOWC_SIMULATE", gpus, 1);
}

/* The program's GPUs; its memory is as it shall begin. Gives pinned memory for a batch of so many
 * bytes; NULL: a check has failed. */
static inline void *test_open_gpus(const FlowProgram *program, char *memory, size_t size) {
    FlowStatus status = gpus_open(program, memory, program->memory_size);
    CHECK(!status.exit, "%s", status.text);
    void *batch = status.exit ? NULL : pinned_new(size);
    CHECK(batch, "there is no pinned memory");
    return batch;
}

static inline void test_close_gpus(void *batch) {
    CHECK(!gpus_status().exit, "%s", gpus_status().text);
    pinned_free(batch);
    gpus_close();
}

#endif
