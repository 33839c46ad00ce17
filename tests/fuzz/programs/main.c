/* Programs: random ones, the same by every road. `programs [COUNT [FIRST]]`: 100 from seed 1;
 * `programs 0 SEED` prints that one.
 *
 * A seed is a program, whatever runs beside it; those that SHARE divides, and one that runs alone,
 * are compiled with users' flags too, which takes ten times as long as all else. What differs is
 * made smaller as long as it still differs, and written to build/programs/SEED.flow, which is the
 * test to keep. */
#include "tests/fuzz/programs/apart.h"
#include "tests/fuzz/programs/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TOGETHER = 50, /* programs in one compilation */
    SHARE = 48,    /* of the seeds: one with users' flags */
    TRIALS = 150,  /* of making one smaller */
    VAGUE = 5,     /* of a hundred elements; where there are more, the tests say too little */
};

typedef struct Tally {
    int agree, users, faults, differ;
    int64_t elements, vague;
} Tally;

static int trials;        /* so far, of the one that is made smaller */
static bool users_wanted; /* it shows with users' flags alone */

static void keep_all(bool *kept) {
    for (int i = 0; i < ITEM_LIMIT; i++) kept[i] = true;
}

/* Of one sample by itself. */
static Trouble trouble_of(const Sample *sample, const bool *kept, bool told) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    Findings findings;
    trials++;
    sample_print_head(&text);
    sample_print(sample, kept, 1, &text);
    Trouble trouble = compare_apart(&text, 1, &users_wanted, told, &findings);
    arena_free(arena);
    return !trouble && findings.differs ? TROUBLE_differs : trouble;
}

/* Whatever uses item `from` uses item `to` instead. */
static void redirect(Sample *sample, int from, int to) {
    for (int i = from + 1; i < sample->count; i++)
        for (int j = 0; j < sample->items[i].operand_count; j++)
            if (sample->items[i].operands[j] == from) sample->items[i].operands[j] = to;
}

static bool replace_item(Sample *sample, bool *kept, int item, Trouble trouble) {
    for (int other = 0; other < item; other++) {
        if (!same_shape(&sample->items[other].shape, &sample->items[item].shape)) continue;
        Sample smaller = *sample;
        redirect(&smaller, item, other);
        bool was = kept[item];
        kept[item] = false;
        if (trouble_of(&smaller, kept, false) == trouble) {
            *sample = smaller;
            return true;
        }
        kept[item] = was;
    }
    return false;
}

/* All of [first, last) at once. */
static bool drop_items(const Sample *sample, bool *kept, int first, int last, Trouble trouble) {
    bool fewer[ITEM_LIMIT], changes = false;
    memcpy(fewer, kept, sizeof fewer);
    for (int i = first; i < last; i++) changes |= kept[i], fewer[i] = false;
    if (!changes || trouble_of(sample, fewer, false) != trouble) return false;
    memcpy(kept, fewer, sizeof fewer);
    return true;
}

static void drop_halves(const Sample *sample, bool *kept, Trouble trouble) {
    for (int some = sample->count / 2; some > 1; some /= 2)
        for (int first = 1; first < sample->count && trials < TRIALS; first += some) {
            int last = first + some < sample->count ? first + some : sample->count;
            drop_items(sample, kept, first, last, trouble);
        }
}

static void shrink(Sample *sample, bool *kept, Trouble trouble) {
    drop_halves(sample, kept, trouble);
    for (bool smaller = true; smaller && trials < TRIALS;) {
        smaller = false;
        for (int item = sample->count - 1; item > 0 && trials < TRIALS; item--) {
            bool needed[ITEM_LIMIT];
            smaller |= drop_items(sample, kept, item, item + 1, trouble);
            sample_needed(sample, kept, needed);
            if (needed[item] && sample->items[item].kind == ITEM_let)
                smaller |= replace_item(sample, kept, item, trouble);
        }
    }
}

static void write_case(uint64_t seed, Trouble trouble, const Text *text) {
    char path[64];
    mkdir("build/programs", 0755);
    snprintf(path, sizeof path, "build/programs/%llu.flow", (unsigned long long)seed);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text_string(text), file) < 0 || fclose(file)) perror(path);
    static const char *const verdicts[] = {"agrees by itself", "is not valid", "gives wrong code",
                                           "differs"};
    printf("seed %llu %s; made smaller in %s:\n%s", (unsigned long long)seed, verdicts[trouble],
           path, text_string(text));
}

static void report_case(uint64_t seed) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    Sample sample = generate(seed);
    bool kept[ITEM_LIMIT];
    keep_all(kept);
    trials = 0;
    users_wanted = false;
    Trouble trouble = trouble_of(&sample, kept, false);
    if (!trouble) users_wanted = true, trouble = trouble_of(&sample, kept, false);
    if (trouble) shrink(&sample, kept, trouble);
    sample_print_head(&text);
    sample_print(&sample, kept, 1, &text);
    write_case(seed, trouble, &text);
    trouble_of(&sample, kept, true);
    arena_free(arena);
}

/* The seeds from `first` on in one text. */
static bool compare_together(uint64_t first, int count, Findings *findings) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    bool kept[ITEM_LIMIT], users[TOGETHER];
    keep_all(kept);
    sample_print_head(&text);
    for (int i = 0; i < count; i++) {
        Sample sample = generate(first + (uint64_t)i);
        sample_print(&sample, kept, i, &text);
        users[i] = count == 1 || (first + (uint64_t)i) % SHARE == 0;
    }
    Trouble trouble = compare_apart(&text, count, users, false, findings);
    arena_free(arena);
    return !trouble;
}

static void count_one(uint64_t seed, const Findings *findings, Tally *tally) {
    tally->agree += !findings->differs;
    tally->differ += findings->differs;
    tally->users += seed % SHARE == 0;
    tally->elements += findings->elements;
    tally->vague += findings->vague;
    if (findings->differs) report_case(seed);
}

/* Halves until those at fault stand alone; where none is left then, all of them are. */
static void run_together(uint64_t first, int count, Tally *tally) {
    Findings findings[TOGETHER];
    int faults = tally->faults;
    bool sound = compare_together(first, count, findings);
    for (int i = 0; i < count && sound; i++) count_one(first + (uint64_t)i, &findings[i], tally);
    if (sound) return;
    if (count > 1) {
        run_together(first, count / 2, tally);
        run_together(first + (uint64_t)(count / 2), count - count / 2, tally);
    } else report_case(first);
    if (tally->faults > faults) return;
    tally->faults++;
    if (count > 1)
        printf("seeds %llu to %llu are at fault together\n", (unsigned long long)first,
               (unsigned long long)first + (unsigned long long)count - 1);
}

static void print_one(uint64_t seed) {
    Arena *arena = arena_new();
    Text text = text_new(arena);
    Sample sample = generate(seed);
    bool kept[ITEM_LIMIT];
    keep_all(kept);
    sample_print_head(&text);
    sample_print(&sample, kept, 1, &text);
    fputs(text_string(&text), stdout);
    arena_free(arena);
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 100;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    Tally tally = {0};
    if (!count) {
        print_one(first);
        return 0;
    }
    for (int done = 0; done < count; done += TOGETHER) {
        int some = count - done < TOGETHER ? count - done : TOGETHER;
        run_together(first + (uint64_t)done, some, &tally);
        if (done % 1000 == 950) fprintf(stderr, "%d of %d\n", done + some, count);
    }
    double vague = tally.elements ? 100.0 * (double)tally.vague / (double)tally.elements : 0;
    printf("programs: %d agree (%d with users' flags too), %d differ, %d at fault; "
           "%lld elements, %.2f %% of them vague\n",
           tally.agree, tally.users, tally.differ, tally.faults, (long long)tally.elements, vague);
    if (vague > VAGUE) printf("too many say nothing\n");
    return !tally.agree || tally.differ || tally.faults || vague > VAGUE;
}
