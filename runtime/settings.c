/* Settings: `--name=value` and `--name value`, for the program's own options and the
 * runtime's. Where both have one of the same name, the program's is meant. */
#define _GNU_SOURCE
#include "runtime/settings.h"

#include "runtime/bounds.h"
#include "runtime/cpus.h"
#include "runtime/device/images.h"
#include "runtime/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_LIMIT = 256 };

static const double largest_whole = 0x1p53; /* that a double counts to */

typedef struct Flag {
    const char *name; /* as given, without dashes */
    size_t length;
    const char *value; /* NULL: none was given with it */
} Flag;

typedef FlowStatus SetFlag(Settings *settings, const char *value);

/* Values. */

static bool parse_number(const char *text, double *number) {
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    return *text && !*end && isfinite(*number);
}

static bool parse_whole(const char *text, double least, double most, double *number) {
    return parse_number(text, number) && *number == floor(*number) && *number >= least &&
           *number <= most;
}

static FlowStatus set_count(const char *name, const char *value, int least, int most, int *count) {
    double number;
    if (!parse_whole(value, least, most, &number))
        return flow_failure(FLOW_EXIT_usage, "--%s: `%s` is not a whole number from %d to %d", name,
                            value, least, most);
    *count = (int)number;
    return flow_ok;
}

/* The runtime's flags. */

static FlowStatus set_threads(Settings *settings, const char *value) {
    settings->has_threads = true;
    return set_count("threads", value, 1, TEAM_LIMIT, &settings->threads);
}

static FlowStatus set_workers(Settings *settings, const char *value) {
    settings->has_workers = true;
    return set_count("workers", value, 0, WORKERS_LIMIT, &settings->workers);
}

static FlowStatus set_seed(Settings *settings, const char *value) {
    double number;
    if (!parse_whole(value, 0, largest_whole, &number))
        return flow_failure(FLOW_EXIT_usage, "--seed: `%s` is not a whole number from 0 to %.0f",
                            value, largest_whole);
    settings->has_seed = true;
    settings->seed = (int64_t)number;
    return flow_ok;
}

/* value: NULL where none was given. */
static FlowStatus set_path(const char *name, const char *value, const char **path) {
    *path = value;
    if (!value || *value) return flow_ok;
    return flow_failure(FLOW_EXIT_usage, "--%s: the name of a file is empty", name);
}

static FlowStatus set_resume(Settings *settings, const char *value) {
    settings->resume = true;
    return set_path("resume", value, &settings->resume_path);
}

static FlowStatus set_save(Settings *settings, const char *value) {
    return set_path("save", value, &settings->save_path);
}

static FlowStatus set_progress(Settings *settings, const char *value) {
    static const char *const names[] = {"auto", "plain", "off"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(names[i], value)) continue;
        settings->progress = (ProgressMode)i;
        return flow_ok;
    }
    return flow_failure(FLOW_EXIT_usage, "--progress: `%s` is not one of auto, plain, off", value);
}

/* "4GiB", "1.5 MiB", "100000" */
static bool parse_size(const char *text, double *bytes) {
    static const char *const units[] = {"", "B", "KiB", "MiB", "GiB", "TiB"};
    char *end;
    *bytes = strtod(text, &end);
    while (*end == ' ') end++;
    for (int i = 0; i < (int)(sizeof units / sizeof *units); i++) {
        if (strcmp(end, units[i])) continue;
        *bytes *= i < 2 ? 1 : (double)(INT64_C(1) << (i - 1) * 10);
        return end != text && *bytes >= 1 && *bytes <= largest_whole;
    }
    return false;
}

static FlowStatus set_memory(Settings *settings, const char *value) {
    double bytes;
    settings->shows_memory |= !value;
    if (!value) return flow_ok;
    if (!parse_size(value, &bytes))
        return flow_failure(FLOW_EXIT_usage, "--memory: `%s` is no size, as 4GiB or 512MiB", value);
    settings->memory = (size_t)bytes;
    return flow_ok;
}

static FlowStatus set_profile(Settings *settings, const char *value) {
    size_t size = value ? strlen(value) : 0;
    if (value && (size < 5 || strcmp(value + size - 4, ".svg") != 0))
        return flow_failure(FLOW_EXIT_usage, "--profile: `%s` is not FILE.svg", value);
    settings->profiles = true;
    settings->profile_path = value;
    return flow_ok;
}

static FlowStatus set_trace(Settings *settings, const char *value) {
    if (!*value) return flow_failure(FLOW_EXIT_usage, "--trace: it needs a file, as trace.json");
    settings->trace_path = value;
    return flow_ok;
}

static FlowStatus show_version(Settings *settings, const char *value) {
    (void)value;
    char images[300];
    images_list(settings->program, images, sizeof images);
    printf("%s %s\n", settings->program->name, settings->program->fingerprint);
    if (settings->program->device_text)
        printf("for GPUs: %s%sNVRTC compiles when it starts\n", images,
               *images ? "; for others " : "");
    settings->answered = true;
    return flow_ok;
}

static SetFlag show_help;

typedef enum FlagValue { VALUE_none, VALUE_optional, VALUE_needed } FlagValue;

static const struct {
    const char *name, *value_text, *help;
    FlagValue value;
    SetFlag *set;
} flags[] = {
    {"resume", "[=FILE]", "go on where the saved run stopped", VALUE_optional, set_resume},
    {"save", "=FILE", "save here instead of where the program says", VALUE_needed, set_save},
    {"seed", "=N", "for initial weights and randomness", VALUE_needed, set_seed},
    {"threads", "=N", "threads of a step (default: one a processor)", VALUE_needed, set_threads},
    {"workers", "=N",
     "threads that prepare batches (default: the program's, or processors left; 0: the step's do)",
     VALUE_needed, set_workers},
    {"memory", "[=SIZE]", "show what will be held in memory; or hold no more, as 4GiB",
     VALUE_optional, set_memory},
    {"profile", "[=FILE.svg]",
     "show where the time goes, and what kernels reach of their limits; draw it", VALUE_optional,
     set_profile},
    {"trace", "=FILE.json",
     "note what is done when: batches, kernels, copies; Perfetto and Chrome show it", VALUE_needed,
     set_trace},
    {"progress", "=MODE", "auto, plain or off", VALUE_needed, set_progress},
    {"help", "", "show this", VALUE_none, show_help},
    {"version", "", "show name and fingerprint", VALUE_none, show_version},
};

enum { FLAG_COUNT = sizeof flags / sizeof *flags };

/* Help. */

static void print_row(const char *name, const char *value, const char *help, const char *remark) {
    char left[NAME_SIZE];
    snprintf(left, sizeof left, "--%s%s", name, value);
    printf("  %-22s %s%s\n", left, help, remark);
}

static void print_option(const FlowOption *option) {
    char remark[128], number[32];
    snprintf(number, sizeof number, "%.10g", option->number);
    const char *value = option->kind == FLOW_OPTION_string ? option->string : number;
    snprintf(remark, sizeof remark, option->fixed ? " (%s, fixed when built)" : " (default: %s)",
             value ? value : "");
    static const char *const values[] = {"=N", "=X", "=TEXT"};
    print_row(option->name, values[option->kind], option->help ? option->help : "", remark);
}

static void print_bound(const FlowBound *bound) {
    char remark[64];
    snprintf(remark, sizeof remark, "a size from 1 to %lld (default: %lld)", (long long)bound->most,
             (long long)bound->most);
    print_row(bound->name, "=N", remark, "");
}

static FlowStatus show_help(Settings *settings, const char *value) {
    const FlowProgram *program = settings->program;
    (void)value;
    bool many = program->train_count + program->run_count > 1;
    printf("usage: %s [--flag=value …]%s\n", program->name, many ? " <name>" : "");
    if (many) printf("\ntrain blocks and pipelines that run by themselves:\n");
    for (int i = 0; many && i < program->train_count; i++)
        printf("  %s\n", program->trains[i].name);
    for (int i = 0; many && i < program->run_count; i++) printf("  %s\n", program->runs[i].name);
    if (program->option_count || program->bound_count) printf("\noptions of the program:\n");
    for (int i = 0; i < program->bound_count; i++) print_bound(&program->bounds[i]);
    for (int i = 0; i < program->option_count; i++) print_option(&program->options[i]);
    printf("\noptions of the run:\n");
    for (int i = 0; i < FLAG_COUNT; i++)
        print_row(flags[i].name, flags[i].value_text, flags[i].help, "");
    settings->answered = true;
    return flow_ok;
}

/* Finding a flag by name. */

/* `-` and `_` are the same in a name. */
static bool names_equal(const char *a, const Flag *flag) {
    if (strlen(a) != flag->length) return false;
    for (size_t i = 0; i < flag->length; i++)
        if ((a[i] == '_' ? '-' : a[i]) != (flag->name[i] == '_' ? '-' : flag->name[i]))
            return false;
    return true;
}

static void consider(const char *name, const Flag *flag, const char **best, int *least) {
    int edits = name_distance(name, flag->name, flag->length);
    if (edits >= *least) return;
    *least = edits;
    *best = name;
}

static FlowStatus unknown_flag(const Settings *settings, const Flag *flag) {
    const char *best = NULL;
    int least = name_distance_limit(flag->length);
    for (int i = 0; i < settings->program->option_count; i++)
        consider(settings->program->options[i].name, flag, &best, &least);
    for (int i = 0; i < settings->program->bound_count; i++)
        consider(settings->program->bounds[i].name, flag, &best, &least);
    for (int i = 0; i < FLAG_COUNT; i++) consider(flags[i].name, flag, &best, &least);
    if (best)
        return flow_failure(FLOW_EXIT_usage, "unknown option --%.*s; did you mean --%s?",
                            (int)flag->length, flag->name, best);
    return flow_failure(FLOW_EXIT_usage, "unknown option --%.*s; --help lists them",
                        (int)flag->length, flag->name);
}

/* Setting. */

static FlowStatus fixed_option(const FlowOption *option) {
    char number[32];
    snprintf(number, sizeof number, "%.10g", option->number);
    return flow_failure(FLOW_EXIT_usage, "--%s was fixed at %s when this program was built",
                        option->name, option->kind == FLOW_OPTION_string ? option->string : number);
}

static FlowStatus set_option(Settings *settings, int index, const char *value) {
    const FlowOption *option = &settings->program->options[index];
    double *number = &settings->numbers[index], most = largest_whole;
    if (option->fixed) return fixed_option(option);
    if (option->kind == FLOW_OPTION_string) {
        settings->strings[index] = value;
        return flow_ok;
    }
    if (option->kind == FLOW_OPTION_integer && !parse_whole(value, -most, most, number))
        return flow_failure(FLOW_EXIT_usage, "--%s: `%s` is not a whole number from %.0f to %.0f",
                            option->name, value, -most, most);
    if (!parse_number(value, number))
        return flow_failure(FLOW_EXIT_usage, "--%s: `%s` is not a number", option->name, value);
    return flow_ok;
}

static FlowStatus set_bound(Settings *settings, int index, const char *value) {
    const FlowBound *bound = &settings->program->bounds[index];
    double number;
    if (!parse_whole(value, 1, (double)bound->most, &number))
        return flow_failure(FLOW_EXIT_usage, "--%s: `%s` is not a whole number from 1 to %lld",
                            bound->name, value, (long long)bound->most);
    settings->bounded[index] = (int64_t)number;
    return flow_ok;
}

static FlowStatus needs_value(const char *name) {
    return flow_failure(FLOW_EXIT_usage, "--%s needs a value", name);
}

static FlowStatus set_runtime_flag(Settings *settings, int index, const char *value) {
    if (flags[index].value == VALUE_needed && !value) return needs_value(flags[index].name);
    if (flags[index].value == VALUE_none && value)
        return flow_failure(FLOW_EXIT_usage, "--%s takes no value", flags[index].name);
    return flags[index].set(settings, value);
}

/* `next` is the following argument; *used says whether it was the value. */
static FlowStatus set_flag(Settings *settings, Flag flag, const char *next, bool *used) {
    for (int i = 0; i < settings->program->option_count; i++) {
        if (!names_equal(settings->program->options[i].name, &flag)) continue;
        *used = !flag.value;
        const char *value = flag.value ? flag.value : next;
        return value ? set_option(settings, i, value)
                     : needs_value(settings->program->options[i].name);
    }
    for (int i = 0; i < settings->program->bound_count; i++) {
        const char *name = settings->program->bounds[i].name;
        if (!names_equal(name, &flag)) continue;
        *used = !flag.value;
        const char *value = flag.value ? flag.value : next;
        return value ? set_bound(settings, i, value) : needs_value(name);
    }
    for (int i = 0; i < FLAG_COUNT; i++) {
        if (!names_equal(flags[i].name, &flag)) continue;
        *used = !flag.value && flags[i].value == VALUE_needed;
        return set_runtime_flag(settings, i, *used ? next : flag.value);
    }
    return unknown_flag(settings, &flag);
}

/* What can be run: train blocks, then pipelines. NULL past the last. */
static const char *runnable_name(const FlowProgram *program, int index) {
    if (index < program->train_count) return program->trains[index].name;
    index -= program->train_count;
    return index < program->run_count ? program->runs[index].name : NULL;
}

static void choose(Settings *settings, int index) {
    const FlowProgram *program = settings->program;
    if (index < program->train_count) settings->train = &program->trains[index];
    else settings->run = &program->runs[index - program->train_count];
}

static bool is_chosen(const Settings *settings) {
    return settings->train || settings->run;
}

static FlowStatus choose_by_name(Settings *settings, const char *name) {
    const FlowProgram *program = settings->program;
    const char *what = program->run_count ? "train block or pipeline" : "train block";
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; runnable_name(program, i); i++) {
        const char *known = runnable_name(program, i);
        if (name && !strcmp(known, name)) {
            choose(settings, i);
            return flow_ok;
        }
        if (used < sizeof names)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", known);
    }
    if (!name)
        return flow_failure(FLOW_EXIT_usage, "which %s is to run? There are: %s", what, names);
    return flow_failure(FLOW_EXIT_usage, "there is no %s `%s`; there are: %s", what, name, names);
}

static FlowStatus parse_argument(Settings *settings, char **argv, int *index) {
    const char *argument = argv[*index];
    bool used = false;
    if (!strcmp(argument, "-h")) return show_help(settings, NULL);
    if (argument[0] != '-' && !is_chosen(settings)) return choose_by_name(settings, argument);
    if (strncmp(argument, "--", 2) || !argument[2])
        return flow_failure(FLOW_EXIT_usage, "unexpected argument `%s`; --help lists the options",
                            argument);
    const char *equals = strchr(argument, '=');
    Flag flag = {.name = argument + 2, .value = equals ? equals + 1 : NULL};
    flag.length = equals ? (size_t)(equals - flag.name) : strlen(flag.name);
    FlowStatus status = set_flag(settings, flag, argv[*index + 1], &used);
    *index += used;
    return status;
}

/* The only one that can be run, or the only train block. */
static FlowStatus settle_choice(Settings *settings) {
    const FlowProgram *program = settings->program;
    if (is_chosen(settings) || settings->answered) return flow_ok;
    if (program->train_count + program->run_count == 0)
        return flow_failure(FLOW_EXIT_data, "%s has no train block: nothing can be run",
                            program->name);
    if (program->train_count != 1 && program->train_count + program->run_count > 1)
        return choose_by_name(settings, NULL);
    choose(settings, 0);
    return flow_ok;
}

static void settle_threads(Settings *settings) {
    int cpus = cpus_available();
    if (!settings->threads) settings->threads = cpus < THREADS_BY_ITSELF ? cpus : THREADS_BY_ITSELF;
    if (settings->has_workers) return;
    settings->workers = cpus > settings->threads ? cpus - settings->threads : 0;
    if (settings->workers > WORKERS_BY_ITSELF) settings->workers = WORKERS_BY_ITSELF;
}

FlowStatus settings_parse(int argc, char **argv, const FlowProgram *program, Settings *settings) {
    *settings = (Settings){.program = program};
    settings->numbers = calloc((size_t)program->option_count + 1, sizeof *settings->numbers);
    settings->bounded = calloc((size_t)program->bound_count + 1, sizeof *settings->bounded);
    settings->strings = calloc((size_t)program->option_count + 1, sizeof *settings->strings);
    if (program->vocabulary_count)
        settings->vocabularies = vocabularies_new(program->vocabularies, program->vocabulary_count);
    bool lacks_vocabularies = program->vocabulary_count && !settings->vocabularies;
    if (!settings->numbers || !settings->bounded || !settings->strings || lacks_vocabularies)
        return flow_failure(FLOW_EXIT_resource, "no memory");
    settings->sizes = (Sizes){program, settings->bounded};
    for (int i = 0; i < program->bound_count; i++) settings->bounded[i] = program->bounds[i].most;
    for (int i = 0; i < program->option_count; i++) {
        settings->numbers[i] = program->options[i].number;
        settings->strings[i] = program->options[i].string;
    }
    FlowStatus status = flow_ok;
    for (int i = 1; i < argc && !status.exit && !settings->answered; i++)
        status = parse_argument(settings, argv, &i);
    if (!status.exit) status = sizes_check(settings->sizes);
    if (!status.exit) status = settle_choice(settings);
    settle_threads(settings);
    return status;
}

void settings_free(Settings *settings) {
    free(settings->numbers);
    free(settings->bounded);
    free(settings->strings);
    vocabularies_free(settings->vocabularies);
}

int settings_workers(const Settings *settings, const FlowPipeline *pipeline, int otherwise) {
    if (settings->has_workers) return settings->workers;
    if (pipeline->threads) return pipeline->threads;
    return pipeline->queue && !otherwise ? 1 : otherwise; /* without a worker nothing queues up */
}

bool settings_tune(void) {
    const char *tune = getenv("FLOWC_TUNE");
    return !tune || strcmp(tune, "off") != 0;
}

bool settings_leave_split(const Settings *settings, const FlowPipeline *pipeline) {
    return settings_tune() && !settings->has_workers && !settings->has_threads &&
           !pipeline->threads && !pipeline->queue;
}

Places settings_places(const Settings *settings) {
    return (Places){settings->program->folder, settings->strings, settings->vocabularies,
                    settings->program->options};
}

double settings_number(const Settings *settings, FlowNumber number) {
    return number.option < 0 ? number.value : settings->numbers[number.option];
}
