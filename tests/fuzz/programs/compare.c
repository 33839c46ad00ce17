/* Compare. */
#include "tests/fuzz/programs/compare.h"

#include "tests/fuzz/programs/reading.h"
#include "tests/fuzz/programs/sample.h"

#include <stdio.h>
#include <string.h>

static void run_variant(const Variant *variant, bool told, Findings *findings) {
    for (size_t i = 0; i < variant->program->exports.count; i++)
        for (int64_t batch = BATCH; batch > 0; batch -= 3)
            trial_run(variant, (int)i, batch, told, &findings[variant->trains[i]]);
}

Trouble compare_programs(const Text *text, int count, const bool *users, bool told,
                         Findings *findings) {
    Arena *arena = arena_new();
    memset(findings, 0, sizeof *findings * (size_t)count);
    bool *all = arena_new_array(arena, bool, count + 1);
    for (int i = 0; i < count; i++) all[i] = true;
    FILE *complaints = told ? stdout : fopen("/dev/null", "w");
    const Program *program = read_program(arena, text, complaints);
    if (!told) fclose(complaints);
    Variant variants[WAY_COUNT];
    int ways = memchr(users, true, (size_t)count) ? WAY_COUNT : WAY_users;
    for (int i = 0; i < ways && program; i++)
        variants[i] = variant_new(arena, program, (Way)i, i == WAY_users ? users : all);
    bool sound = program && variants_load(arena, variants, ways, told);
    for (int i = 0; i < ways && sound; i++) run_variant(&variants[i], told, findings);
    for (int i = 0; i < ways && program; i++) variant_close(&variants[i]);
    arena_free(arena);
    return !program ? TROUBLE_text : !sound ? TROUBLE_code : TROUBLE_none;
}
