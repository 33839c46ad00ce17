/* flowc calibrate: the profile of this machine, measured. What is not measured is a guess, and says
 * so: matrix units of either, images. */
#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/device_text.h"
#include "compiler/driver/files.h"
#include "compiler/driver/profiles.h"
#include "lang/base/path.h"
#include "runtime/device/rates.h"
#include "runtime/peaks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *today(Arena *arena) {
    char date[16];
    time_t now = time(NULL);
    struct tm local;
    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&now, &local));
    return arena_copy(arena, date, strlen(date));
}

static void set(DeviceProfile *device, FigureName name, double value, Origin origin) {
    if (value > 0) device->figures[name] = (Figure){value, origin};
}

/* Threads that take longer to meet are not running, since others are: a guess is better. */
static const double longest_meeting = 1e-5;

static void measure_cpu(DeviceProfile *cpu, const Processor *processor) {
    Peaks peaks = peaks_measure(processor->cores);
    set(cpu, FIGURE_cores, processor->cores, ORIGIN_measured);
    set(cpu, FIGURE_f32, peaks.operations[FLOW_SINGLE], ORIGIN_measured);
    set(cpu, FIGURE_f64, peaks.operations[FLOW_DOUBLE], ORIGIN_measured);
    set(cpu, FIGURE_bf16, peaks.operations[FLOW_HALVES], ORIGIN_measured);
    set(cpu, FIGURE_cache, peaks.near, ORIGIN_measured);
    set(cpu, FIGURE_memory, peaks.far, ORIGIN_measured);
    set(cpu, FIGURE_size, (double)processor->device.memory, ORIGIN_measured);
    double meeting = peaks_meeting(processor->cores);
    if (meeting < longest_meeting) set(cpu, FIGURE_start, meeting, ORIGIN_measured);
}

/* Of those with tensor cores the fewest operations that any of them has of f16, of one of f32. */
enum { HALVES_OF_SINGLE = 4 };

static void set_gpu(DeviceProfile *gpu, const GpuRates *rates, const Device *device,
                    Origin origin) {
    set(gpu, FIGURE_f32, rates->single_precision, origin);
    set(gpu, FIGURE_f64, rates->double_precision, origin);
    set(gpu, FIGURE_bf16, HALVES_OF_SINGLE * rates->single_precision,
        origin == ORIGIN_simulated ? origin : ORIGIN_guess);
    set(gpu, FIGURE_memory, rates->memory, origin);
    set(gpu, FIGURE_size, (double)device->memory, origin);
    set(gpu, FIGURE_start, rates->start, origin);
    set(gpu, FIGURE_fill, rates->fill, origin == ORIGIN_simulated ? origin : ORIGIN_guess);
    set(gpu, FIGURE_link, rates->link, origin);
    set(gpu, FIGURE_latency, rates->latency, origin);
}

/* NULL after printing what is missing. */
static const char *rates_text(Arena *arena, const Home *home) {
    Generated generated = {0};
    vector_push(arena, &generated.files, (GeneratedFile){"program.cu", "#include \"rates.cu\"\n"});
    return device_text(arena, home, &generated);
}

static int measure_gpus(Arena *arena, const Arguments *arguments, Profile *profile,
                        const Gpus *gpus) {
    Origin origin = arguments->simulate ? ORIGIN_simulated : ORIGIN_measured;
    const Home *home = gpus->count ? home_find(arena) : NULL;
    const char *text = home ? rates_text(arena, home) : NULL;
    if (gpus->count && !text) return EXIT_resource;
    for (int i = 0; i < gpus->count; i++) {
        GpuRates rates;
        char why[DEVICE_TEXT];
        if (!gpu_rates(i, text, &rates, why)) {
            fprintf(stderr, "flowc: gpu(%d), %s, is not measured: %s\n", i, gpus->items[i].name,
                    why);
            return EXIT_resource;
        }
        set_gpu(&profile->gpus.items[i], &rates, &gpus->items[i], origin);
    }
    return EXIT_ok;
}

static int keep(Arena *arena, const char *path, const Text *text) {
    bool good = folder_make(path_folder(arena, path), 0755) &&
                file_renew(arena, path, text_string(text), text->size);
    if (good) fprintf(stderr, "flowc: kept in %s\n", path);
    else fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
    return good ? EXIT_ok : EXIT_resource;
}

/* A stand-in's is kept where it is asked for alone. NULL after printing why. */
static const char *output_of_profile(Arena *arena, const Arguments *arguments) {
    const char *place = arguments->output ? arguments->output : profile_place(arena);
    if (arguments->simulate && !arguments->output)
        fprintf(stderr, "flowc calibrate: what simulated GPUs do is kept with `-o FILE` alone\n");
    else if (!place) fprintf(stderr, "flowc calibrate: HOME is not set; `-o FILE` says where\n");
    return arguments->simulate ? arguments->output : place;
}

int command_calibrate(Arguments *arguments) {
    Arena *arena = arena_new(); /* lives as long as the process */
    Processor processor = processor_ask();
    Gpus gpus;
    const char *output = output_of_profile(arena, arguments);
    if (!output) return EXIT_usage;
    gpus_ask(&gpus);
    Profile *profile = profile_guess(arena, &processor, &gpus);
    profile->date = today(arena);
    profile->note = arguments->simulate ? "the GPUs are simulated: this is no real machine" : NULL;
    measure_cpu(&profile->cpu, &processor);
    int status = measure_gpus(arena, arguments, profile, &gpus);
    if (status != EXIT_ok) return status;
    Text text = text_new(arena);
    profile_print(profile, &text);
    fputs(text_string(&text), stdout);
    return keep(arena, output, &text);
}
