/* Select. What is left out stays a part of the program's identity and of its weights, so that the
 * runs of one file can read each other's checkpoints. */
#include "compiler/driver/select.h"

#include <stdio.h>
#include <string.h>

/* The kind of thing that is chosen from. */
typedef struct Choice {
    const char *what; /* "train block" */
    const char **names;
    size_t count;
    bool *chosen;
} Choice;

static Choice choice_new(Arena *arena, const char *what, size_t count) {
    return (Choice){what, arena_new_array(arena, const char *, count + 1), count,
                    arena_new_array(arena, bool, count + 1)};
}

static int index_of(const Choice *choice, const char *name) {
    for (size_t i = 0; i < choice->count; i++)
        if (!strcmp(choice->names[i], name)) return (int)i;
    return -1;
}

static void print_names(const Choice *choice) {
    for (size_t i = 0; i < choice->count; i++)
        fprintf(stderr, "%s%s", i ? ", " : "", choice->names[i]);
    fprintf(stderr, "\n");
}

static int unknown_name(const Compilation *compilation, const Choice *choice, const char *name) {
    fprintf(stderr, "flowc: %s has no %s `%s`", compilation->arguments->file, choice->what, name);
    const char *nearest = nearest_name(name, choice->names, choice->count);
    if (nearest) fprintf(stderr, "; did you mean `%s`?", nearest);
    fprintf(stderr, choice->count ? "; there are: " : "\n");
    if (choice->count) print_names(choice);
    return EXIT_usage;
}

static int choose(const Compilation *compilation, Choice *choice) {
    vector_each(const char *, name, compilation->names) {
        int index = index_of(choice, *name);
        if (index < 0) return unknown_name(compilation, choice, *name);
        choice->chosen[index] = true;
    }
    for (size_t i = 0; i < choice->count && !compilation->names.count; i++)
        choice->chosen[i] = true;
    return EXIT_ok;
}

/* Train blocks, then pipelines that run by themselves. */
static Choice run_choice(const Compilation *compilation) {
    const Program *program = compilation->program;
    size_t trains = program->trains.count, runs = program->runs.count;
    Choice choice =
        choice_new(compilation->arena, runs ? "train block or pipeline with a sink" : "train block",
                   trains + runs);
    for (size_t i = 0; i < trains; i++) choice.names[i] = program->trains.items[i].name;
    for (size_t i = 0; i < runs; i++) choice.names[trains + i] = program->runs.items[i].name;
    return choice;
}

static bool reads(const Train *train, const Pipeline *pipeline) {
    if (train->data == pipeline) return true;
    vector_each(Action, action, train->actions)
        if (action->pipeline == pipeline) return true;
    return false;
}

/* Inputs stand before those who read them, so the last is looked at first. */
static bool feeds_used(const Program *program, const bool *used, size_t index) {
    for (size_t i = index + 1; i < program->pipelines.count; i++)
        vector_each(Pipeline *, input, program->pipelines.items[i]->join.inputs)
            if (used[i] && *input == program->pipelines.items[index]) return true;
    return false;
}

/* Pipelines that nothing reads any more go as well. */
static void drop_pipelines(Arena *arena, Program *program) {
    size_t kept = 0;
    bool *used = arena_new_array(arena, bool, program->pipelines.count + 1);
    for (size_t i = program->pipelines.count; i-- > 0;) {
        const Pipeline *pipeline = program->pipelines.items[i];
        used[i] = feeds_used(program, used, i);
        vector_each(Train, train, program->trains) used[i] |= reads(train, pipeline);
        vector_each(Run, run, program->runs) used[i] |= run->pipeline == pipeline;
    }
    for (size_t i = 0; i < program->pipelines.count; i++)
        if (used[i]) program->pipelines.items[kept++] = program->pipelines.items[i];
    program->pipelines.count = kept;
}

int select_trains(Compilation *compilation) {
    Program *program = compilation->program;
    Choice choice = run_choice(compilation);
    int status = choose(compilation, &choice);
    if (status != EXIT_ok || !compilation->names.count) return status;
    size_t kept = 0, kept_runs = 0, trains = program->trains.count;
    for (size_t i = 0; i < trains; i++)
        if (choice.chosen[i]) program->trains.items[kept++] = program->trains.items[i];
    for (size_t i = 0; i < program->runs.count; i++)
        if (choice.chosen[trains + i]) program->runs.items[kept_runs++] = program->runs.items[i];
    program->trains.count = kept;
    program->runs.count = kept_runs;
    drop_pipelines(compilation->arena, program);
    compilation->plan = plan_program(compilation->arena, program);
    return EXIT_ok;
}

int select_exports(Compilation *compilation) {
    Program *program = compilation->program;
    Choice choice = choice_new(compilation->arena, "export", program->exports.count);
    for (size_t i = 0; i < choice.count; i++)
        choice.names[i] = program->exports.items[i].function.name;
    int status = choose(compilation, &choice);
    if (status != EXIT_ok) return status;
    size_t kept = 0;
    for (size_t i = 0; i < choice.count; i++)
        if (choice.chosen[i]) program->exports.items[kept++] = program->exports.items[i];
    program->exports.count = kept;
    return EXIT_ok;
}

bool has_trainer(const Compilation *compilation, const char *verb) {
    if (compilation->program->trains.count || compilation->program->runs.count) return true;
    fprintf(stderr, "flowc: %s has no train block and no pipeline with a sink to %s\n",
            compilation->arguments->file, verb);
    return false;
}

bool is_unnamed(const Compilation *compilation) {
    if (!compilation->names.count) return true;
    fprintf(stderr, "flowc: `%s` is not expected: the whole file is looked at\n",
            compilation->names.items[0]);
    return false;
}

bool is_asked_about(const Compilation *compilation) {
    vector_each(const char *, word, compilation->remaining)
        if (!strcmp(*word, "--help") || !strcmp(*word, "-h") || !strcmp(*word, "--version"))
            return true;
    return false;
}

bool has_one_train(const Compilation *compilation) {
    const Program *program = compilation->program;
    if (program->trains.count == 1) return true;
    if (program->trains.count + program->runs.count == 1) return true;
    if (is_asked_about(compilation)) return true;
    Choice choice = run_choice(compilation);
    vector_each(const char *, word, compilation->remaining)
        if (index_of(&choice, *word) >= 0) return true; /* the program sees to it */
    fprintf(stderr, "flowc: which %s is to run? There are: ", choice.what);
    print_names(&choice);
    fprintf(stderr, "try `flowc run %s %s`\n", compilation->arguments->file, choice.names[0]);
    return false;
}
