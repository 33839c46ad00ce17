/* flowc devices: what this machine can compute with, and what is missing for more. */
#include "compiler/driver/commands.h"
#include "compiler/driver/machine.h"

#include <stdio.h>

static void print_missing(const Gpus *gpus) {
    if (gpus->count) return;
    printf("\nno GPU: %s\n", gpus->missing);
    printf("  A GPU by NVIDIA needs its driver (libcuda.so.1), which comes with the system's\n"
           "  packages (Debian: nvidia-driver) or from nvidia.com; in a container it is lent by\n"
           "  the host (`--gpus all`).\n");
}

static void print_compiler(const Arguments *arguments, const Gpus *gpus) {
    if (arguments->simulate) {
        printf("\nThe GPUs are simulated: the CPU stands in for them.\n");
        return;
    }
    if (gpus->compiler[0]) {
        printf("\nNVRTC, which compiles for GPUs: %s\n", gpus->compiler);
        return;
    }
    printf("\nno NVRTC, which compiles for GPUs: libnvrtc.so is not found\n"
           "  It comes with the CUDA toolkit (Debian: libnvrtc12, pip: nvidia-cuda-nvrtc-cu12).\n");
}

static void print_limits(const Arguments *arguments, const Gpus *gpus) {
    if (gpus->count) return;
    if (arguments->visible_devices || arguments->gpu_memory)
        printf("\n--visible-devices and --gpu-memory have nothing to limit here.\n");
}

int command_devices(Arguments *arguments) {
    Arena *arena = arena_new(); /* lives as long as the process */
    Processor processor;
    Gpus gpus;
    if (arguments->file) {
        fprintf(stderr, "flowc devices: `%s` is not expected\n", arguments->file);
        return EXIT_usage;
    }
    if (!machine_ask(arguments, &processor, &gpus)) return EXIT_usage;
    printf("cpu     %s, %d core%s, %s%s%s\n", processor.device.name, processor.cores,
           processor.cores == 1 ? "" : "s", memory_text(arena, processor.device.memory),
           processor.level[0] ? ", " : "", processor.level);
    for (int i = 0; i < gpus.count; i++)
        printf("gpu(%d)  %s, %s\n", i, gpus.items[i].name,
               memory_text(arena, gpus.items[i].memory));
    print_missing(&gpus);
    print_compiler(arguments, &gpus);
    print_limits(arguments, &gpus);
    return EXIT_ok;
}
