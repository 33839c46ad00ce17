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

static const char *name_of(Arena *arena, const Device *device) {
    return arena_copy(arena, device->name, strlen(device->name));
}

static DeviceProfile guess_cpu(Arena *arena, const Processor *processor) {
    double cores = processor->cores, lanes = strstr(processor->level, "v4")   ? 16
                                             : strstr(processor->level, "v3") ? 8
                                                                              : 4;
    DeviceProfile cpu = {.name = name_of(arena, &processor->device)};
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

static DeviceProfile guess_gpu(Arena *arena, const Device *device) {
    bool large = device->memory > (uint64_t)30 << 30;
    DeviceProfile gpu = {.name = name_of(arena, device)};
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

Profile *profile_guess(Arena *arena, const Processor *processor, const Gpus *gpus) {
    Profile *profile = arena_new_item(arena, Profile);
    profile->date = "never";
    profile->note = "nothing was measured: `flowc calibrate` does";
    profile->cpu = guess_cpu(arena, processor);
    for (int i = 0; i < gpus->count; i++)
        vector_push(arena, &profile->gpus, guess_gpu(arena, &gpus->items[i]));
    return profile;
}

/* Two GPUs of one name may differ in their links. */
static const DeviceProfile *stored_gpu(const Profile *stored, const Device *gpu) {
    size_t number = (size_t)gpu->ordinal;
    if (number < stored->gpus.count && !strcmp(stored->gpus.items[number].name, gpu->name))
        return &stored->gpus.items[number];
    vector_each(DeviceProfile, known, stored->gpus)
        if (!strcmp(known->name, gpu->name)) return known;
    return NULL;
}

static void take(DeviceProfile *device, const DeviceProfile *stored, Text *guessed) {
    if (stored) *device = *stored;
    else text_format(guessed, "%s%s", guessed->size ? ", " : "", device->name);
}

static const Profile *with_stored(Arena *arena, Profile *profile, const Profile *stored,
                                  const Gpus *gpus) {
    Text guessed = text_new(arena);
    bool same = !strcmp(stored->cpu.name, profile->cpu.name);
    take(&profile->cpu, same ? &stored->cpu : NULL, &guessed);
    for (int i = 0; i < gpus->count; i++)
        take(&profile->gpus.items[i], stored_gpu(stored, &gpus->items[i]), &guessed);
    profile->date = stored->date;
    profile->note = stored->note;
    if (guessed.size)
        profile->note = arena_format(arena, "not measured then: %s; `flowc calibrate` does",
                                     text_string(&guessed));
    return profile;
}

const Profile *profile_of_machine(Arena *arena, const Processor *processor, const Gpus *gpus) {
    const char *place = profile_place(arena);
    Profile *guessed = profile_guess(arena, processor, gpus);
    if (!place || !file_exists(place)) return guessed;
    const Profile *stored = profile_read(arena, place);
    if (!stored) return NULL;
    return profile_is_simulated(stored) ? guessed : with_stored(arena, guessed, stored, gpus);
}
