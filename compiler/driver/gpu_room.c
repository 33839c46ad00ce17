#include "compiler/driver/gpu_room.h"

#include "compiler/driver/select.h"

#include <math.h>

/* What the program would take if the way back computed again what it needs; INFINITY: it can't be
 * told. */
static double with_recompute(const Compilation *compilation, int threads) {
    Arguments quiet = *compilation->arguments;
    quiet.dump_ir = NULL;
    quiet.explain = quiet.time_passes = false;
    Compilation again = {.arena = compilation->arena,
                         .arguments = &quiet,
                         .home = compilation->home,
                         .bake = compilation->bake,
                         .recomputes = true};
    if (compile(&again, STOP_plan) != EXIT_ok || select_trains(&again) != EXIT_ok) return INFINITY;
    return memory_on_gpus(again.plan, threads);
}

static void help(const Compilation *compilation, Diagnostic *d, double needed, int threads) {
    double least = with_recompute(compilation, threads);
    if (least < needed - needed / 50)
        diagnostic_help(d,
                        "with `recompute = true` it needs %s; a smaller batch or `microbatches` "
                        "take less, too",
                        bytes_text(compilation->arena, least));
    else diagnostic_help(d, "a smaller batch or `microbatches` take less");
}

void gpu_room_check(const Compilation *compilation, const Processor *processor, const Gpus *gpus) {
    const double needed = memory_on_gpus(compilation->plan, processor->cores);
    for (int i = 0; i < gpu_count(compilation->plan) && i < gpus->count; i++) {
        const Device *gpu = &gpus->items[i];
        if (!gpu->memory || needed <= (double)gpu->memory) continue;
        const char *has = bytes_text(compilation->arena, (double)gpu->memory);
        const char *needs = bytes_text(compilation->arena, needed);
        Diagnostic *d =
            diagnostic_add(compilation->diagnostics, E0304, (Range){0},
                           "the program needs %s on gpu(%d), and %s has %s%s", needs, i, gpu->name,
                           has, compilation->arguments->gpu_memory ? " to use" : "");
        plan_note_holders(compilation->arena, compilation->plan, d);
        help(compilation, d, needed, processor->cores);
    }
}
