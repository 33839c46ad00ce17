/* Explain placement: of each loop what bounds it; of each section and kernel where it runs, what it
 * takes on each device, what it would cost to move it, and what would make that right. */
#include "compiler/balance/decide.h"
#include "compiler/driver/explain.h"

#include <math.h>

enum {
    DOUBLINGS = 10, /* of the batch and of the link's bandwidth that are tried, up and down */
    ITEMS_TRIED = 3000,
};

/* A scene that was tried, and who is on the GPU then. */
typedef struct Tried {
    Scene scene;
    const bool *on_gpu;
} Tried;

typedef struct Explaining {
    Arena *arena;
    Text *text;
    const Decisions *decisions;
    const Choice *choice;
    Vector(Tried) tried; /* batches first, the nearer ones before others */
    bool *moved;         /* a split to try one move with */
} Explaining;

static const char *seconds_text(Arena *arena, double seconds) {
    if (seconds == 0) return "0 us";
    if (seconds < 0.9995e-3) return arena_format(arena, "%.3g us", seconds * 1e6);
    return arena_format(arena, "%.3g ms", seconds * 1e3);
}

static const char *device_text(bool on_gpu) {
    return on_gpu ? "gpu(0)" : "cpu";
}

static double round_seconds(const Loads *loads) {
    return loads->seconds[balance_busiest(loads)];
}

/* What would move it. */

static void try_scene(Explaining *explaining, double batch, double link) {
    const Scene scene = {batch, link};
    Round round =
        choice_round(explaining->arena, explaining->decisions, explaining->choice, &scene);
    vector_push(explaining->arena, &explaining->tried,
                (Tried){scene, balance(explaining->arena, &round).on_gpu});
}

static void try_scenes(Explaining *explaining) {
    const Round *round = &explaining->choice->round;
    explaining->tried.count = 0;
    if (round->items.count > ITEMS_TRIED) return;
    double factor = 2;
    for (int i = 0; i < DOUBLINGS; i++, factor *= 2) {
        try_scene(explaining, factor, 1);
        if ((double)explaining->choice->data->batch >= factor) try_scene(explaining, 1 / factor, 1);
    }
    factor = 2;
    for (int i = 0; i < DOUBLINGS; i++, factor *= 2) {
        try_scene(explaining, 1, factor);
        try_scene(explaining, 1, 1 / factor);
    }
}

static void explain_batch(Explaining *explaining, const Tried *tried, int item) {
    double batch = floor(tried->scene.batch * (double)explaining->choice->data->batch);
    const char *device = device_text(tried->on_gpu[item]);
    if (tried->scene.batch > 1)
        text_format(explaining->text, "%s from batches of %.0f on", device, batch);
    else text_format(explaining->text, "%s with batches of %.0f and fewer", device, batch);
}

static void explain_link(const Explaining *explaining, const Tried *tried, int item) {
    double link = explaining->decisions->profile->gpus.items[0].figures[FIGURE_link].value;
    text_format(explaining->text, "%s if the link gave %s", device_text(tried->on_gpu[item]),
                figure_text(explaining->arena, FIGURE_link, tried->scene.link * link));
}

/* Of each kind of scene the nearest where it is elsewhere. */
static void explain_flips(Explaining *explaining, int item) {
    bool here = explaining->choice->split.on_gpu[item], batch = false, link = false;
    size_t begin = explaining->text->size;
    vector_each(Tried, tried, explaining->tried) {
        bool of_batch = tried->scene.batch != 1, *said = of_batch ? &batch : &link;
        if (tried->on_gpu[item] == here || *said) continue;
        text_add(explaining->text, explaining->text->size > begin ? "; " : "      ");
        if (of_batch) explain_batch(explaining, tried, item);
        else explain_link(explaining, tried, item);
        *said = true;
    }
    if (explaining->text->size == begin)
        text_add(explaining->text, "      no batch or link up to 1024 times as large moves it");
    text_add(explaining->text, "\n");
}

/* Items. */

/* The kernel that it goes with, which may be itself. */
static int leader_of(const Member *member, int k) {
    while (member->gpu->kernels[k].computed_with != NO_KERNEL)
        k = member->gpu->kernels[k].computed_with;
    return k;
}

/* With all that go with it. */
static Loads loads_moved(Explaining *explaining, const Member *member, int k) {
    const bool *on_gpu = explaining->choice->split.on_gpu + member->first;
    bool *moved = explaining->moved + member->first;
    for (int i = 0; i < member->cpu->kernel_count; i++)
        if (leader_of(member, i) == k) moved[i] = !on_gpu[i];
    const Loads loads = balance_loads(&explaining->choice->round, explaining->moved);
    memcpy(moved, on_gpu, member->cpu->kernel_count);
    return loads;
}

static void explain_move(Explaining *explaining, const Member *member, int k) {
    const int item = member->first + k;
    const Split *split = &explaining->choice->split;
    const Loads loads = loads_moved(explaining, member, k);
    double copies = loads.seconds[BUSY_link] - split->loads.seconds[BUSY_link];
    text_format(explaining->text, "; on %s %s of copies %s, and a round would take %s\n",
                device_text(!split->on_gpu[item]),
                seconds_text(explaining->arena, copies < 0 ? -copies : copies),
                copies < 0 ? "less" : "more",
                seconds_text(explaining->arena, round_seconds(&loads)));
}

/* "12 us (measured 2026-11-22)": what stands behind a time says how well it is known. */
static const char *time_text(Arena *arena, double seconds, const KernelTime *measured,
                             Origin origin) {
    const char *time = seconds_text(arena, seconds);
    if (measured) return arena_format(arena, "%s (measured %s)", time, measured->date);
    return arena_format(arena, "%s (%s)", time,
                        origin == ORIGIN_guess       ? "guess"
                        : origin == ORIGIN_simulated ? "simulated"
                                                     : "roofline");
}

static const char *cpu_text(const Explaining *explaining, const Member *member, int k) {
    const Item *item = &explaining->choice->round.items.items[member->first + k];
    return time_text(explaining->arena, item->cpu, member->on_cpu[k],
                     origin_on_cpu(&explaining->decisions->profile->cpu, member->cpu, k));
}

static const char *gpu_text(const Explaining *explaining, const Member *member, int k) {
    const Item *item = &explaining->choice->round.items.items[member->first + k];
    return time_text(explaining->arena, item->gpu, member->on_gpu[k],
                     origin_on_gpu(explaining->decisions->profile->gpus.items, member->gpu, k));
}

static const char *placement_text(Arena *arena, const Placement *placement) {
    Text text = text_new(arena);
    device_print(placement, &text);
    return text_string(&text);
}

static const char *why_on_cpu(const Explaining *explaining, const Member *member, int k) {
    const KernelPlan *kernel = &member->gpu->kernels[k];
    Arena *arena = explaining->arena;
    if (kernel->wanted.device == DEVICE_cpu) return "the program says so";
    if (kernel->held) return kernel->held;
    if (runs_on_gpu(kernel) && explaining->decisions->fits) return "as in the loop before";
    if (runs_on_gpu(kernel))
        return arena_format(arena, "gpu(0) has no room for the program's %s",
                            bytes_text(arena, explaining->decisions->needed));
    return is_placed(&kernel->wanted)
               ? arena_format(arena, "there is no %s", placement_text(arena, &kernel->wanted))
               : "what it reads is there";
}

static void explain_fixed(const Explaining *explaining, const Member *member, int k) {
    const Item *item = &explaining->choice->round.items.items[member->first + k];
    const KernelPlan *kernel = &member->cpu->kernels[k];
    Arena *arena = explaining->arena;
    const char *device = runs_on_gpu(kernel) ? placement_text(arena, &kernel->given)
                                             : device_text(item->fixed == SIDE_gpu);
    text_format(explaining->text, "\n    %s: %s on cpu", device, cpu_text(explaining, member, k));
    if (item->fixed == SIDE_gpu)
        text_format(explaining->text, ", %s on %s", gpu_text(explaining, member, k), device);
    text_format(explaining->text, "; %s\n",
                item->fixed == SIDE_cpu ? why_on_cpu(explaining, member, k)
                : runs_on_gpu(kernel)   ? "the program says so"
                                        : "as in the loop before");
}

static void explain_kernel(Explaining *explaining, const Member *member, int k) {
    int number = member->first + k;
    const Item *item = &explaining->choice->round.items.items[number];
    Text *text = explaining->text;
    text_format(text, "  %s kernel %d, ", member->function->name, k);
    kernel_print(member->cpu, k, text);
    if (item->fixed) {
        explain_fixed(explaining, member, k);
        return;
    }
    text_format(text, "\n    %s: %s on cpu", device_text(explaining->choice->split.on_gpu[number]),
                cpu_text(explaining, member, k));
    if (!is_taken_in(&member->gpu->kernels[k]))
        text_format(text, ", %s on gpu(0)", gpu_text(explaining, member, k));
    if (leader_of(member, k) != k) {
        text_format(text, "; goes with kernel %d\n", leader_of(member, k));
        return;
    }
    explain_move(explaining, member, k);
    explain_flips(explaining, number);
}

static void explain_member(Explaining *explaining, const Member *member) {
    for (int k = 0; k < member->cpu->kernel_count; k++) explain_kernel(explaining, member, k);
}

/* A loop. */

static double all_on(const Explaining *explaining, Side side) {
    const Round *round = &explaining->choice->round;
    bool *on_gpu = arena_new_array(explaining->arena, bool, round->items.count + 1);
    for (size_t i = 0; i < round->items.count; i++) {
        Side fixed = round->items.items[i].fixed;
        on_gpu[i] = (fixed == SIDE_free ? side : fixed) == SIDE_gpu;
    }
    Loads loads = balance_loads(round, on_gpu);
    return round_seconds(&loads);
}

static void explain_loads(const Explaining *explaining) {
    static const char *const names[] = {[BUSY_cpu] = "the CPU's work",
                                        [BUSY_gpu] = "gpu(0)'s work",
                                        [BUSY_link] = "the copies between them",
                                        [BUSY_step] = "the step, one kernel after the other"};
    const Split *split = &explaining->choice->split;
    Arena *arena = explaining->arena;
    Text *text = explaining->text;
    text_format(text, "  a round takes %s at least, for %s:", seconds_text(arena, split->seconds),
                names[balance_busiest(&split->loads)]);
    for (Busy i = BUSY_cpu; i < BUSY_COUNT; i++)
        text_format(text, "%s %s %s", i ? "," : "", names[i],
                    seconds_text(arena, split->loads.seconds[i]));
    text_format(text, "\n  with all on the CPU %s, with all that can on gpu(0) %s; no split %s\n",
                seconds_text(arena, all_on(explaining, SIDE_cpu)),
                seconds_text(arena, all_on(explaining, SIDE_gpu)),
                arena_format(arena, "takes less than %s", seconds_text(arena, split->bound)));
}

static void explain_measured(const Explaining *explaining) {
    const Choice *choice = explaining->choice;
    if (!choice->measured) return;
    text_format(explaining->text, "  %d times of kernels were measured; %s %s\n", choice->measured,
                choice->keeps_rooflines ? "by them the split that rooflines give takes"
                                        : "the split that rooflines give would take",
                seconds_text(explaining->arena, choice->by_rooflines));
    if (choice->keeps_rooflines)
        text_add(explaining->text, "  no other split gains a twentieth by them: it stays\n");
}

/* gpu(0) stands for all of them. */
static void explain_shares(const Explaining *explaining) {
    const Choice *choice = explaining->choice;
    const DeviceProfile *gpu = explaining->decisions->profile->gpus.items;
    const double shares = shares_of(choice->members.items[choice->members.count - 1].gpu);
    if (shares == 1) return;
    text_format(
        explaining->text,
        "  on %.0f GPUs, each with its share, as gpu(0) is; they join values %s, at %s\n", shares,
        gpu->figures[FIGURE_peer].origin ? "from GPU to GPU"
                                         : "by way of the CPU's memory, as no `peer` is known",
        figure_text(explaining->arena, FIGURE_peer, rate_across(gpu).value));
}

static void explain_choice(Explaining *explaining) {
    const Choice *choice = explaining->choice;
    text_format(explaining->text, "placement of %s, a round for each batch of %lld\n", choice->name,
                (long long)choice->data->batch);
    explain_loads(explaining);
    explain_measured(explaining);
    explain_shares(explaining);
    explaining->moved = arena_new_array(explaining->arena, bool, choice->round.items.count + 1);
    memcpy(explaining->moved, choice->split.on_gpu, choice->round.items.count);
    try_scenes(explaining);
    vector_each(Member, member, choice->members) explain_member(explaining, member);
    text_add(explaining->text, "\n");
}

static void explain_device(const char *number, const DeviceProfile *device, Text *text) {
    const char *guessed = unmeasured(text->arena, device);
    text_format(text, "  %s is %s%s%s\n", number, device->name,
                *guessed ? "; not measured: " : "; all measured", guessed);
}

static bool is_of_program(const Compilation *compilation, const Choice *choice) {
    return plan_of(compilation->plan, choice->members.items[choice->members.count - 1].function) !=
           NULL;
}

void explain_placement(const Compilation *compilation, Text *text) {
    const Decisions *decisions = compilation->decisions;
    const Profile *profile = decisions->profile;
    text_format(text, "machine, as of %s%s%s\n", profile->date, profile->note ? ": " : "",
                profile->note ? profile->note : "");
    explain_device("cpu", &profile->cpu, text);
    explain_device("gpu(0)", &profile->gpus.items[0], text);
    text_add(text, "\n");
    vector_each(Choice, choice, decisions->choices) {
        Explaining explaining = {.arena = text->arena, .text = text, .decisions = decisions};
        explaining.choice = choice;
        if (is_of_program(compilation, choice)) explain_choice(&explaining);
    }
}
