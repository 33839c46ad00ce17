/* Explain links: how values come from a GPU to another, where the program has such copies. */
#include "compiler/driver/explain.h"
#include "compiler/driver/machine.h"
#include "compiler/driver/profiles.h"

/* Between two GPUs, which both are there. */
static bool is_across(const Transfer *transfer) {
    return transfer && transfer->kind == TRANSFER_copy && transfer->from >= 0 &&
           transfer->to >= 0 && transfer->from != EVERY_GPU && transfer->to != EVERY_GPU;
}

typedef struct Link {
    int from, to;
} Link;
typedef Vector(Link) Links;

static void add_link(Arena *arena, Links *links, const Transfer *transfer) {
    vector_each(Link, known, *links)
        if (known->from == transfer->from && known->to == transfer->to) return;
    vector_push(arena, links, (Link){transfer->from, transfer->to});
}

static Links find_links(Arena *arena, const Plan *plan) {
    Links links = {0};
    vector_each(FunctionPlan *, function, plan->functions)
        vector_each(Band, band, (*function)->bands)
            if (is_across(band->transfer)) add_link(arena, &links, band->transfer);
    return links;
}

static const char *by_profile(Arena *arena, const Profile *profile, const Link *link) {
    if (!profile || link->to >= (int)profile->gpus.count) return "which the profile doesn't have";
    const Figure *peer = &profile->gpus.items[link->to].figures[FIGURE_peer];
    if (!peer->origin) return "by way of the CPU's memory, as the profile has no `peer`";
    return arena_format(arena, "directly, at %s", figure_text(arena, FIGURE_peer, peer->value));
}

static const char *by_driver(const Gpus *gpus, const Link *link) {
    if (link->from >= gpus->count || link->to >= gpus->count) return "which are not here";
    return gpu_reaches(gpus, link->to, link->from)
               ? "directly, as the driver lets it"
               : "by way of the CPU's memory, as the driver doesn't let one reach the other";
}

void explain_links(const Compilation *compilation, Text *text) {
    Processor processor;
    Gpus gpus = {0};
    const Arguments *arguments = compilation->arguments;
    const Profile *profile = NULL;
    const Links links = find_links(text->arena, compilation->plan);
    if (!links.count) return;
    if (arguments->machine) profile = profile_read(text->arena, arguments->machine);
    else machine_ask(arguments, &processor, &gpus);
    vector_each(Link, link, links)
        text_format(text, "copies from gpu(%d) to gpu(%d) go %s\n", link->from, link->to,
                    arguments->machine ? by_profile(text->arena, profile, link)
                                       : by_driver(&gpus, link));
}
