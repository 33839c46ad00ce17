/* Placement: what is asked for by nodes, by stages and by the replicas of a train block, each place
 * of the program once. */
#include "compiler/driver/placement.h"

#include "compiler/driver/ahead.h"
#include "compiler/driver/deciding.h"
#include "compiler/driver/gpu_room.h"
#include "compiler/driver/locks.h"
#include "compiler/driver/machine.h"
#include "compiler/driver/profiles.h"
#include "compiler/graph/print.h"
#include "compiler/passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* written: as in the program, "on gpu(0)". why: the CPU runs it though the GPU is here. */
typedef struct Asked {
    Placement placement;
    const char *written, *stands_in, *why;
} Asked;

typedef struct Settling {
    Compilation *compilation;
    Arena *arena;
    Processor processor;
    Gpus gpus;
    Vector(Asked) asked; /* hard ones, for a GPU */
} Settling;

static bool same_place(const Range *a, const Range *b) {
    return a->source == b->source && a->begin == b->begin && a->end == b->end;
}

/* "on gpu(0)" of a region, "@gpu(0)" of a call. */
static const char *written(const Settling *settling, const Placement *placement) {
    Text text = text_new(settling->arena);
    bool call = placement->range.source->text[placement->range.begin] == '@';
    text_add(&text, call ? "@" : "on ");
    device_print(placement, &text);
    return text_string(&text);
}

static void ask(Settling *settling, const Placement *placement, const char *why) {
    if (placement->device != DEVICE_gpu || placement->soft) return;
    vector_each(Asked, known, settling->asked)
        if (same_place(&known->placement.range, &placement->range)) return;
    vector_push(settling->arena, &settling->asked,
                (Asked){*placement, written(settling, placement), "runs on the CPU", why});
}

/* The last GPU that they need; all that there are is at least one. */
static void ask_for_replicas(Settling *settling, const Train *train) {
    int last = train->replicas.value > 1 ? train->replicas.value - 1 : 0;
    Placement placement = {.device = DEVICE_gpu, .index = last, .range = train->replicas.range};
    if (train->on_gpus && last >= settling->compilation->program->gpus)
        vector_push(settling->arena, &settling->asked,
                    (Asked){placement, "replicas", "is one on the CPU", NULL});
}

/* Those that don't run where they are wanted. */
static void collect_kernels(Settling *settling, const FunctionPlan *plan) {
    for (int k = 0; k < plan->kernel_count; k++) {
        const KernelPlan *kernel = &plan->kernels[k];
        if (!runs_on_gpu(kernel)) ask(settling, &kernel->wanted, kernel->held);
        if (kernel->scan) collect_kernels(settling, kernel->scan->body);
    }
}

/* What a stage computes is kernels, or an image that is decoded; there may be none. */
static void collect_stages(Settling *settling, const Pipeline *pipeline) {
    vector_each(Stage, stage, pipeline->stages)
        if (stage->placement.index >= settling->compilation->program->gpus)
            ask(settling, &stage->placement, NULL);
    vector_each(Section *, section, pipeline->sections)
        vector_each(Field, field, (*section)->fields)
            ask(settling, &field->placement,
                "images are decoded on the CPU: a `map` of its own, before this one, may do it");
}

/* A trainer does not run what is exported. */
static bool is_run(const Settling *settling, const Function *function) {
    vector_each(Export, export, settling->compilation->program->exports)
        if (&export->function == function) return settling->compilation->arguments->deploys;
    return true;
}

static void collect(Settling *settling) {
    Program *program = settling->compilation->program;
    FunctionList functions = program_functions(settling->arena, program);
    vector_each(Function *, function, functions)
        if (is_run(settling, *function))
            collect_kernels(settling, plan_of(settling->compilation->plan, *function));
    vector_each(Pipeline *, pipeline, program->pipelines) collect_stages(settling, *pipeline);
    vector_each(Train, train, program->trains) ask_for_replicas(settling, train);
}

static const char *devices_text(const Settling *settling) {
    Text text = text_new(settling->arena);
    text_format(&text, "cpu (%s)", settling->processor.device.name);
    for (int i = 0; i < settling->gpus.count; i++)
        text_format(&text, ", gpu(%d) (%s)", i, settling->gpus.items[i].name);
    return text_string(&text);
}

/* A GPU may come after code was written. */
static const char *why_of(const Asked *asked) {
    return asked->why ? asked->why : "it was not when this was compiled";
}

static void refuse(const Settling *settling, const Asked *asked) {
    Diagnostics *diagnostics = settling->compilation->diagnostics;
    const Placement *placement = &asked->placement;
    bool here = placement->index < settling->gpus.count;
    Diagnostic *d = diagnostic_add(diagnostics, E0304, placement->range,
                                   here ? "gpu(%d) is here, but %s" : "gpu(%d) is %s",
                                   placement->index, !here ? "not on this machine" : why_of(asked));
    diagnostic_note(d, (Range){0}, "the devices are %s", devices_text(settling));
    diagnostic_help(d, "`--soft-placement` runs it on the CPU; `prefer(gpu)` takes a GPU where "
                       "there is one");
}

static void move(const Settling *settling, const Asked *asked) {
    const Placement *placement = &asked->placement;
    Text place = text_new(settling->arena);
    bool here = placement->index < settling->gpus.count;
    place_print(placement->range, &place);
    fprintf(stderr, "%s: %s %s: %s\n", text_string(&place), asked->written, asked->stands_in,
            here                   ? why_of(asked)
            : settling->gpus.count ? "there is no such GPU here"
                                   : "no GPU here");
}

static int later(int most, const Placement *placement) {
    bool more = placement->device == DEVICE_gpu && placement->index >= most;
    if (placement->index == EVERY_GPU) return most;
    return more ? placement->index + 1 : most;
}

int wanted_gpus(const Compilation *compilation) {
    FunctionList functions = program_functions(compilation->arena, compilation->program);
    int most = later(0, &compilation->program->usual);
    vector_each(Function *, function, functions)
        vector_each(Node, node, (*function)->graph->nodes) most = later(most, &node->placement);
    vector_each(Pipeline *, pipeline, compilation->program->pipelines)
        vector_each(Stage, stage, (*pipeline)->stages) most = later(most, &stage->placement);
    vector_each(Train, train, compilation->program->trains)
        if (train->on_gpus && most < train->replicas.value) most = train->replicas.value;
        else if (train->on_gpus && !most) most = 1;
    return most;
}

/* "cpu", "gpu", "gpu(1)". */
static bool parse_device(const char *text, Placement *placement) {
    int end = 0;
    bool number = text && !strncmp(text, "gpu(", 4) && text[4] >= '0' && text[4] <= '9';
    if (!text || !*text) return true;
    placement->device = strcmp(text, "cpu") ? DEVICE_gpu : DEVICE_cpu;
    if (placement->device == DEVICE_cpu) return true;
    if (!strcmp(text, "gpu")) return true;
    return number && sscanf(text, "gpu(%2d)%n", &placement->index, &end) == 1 && end &&
           !text[end] && placement->index < GPU_LIMIT;
}

bool has_usual(const Compilation *compilation, int gpus, const char *missing) {
    Placement *usual = &compilation->program->usual;
    if (usual->device != DEVICE_gpu || usual->index < gpus) return true;
    if (compilation->arguments->soft_placement) {
        fprintf(stderr, "flowc: there is no gpu(%d) here: the CPU runs what --device places\n",
                usual->index);
        *usual = (Placement){.device = DEVICE_cpu};
        return true;
    }
    fprintf(stderr, "flowc: --device=gpu(%d) is not on this machine: %s\n", usual->index,
            gpus ? "it has fewer GPUs" : missing);
    return false;
}

/* Asking a driver takes long, loading none does not. */
static bool may_use_gpus(const Compilation *compilation) {
    DeviceKind usual = compilation->program->usual.device;
    if (compilation->arguments->deploys) return wanted_gpus(compilation);
    return wanted_gpus(compilation) || compilation->arguments->machine ||
           (usual == DEVICE_any && (gpus_are_likely() || is_locked(compilation)));
}

/* Those that the machine has a GPU for each of. */
static int replicas_of(const Train *train, int gpus) {
    int count = train->replicas.value == ALL_GPUS ? gpus : train->replicas.value;
    return train->on_gpus && count <= gpus ? count : 0;
}

/* No more than its batches have records. */
static void give_replicas(Function *function, int replicas) {
    Graph *graph = function->graph;
    if (!graph || !graph->batch) return;
    const int64_t batch = dim_bound(graph->batch);
    graph->wishes.replicas = replicas < batch ? replicas : (int)batch;
}

static void give_all_replicas(Train *train, int gpus) {
    const int replicas = replicas_of(train, gpus);
    give_replicas(&train->step, replicas);
    give_replicas(&train->accumulate, replicas);
    vector_each(Function *, fit, train->fits) give_replicas(*fit, replicas);
    vector_each(Action, action, train->actions)
        if (action->function) give_replicas(action->function, replicas);
}

static bool has_replicas(const Program *program) {
    vector_each(Train, train, program->trains)
        if (train->on_gpus) return true;
    return false;
}

/* How many GPUs are here, or are built for, or foretold by --machine. EXIT_ok, or what to exit with
 * after printing why it can't be known. */
static int count_gpus(const Compilation *compilation, int *count) {
    Processor processor;
    Gpus gpus;
    const Arguments *arguments = compilation->arguments;
    if (arguments->predicts && arguments->machine) {
        const Profile *profile = profile_read(compilation->arena, arguments->machine);
        if (profile) *count = (int)profile->gpus.count;
        return profile ? EXIT_ok : EXIT_program;
    }
    if (!machine_ask(arguments, &processor, &gpus)) return EXIT_usage;
    ahead_expect(arguments, &gpus, wanted_gpus(compilation));
    *count = gpus.count;
    return EXIT_ok;
}

int find_replicas(Compilation *compilation) {
    int gpus;
    if (!has_replicas(compilation->program)) return EXIT_ok;
    const int status = count_gpus(compilation, &gpus);
    if (status != EXIT_ok) return status;
    vector_each(Train, train, compilation->program->trains) give_all_replicas(train, gpus);
    return EXIT_ok;
}

void suppose_replicas(Compilation *compilation) {
    vector_each(Train, train, compilation->program->trains) give_all_replicas(train, GPU_LIMIT);
}

int find_gpus(Compilation *compilation) {
    Processor processor;
    Gpus gpus;
    Program *program = compilation->program;
    const Arguments *arguments = compilation->arguments;
    const char *device = arguments->device ? arguments->device : getenv("FLOWC_DEVICE");
    if (!parse_device(device, &program->usual)) {
        fprintf(stderr, "flowc: --device is cpu, gpu or gpu(1), not `%s`\n", device);
        return EXIT_usage;
    }
    if (!lock_is_alone(compilation)) return EXIT_usage;
    if (arguments->predicts && arguments->machine) return foretell_gpus(compilation);
    if (!may_use_gpus(compilation)) return EXIT_ok;
    if (!machine_ask(arguments, &processor, &gpus)) return EXIT_usage;
    ahead_expect(arguments, &gpus, wanted_gpus(compilation));
    program->gpus = gpus.count;
    program->deploys_on_gpus = arguments->deploys;
    program->simulated = arguments->simulate;
    if (!has_usual(compilation, gpus.count, gpus.missing)) return EXIT_program;
    if (arguments->deploys) return EXIT_ok; /* what is placed nowhere is deployed on the CPU */
    return decide_devices(compilation, &processor, &gpus);
}

/* Asking a driver takes long. */
static bool concerns_gpus(const Settling *settling) {
    const Arguments *arguments = settling->compilation->arguments;
    return settling->asked.count || arguments->visible_devices || arguments->gpu_memory ||
           gpu_count(settling->compilation->plan);
}

int settle_devices(Compilation *compilation) {
    Settling settling = {.compilation = compilation, .arena = compilation->arena};
    collect(&settling);
    if (concerns_gpus(&settling) &&
        !machine_ask(compilation->arguments, &settling.processor, &settling.gpus))
        return EXIT_usage;
    ahead_expect(compilation->arguments, &settling.gpus, compilation->program->gpus);
    vector_each(Asked, asked, settling.asked)
        if (compilation->arguments->soft_placement) move(&settling, asked);
        else refuse(&settling, asked);
    gpu_room_check(compilation, &settling.processor, &settling.gpus);
    return compilation_failed(compilation) ? EXIT_program : EXIT_ok;
}
