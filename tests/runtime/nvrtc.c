/* Nvrtc: compiles a file of kernels for all kinds of GPUs that flowc is for, from sm_75 to sm_120,
 * or for those that follow the file's name; without one a kernel of its own. What a GPU would do
 * with them is not seen here. */
#include "runtime/device/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST = 1000000 /* there is no driver that could be too old */ };

static const char *const capabilities[] = {"75", "80", "86", "89", "90", "100", "120"};

static const char small[] =
    "#if __CUDA_ARCH__ == 900 && __CUDACC_VER_MAJOR__ >= 12 && "
    "!defined(__CUDA_ARCH_FEAT_SM90_ALL)\n"
    "#error what 9.0 alone has is not used\n"
    "#endif\n"
    "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n";

static char *read_file(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        long size = ftell(file);
        rewind(file);
        text = calloc((size_t)size + 1, 1);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) exit(1);
    }
    if (file) fclose(file);
    return text;
}

int main(int argc, char **argv) {
    char name[DEVICE_TEXT];
    const char *text = argc > 1 ? read_file(argv[1]) : small;
    int failed = 0;
    nvrtc_name(NEWEST, name);
    if (!*name) {
        puts("there is no NVRTC here, which compiles for GPUs");
        return 77;
    }
    if (!text) {
        perror(argv[1]);
        return 1;
    }
    const char *const *kinds = capabilities;
    size_t count = sizeof capabilities / sizeof *capabilities;
    if (argc > 2) kinds = (const char *const *)argv + 2, count = (size_t)argc - 2;
    for (size_t i = 0; i < count; i++) {
        GpuImage image;
        FlowStatus status = nvrtc_compile(text, atoi(kinds[i]), NEWEST, &image);
        if (!status.exit) free(image.bytes);
        else failed++, printf("sm_%s: %s\n", kinds[i], status.text);
    }
    printf("%s: %zu kinds of GPUs, %d failed\n", name, count, failed);
    return failed != 0;
}
