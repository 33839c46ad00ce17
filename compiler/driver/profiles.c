/* Profiles. */
#include "compiler/driver/profiles.h"

#include "compiler/driver/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *profile_place(Arena *arena) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config) return arena_format(arena, "%s/flowc/machine.profile", config);
    if (home && *home) return arena_format(arena, "%s/.config/flowc/machine.profile", home);
    return NULL;
}

const Profile *profile_read(Arena *arena, const char *path) {
    size_t size;
    const char *why, *text = file_read(arena, path, &size);
    if (!text) {
        fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    const Profile *profile = profile_parse(arena, text, path, &why);
    if (!profile) fprintf(stderr, "flowc: %s\n", why);
    return profile;
}

/* Guesses: what a core of a server does with its widest vectors; of GPUs, one of the last years
 * for computing by how much memory it has. What launches, links and copies take differs little. */

static Figure guess(double value) {
    return (Figure){value, ORIGIN_guess};
}

static DeviceProfile guess_cpu(const Processor *processor) {
    double cores = processor->cores, lanes = strstr(processor->level, "v4")   ? 16
                                             : strstr(processor->level, "v3") ? 8
                                                                              : 4;
    DeviceProfile cpu = {.name = processor->device.name};
    double single = cores * lanes * 8e9;
    cpu.figures[FIGURE_cores] = guess(cores);
    cpu.figures[FIGURE_f32] = guess(single);
    cpu.figures[FIGURE_f64] = guess(single / 2);
    cpu.figures[FIGURE_bf16] = guess(lanes == 16 ? 2 * single : single);
    cpu.figures[FIGURE_cache] = guess(cores * 80e9);
    cpu.figures[FIGURE_memory] = guess(cores < 12 ? 20e9 + cores * 10e9 : 150e9);
    cpu.figures[FIGURE_size] = guess((double)processor->device.memory + 1);
    cpu.figures[FIGURE_start] = guess(cores > 1 ? 1e-6 : 1e-7);
    cpu.figures[FIGURE_decode] = guess(4e8);
    return cpu;
}

static DeviceProfile guess_gpu(const Device *device) {
    bool large = device->memory > (uint64_t)30 << 30;
    DeviceProfile gpu = {.name = device->name};
    gpu.figures[FIGURE_f32] = guess(large ? 20e12 : 8e12);
    gpu.figures[FIGURE_f64] = guess(large ? 10e12 : 0.2e12);
    gpu.figures[FIGURE_bf16] = guess(large ? 300e12 : 60e12);
    gpu.figures[FIGURE_memory] = guess(large ? 1.5e12 : 0.3e12);
    gpu.figures[FIGURE_size] = guess(device->memory ? (double)device->memory : 0x1p32);
    gpu.figures[FIGURE_start] = guess(5e-6);
    gpu.figures[FIGURE_fill] = guess(large ? 1e5 : 3e4);
    gpu.figures[FIGURE_link] = guess(12e9);
    gpu.figures[FIGURE_latency] = guess(1e-5);
    return gpu;
}

const Profile *profile_guess(Arena *arena, const Processor *processor, const Gpus *gpus) {
    Profile *profile = arena_new_item(arena, Profile);
    profile->date = "never";
    profile->note = "nothing was measured: `flowc calibrate` does";
    profile->cpu = guess_cpu(processor);
    for (int i = 0; i < gpus->count; i++)
        vector_push(arena, &profile->gpus, guess_gpu(&gpus->items[i]));
    return profile;
}

const Profile *profile_of_machine(Arena *arena, const Processor *processor, const Gpus *gpus) {
    const char *place = profile_place(arena);
    if (!place || !file_exists(place)) return profile_guess(arena, processor, gpus);
    const Profile *profile = profile_read(arena, place);
    bool fits = profile && (int)profile->gpus.count >= gpus->count;
    if (profile && (!fits || profile_is_simulated(profile)))
        return profile_guess(arena, processor, gpus);
    return profile;
}
