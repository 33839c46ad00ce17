/* Compilation: from the text of a program to its plan, step by step. */
#define _GNU_SOURCE
#include "compiler/driver/compilation.h"

#include "compiler/driver/explain.h"
#include "compiler/driver/files.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/report.h"
#include "compiler/driver/sha256.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "lang/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef Vector(Override) Overrides;

bool compilation_failed(const Compilation *compilation) {
    return report_diagnostics(compilation->arguments, compilation->diagnostics);
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void report_time(const Compilation *compilation, const char *name, double *since) {
    double now = seconds();
    if (compilation->arguments->time_passes)
        fprintf(stderr, "%-14s %8.3f ms\n", name, 1e3 * (now - *since));
    *since = seconds();
}

static bool wants_dump(const Compilation *compilation, const char *name) {
    const char *wanted = compilation->arguments->dump_ir;
    return wanted && (!*wanted || !strcmp(wanted, name));
}

static void dump_graphs(const Compilation *compilation, const char *name) {
    if (!wants_dump(compilation, name)) return;
    Text text = text_new(compilation->arena);
    FunctionList functions = program_functions(compilation->arena, compilation->program);
    text_format(&text, "# after %s\n", name);
    vector_each(Function *, function, functions) {
        graph_print((*function)->graph, &text);
        text_add(&text, "\n");
    }
    fputs(text_string(&text), stdout);
}

static bool known_dump(const Compilation *compilation) {
    const char *wanted = compilation->arguments->dump_ir;
    if (!wanted || !*wanted || !strcmp(wanted, "lower") || !strcmp(wanted, "plan")) return true;
    for (int i = 0; i < pass_count; i++)
        if (!strcmp(passes[i].name, wanted)) return true;
    fprintf(stderr, "flowc: there is no pass `%s`; there are lower", wanted);
    for (int i = 0; i < pass_count; i++) fprintf(stderr, ", %s", passes[i].name);
    fprintf(stderr, ", plan\n");
    return false;
}

/* Options given on the command line. */

static const Option *find_option(const Program *program, const char *argument) {
    if (strncmp(argument, "--", 2)) return NULL;
    vector_each(Option, option, program->options) {
        size_t length = strlen(option->name);
        bool same = !strncmp(argument + 2, option->name, length);
        if (same && (argument[2 + length] == '=' || !argument[2 + length])) return option;
    }
    return NULL;
}

/* A word that can't be the value of the flag before it. */
static bool is_name(const Strings *given, size_t i) {
    const char *before = i ? given->items[i - 1] : "";
    bool value = before[0] == '-' && !strchr(before, '=');
    return given->items[i][0] != '-' && !value;
}

/* Takes names and fixed options (all of them: also those that are not fixed) out of the
 * arguments. */
static bool take_options(Compilation *compilation, bool all, Overrides *overrides) {
    const Strings *given = &compilation->arguments->program;
    compilation->names = compilation->remaining = (Strings){0};
    for (size_t i = 0; i < given->count; i++) {
        const Option *option = find_option(compilation->program, given->items[i]);
        if (is_name(given, i)) {
            vector_push(compilation->arena, &compilation->names, given->items[i]);
            continue;
        }
        if (!option || !(all || option->fixed)) {
            vector_push(compilation->arena, &compilation->remaining, given->items[i]);
            continue;
        }
        const char *value = strchr(given->items[i], '=');
        if (!value && i + 1 == given->count) {
            fprintf(stderr, "flowc: a value is missing after `%s`\n", given->items[i]);
            return false;
        }
        Override override = {option->name, value ? value + 1 : given->items[++i]};
        vector_push(compilation->arena, overrides, override);
    }
    return true;
}

/* What is computed. */

static void describe_picture(Text *text, const Picture *picture) {
    if (!picture->fit) return;
    text_format(text, "%s %s %s %d %d %lld", picture->fit, picture->method, picture->like,
                picture->antialias, picture->approximate, (long long)picture->stream);
    for (int i = 0; i < 4; i++) text_format(text, " %.17g", picture->numbers[i]);
    text_add(text, "\n");
}

/* In digits: whatever they are, the line ends where they do. */
static void describe_bytes(Text *text, const char *bytes) {
    for (; bytes && *bytes; bytes++) text_format(text, "%02x", (unsigned char)*bytes);
    text_add(text, "\n");
}

static void describe_tokens(Text *text, const TextTokens *tokens) {
    if (!tokens->kind) return;
    text_format(text, "%s %g %s %s %g\n", tokens->kind, tokens->unknown,
                tokens->use ? tokens->use : "", tokens->cut ? tokens->cut : "", tokens->filling);
    describe_bytes(text, tokens->alphabet);
}

static void describe_section(Text *text, const Section *section) {
    dim_print(section->window, text);
    text_add(text, " ");
    dim_print(section->stride, text);
    text_add(text, "\n");
    if (section->packs) text_format(text, "pack %g\n", section->separator);
    vector_each(Ordering, order, section->orders) {
        text_format(text, "%d %llu %d\n", order->kind, (unsigned long long)order->number,
                    order->each_epoch);
        if (order->kind == ORDER_bucket) text_format(text, "%d", order->bound);
        vector_each(int64_t, size, order->sizes) text_format(text, " %lld", (long long)*size);
        if (order->kind == ORDER_bucket) text_add(text, "\n");
    }
    vector_each(Field, field, section->fields) {
        text_format(text, "%s %s %d %g\n", field->column ? field->column : field->name,
                    field->decoder ? field->decoder : "", field->fills, field->filling);
        describe_picture(text, &field->picture);
        if (field->vocabulary || field->unknown)
            text_format(text, "%d %d\n", field->vocabulary, field->unknown);
        describe_tokens(text, &field->tokens);
        vector_each(const char *, category, field->categories) text_format(text, "%s\n", *category);
    }
}

/* Its inputs are described before it. */
static void describe_join(Text *text, const Join *join) {
    if (!join->inputs.count) return;
    text_format(text, "join %d %zu %llu", join->kind, join->inputs.count,
                (unsigned long long)join->number);
    vector_each(double, weight, join->weights) text_format(text, " %.17g", *weight);
    vector_each(int, place, join->places) text_format(text, " %d", *place);
    text_add(text, "\n");
}

static void describe_pipeline(Text *text, const Pipeline *pipeline) {
    text_format(text, "%s %s %lld %lld\n", pipeline->name, pipeline->source ? pipeline->source : "",
                (long long)pipeline->records, (long long)pipeline->batch);
    if (pipeline->header_size) text_format(text, "%lld\n", (long long)pipeline->header_size);
    if (pipeline->query) text_format(text, "%s\n", pipeline->query);
    describe_join(text, &pipeline->join);
    vector_each(Section *, section, pipeline->sections) describe_section(text, *section);
}

static void describe_function(const Compilation *compilation, Text *text,
                              const Function *function) {
    const GraphWishes *wishes = &function->graph->wishes;
    graph_print_meaning(graph_unplaced(compilation->arena, function->graph), text);
    if (is_half(wishes->product))
        text_format(text, "products of %s\n", element_info[wishes->product].name);
    if (wishes->tf32) text_add(text, "products of tf32\n");
}

static void describe_exact(const Compilation *compilation, Text *text) {
    if (compilation->program->exact) text_add(text, "exact\n");
}

static const char *hashed(const Compilation *compilation, const Text *text) {
    enum { SHOWN = 16 };
    Sha256 hash = sha256_new();
    char *hex = arena_allocate(compilation->arena, 65);
    sha256_add(&hash, text_string(text), text->size);
    sha256_hex(&hash, hex);
    hex[SHOWN] = 0;
    return hex;
}

/* Two programs with the same one compute the same from the same data, options and seed, on
 * whatever devices. */
static const char *take_fingerprint(const Compilation *compilation) {
    Text text = text_new(compilation->arena);
    FunctionList functions = program_functions(compilation->arena, compilation->program);
    describe_exact(compilation, &text);
    vector_each(Function *, function, functions) describe_function(compilation, &text, *function);
    vector_each(Pipeline *, pipeline, compilation->program->pipelines)
        describe_pipeline(&text, *pipeline);
    const char *hash = hashed(compilation, &text);
    arena_give_back(compilation->arena, text.bytes);
    return hash;
}

/* Caches. */

static void describe_origin(Text *text, const Field *field) {
    text_format(text, "%d %d %d %d %d %d %.17g\n", field->digits, field->columns, field->numbers,
                field->path_option, field->tokens.vocabulary_option, field->tokens.merges_option,
                field->filling);
    describe_bytes(text, field->path);
    describe_bytes(text, field->tokens.vocabulary);
    describe_bytes(text, field->tokens.merges);
    vector_each(const char *, name, field->except) describe_bytes(text, *name);
    vector_each(const char *, category, field->categories) describe_bytes(text, *category);
}

/* What records are made of and how, with where the program says that it lies. */
static void describe_records(const Compilation *compilation, Text *text, const Pipeline *pipeline) {
    vector_each(Pipeline *, input, pipeline->join.inputs)
        describe_records(compilation, text, *input);
    describe_pipeline(text, pipeline);
    vector_each(Section *, section, pipeline->sections) {
        describe_function(compilation, text, &(*section)->record);
        vector_each(Ordering, order, (*section)->orders)
            if (order->condition.graph) describe_function(compilation, text, &order->condition);
        vector_each(Field, field, (*section)->fields) describe_origin(text, field);
    }
    if (pipeline->missing.count || pipeline->separator || pipeline->comment)
        text_format(text, "%d %d\n", pipeline->separator, pipeline->comment);
    vector_each(const char *, cell, pipeline->missing) text_format(text, "%s\n", *cell);
    text_format(text, "%d\n", pipeline->headless);
}

static void report_shared(const Compilation *compilation, const Pipeline *cache,
                          const Pipeline *other) {
    Diagnostic *d =
        diagnostic_add(compilation->diagnostics, E0214, cache->range,
                       "another pipeline keeps its records in the file `%s`", cache->join.path);
    diagnostic_note(d, other->range, "this one");
    diagnostic_help(d, "a file for each: its name may be a parameter of the pipeline");
}

static bool is_in_file(const Pipeline *pipeline) {
    return pipeline->join.kind == JOIN_cache && pipeline->join.path;
}

/* Gives each cache its fingerprint. Two with the same file have to be the same. */
static void take_caches(const Compilation *compilation) {
    const Program *program = compilation->program;
    for (size_t i = 0; i < program->pipelines.count; i++) {
        Pipeline *cache = program->pipelines.items[i];
        if (cache->join.kind != JOIN_cache) continue;
        Text text = text_new(compilation->arena);
        describe_exact(compilation, &text);
        describe_records(compilation, &text, cache->join.inputs.items[0]);
        cache->join.code = hashed(compilation, &text);
        for (size_t j = 0; j < i && is_in_file(cache); j++) {
            const Pipeline *other = program->pipelines.items[j];
            if (!is_in_file(other) || strcmp(other->join.path, cache->join.path)) continue;
            if (strcmp(other->join.code, cache->join.code))
                return report_shared(compilation, cache, other);
        }
    }
}

/* The steps. */

static Program *lower(Compilation *compilation, const Overrides *overrides) {
    const char *name = path_stem(compilation->arena, compilation->arguments->file);
    return lower_program(compilation->arena, compilation->module, name, overrides->items,
                         overrides->count, compilation->diagnostics);
}

/* The program is right as it is written, so what the command line gives is wrong. */
static void blame_options(const Compilation *compilation, const Overrides *overrides) {
    if (!compilation->diagnostics->list.count) return;
    Text given = text_new(compilation->arena);
    vector_each(Override, override, *overrides)
        text_format(&given, " --%s=%s", override->name, override->value);
    diagnostic_note(compilation->diagnostics->list.items[0], (Range){0},
                    "the command line gives%s; without %s the program is right",
                    text_string(&given), overrides->count > 1 ? "these" : "it");
}

/* Lowers; and again where the command line gives an option that shapes something. */
static int lower_with_options(Compilation *compilation) {
    Overrides overrides = {0};
    compilation->program = lower(compilation, &overrides);
    if (compilation_failed(compilation)) return EXIT_program;
    if (!take_options(compilation, compilation->bake, &overrides)) return EXIT_usage;
    if (!overrides.count) return EXIT_ok;
    compilation->program = lower(compilation, &overrides);
    blame_options(compilation, &overrides);
    return compilation_failed(compilation) ? EXIT_usage : EXIT_ok;
}

/* --exact is a wish of every function. */
static void wish_exact(Compilation *compilation) {
    Program *program = compilation->program;
    program->exact = compilation->arguments->exact;
    FunctionList functions = program_functions(compilation->arena, program);
    vector_each(Function *, function, functions)
        if ((*function)->graph) (*function)->graph->wishes.exact = program->exact;
}

static void wish_recompute(Compilation *compilation) {
    vector_each(Train, train, compilation->program->trains) {
        if (train->step.graph) train->step.graph->wishes.recompute = true;
        if (train->accumulate.graph) train->accumulate.graph->wishes.recompute = true;
    }
}

static void keep_lowered(Compilation *compilation) {
    FunctionList functions = program_functions(compilation->arena, compilation->program);
    vector_each(Function *, function, functions) (*function)->lowered = (*function)->graph;
}

static int run_passes(Compilation *compilation, double *since) {
    for (int i = 0; i < pass_count; i++) {
        const char *broken = NULL;
        bool done = pass_run(&passes[i], compilation->program, compilation->diagnostics, &broken);
        if (compilation_failed(compilation)) return EXIT_program;
        if (!done) {
            fprintf(stderr, "flowc: internal error in pass %s; please report it with the program\n",
                    broken);
            return EXIT_internal;
        }
        report_time(compilation, passes[i].name, since);
        dump_graphs(compilation, passes[i].name);
    }
    return EXIT_ok;
}

static void make_plan(Compilation *compilation, double *since) {
    compilation->plan = plan_program(compilation->arena, compilation->program);
    report_time(compilation, "plan", since);
    if (!wants_dump(compilation, "plan") && !compilation->arguments->explain) return;
    Text text = text_new(compilation->arena);
    explain_plan(compilation->plan, compilation->arguments->explain, &text);
    fputs(text_string(&text), stdout);
}

static bool has_limit(const Program *program) {
    vector_each(Train, train, program->trains)
        if (train->memory) return true;
    vector_each(Run, run, program->runs)
        if (run->pipeline->memory) return true;
    return false;
}

/* --path, then FLOW_PATH. */
static const char *search_path(const Compilation *compilation) {
    const char *given = compilation->arguments->path, *always = getenv("FLOW_PATH");
    if (!given) given = "";
    if (!always || !*always) return given;
    return *given ? arena_format(compilation->arena, "%s:%s", given, always) : always;
}

int compile(Compilation *compilation, Stop stop) {
    const char *why, *path = compilation->arguments->file;
    double since = seconds();
    if (!known_dump(compilation)) return EXIT_usage;
    const Source *source = source_read(compilation->arena, path, &why);
    if (!source) {
        report_file(compilation->arguments, path, why);
        return EXIT_program;
    }
    compilation->diagnostics = diagnostics_new(compilation->arena);
    compilation->module = module_load(compilation->arena, source, compilation->home->library.items,
                                      compilation->home->library.count, search_path(compilation),
                                      compilation->diagnostics);
    if (compilation_failed(compilation)) return EXIT_program;
    report_time(compilation, "parse", &since);
    int status = lower_with_options(compilation);
    if (status != EXIT_ok) return status;
    wish_exact(compilation);
    if (compilation->recomputes) wish_recompute(compilation);
    take_caches(compilation);
    if (compilation_failed(compilation)) return EXIT_program;
    report_time(compilation, "lower", &since);
    if (stop == STOP_plan) {
        compilation->program->fingerprint = take_fingerprint(compilation);
        report_time(compilation, "fingerprint", &since);
    }
    dump_graphs(compilation, "lower");
    keep_lowered(compilation);
    put_factors_behind(compilation->program);
    note_zeros(compilation->program);
    const bool plans = stop == STOP_plan || has_limit(compilation->program);
    const bool gpus = compilation->arguments->uses_gpus || compilation->arguments->simulate;
    if (gpus) status = find_replicas(compilation);
    else if (stop == STOP_check) suppose_replicas(compilation);
    if (status == EXIT_ok) status = run_passes(compilation, &since);
    if (status == EXIT_ok && plans && gpus) status = find_gpus(compilation);
    if (status != EXIT_ok || !plans) return status;
    make_plan(compilation, &since);
    plan_check_memory(compilation->arena, compilation->plan, compilation->diagnostics);
    return compilation_failed(compilation) ? EXIT_program : EXIT_ok;
}
