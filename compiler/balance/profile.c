/* Profile. */
#include "compiler/balance/profile.h"

#include "runtime/bounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CPU = 1, GPU = 2, OPTIONAL = 4 };

typedef struct FigureInfo {
    const char *name;
    char unit;
    int kinds;
} FigureInfo;

static const FigureInfo infos[] = {
#define FIGURE(name, unit, kinds, meaning) {#name, unit, kinds},
#include "compiler/balance/figures.def"
#undef FIGURE
};

static const char *const origins[] = {
    [ORIGIN_none] = "",       [ORIGIN_measured] = "measured",   [ORIGIN_published] = "published",
    [ORIGIN_guess] = "guess", [ORIGIN_simulated] = "simulated",
};
enum { ORIGINS = sizeof origins / sizeof *origins };

/* A unit with its prefixes; the first is written where a value is below all others. */
typedef struct Unit {
    char kind;
    const char *name;
    double scale;
} Unit;

static const Unit units[] = {
    {'O', "MFLOP/s", 1e6}, {'O', "GFLOP/s", 1e9}, {'O', "TFLOP/s", 1e12}, {'O', "PFLOP/s", 1e15},
    {'B', "MB/s", 1e6},    {'B', "GB/s", 1e9},    {'B', "TB/s", 1e12},    {'b', "MiB", 0x1p20},
    {'b', "GiB", 0x1p30},  {'s', "ns", 1e-9},     {'s', "us", 1e-6},      {'s', "ms", 1e-3},
    {'n', "", 1},
};
enum { UNITS = sizeof units / sizeof *units };

/* Reading. */

typedef struct Reader {
    Arena *arena;
    const char *path, *why;
    int line;
    Profile *profile;
    DeviceProfile *device; /* that lines are about; NULL: none yet */
    int kind;
} Reader;

static bool fail(Reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(Reader *reader, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *what = arena_format_list(reader->arena, format, list);
    va_end(list);
    if (!reader->why)
        reader->why = arena_format(reader->arena, "%s:%d: %s", reader->path, reader->line, what);
    return false;
}

static const char *unit_names(Arena *arena, char kind) {
    Text text = text_new(arena);
    for (int i = 0; i < UNITS; i++)
        if (units[i].kind == kind) text_format(&text, "%s%s", text.size ? ", " : "", units[i].name);
    return text_string(&text);
}

static const Unit *find_unit(char kind, const char *name) {
    for (int i = 0; i < UNITS; i++)
        if (units[i].kind == kind && !strcmp(units[i].name, name)) return &units[i];
    return NULL;
}

static Origin find_origin(const char *name) {
    for (int i = ORIGIN_measured; i < ORIGINS; i++)
        if (!strcmp(origins[i], name)) return (Origin)i;
    return ORIGIN_none;
}

/* The words of "467 GFLOP/s measured", or of "2 measured" where there is no unit. */
static bool read_words(const FigureInfo *info, const char *text, double *number, char *unit,
                       char *origin) {
    char more[2], *end;
    bool bare = info->unit == 'n';
    *number = strtod(text, &end);
    if (end == text) return false;
    if (bare) return sscanf(end, "%15s %1s", origin, more) == 1;
    return sscanf(end, "%15s %15s %1s", unit, origin, more) == 2;
}

static bool read_figure(Reader *reader, const FigureInfo *info, const char *text, Figure *figure) {
    char unit[16] = "", origin[16] = "";
    double number;
    bool whole = read_words(info, text, &number, unit, origin);
    const Unit *known = find_unit(info->unit, unit);
    *figure = (Figure){known ? number * known->scale : 0, find_origin(origin)};
    if (!whole || !known || !figure->origin)
        return fail(reader,
                    "`%s` is a number, %s and where it is from (measured, published or guess), "
                    "not `%.60s`",
                    info->name,
                    info->unit == 'n' ? "no unit"
                                      : arena_format(reader->arena, "a unit (%s)",
                                                     unit_names(reader->arena, info->unit)),
                    text);
    if (!(figure->value > 0 && figure->value < 1e24))
        return fail(reader, "`%s` is more than 0, not `%.60s`", info->name, text);
    return true;
}

static const FigureInfo *find_info(const Reader *reader, const char *name) {
    for (int i = 0; i < FIGURES; i++)
        if (infos[i].kinds & reader->kind && !strcmp(infos[i].name, name)) return &infos[i];
    return NULL;
}

static const char *known_names(const Reader *reader) {
    Text text = text_new(reader->arena);
    text_add(&text, "name");
    for (int i = 0; i < FIGURES; i++)
        if (infos[i].kinds & reader->kind) text_format(&text, ", %s", infos[i].name);
    return text_string(&text);
}

static bool read_of_device(Reader *reader, const char *name, const char *value) {
    if (!strcmp(name, "name")) return reader->device->name = value, true;
    const FigureInfo *info = find_info(reader, name);
    if (!info)
        return fail(reader, "`%.60s` is nothing that is known of this device: there are %s", name,
                    known_names(reader));
    Figure *figure = &reader->device->figures[info - infos];
    if (figure->origin) return fail(reader, "`%s` is given a second time", name);
    return read_figure(reader, info, value, figure);
}

static bool read_of_machine(Reader *reader, const char *name, const char *value) {
    if (!strcmp(name, "date")) return reader->profile->date = value, true;
    if (!strcmp(name, "note")) return reader->profile->note = value, true;
    return fail(reader, "`%.60s` stands before any `device`: there are date, note", name);
}

/* What the device lacks. */
static bool finish_device(Reader *reader) {
    if (!reader->device) return true;
    for (int i = 0; i < FIGURES; i++)
        if (infos[i].kinds & reader->kind && !(infos[i].kinds & OPTIONAL) &&
            !reader->device->figures[i].origin)
            return fail(reader, "`%s` is missing of the device that ends here", infos[i].name);
    if (!reader->device->name) return fail(reader, "the device that ends here has no name");
    return true;
}

static bool begin_device(Reader *reader, const char *name) {
    Profile *profile = reader->profile;
    if (!finish_device(reader)) return false;
    reader->kind = !strcmp(name, "cpu") ? CPU : GPU;
    if (reader->kind == CPU && reader->device)
        return fail(reader, "`device cpu` comes first, once");
    if (reader->kind == CPU) return reader->device = &profile->cpu, true;
    if (profile->gpus.count == GPU_LIMIT)
        return fail(reader, "a machine has at most %d GPUs", GPU_LIMIT);
    const char *next = arena_format(reader->arena, "gpu(%zu)", profile->gpus.count);
    if (!reader->device || strcmp(name, next))
        return fail(reader, "the next device is `%s`, not `%.60s`", reader->device ? next : "cpu",
                    name);
    vector_push(reader->arena, &profile->gpus, (DeviceProfile){0});
    reader->device = &profile->gpus.items[profile->gpus.count - 1];
    return true;
}

static char *trimmed(Arena *arena, const char *text, size_t size) {
    while (size && strchr(" \t\r", text[size - 1])) size--;
    while (size && strchr(" \t", *text)) text++, size--;
    return arena_copy(arena, text, size);
}

static bool read_line(Reader *reader, const char *line) {
    const char *equals = strchr(line, '=');
    if (!*line || *line == '#') return true;
    if (!strncmp(line, "device ", 7))
        return begin_device(reader, trimmed(reader->arena, line + 7, strlen(line + 7)));
    if (!equals) return fail(reader, "a line is `name = value`, not `%.60s`", line);
    const char *name = trimmed(reader->arena, line, (size_t)(equals - line));
    const char *value = trimmed(reader->arena, equals + 1, strlen(equals + 1));
    if (!*value) return fail(reader, "`%.60s` has no value", name);
    return reader->device ? read_of_device(reader, name, value)
                          : read_of_machine(reader, name, value);
}

static bool read_head(Reader *reader, const char *line) {
    if (!strcmp(line, "flowc profile 1")) return true;
    return fail(reader, "a profile begins with `flowc profile 1`, not `%.60s`", line);
}

const Profile *profile_parse(Arena *arena, const char *text, const char *path, const char **why) {
    Reader reader = {.arena = arena, .path = path, .profile = arena_new_item(arena, Profile)};
    bool good = true, headed = false;
    for (size_t size; *text && good; text += size + (text[size] == '\n')) {
        size = strcspn(text, "\n");
        const char *line = trimmed(arena, text, size);
        reader.line++;
        if (headed || !*line || *line == '#') good = read_line(&reader, line);
        else good = read_head(&reader, line), headed = true;
    }
    good = good && (headed || fail(&reader, "a profile begins with `flowc profile 1`"));
    good = good && (reader.device || fail(&reader, "there is no `device cpu`"));
    good = good && (reader.profile->date || fail(&reader, "there is no `date`"));
    good = good && finish_device(&reader);
    *why = reader.why;
    return good ? reader.profile : NULL;
}

/* Writing. */

const char *figure_text(Arena *arena, FigureName name, double value) {
    const Unit *unit = NULL;
    for (int i = 0; i < UNITS; i++)
        if (units[i].kind == infos[name].unit && (!unit || value >= 0.99995 * units[i].scale))
            unit = &units[i];
    return arena_format(arena, "%.4g%s%s", value / unit->scale, *unit->name ? " " : "", unit->name);
}

static void print_device(const DeviceProfile *device, Text *text) {
    text_format(text, "name = %s\n", device->name);
    for (int i = 0; i < FIGURES; i++)
        if (device->figures[i].origin)
            text_format(text, "%s = %s %s\n", infos[i].name,
                        figure_text(text->arena, (FigureName)i, device->figures[i].value),
                        origins[device->figures[i].origin]);
}

void profile_print(const Profile *profile, Text *text) {
    text_format(text, "flowc profile 1\ndate = %s\n", profile->date);
    if (profile->note) text_format(text, "note = %s\n", profile->note);
    text_add(text, "\ndevice cpu\n");
    print_device(&profile->cpu, text);
    for (size_t i = 0; i < profile->gpus.count; i++) {
        text_format(text, "\ndevice gpu(%zu)\n", i);
        print_device(&profile->gpus.items[i], text);
    }
}

const char *unmeasured(Arena *arena, const DeviceProfile *device) {
    Text text = text_new(arena);
    for (int i = 0; i < FIGURES; i++)
        if (device->figures[i].origin > ORIGIN_measured)
            text_format(&text, "%s%s", text.size ? ", " : "", infos[i].name);
    return text_string(&text);
}

static bool is_simulated(const DeviceProfile *device) {
    for (int i = 0; i < FIGURES; i++)
        if (device->figures[i].origin == ORIGIN_simulated) return true;
    return false;
}

bool profile_is_simulated(const Profile *profile) {
    vector_each(DeviceProfile, gpu, profile->gpus)
        if (is_simulated(gpu)) return true;
    return is_simulated(&profile->cpu);
}
