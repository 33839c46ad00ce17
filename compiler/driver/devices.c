/* flowc devices: what this machine can compute with, and what is missing for more. */
#include "compiler/driver/all_reduce.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/machine.h"
#include "runtime/device/nvrtc.h"

#include <stdio.h>

static void print_gpus(Arena *arena, const Gpus *gpus) {
    for (int i = 0; i < gpus->count; i++) {
        const Device *gpu = &gpus->items[i];
        printf("gpu(%d)  %s, %s", i, gpu->name, memory_text(arena, gpu->memory));
        if (gpu->capability) printf(", sm_%d", gpu->capability);
        printf("\n");
    }
}

static int count_reached(const Gpus *gpus, int gpu) {
    int count = 0;
    for (int i = 0; i < gpus->count; i++) count += gpu_reaches(gpus, gpu, i);
    return count;
}

/* Whom each copies from by their link; to others by way of the CPU's memory. */
static void print_links(const Gpus *gpus) {
    for (int i = 0; i < gpus->count && gpus->count > 1; i++) {
        const int reached = count_reached(gpus, i);
        if (reached == gpus->count - 1) printf("  gpu(%d) copies from all others directly\n", i);
        else
            printf("  gpu(%d) copies from %d of %d others directly, else by way of the CPU's "
                   "memory\n",
                   i, reached, gpus->count - 1);
    }
}

static void print_missing(const Gpus *gpus) {
    if (gpus->count) return;
    printf("\nno GPU: %s\n  a GPU by NVIDIA needs its driver; " DRIVER_COMES "\n", gpus->missing);
}

static void print_driver(const Arguments *arguments, const Gpus *gpus) {
    if (gpus->driver && !arguments->simulate)
        printf("\nNVIDIA driver: CUDA %s\n", version_text(gpus->driver).text);
}

static void print_compiler(const Arguments *arguments, const Gpus *gpus) {
    if (arguments->simulate) {
        printf("\nThe GPUs are simulated: the CPU stands in for them.\n");
        return;
    }
    if (gpus->compiler[0]) {
        printf("\nNVRTC, which compiles for GPUs: %s, CUDA %s\n", gpus->compiler,
               version_text(gpus->compiles).text);
        return;
    }
    printf("\nno NVRTC, which compiles for GPUs: libnvrtc.so is not found%s\n"
           "  " NVRTC_COMES ";\n  programs built with --target=sm_… do without it\n",
           gpus->driver ? ", of a version that the driver can do" : "");
}

/* Of what several GPUs need. */
static void print_all_reduce(const Gpus *gpus) {
    AllReduceText how;
    if (gpus->count < 2) return;
    if (all_reduce_find(false, &how) == ALL_REDUCE_wrong) printf("\nno replicas: %s\n", how.text);
    else printf("\nReplicas add up %s\n", how.text);
    if (how.fix) printf("  %s\n", how.fix);
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
    print_gpus(arena, &gpus);
    print_links(&gpus);
    print_missing(&gpus);
    print_driver(arguments, &gpus);
    print_compiler(arguments, &gpus);
    print_all_reduce(&gpus);
    print_limits(arguments, &gpus);
    return EXIT_ok;
}
