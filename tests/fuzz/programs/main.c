/* Programs: random ones, the same by every road. `programs [COUNT [FIRST]]`: 100 from seed 1.
 *
 * What differs is made smaller as long as it still differs, and written to
 * build/programs/SEED.flow, which is the test to keep. */
#include "tests/fuzz/programs/compare.h"
#include "tests/fuzz/programs/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TOGETHER = 50, /* programs in one compilation */
    TRIALS = 100,  /* of making one smaller */
};

typedef struct Tally {
    int agree, skipped, differ;
} Tally;

static int trials; /* so far, of the one that is made smaller */

static void keep_all(bool *kept) {
    for (int i = 0; i < ITEM_LIMIT; i++) kept[i] = true;
}

static bool differs(const Sample *sample, const bool *kept, bool told) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    Verdict verdict;
    trials++;
    sample_print(sample, kept, 1, &text);
    bool differs = compare_programs(&text, 1, told, &verdict) && verdict == VERDICT_differs;
    arena_free(arena);
    return differs;
}

static bool same_shape(const Shape *a, const Shape *b) {
    bool same = a->element == b->element && a->rank == b->rank;
    for (int i = 0; i < a->rank && same; i++) same = a->sizes[i] == b->sizes[i];
    return same;
}

/* Whatever uses item `from` uses item `to` instead. */
static void redirect(Sample *sample, int from, int to) {
    for (int i = from + 1; i < sample->count; i++)
        for (int j = 0; j < sample->items[i].operand_count; j++)
            if (sample->items[i].operands[j] == from) sample->items[i].operands[j] = to;
}

static bool replace_item(Sample *sample, bool *kept, int item) {
    for (int other = 0; other < item; other++) {
        if (!same_shape(&sample->items[other].shape, &sample->items[item].shape)) continue;
        Sample smaller = *sample;
        redirect(&smaller, item, other);
        bool was = kept[item];
        kept[item] = false;
        if (differs(&smaller, kept, false)) {
            *sample = smaller;
            return true;
        }
        kept[item] = was;
    }
    return false;
}

static bool drop_item(const Sample *sample, bool *kept, int item) {
    if (!kept[item]) return false;
    kept[item] = false;
    if (differs(sample, kept, false)) return true;
    kept[item] = true;
    return false;
}

static void shrink(Sample *sample, bool *kept) {
    for (bool smaller = true; smaller && trials < TRIALS;) {
        smaller = false;
        for (int item = sample->count - 1; item > 0 && trials < TRIALS; item--) {
            smaller |= drop_item(sample, kept, item);
            if (sample->items[item].kind == ITEM_let && !kept[item]) continue;
            if (sample->items[item].kind == ITEM_let) smaller |= replace_item(sample, kept, item);
        }
    }
}

static void write_case(uint64_t seed, const Text *text) {
    char path[64];
    mkdir("build/programs", 0755);
    snprintf(path, sizeof path, "build/programs/%llu.flow", (unsigned long long)seed);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text_string(text), file) < 0 || fclose(file)) perror(path);
    printf("seed %llu differs; made smaller in %s:\n%s", (unsigned long long)seed, path,
           text_string(text));
}

static void report_case(uint64_t seed) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    Sample sample = generate(seed);
    bool kept[ITEM_LIMIT];
    keep_all(kept);
    trials = 0;
    if (differs(&sample, kept, false)) shrink(&sample, kept);
    sample_print(&sample, kept, 1, &text);
    write_case(seed, &text);
    differs(&sample, kept, true);
    arena_free(arena);
}

static bool run_together(uint64_t first, int count, Tally *tally) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    Verdict verdicts[TOGETHER];
    bool kept[ITEM_LIMIT];
    keep_all(kept);
    for (int i = 0; i < count; i++) {
        Sample sample = generate(first + (uint64_t)i);
        sample_print(&sample, kept, i, &text);
    }
    bool sound = compare_programs(&text, count, false, verdicts);
    if (!sound)
        printf("at fault: the programs of seeds %llu and %d more\n%s", (unsigned long long)first,
               count - 1, count == 1 ? text_string(&text) : "");
    for (int i = 0; i < count && sound; i++) {
        tally->agree += verdicts[i] == VERDICT_agrees;
        tally->skipped += verdicts[i] == VERDICT_skipped;
        tally->differ += verdicts[i] == VERDICT_differs;
        if (verdicts[i] == VERDICT_differs) report_case(first + (uint64_t)i);
    }
    arena_free(arena);
    return sound;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 100;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    bool sound = count > 0;
    Tally tally = {0};
    for (int done = 0; done < count; done += TOGETHER) {
        int some = count - done < TOGETHER ? count - done : TOGETHER;
        sound &= run_together(first + (uint64_t)done, some, &tally);
    }
    printf("programs: %d agree, %d too sensitive to say, %d differ\n", tally.agree, tally.skipped,
           tally.differ);
    if (tally.skipped > count / 4) printf("too many say nothing\n");
    return !sound || tally.differ || tally.skipped > count / 4;
}
