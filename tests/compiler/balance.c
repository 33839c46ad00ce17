/* The split that balance finds beside the best of all, which is found by trying them; and large
 * problems. */
#include "compiler/balance/balance.h"
#include "compiler/balance/times.h"
#include "tests/compiler/real_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GENERATED = 24, FREE_MOST = 16, LARGE = 10000, READERS_MOST = 4 };

static const double near_enough = 1.05;

static unsigned state = 1;

static double chance(void) {
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 24);
}

static int below(int n) {
    return (int)(chance() * n);
}

/* What kinds of machine and program there are: seconds of a GPU as a part of the CPU's, and of
 * copies as a part of computing. */
typedef struct Shape {
    double gpu, copies;
    bool prepares; /* a part of the items is no step */
} Shape;

static const Shape shapes[] = {
    {0.05, 0.3, true}, {0.3, 1, true}, {1, 0.1, true},  {0.1, 3, true},
    {0.5, 0.5, true},  {2, 0.2, true}, {0.2, 1, false}, {0.8, 0.05, false},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void add_value(Arena *arena, Round *round, int from, const Shape *shape) {
    int last = (int)round->items.count - 1, count = 1 + below(READERS_MOST);
    int *readers = arena_new_array(arena, int, READERS_MOST);
    bool in_step = round->items.items[from].in_step;
    for (int i = 0; i < count; i++) {
        int far = from + 1 + below(3);
        readers[i] = far > last ? last : far;
    }
    vector_push(arena, &round->values,
                (Crossing){from, readers, count, shape->copies * chance() * chance(), in_step});
}

/* The first and the last are on the CPU: the files, and who wants the results. */
static Round generate(Arena *arena, const Shape *shape, int items) {
    Round round = {0};
    int prepared = shape->prepares ? items / 4 + below(items / 2) : 1;
    for (int i = 0; i < items; i++) {
        bool end = !i || i + 1 == items;
        double work = end ? 0 : chance() * chance() + 0.01;
        double ratio = shape->gpu * (0.2 + 2 * chance());
        Side fixed = end ? SIDE_cpu : chance() < 0.04 ? SIDE_gpu : SIDE_free;
        vector_push(arena, &round.items, (Item){work, work * ratio, i >= prepared, fixed});
    }
    for (int i = 0; i + 1 < items; i++) add_value(arena, &round, i, shape);
    return round;
}

static double seconds_of(const Round *round, const bool *on_gpu) {
    Loads loads = balance_loads(round, on_gpu);
    return loads.seconds[balance_busiest(&loads)];
}

static double best_round(Arena *arena, const Round *round) {
    int free[FREE_MOST + 2], count = 0;
    bool *on_gpu = arena_new_array(arena, bool, round->items.count);
    double best = 1e30;
    for (size_t i = 0; i < round->items.count; i++) {
        on_gpu[i] = round->items.items[i].fixed == SIDE_gpu;
        if (round->items.items[i].fixed == SIDE_free) free[count++] = (int)i;
    }
    for (long choice = 0; choice < 1L << count; choice++) {
        for (int i = 0; i < count; i++) on_gpu[free[i]] = choice >> i & 1;
        double seconds = seconds_of(round, on_gpu);
        if (seconds < best) best = seconds;
    }
    return best;
}

static bool keeps_what_is_fixed(const Round *round, const Split *split) {
    for (size_t i = 0; i < round->items.count; i++) {
        Side fixed = round->items.items[i].fixed;
        if (fixed != SIDE_free && split->on_gpu[i] != (fixed == SIDE_gpu)) return false;
    }
    return true;
}

typedef struct Ratios {
    double worst, sum;
    int count;
} Ratios;

static bool compare(Arena *arena, const Round *round, Ratios *ratios) {
    Split split = balance(arena, round);
    double best = best_round(arena, round), ratio = split.seconds / best;
    ratios->sum += ratio, ratios->count++;
    if (ratio > ratios->worst) ratios->worst = ratio;
    bool good = ratio <= near_enough && ratio > 0.999999 && split.bound <= best * 1.000001 &&
                keeps_what_is_fixed(round, &split);
    if (!good)
        printf("%d: a round of %g s, the best has %g, the bound is %g\n", ratios->count,
               split.seconds, best, split.bound);
    return good;
}

static bool try_generated(void) {
    Ratios ratios = {0};
    bool good = true;
    const char *more = getenv("BALANCE_PROBLEMS");
    for (int i = 0; i < (more ? atoi(more) : GENERATED); i++) {
        Arena *arena = arena_new();
        Round round = generate(arena, &shapes[i % SHAPES], 6 + i % 11);
        good &= compare(arena, &round, &ratios);
        arena_free(arena);
    }
    printf("%d generated: a round is %.4f of the best at worst, %.4f in the mean\n", ratios.count,
           ratios.worst, ratios.sum / ratios.count);
    return good;
}

static int free_items(const Round *round) {
    int count = 0;
    vector_each(Item, item, round->items) count += item->fixed == SIDE_free;
    return count;
}

/* The rounds of a program that are not too large to try everything. */
static bool try_program(Arena *arena, Program *program, const RealMachine *machine,
                        Ratios *ratios) {
    bool good = true;
    const Profile *profile = read_machine(arena, machine);
    double room = profile->gpus.items[0].figures[FIGURE_size].value;
    const Decisions *decisions = decide(arena, program, profile, NULL, room);
    vector_each(Choice, choice, decisions->choices)
        if (free_items(&choice->round) <= FREE_MOST) good &= compare(arena, &choice->round, ratios);
    return good;
}

static bool try_real(void) {
    Ratios ratios = {0};
    bool good = true;
    for (int i = 0; i < REAL_PROGRAMS; i++) {
        Arena *arena = arena_new();
        Sources library = read_library(arena);
        Program *program = compile_example(arena, &library, real_programs[i]);
        good &= program != NULL;
        for (int m = 0; m < REAL_MACHINES && program; m++)
            good &= try_program(arena, program, &real_machines[m], &ratios);
        arena_free(arena);
    }
    printf("%d of examples: a round is %.4f of the best at worst, %.4f in the mean\n", ratios.count,
           ratios.worst, ratios.sum / ratios.count);
    return good && ratios.count >= REAL_MACHINES * REAL_PROGRAMS;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Not a test of speed: a search that takes twice as long for each item more would never end. */
static bool try_large(void) {
    bool good = true;
    for (int i = 0; i < SHAPES; i++) {
        Arena *arena = arena_new();
        Round round = generate(arena, &shapes[i], LARGE);
        double before = seconds_now();
        Split split = balance(arena, &round);
        double took = seconds_now() - before;
        printf("%d items: %.2f s, a round is %.4f of the bound\n", LARGE, took,
               split.seconds / split.bound);
        good &= took < 20 && split.seconds < 1.1 * split.bound;
        arena_free(arena);
    }
    return good;
}

/* Two kernels that the GPU has done at once, and a small one between them. */
static bool try_between(void) {
    Arena *arena = arena_new();
    Round round = {0};
    static const int second[] = {1}, third[] = {2};
    vector_push(arena, &round.items, (Item){10, 1, true, SIDE_free});
    vector_push(arena, &round.items, (Item){1, 2, true, SIDE_free});
    vector_push(arena, &round.items, (Item){10, 1, true, SIDE_free});
    vector_push(arena, &round.values, (Crossing){0, second, 1, 3, true});
    vector_push(arena, &round.values, (Crossing){1, third, 1, 3, true});
    Split split = balance(arena, &round);
    bool good = split.on_gpu[0] && split.on_gpu[1] && split.on_gpu[2];
    round.values.items[0].seconds = round.values.items[1].seconds = 0.1;
    split = balance(arena, &round);
    good &= split.on_gpu[0] && !split.on_gpu[1] && split.on_gpu[2];
    arena_free(arena);
    if (!good) printf("what lies between two kernels of the GPU is in the wrong place\n");
    return good;
}

static const char kept[] = "0000000000000002 3e-6 2026-11-22 b\n"
                           "0000000000000001 2e-6 2026-11-23 c\n";
static const char lines[] = "0000000000000001 9e-6 2026-10-01 old\n"
                            "0000000000000001 1e-6 2026-11-22 a\n"
                            "0000000000000002 3e-6 2026-11-22 b\n"
                            "0000000000000003 1e\n"
                            "0000000000000001 2e-6 2026-11-23 c\n";

/* Of the lines that count the newest stay, and the least of them is the time. */
static bool try_times(void) {
    Arena *arena = arena_new();
    Text shorter = text_new(arena);
    const Times *times = times_parse(arena, lines, "2026-10-23");
    const KernelTime *time = times_find(times, "0000000000000001");
    bool good = times->lines == 5 && times->broken == 1 && times->old == 1;
    good &= time && time->count == 2 && time->seconds == 1e-6 && !strcmp(time->date, "2026-11-22");
    good &= !times_find(times, "0000000000000003");
    times_shorten(lines, "2026-10-23", 2, &shorter);
    good &= !strcmp(text_string(&shorter), kept);
    arena_free(arena);
    if (!good) printf("lines of times are read or shortened wrongly\n");
    return good;
}

/* With as many cores as a run takes by itself, and with more, it measures the same. */
static bool try_keys(void) {
    Arena *arena = arena_new();
    const char *some = time_key(arena, 1, "a", 16), *many = time_key(arena, 1, "a", 192);
    bool good = !strcmp(some, many) && strcmp(some, time_key(arena, 1, "a", 15)) != 0;
    good &= threads_on(2) == 2 && threads_on(192) == 16;
    arena_free(arena);
    if (!good) printf("keys of times are wrong\n");
    return good;
}

int main(void) {
    bool good = try_between();
    good &= try_times();
    good &= try_keys();
    good &= try_generated();
    good &= try_real();
    good &= try_large();
    return good ? 0 : 1;
}
