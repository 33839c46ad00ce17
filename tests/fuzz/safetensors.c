/* Fuzz: any bytes as a safetensors file. Every tensor that is found is read, so that a
 * wrong offset shows itself. */
#define _GNU_SOURCE
#include "runtime/format/safetensors.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_all(const Safetensors *file) {
    static const char *const names[] = {"a", "b", "w", "layer/w"};
    char bytes[4096];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const Tensor *tensor = safetensors_find(file, names[i]);
        if (!tensor || tensor->end - tensor->begin > sizeof bytes) continue;
        FlowStorage storage = {names[i], tensor->type, 0};
        safetensors_read(file, &storage, bytes);
    }
    safetensors_metadata(file, "format");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    Safetensors *file;
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    if (!safetensors_open(path, &file).exit) read_all(file);
    safetensors_close(file);
    return 0;
}
