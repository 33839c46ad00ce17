/* Machine: its devices, without those that flags leave out, and their sizes in words. */
#include "compiler/driver/machine.h"

#include "lang/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *memory_text(Arena *arena, uint64_t bytes) {
    double mebibytes = (double)bytes / 0x1p20;
    if (!bytes) return "unknown memory";
    if (mebibytes < 1024) return arena_format(arena, "%.0f MiB", mebibytes);
    return arena_format(arena, "%.1f GiB", mebibytes / 1024);
}

bool gpu_reaches(const Gpus *gpus, int to, int from) {
    return gpus->items[to].reaches >> gpus->items[from].ordinal & 1;
}

VersionText version_text(int version) {
    VersionText result = {"of an unknown version"};
    if (version)
        snprintf(result.text, sizeof result.text, "%d.%d", version / 1000, version % 1000 / 10);
    return result;
}

/* "4GiB", "512MiB" or a number of bytes. */
static bool parse_bytes(const char *text, uint64_t *bytes) {
    char *unit;
    double number = strtod(text, &unit);
    double scale = !*unit ? 1 : strstr(unit, "iB") ? unit_scale(unit) : 0;
    *bytes = number > 0 && number * scale < 0x1p63 ? (uint64_t)(number * scale) : 0;
    return *bytes > 0;
}

bool limit_memory(const char *text, Gpus *gpus) {
    uint64_t most;
    if (!text) return true;
    if (!parse_bytes(text, &most)) {
        fprintf(stderr, "flowc: --gpu-memory is an amount like 4GiB or 512MiB, not `%s`\n", text);
        return false;
    }
    for (int i = 0; i < gpus->count; i++)
        if (gpus->items[i].memory > most) gpus->items[i].memory = most;
    return true;
}

static bool wrong_list(const char *text) {
    fprintf(stderr,
            "flowc: --visible-devices is `none` or numbers of GPUs like 0,1, each once, not `%s`\n",
            text);
    return false;
}

/* Numbers that no GPU has are left out, as on a machine with fewer of them. */
static bool keep_visible(const char *text, Gpus *gpus) {
    bool taken[GPU_LIMIT] = {0};
    Gpus all = *gpus;
    char *at = (char *)text;
    if (!text) return true;
    gpus->count = 0;
    snprintf(gpus->missing, sizeof gpus->missing, "--visible-devices hides them");
    if (!strcmp(text, "none")) return true;
    for (;; at++) {
        const char *begin = at;
        long number = strtol(begin, &at, 10);
        bool digits = *begin >= '0' && *begin <= '9';
        if (!digits || (*at && *at != ',') || number >= GPU_LIMIT || taken[number])
            return wrong_list(text);
        taken[number] = true;
        if (number < all.count) gpus->items[gpus->count++] = all.items[number];
        if (!*at) break;
    }
    if (gpus->count || !all.count) strcpy(gpus->missing, all.missing);
    return true;
}

bool machine_ask(const Arguments *arguments, Processor *processor, Gpus *gpus) {
    *processor = processor_ask();
    gpus_ask(gpus);
    return keep_visible(arguments->visible_devices, gpus) &&
           limit_memory(arguments->gpu_memory, gpus);
}
