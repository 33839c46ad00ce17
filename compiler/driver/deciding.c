/* Deciding. */
#include "compiler/driver/deciding.h"

#include "compiler/balance/decide.h"
#include "compiler/driver/kept_times.h"
#include "compiler/driver/locks.h"
#include "compiler/driver/machine.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/profiles.h"

#include <stdio.h>

static bool is_fixed(const Compilation *compilation) {
    return is_placed(&compilation->program->usual);
}

/* The profile may be of another GPU than the one here; and the user may leave less of it. */
static void decide_by(Compilation *compilation, const Profile *profile, const Device *gpu) {
    if (!profile->gpus.count) return;
    double room = profile->gpus.items[0].figures[FIGURE_size].value;
    if (gpu->memory && (double)gpu->memory < room) room = (double)gpu->memory;
    /* --machine may be of another one than this. */
    const Times *times = compilation->arguments->machine ? NULL : times_read(compilation->arena);
    compilation->decisions = decide(compilation->arena, compilation->program, profile, times, room);
}

static int refuse_simulated(const Compilation *compilation) {
    fprintf(stderr, "flowc: %s is of simulated GPUs: it decides for them alone\n",
            compilation->arguments->machine);
    return EXIT_program;
}

/* As settle_devices does for this machine. */
static bool has_replicas_gpus(const Compilation *compilation, int gpus) {
    bool enough = true;
    vector_each(Train, train, compilation->program->trains) {
        const int wanted = train->replicas.value > 1 ? train->replicas.value : 1;
        if (!train->on_gpus || wanted <= gpus) continue;
        enough = false;
        Diagnostic *d = diagnostic_add(compilation->diagnostics, E0304, train->replicas.range,
                                       "gpu(%d) is not on that machine", wanted - 1);
        diagnostic_note(d, (Range){0}, "%s has %d GPU%s", compilation->arguments->machine, gpus,
                        gpus == 1 ? "" : "s");
    }
    return enough;
}

int foretell_gpus(Compilation *compilation) {
    const Arguments *arguments = compilation->arguments;
    const Profile *profile = profile_read(compilation->arena, arguments->machine);
    Gpus gpus = {.count = 1, .items = {{.memory = UINT64_MAX}}};
    if (!profile) return EXIT_program;
    if (arguments->lock && profile_is_simulated(profile)) return refuse_simulated(compilation);
    if (!limit_memory(arguments->gpu_memory, &gpus)) return EXIT_usage;
    compilation->program->gpus = (int)profile->gpus.count;
    if (!has_usual(compilation, compilation->program->gpus, "the profile has none"))
        return EXIT_program;
    if (!arguments->soft_placement && !has_replicas_gpus(compilation, compilation->program->gpus))
        return compilation_failed(compilation) ? EXIT_program : EXIT_ok;
    if (!is_fixed(compilation)) decide_by(compilation, profile, &gpus.items[0]);
    return EXIT_ok;
}

/* Of a stand-in nothing is known that would decide. */
static int decide_simulated(const Compilation *compilation) {
    if (!wanted_gpus(compilation))
        fprintf(stderr,
                "flowc: simulated GPUs have no speed to go by: what %s places nowhere runs on the "
                "CPU; FLOWC_DEVICE=gpu, `run --device=gpu` or `run --machine=FILE` says "
                "otherwise\n",
                compilation->arguments->file);
    return EXIT_ok;
}

static int obey_lock(Compilation *compilation) {
    if (compilation->arguments->machine)
        fprintf(stderr, "flowc: %s decides, not --machine\n", lock_place(compilation));
    return apply_lock(compilation);
}

int decide_devices(Compilation *compilation, const Processor *processor, const Gpus *gpus) {
    Arena *arena = compilation->arena;
    const Arguments *arguments = compilation->arguments;
    const Profile *profile = arguments->machine ? profile_read(arena, arguments->machine) : NULL;
    if (arguments->machine && !profile) return EXIT_program;
    if (is_fixed(compilation)) return EXIT_ok;
    if (!arguments->predicts && is_locked(compilation)) return obey_lock(compilation);
    if (!compilation->program->gpus) return EXIT_ok;
    if (!arguments->machine && arguments->simulate) return decide_simulated(compilation);
    if (!profile) profile = profile_of_machine(arena, processor, gpus);
    if (!profile) return EXIT_program;
    if (profile_is_simulated(profile) && !arguments->simulate) return refuse_simulated(compilation);
    decide_by(compilation, profile, &gpus->items[0]);
    return EXIT_ok;
}
