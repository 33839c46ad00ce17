/* Kept times: the file is read and cut, and what is to be measured is written for the program. */
#define _GNU_SOURCE
#include "compiler/driver/kept_times.h"

#include "compiler/balance/decide.h"
#include "compiler/balance/work.h"
#include "compiler/driver/files.h"
#include "compiler/driver/machine.h"
#include "compiler/driver/place.h"
#include "compiler/driver/profiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONG_FILE = 4 << 20, LINES_KEPT = 16384, DAYS_KEPT = 30, ASKED_KEPT = 16 };

/* So many days ago. */
static const char *date_before(Arena *arena, int days) {
    char date[16];
    time_t then = time(NULL) - (time_t)days * 24 * 60 * 60;
    struct tm local;
    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&then, &local));
    return arena_copy(arena, date, strlen(date));
}

static const char *times_folder(Arena *arena) {
    const char *cache = cache_folder(arena);
    return cache ? arena_format(arena, "%s/times", cache) : NULL;
}

static const char *times_path(Arena *arena, const char *folder) {
    return arena_format(arena, "%s/measured", folder);
}

/* Reading. */

/* What a run adds meanwhile is lost, and measured again. */
static void shorten(Arena *arena, const char *path, const char *text, const char *since) {
    Text shorter = text_new(arena);
    times_shorten(text, since, LINES_KEPT, &shorter);
    file_renew(arena, path, text_string(&shorter), shorter.size);
}

static void note_broken(const Times *times, const char *path) {
    if (times->broken)
        fprintf(stderr, "flowc: %s: %d of %d lines are broken, and not used\n", path, times->broken,
                times->lines);
}

/* file_read takes no others. */
static void note_unread(const char *path) {
    fprintf(stderr, "flowc: measured times are not used: %s: %s\n", path,
            errno == EINVAL ? "it is not a regular file" : strerror(errno));
}

const Times *times_read(Arena *arena) {
    size_t size;
    const char *folder = times_folder(arena), *since = date_before(arena, DAYS_KEPT);
    if (!folder || !folder_is_private(folder)) return NULL;
    const char *path = times_path(arena, folder);
    char *text = file_read(arena, path, &size);
    if (!text) {
        if (errno != ENOENT) note_unread(path);
        return NULL;
    }
    for (size_t i = 0; i < size; i++)
        if (!text[i]) text[i] = '?';
    const Times *times = times_parse(arena, text, since);
    note_broken(times, path);
    if (size > LONG_FILE || times->broken) shorten(arena, path, text, since);
    return times;
}

/* Asking. */

typedef struct Asking {
    Arena *arena;
    const Times *times; /* or NULL */
    const Profile *profile;
    const Processor *processor;
    const Gpus *gpus;
    const char *date;
    Text text;
    int wanted; /* keys that have too few times */
} Asking;

static double work_of(const Asking *asking, const FunctionPlan *plan, int k) {
    const KernelPlan *kernel = &plan->kernels[k];
    if (!runs_on_gpu(kernel)) return work_on_cpu(&asking->profile->cpu, plan, k, 1);
    return work_on_gpu(&asking->profile->gpus.items[kernel->given.index], plan, k, 1);
}

/* The call's time is divided as rooflines say. */
static void ask_kernel(Asking *asking, const FunctionPlan *plan, int k, int call, double share) {
    const Processor *cpu = asking->processor;
    Arena *arena = asking->arena;
    Text what = text_new(arena);
    const bool on_gpu = runs_on_gpu(&plan->kernels[k]);
    const char *device =
        on_gpu ? asking->gpus->items[plan->kernels[k].given.index].name : cpu->device.name;
    const char *key = time_key(arena, kernel_key(arena, plan, k), device, on_gpu ? 0 : cpu->cores);
    const KernelTime *known = times_find(asking->times, key);
    asking->wanted += !known || known->count < TIMES_OF_KEY;
    kernel_print(plan, k, &what);
    text_format(&asking->text, "%d %s %.6f %s %s %s, %d cores: %s of %lld records\n", call,
                on_gpu ? "gpu" : "cpu", share, key, asking->date, device, on_gpu ? 0 : cpu->cores,
                text_string(&what), (long long)plan->batch);
}

static void ask_call(Asking *asking, const FunctionPlan *plan, int call) {
    const Band *band = &plan->bands.items[call];
    double all = 0;
    if (band->transfer) return;
    for (int i = 0; i < band->count; i++) all += work_of(asking, plan, band->kernels[i]);
    for (int i = 0; i < band->count && all > 0; i++)
        if (!is_taken_in(&plan->kernels[band->kernels[i]]))
            ask_kernel(asking, plan, band->kernels[i], call,
                       work_of(asking, plan, band->kernels[i]) / all);
}

static void ask_function(Asking *asking, const Plan *plan, const Function *function) {
    const FunctionPlan *planned = plan_of(plan, function);
    if (!planned || planned->graph->wishes.replicas) return;
    text_format(&asking->text, "function %s\n", function->name);
    for (int i = 0; i < (int)planned->bands.count; i++) ask_call(asking, planned, i);
}

static void ask_functions(Asking *asking, const Plan *plan) {
    vector_each(Train, train, plan->program->trains) ask_function(asking, plan, &train->step);
    vector_each(Run, run, plan->program->runs)
        if (run->function) ask_function(asking, plan, run->function);
}

static bool may_ask(const Compilation *compilation) {
    const char *measure = getenv("FLOWC_MEASURE");
    const bool given = measure && *measure, always = given && !strcmp(measure, "1");
    if (given && !always && strcmp(measure, "0"))
        fprintf(stderr,
                "flowc: FLOWC_MEASURE is 0 (never) or 1 (without a driver, too), not `%s`: nothing "
                "is measured\n",
                measure);
    if (compilation->arguments->simulate || getenv("FLOWC_SIMULATE")) return false;
    return given ? always : gpus_are_likely();
}

/* Another run that begins now has a file of its own; those that nobody read go by and by. */
static void give(const Asking *asking, const char *folder) {
    Arena *arena = asking->arena;
    const char *asked = arena_format(arena, "%s/asked", folder);
    const char *own = arena_format(arena, "%s/%d", asked, (int)getpid());
    if (!folder_make(asked, 0700) || !folder_is_private(asked)) return;
    drop_oldest(arena, asked, "", ASKED_KEPT);
    if (file_write(own, text_string(&asking->text), asking->text.size))
        setenv("FLOWC_TIMES", own, true);
}

/* Those that it was decided by. */
static const Times *known_times(const Compilation *compilation) {
    const Decisions *decisions = compilation->decisions;
    return decisions && decisions->times ? decisions->times : times_read(compilation->arena);
}

void times_ask(const Compilation *compilation) {
    Arena *arena = compilation->arena;
    Processor processor;
    Gpus gpus = {0};
    const char *folder = times_folder(arena);
    unsetenv("FLOWC_TIMES");
    if (!may_ask(compilation) || !folder || !folder_make(folder, 0700)) return;
    if (gpu_count(compilation->plan)) {
        if (!machine_ask(compilation->arguments, &processor, &gpus)) return;
    } else processor = processor_ask();
    if (gpus.count < gpu_count(compilation->plan) || gpus.simulated) return;
    Asking asking = {.arena = arena,
                     .times = known_times(compilation),
                     .profile = profile_guess(arena, &processor, &gpus),
                     .processor = &processor,
                     .gpus = &gpus,
                     .date = date_before(arena, 0),
                     .text = text_new(arena)};
    text_format(&asking.text, "%s\nthreads %d\n", times_path(arena, folder),
                threads_on(processor.cores));
    ask_functions(&asking, compilation->plan);
    if (asking.wanted) give(&asking, folder);
}
