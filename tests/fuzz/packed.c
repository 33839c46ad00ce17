/* Fuzz: any bytes as a compressed file, of each codec. */
#define _GNU_SOURCE
#include "runtime/content.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The magic number is made right: nothing else is read by the codec. */
static void read_as(const char *path, int descriptor, const char *magic, size_t magic_size) {
    Content content;
    if (pwrite(descriptor, magic, magic_size, 0) != (ssize_t)magic_size) return;
    content_read(path, &content);
    content_free(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    read_as(path, descriptor, "", 0);
    read_as(path, descriptor, "\x1f\x8b\x08", 3);
    read_as(path, descriptor, "\x28\xb5\x2f\xfd", 4);
    return 0;
}
