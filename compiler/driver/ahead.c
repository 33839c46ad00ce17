#include "compiler/driver/ahead.h"

#include "compiler/driver/device_text.h"
#include "compiler/driver/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command line. */

static int wrong_kind(const char *item) {
    fprintf(stderr,
            "flowc: --target=%s: a kind of GPU is sm_ and its compute capability without the dot, "
            "as sm_90 or sm_90a for 9.0; `flowc devices` shows that of a GPU; what later GPUs need "
            "is added by itself\n",
            item);
    return EXIT_usage;
}

static bool is_gpu(const char *item) {
    return !strncmp(item, "sm", 2) || !strncmp(item, "compute", 7);
}

/* 0: it is none. Code for sm_90 is for sm_90a (runtime/device/nvrtc.c): nothing else is a 9.0. */
static int parse_kind(const char *item) {
    char *end = NULL;
    if (!strcmp(item, "sm_90a")) return 90;
    if (strncmp(item, "sm_", 3) || item[3] < '1' || item[3] > '9') return 0;
    long capability = strtol(item + 3, &end, 10);
    return !*end && capability >= 10 && capability < 1000 ? (int)capability : 0;
}

static void insert(Arena *arena, Capabilities *list, int capability) {
    vector_each(int, known, *list)
        if (*known == capability) return;
    vector_push(arena, list, capability);
    for (size_t i = list->count - 1; i > 0 && list->items[i - 1] > capability; i--) {
        list->items[i] = list->items[i - 1];
        list->items[i - 1] = capability;
    }
}

int ahead_parse(Arena *arena, Arguments *arguments) {
    Text others = text_new(arena);
    const char *at = arguments->target;
    if (!at) return EXIT_ok;
    while (*at) {
        size_t length = strcspn(at, ",");
        const char *item = arena_copy(arena, at, length);
        int capability = parse_kind(item);
        arguments->names_sm_90a |= !strcmp(item, "sm_90a");
        if (is_gpu(item) && !capability) return wrong_kind(item);
        if (capability) insert(arena, &arguments->capabilities, capability);
        else if (length) text_format(&others, "%s%s", others.size ? "," : "", item);
        at += length + (at[length] == ',');
    }
    if (arguments->capabilities.count)
        arguments->target = others.size ? text_string(&others) : NULL;
    return EXIT_ok;
}

void ahead_expect(const Arguments *arguments, Gpus *gpus, int count) {
    if (!arguments->capabilities.count) return;
    for (; gpus->count < count && gpus->count < GPU_LIMIT; gpus->count++)
        gpus->items[gpus->count] = (Device){.name = "one of the machine that it is built for"};
}

int ahead_for_here(Arena *arena, Arguments *arguments, const Generated *generated) {
    Processor processor;
    Gpus gpus;
    if (!has_device_text(generated) || arguments->capabilities.count) return EXIT_ok;
    if (!machine_ask(arguments, &processor, &gpus)) return EXIT_usage;
    for (int i = 0; i < gpus.count; i++)
        if (gpus.items[i].capability)
            insert(arena, &arguments->capabilities, gpus.items[i].capability);
    if (arguments->capabilities.count) return EXIT_ok;
    fprintf(stderr, "flowc: the driver does not say what kind the GPUs here are: name it, as "
                    "--target=sm_90\n");
    return EXIT_resource;
}

/* Compiling. */

static NvrtcWish *wishes_of(Arena *arena, const Arguments *arguments) {
    const Capabilities *kinds = &arguments->capabilities;
    NvrtcWish *wishes = arena_new_array(arena, NvrtcWish, kinds->count + 1);
    for (size_t i = 0; i <= kinds->count; i++)
        wishes[i] = i < kinds->count
                        ? (NvrtcWish){.capability = kinds->items[i],
                                      .is_alone = kinds->items[i] == 90 && arguments->names_sm_90a}
                        : (NvrtcWish){.capability = kinds->items[i - 1], .is_ptx = true};
    return wishes;
}

static int compile_all(Arena *arena, const Arguments *arguments, const char *device_text,
                       DeviceImages *images) {
    const Capabilities *kinds = &arguments->capabilities;
    *images = (DeviceImages){0};
    if (!kinds->count) return EXIT_ok;
    NvrtcWish *wishes = wishes_of(arena, arguments);
    FlowStatus status =
        nvrtc_compile_all(device_text, wishes, (int)kinds->count + 1, processor_ask().cores);
    if (status.exit) {
        fprintf(stderr, "flowc: --target for GPUs: %s\n", status.text);
        return (int)status.exit;
    }
    *images = (DeviceImages){wishes, (int)kinds->count + 1};
    for (int i = 0; arguments->verbose && i < images->count; i++)
        fprintf(stderr, "flowc: built in for GPUs: %s of sm_%d, %zu bytes\n",
                wishes[i].is_ptx ? "PTX" : "code", wishes[i].capability, wishes[i].image.size);
    return EXIT_ok;
}

static int nothing_to_compile(const Compilation *compilation) {
    if (!compilation->arguments->capabilities.count) return EXIT_ok;
    fprintf(stderr,
            "flowc: --target for GPUs: nothing of `%s` runs on a GPU; `--device=gpu` places there "
            "what the program places nowhere\n",
            compilation->program->name);
    return EXIT_program;
}

int ahead_add(const Compilation *compilation, Generated *generated) {
    Arena *arena = compilation->arena;
    DeviceImages images;
    if (!has_device_text(generated)) return nothing_to_compile(compilation);
    const char *text = device_text(arena, compilation->home, generated);
    if (!text) return EXIT_resource;
    int status = compile_all(arena, compilation->arguments, text, &images);
    if (status == EXIT_ok) add_device_text(arena, generated, text, images);
    for (int i = 0; i < images.count; i++) free(images.items[i].image.bytes);
    return status;
}
